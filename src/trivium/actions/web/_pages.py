"""A page: the response of a server, decompressed and read as text."""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass
from typing import NamedTuple

from trivium.exceptions import FetchConnectionError, FetchContentTypeError, FetchTooLargeError
from trivium.parsing.lowlevel import declared_charset, decode, parse_page, tidy

_HTML = frozenset({"text/html", "application/xhtml+xml"})
_TEXT = frozenset({"text/plain", "text/markdown", "text/x-markdown", "application/json"})
_XML = frozenset({"text/xml", "application/xml"})
_CHARSET = re.compile(r";\s*charset\s*=\s*[\"']?([\w.:-]+)", re.I)
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_GZIP = frozenset({"gzip", "x-gzip"})


@dataclass(frozen=True, slots=True)
class Page:
    """A page as text.

    Args:
        url: its URL after all redirects.
        title: "" if it has none.
        text: the visible text of an HTML page; other texts unchanged.
        content_type: its type by the server, such as `text/html`.
    """

    url: str
    title: str
    text: str
    content_type: str


class Download(NamedTuple):
    """The response of a server for a page: its URL, its `content-type` header, and its bytes, decompressed."""

    url: str
    content_type: str
    data: bytes


def media_type(header: str) -> str:
    """Return the media type of a `content-type` header without parameters."""
    return header.partition(";")[0].strip().lower()


def wrong_type(url: str, status: int, header: str) -> FetchContentTypeError | None:
    """Return the error of a page whose type cannot be read; None if it can."""
    kind = media_type(header)
    is_structured = kind.startswith("application/") and kind.endswith(("+xml", "+json"))
    if kind in _HTML or kind in _TEXT or kind in _XML or is_structured:
        return None
    said = f"is of the type {printable(kind)}" if kind else "comes without a content type"
    text = f"{printable(url)} {said}, which cannot be read: open pages of HTML, plain text, Markdown, JSON or XML"
    return FetchContentTypeError(text, url, status, kind)


def wrong_encoding(url: str, status: int, encoding: str, content_type: str) -> FetchContentTypeError | None:
    """Return the error of a page with a content encoding that was not requested; None if it can be decompressed."""
    if encoding in _GZIP or encoding in ("", "identity"):
        return None
    text = f"{printable(url)} is encoded as {printable(encoding)}, which was not requested: open another page"
    return FetchContentTypeError(text, url, status, content_type)


def printable(text: str, most: int = 200) -> str:
    """Make foreign text printable, short, and one line, for an error."""
    plain = "".join(each if each.isprintable() else "\ufffd" for each in text[: most + 1])
    return plain if len(plain) <= most else plain[:most] + "…"


class Unpacker:
    """Collects a body piece by piece, and fails as soon as it is larger than the limit, compressed or not.

    Args:
        url: the URL, for errors.
        encoding: the body's content encoding: gzip, or none.
        limit: the most bytes.
    """

    def __init__(self, url: str, encoding: str, limit: int) -> None:
        self._url, self._limit, self._received = url, limit, 0
        self._unzip = zlib.decompressobj(wbits=31) if encoding in _GZIP else None
        self._data = bytearray()

    def feed(self, piece: bytes) -> None:
        """Add the next piece of the body.

        Raises:
            FetchTooLargeError: the body is larger than the limit.
            FetchConnectionError: it is not encoded as its header says.
        """
        self._received += len(piece)
        if self._unzip is None:
            self._data += piece
        elif not self._unzip.eof:  # bytes after the compressed page are ignored
            try:
                self._data += self._unzip.decompress(piece, self._limit + 1 - len(self._data))
            except zlib.error:
                raise self._broken("cannot be unpacked") from None
        if max(self._received, len(self._data)) > self._limit:
            raise FetchTooLargeError(
                f"{printable(self._url)} is larger than {self._limit:,} bytes: open a page that is shorter, or raise "
                "max_bytes=…",
                self._url, 200, self._limit,
            )  # fmt: skip

    def end(self) -> bytes:
        """Return the complete body.

        Raises:
            FetchConnectionError: its end is missing.
        """
        if self._unzip is not None and self._received and not self._unzip.eof:
            raise self._broken("ends too early")
        return bytes(self._data)

    def _broken(self, what: str) -> FetchConnectionError:
        return FetchConnectionError(
            f"the response of {printable(self._url)} {what}: try again, or open another page", self._url
        )


def read_page(download: Download) -> Page:
    """Read the text of a page; its encoding comes from its header, else from the page, else from a guess."""
    kind, data = media_type(download.content_type), download.data
    named = _CHARSET.search(download.content_type)
    text, title = decode(data, named[1] if named else declared_charset(data)), None
    if kind in _HTML:
        text, title = parse_page(text)[:2]
    return Page(download.url, _CONTROLS.sub("", title or ""), _CONTROLS.sub("", tidy(text)).strip(), kind)
