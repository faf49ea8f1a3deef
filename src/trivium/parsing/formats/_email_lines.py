"""The lines of the parts of a message in its file, which the standard library does not tell."""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator
from email.message import Message
from typing import Any, cast

from trivium.parsing.formats._decoding import decode, tidy
from trivium.parsing.formats._lines import with_line_mark

_BLANK_LINE = re.compile(r"\r?\n(?:\r?\n|\Z)")
_CONTINUED = bytes(range(0x80, 0xC0))
_HEADER = re.compile(r"(?m)^([A-Za-z-]+)[ \t]*:")


class Walk:
    """A cursor in the file of a message, which moves from part to part in their order.

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
        """Return the lines of the headers that begin here, by lower-case name, and move behind them."""
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
        """Move to the headers of the next part of a container."""
        boundary = str(container.get_boundary() or "")
        delimiter = re.compile(rf"(?m)^--{re.escape(boundary)}[ \t]*\r?$")
        found = None if self._is_lost or not boundary else delimiter.search(self._raw, self._at)
        if found is None:
            self._is_lost = True
        else:
            self._go(found.end())

    def mark_lines(self, part: Message, text: str) -> str:
        """Return the text of the part whose body begins here, with marks of its lines."""
        raw = cast("Any", part)._payload  # the body as it was sent; `get_payload` guesses at bytes beyond ASCII
        if self._is_lost or not isinstance(raw, str) or not self._raw.startswith(raw, self._at):
            return text
        try:
            charset = str(part.get_content_charset() or "")
        except (LookupError, ValueError):
            charset = ""
        encoding = str(part.get("content-transfer-encoding", "")).strip().lower()
        try:
            segments = decoded_lines(raw.encode("ascii", "surrogateescape"), encoding)
        except binascii.Error:
            segments = []
        decoded = [tidy(decode(segment, charset)) for _, segment in segments]
        if "".join(decoded) != text:  # letters were cut by a line, or the encoding spans lines
            return with_line_mark(text, self.line)
        return "".join(with_line_mark(piece, self.line + at) for (at, _), piece in zip(segments, decoded, strict=True))

    def _go(self, at: int) -> None:
        self.line += self._raw.count(self._break, self._at, at)
        self._at = at


def decoded_lines(raw: bytes, encoding: str) -> list[tuple[int, bytes]]:
    """Decode a body line by line; return each decoded line with the number of its line in the body, from 0.

    Args:
        raw: the body.
        encoding: its content transfer encoding.

    Raises:
        binascii.Error: the body is not valid in its encoding.
    """
    pieces = list(decode_base64_lines(raw)) if encoding == "base64" else raw.splitlines(keepends=True)
    if encoding == "quoted-printable":
        pieces = [binascii.a2b_qp(line) for line in pieces]
    mended = enumerate(mend_borders(pieces), -1)
    return [(number, part) for number, piece in mended for part in piece.splitlines(keepends=True)]


def decode_base64_lines(raw: bytes) -> Iterator[bytes]:
    """Decode each line of base64; the digits of a byte may be on two lines."""
    held = b""
    for line in raw.splitlines():
        held += line.strip()
        whole = len(held) // 4 * 4
        yield binascii.a2b_base64(held[:whole])
        held = held[whole:]
    yield binascii.a2b_base64(held + b"===") if held else b""


def mend_borders(pieces: list[bytes]) -> Iterator[bytes]:
    """Return the pieces, with a character of UTF-8 or a line end that is in two of them moved into the first."""
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
