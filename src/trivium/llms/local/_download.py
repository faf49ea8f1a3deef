"""Fetching files over HTTP: a download that resumes, and links of a package index. No knowledge of models."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from urllib.parse import urldefrag, urljoin, urlsplit

from trivium.exceptions import DownloadError

if TYPE_CHECKING:
    from httpx2 import Client, Response

__all__ = ["IndexFile", "download", "find_wheel", "host", "http_client", "sha256_of"]

# Several addresses may be tried one after the other, each with this limit, before a blocked home is given up.
CONNECT_SECONDS, READ_SECONDS = 3.0, 30.0
MAX_RESUMES = 50


class IndexFile(NamedTuple):
    """A file that a package index offers."""

    filename: str
    url: str
    sha256: str


def http_client() -> Client:
    """A client with short connect and longer read limits, to be closed by the caller."""
    import httpx2

    return httpx2.Client(follow_redirects=True, timeout=httpx2.Timeout(READ_SECONDS, connect=CONNECT_SECONDS))


def host(url: str) -> str:
    """The host of `url`, never its user name or password."""
    return urlsplit(url).hostname or url


def sha256_of(path: Path) -> str:
    """SHA-256 of a file, in lower-case hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def download(client: Client, url: str, path: Path, size: int | None, report: Callable[[int, int], None]) -> None:
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
    import httpx2

    for _ in range(MAX_RESUMES):
        before = _length(path)
        if size is not None and before == size:
            return
        try:
            if _attempt(client, url, path, size, report):
                return
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError) as error:
            if _length(path) <= before:
                raise DownloadError(f"{host(url)}: {str(error) or type(error).__name__}") from error
    raise DownloadError(f"{host(url)}: the connection broke off {MAX_RESUMES} times; run it again to go on")


def _attempt(client: Client, url: str, path: Path, size: int | None, report: Callable[[int, int], None]) -> bool:
    """One request; returns whether the file is whole now."""
    start = _length(path)
    headers = {"accept-encoding": "identity", **({"range": f"bytes={start}-"} if start else {})}
    with client.stream("GET", url, headers=headers) as response:
        if response.status_code == 416:  # what is held is not the beginning of what is offered
            path.unlink()
            return False
        if response.status_code not in (200, 206):
            raise DownloadError(f"{host(url)}: answered {response.status_code}")
        offset, total = _extent(response)
        if size is not None and total not in (None, size):
            raise DownloadError(f"{host(url)}: offers {total} bytes instead of {size}")
        if offset not in (0, start):
            raise DownloadError(f"{host(url)}: answered with another range than was asked for")
        _append(response, path, offset, total or size or 0, report)
    return (total or size) in (None, _length(path))


def _length(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _extent(response: Response) -> tuple[int, int | None]:
    """The offset of the first byte of the answer, and the length of the whole file."""
    if response.status_code == 206:
        match = re.match(r"bytes (\d+)-\d+/(\d+|\*)", response.headers.get("content-range", ""))
        if match is None:
            raise DownloadError(f"{host(str(response.url))}: a partial answer without its range")
        return int(match[1]), None if match[2] == "*" else int(match[2])
    length = response.headers.get("content-length", "")
    return 0, int(length) if length.isdecimal() else None


def _append(response: Response, path: Path, offset: int, total: int, report: Callable[[int, int], None]) -> None:
    with path.open("r+b" if path.exists() else "wb") as file:
        file.truncate(offset)
        file.seek(offset)
        for piece in response.iter_raw():  # unbuffered: what came before a break is kept
            if total and file.tell() + len(piece) > total:
                raise DownloadError(f"{host(str(response.url))}: sends more than {total} bytes")
            file.write(piece)
            report(file.tell(), total or file.tell())


def find_wheel(client: Client, index_url: str, project: str, version: str) -> IndexFile:
    """The one wheel of `project` in `version` on a package index (simple API, HTML or JSON).

    Raises:
        DownloadError: the index cannot be asked, lacks the wheel, or gives no SHA-256 for it.
    """
    import httpx2

    page = f"{index_url.rstrip('/')}/{project}/"
    accept = "application/vnd.pypi.simple.v1+json, text/html;q=0.5"
    try:
        response = client.get(page, headers={"accept": accept})
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise DownloadError(f"{host(page)}: {str(error) or type(error).__name__}") from error
    if response.status_code != 200:
        raise DownloadError(f"{host(page)}: answered {response.status_code} for {project}")
    wanted = f"{project.replace('-', '_')}-{version}-"
    for file in _links(response):
        if file.filename.endswith(".whl") and file.filename.lower().startswith(wanted):
            if not file.sha256:
                raise DownloadError(f"{host(page)}: gives no SHA-256 for {file.filename}")
            return file
    raise DownloadError(f"{host(page)}: has no wheel of {project} {version}")


def _links(response: Response) -> Iterator[IndexFile]:
    base = str(response.url)
    if "json" not in response.headers.get("content-type", ""):
        parser = _Anchors()
        parser.feed(response.text)
        for link in parser.links:
            url, fragment = urldefrag(urljoin(base, link))
            name = urlsplit(url).path.rsplit("/", 1)[-1]
            yield IndexFile(name, url, fragment.removeprefix("sha256=") if "sha256=" in fragment else "")
        return
    try:
        files = cast("list[dict[str, Any]]", json.loads(response.text)["files"])
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
