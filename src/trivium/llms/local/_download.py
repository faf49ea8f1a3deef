"""Fetching files over HTTP: a download that resumes, and links of a package index. No knowledge of models."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import AsyncGenerator, Callable, Generator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from typing import IO, Any, NamedTuple, cast
from urllib.parse import urldefrag, urljoin, urlsplit

from trivium.commander.lowlevel import run_on_loop
from trivium.exceptions import DownloadError
from trivium.http import HTTPClient, HTTPError, HTTPRequest, HTTPResponse
from trivium.http.lowlevel import URL

# Several addresses may be tried one after the other, each with this limit, before a blocked home is given up.
CONNECT_SECONDS, READ_SECONDS = 3.0, 30.0
MAX_RESUMES, MAX_REDIRECTS = 50, 10
MAX_INDEX_BYTES = 64 << 20


class IndexFile(NamedTuple):
    """A file that a package index offers."""

    filename: str
    url: str
    sha256: str


def http_client() -> HTTPClient:
    """Make a client that soon gives up a server which accepts no connection."""
    return HTTPClient(connect_timeout=CONNECT_SECONDS)


@asynccontextmanager
async def _response(client: HTTPClient, request: HTTPRequest) -> AsyncGenerator[tuple[HTTPResponse, str]]:
    """Send a request, follow redirects, and give the response and the address that it is from.

    Raises:
        DownloadError: the server cannot be asked, breaks off, or redirects too often.
    """
    begin = request.url
    try:
        for _ in range(MAX_REDIRECTS + 1):
            response = await client.send(request)
            try:
                if response.redirect is None:
                    yield response, request.url
                    return
                request = replace(request, url=str(URL.parse(request.url).join(response.redirect)))
            finally:
                await response.aclose()
    except HTTPError as error:
        raise _BrokenError(f"{host(request.url)}: {str(error) or type(error).__name__}") from error
    raise DownloadError(f"{host(begin)}: redirects more than {MAX_REDIRECTS} times")


class _BrokenError(DownloadError):
    """The server could not be reached, or the connection broke."""


def host(url: str) -> str:
    """Return the host of `url`, never its user name or password."""
    return urlsplit(url).hostname or url


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, in lower-case hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def download(client: HTTPClient, url: str, path: Path, size: int | None, report: Callable[[int, int], None]) -> None:
    """Bring `path` to the full content of `url`, going on where an earlier attempt ended.

    Args:
        client: the HTTP client.
        url: where the file is.
        path: the partial file; what it holds already is kept, what comes is appended.
        size: length of the whole in bytes, or None where only the server knows it. A server that offers
            another length is not used.
        report: called with (bytes in the file, bytes of the whole) after each piece.

    Raises:
        DownloadError: the server cannot be reached, refuses, or breaks off without sending anything new.
    """
    run_on_loop(partial(_download, client, url, path, size, report))


async def _download(
    client: HTTPClient, url: str, path: Path, size: int | None, report: Callable[[int, int], None]
) -> None:
    for _ in range(MAX_RESUMES):
        before = _length(path)
        if size is not None and before == size:
            return
        try:
            if await _attempt(client, url, path, size, report):
                return
        except _BrokenError:
            if _length(path) <= before:
                raise
    raise DownloadError(f"{host(url)}: the connection broke off {MAX_RESUMES} times; run it again to go on")


async def _attempt(
    client: HTTPClient, url: str, path: Path, size: int | None, report: Callable[[int, int], None]
) -> bool:
    """Make one request, and return whether the file is whole now."""
    start = _length(path)
    headers = {"accept-encoding": "identity", **({"range": f"bytes={start}-"} if start else {})}
    request = HTTPRequest("GET", url, headers, timeout=READ_SECONDS, is_raw=True)
    async with _response(client, request) as (response, _):
        if response.status == 416:  # what is held is not the beginning of what is offered
            with _opened(path, 0):
                return False
        if response.status not in (200, 206):
            raise DownloadError(f"{host(url)}: answered {response.status}")
        offset, total = _extent(response, url)
        if size is not None and total not in (None, size):
            raise DownloadError(f"{host(url)}: offers {total} bytes instead of {size}")
        if offset not in (0, start):
            raise DownloadError(f"{host(url)}: answered with another range than was asked for")
        with _opened(path, offset) as file:
            await _append(response, file, total or size or 0, report, url)
    return (total or size) in (None, _length(path))


def _length(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _extent(response: HTTPResponse, url: str) -> tuple[int, int | None]:
    """Return the offset of the first byte of the answer, and the length of the whole file."""
    if response.status == 206:
        match = re.match(r"bytes (\d+)-\d+/(\d+|\*)", response.headers.get("content-range", ""))
        if match is None:
            raise DownloadError(f"{host(url)}: a partial answer without its range")
        return int(match[1]), None if match[2] == "*" else int(match[2])
    length = response.headers.get("content-length", "")
    return 0, int(length) if length.isdecimal() else None


@contextmanager
def _opened(path: Path, offset: int) -> Generator[IO[bytes]]:
    """Open a file to write behind its first bytes; without a buffer, so that what came before a break is kept."""
    with path.open("r+b" if path.exists() else "wb", buffering=0) as file:
        file.truncate(offset)
        file.seek(offset)
        yield file


async def _append(
    response: HTTPResponse, file: IO[bytes], total: int, report: Callable[[int, int], None], url: str
) -> None:
    async for piece in response.pieces:
        if total and file.tell() + len(piece) > total:
            raise DownloadError(f"{host(url)}: sends more than {total} bytes")
        file.write(piece)
        report(file.tell(), total or file.tell())


def find_wheel(client: HTTPClient, index_url: str, project: str, version: str) -> IndexFile:
    """Return the one wheel of `project` in `version` on a package index (simple API, HTML or JSON).

    Raises:
        DownloadError: the index cannot be asked, answers too much, lacks the wheel, or gives no SHA-256 for it.
    """
    page = f"{index_url.rstrip('/')}/{project}/"
    accept = {"accept": "application/vnd.pypi.simple.v1+json, text/html;q=0.5"}

    async def work() -> tuple[str, bool, str]:
        async with _response(client, HTTPRequest("GET", page, accept, timeout=READ_SECONDS)) as (response, base):
            if response.status != 200:
                raise DownloadError(f"{host(page)}: answered {response.status} for {project}")
            if len(body := await response.read(MAX_INDEX_BYTES)) > MAX_INDEX_BYTES:
                raise DownloadError(f"{host(page)}: its page of {project} has more than {MAX_INDEX_BYTES:,} bytes")
            return body.decode("utf-8", "replace"), "json" in response.headers.get("content-type", ""), base

    found = _links(*run_on_loop(work))
    wanted = f"{project.replace('-', '_')}-{version}-"
    for file in found:
        if file.filename.endswith(".whl") and file.filename.lower().startswith(wanted):
            if not file.sha256:
                raise DownloadError(f"{host(page)}: gives no SHA-256 for {file.filename}")
            return file
    raise DownloadError(f"{host(page)}: has no wheel of {project} {version}")


def _links(text: str, is_json: bool, base: str) -> Iterator[IndexFile]:
    if not is_json:
        parser = _Anchors()
        parser.feed(text)
        for link in parser.links:
            url, fragment = urldefrag(urljoin(base, link))
            name = urlsplit(url).path.rsplit("/", 1)[-1]
            yield IndexFile(name, url, fragment.removeprefix("sha256=") if "sha256=" in fragment else "")
        return
    try:
        files = cast("list[dict[str, Any]]", json.loads(text)["files"])
        for file in files:
            yield IndexFile(file["filename"], urljoin(base, file["url"]), file["hashes"].get("sha256", ""))
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise DownloadError(f"{host(base)}: answered with something that is no list of files") from error


class _Anchors(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.links.extend(value for key, value in attrs if key == "href" and value)
