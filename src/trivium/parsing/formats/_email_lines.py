"""Where the parts of a message stand in its file; the standard library does not tell."""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator
from email.message import Message
from typing import Any, cast

from trivium.parsing.formats._decoding import decode, tidy
from trivium.parsing.formats._lines import with_line_mark

__all__ = ["Walk"]

_BLANK_LINE = re.compile(r"\r?\n(?:\r?\n|\Z)")
_CONTINUED = bytes(range(0x80, 0xC0))
_HEADER = re.compile(r"(?m)^([A-Za-z-]+)[ \t]*:")


class Walk:
    """A walk through the file of a message, from part to part in their order.

    Args:
        data: the file from the first line of its headers on.
        line: the number of that line.
    """

    def __init__(self, data: bytes, line: int) -> None:
        self._raw = data.decode("ascii", "surrogateescape")
        self._break = "\n" if "\n" in self._raw else "\r"
        self._at, self.line = 0, line
        self._is_lost = False

    def headers(self) -> dict[str, int]:
        """The lines of the headers that begin here, by lower-case name; the walk goes on behind them."""
        end = _BLANK_LINE.search(self._raw, self._at)
        block = self._raw[self._at : end.start() if end else None]
        lines: dict[str, int] = {}
        line, done = self.line, 0
        for header in _HEADER.finditer(block):
            line, done = line + block.count(self._break, done, header.start()), header.start()
            lines.setdefault(header[1].lower(), line)
        self._go(end.end() if end else len(self._raw))
        return {} if self._is_lost else lines

    def next_part(self, container: Message) -> None:
        """Go to the headers of the next part of a container."""
        boundary = str(container.get_boundary() or "")
        delimiter = re.compile(rf"(?m)^--{re.escape(boundary)}[ \t]*\r?$")
        found = None if self._is_lost or not boundary else delimiter.search(self._raw, self._at)
        if found is None:
            self._is_lost = True
        else:
            self._go(found.end())

    def marked(self, part: Message, text: str) -> str:
        """The text of the part whose body begins here, with marks of its lines."""
        raw = cast("Any", part)._payload  # as it was sent: what decodes it would guess at bytes beyond ASCII
        if self._is_lost or not isinstance(raw, str) or not self._raw.startswith(raw, self._at):
            return text
        charset = _charset(part)
        try:
            segments = _segments(raw.encode("ascii", "surrogateescape"), _encoding(part))
        except binascii.Error:
            segments = []
        decoded = [tidy(decode(segment, charset)) for _, segment in segments]
        if "".join(decoded) != text:  # letters were cut by a line, or the encoding spans lines
            return with_line_mark(text, self.line)
        return "".join(with_line_mark(piece, self.line + at) for (at, _), piece in zip(segments, decoded, strict=True))

    def _go(self, at: int) -> None:
        self.line += self._raw.count(self._break, self._at, at)
        self._at = at


def _encoding(part: Message) -> str:
    return str(part.get("content-transfer-encoding", "")).strip().lower()


def _charset(part: Message) -> str:
    try:
        return str(part.get_content_charset() or "")
    except (LookupError, ValueError):
        return ""


def _segments(raw: bytes, encoding: str) -> list[tuple[int, bytes]]:
    """The bytes that each line of a body stands for, with its number from 0, cut behind each line end.

    Raises:
        binascii.Error: it is not written in its encoding.
    """
    pieces = list(_base64(raw)) if encoding == "base64" else raw.splitlines(keepends=True)
    if encoding == "quoted-printable":
        pieces = [binascii.a2b_qp(line) for line in pieces]
    return [
        (number, part) for number, piece in enumerate(_mended(pieces), -1) for part in piece.splitlines(keepends=True)
    ]


def _base64(raw: bytes) -> Iterator[bytes]:
    held = b""
    for line in raw.splitlines():
        held += line.strip()
        whole = len(held) // 4 * 4
        yield binascii.a2b_base64(held[:whole])
        held = held[whole:]
    yield binascii.a2b_base64(held + b"===") if held else b""


def _mended(pieces: list[bytes]) -> Iterator[bytes]:
    """The pieces, with a letter of UTF-8 or a line end that is in two of them put into the first."""
    try:
        b"".join(pieces).decode()
        continued = _CONTINUED
    except UnicodeDecodeError:
        continued = b""
    piece = b""
    for following in pieces:
        rest = following.lstrip(continued) if continued and piece else following
        if piece.endswith(b"\r"):
            rest = rest.removeprefix(b"\n")
        yield piece + following[: len(following) - len(rest)]
        piece = rest
    yield piece
