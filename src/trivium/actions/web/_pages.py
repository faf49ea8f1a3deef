"""A page: what a server sent, unpacked and read as text."""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass
from typing import NamedTuple

from trivium.exceptions import FetchConnectionError, FetchContentTypeError, FetchTooLargeError
from trivium.parsing.lowlevel import declared_charset, decode, parse_page, tidy

__all__ = ["Download", "Page", "Unpacker", "read_page", "shown", "wrong_encoding", "wrong_type"]

_HTML = frozenset({"text/html", "application/xhtml+xml"})
_TEXT = frozenset({"text/plain", "text/markdown", "text/x-markdown", "application/json"})
_XML = frozenset({"text/xml", "application/xml"})
_CHARSET = re.compile(r";\s*charset\s*=\s*[\"']?([\w.:-]+)", re.I)
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_GZIP = frozenset({"gzip", "x-gzip"})


@dataclass(frozen=True, slots=True)
class Page:
    """A page as a reader sees it.

    Args:
        url: where it is, after all redirects.
        title: "" if it has none.
        text: what is visible of an HTML page; other texts as they are.
        content_type: what its server says it is, as `text/html`.
    """

    url: str
    title: str
    text: str
    content_type: str


class Download(NamedTuple):
    """The response of a server for a page: its URL, its `content-type` header, and its bytes, unpacked."""

    url: str
    content_type: str
    data: bytes


def media_type(header: str) -> str:
    """The type alone of a `content-type` header."""
    return header.partition(";")[0].strip().lower()


def wrong_type(url: str, status: int, header: str) -> FetchContentTypeError | None:
    """The error of a page whose type cannot be read; None if it can."""
    kind = media_type(header)
    is_structured = kind.startswith("application/") and kind.endswith(("+xml", "+json"))
    if kind in _HTML or kind in _TEXT or kind in _XML or is_structured:
        return None
    said = f"is of the type {shown(kind)}" if kind else "comes without a content type"
    text = f"{shown(url)} {said}, which cannot be read: open pages of HTML, plain text, Markdown, JSON or XML"
    return FetchContentTypeError(text, url, status, kind)


def wrong_encoding(url: str, status: int, encoding: str, content_type: str) -> FetchContentTypeError | None:
    """The error of a page that is packed in a way that was not asked for; None if it can be unpacked."""
    if encoding in _GZIP or encoding in ("", "identity"):
        return None
    text = f"{shown(url)} is packed as {shown(encoding)}, which was not asked for: open another page"
    return FetchContentTypeError(text, url, status, content_type)


def shown(text: str, most: int = 200) -> str:
    """Foreign text for an error: printable, on one line, and short."""
    plain = "".join(each if each.isprintable() else "\ufffd" for each in text[: most + 1])
    return plain if len(plain) <= most else plain[:most] + "…"


class Unpacker:
    """Collects a body piece by piece, and stops as soon as it is larger than the limit, packed or unpacked.

    Args:
        url: for the errors.
        encoding: of the body: that of gzip, or none.
        limit: bytes.
    """

    def __init__(self, url: str, encoding: str, limit: int) -> None:
        self._url, self._limit, self._received = url, limit, 0
        self._unzip = zlib.decompressobj(wbits=31) if encoding in _GZIP else None
        self._data = bytearray()

    def feed(self, piece: bytes) -> None:
        """Take the next piece of the body.

        Raises:
            FetchTooLargeError: that is more than the limit.
            FetchConnectionError: it is not packed as was said.
        """
        self._received += len(piece)
        if self._unzip is None:
            self._data += piece
        elif not self._unzip.eof:  # what stands behind the packed page is no part of it
            try:
                self._data += self._unzip.decompress(piece, self._limit + 1 - len(self._data))
            except zlib.error:
                raise self._broken("cannot be unpacked") from None
        if max(self._received, len(self._data)) > self._limit:
            raise FetchTooLargeError(
                f"{shown(self._url)} is larger than {self._limit:,} bytes: open a page that is shorter",
                self._url, 200, self._limit,
            )  # fmt: skip

    def end(self) -> bytes:
        """The whole body.

        Raises:
            FetchConnectionError: its end is missing.
        """
        if self._unzip is not None and self._received and not self._unzip.eof:
            raise self._broken("ends too early")
        return bytes(self._data)

    def _broken(self, what: str) -> FetchConnectionError:
        return FetchConnectionError(f"what {shown(self._url)} sent {what}: try again, or open another page", self._url)


def read_page(download: Download) -> Page:
    """The text of a page; its encoding is that of its header, else what it says itself, else what it looks like."""
    kind, data = media_type(download.content_type), download.data
    named = _CHARSET.search(download.content_type)
    text, title = decode(data, named[1] if named else declared_charset(data)), None
    if kind in _HTML:
        text, title = parse_page(text)[:2]
    return Page(download.url, _CONTROLS.sub("", title or ""), _CONTROLS.sub("", tidy(text)).strip(), kind)
