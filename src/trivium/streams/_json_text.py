"""One text in a JSON object, decoded while the object arrives in pieces. No I/O.

A state machine over characters: each character is read once, except for an escape cut by the end of a piece
(eleven characters at most).
"""

from __future__ import annotations

import re

_MARK = re.compile(r'["{}\[\],:]')
_PLAIN = re.compile(r'[^"\\]*')
_CODE = re.compile(r"\\u([0-9a-fA-F]{4})")
_LONGEST = 6  # characters of \uXXXX
_ESCAPED = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


class JSONText:
    """Decodes the text at one key of an object while it arrives.

    Only keys of the outermost object count. Nothing is validated: in a text that is not JSON, the part that looks like
    the key's text is returned.

    Args:
        key: the key of the text.

    Attributes:
        reading: True while the text has begun and not ended.
        closed: True once the outermost bracket was closed.

    Example:
        >>> text = JSONText("to_user")
        >>> [text.feed(piece) for piece in ('{"a": {"to_', 'user": 1}, "to_user": "Hi', '\\\\', 'nyou"', "}")]
        ['', 'Hi', '', '\\nyou', '']
    """

    __slots__ = ("_depth", "_expects_key", "_held", "_key", "_name", "_string", "closed", "reading")

    def __init__(self, key: str) -> None:
        self._key = key
        self._held = ""  # the beginning of an escape
        self._depth = 0
        self._expects_key = False
        self._name: list[str] = []  # the current key, or the last one
        self._string = ""  # the current kind of string: "key", "text" (the result), "other"; "" outside
        self.reading = self.closed = False

    def feed(self, piece: str) -> str:
        """Return the part of the text that `piece` adds."""
        text, self._held, at = self._held + piece, "", 0
        found: list[str] = []
        while at < len(text):
            at = self._read(text, at, found) if self._string else self._skip(text, at)
        return "".join(found)

    def _skip(self, text: str, at: int) -> int:
        """Skip to the next string, or to the end."""
        mark = _MARK.search(text, at)
        if mark is None:
            return len(text)
        what = mark[0]
        if what == '"':
            self._begin()
        else:
            self._expects_key = what in "{,"  # in a list too; without a colon it is not a key
            self._depth += (what in "{[") - (what in "}]")
            self.closed = self.closed or (what in "}]" and self._depth == 0)
        return mark.end()

    def _begin(self) -> None:
        if self._expects_key:
            self._string, self._name = "key", []
        elif self._depth == 1 and "".join(self._name) == self._key:
            self._string, self.reading = "text", True
        else:
            self._string = "other"

    def _read(self, text: str, at: int, found: list[str]) -> int:
        """Read a string up to an escape, its end, or the end of the piece."""
        into = found if self._string == "text" else self._name if self._string == "key" else None
        plain = _PLAIN.match(text, at)
        assert plain is not None
        end = plain.end()
        if into is not None and end > at:
            into.append(plain[0])
        if end == len(text):
            return end
        if text[end] == '"':
            self._string, self.reading = "", False
            return end + 1
        character, after = _unescape(text, end)
        if after > len(text):
            self._held = text[end:]
        elif into is not None:
            into.append(character)
        return after


def _unescape(text: str, at: int) -> tuple[str, int]:
    """Return the character of the escape at `at`, and its end: beyond the text if it is incomplete."""
    if len(text) == at + 1:
        return "", at + 2
    if text[at + 1] != "u":
        return _ESCAPED.get(text[at + 1], text[at + 1]), at + 2
    after = at + _LONGEST
    code = _CODE.match(text, at)
    if code is None:  # incomplete, or not an escape
        return text[at : at + 2], after if len(text) < after else at + 2
    value = int(code[1], 16)
    if not 0xD800 <= value < 0xE000:
        return chr(value), after
    low = _CODE.match(text, after)
    if value < 0xDC00 and low is not None and 0xDC00 <= int(low[1], 16) < 0xE000:
        return chr(0x10000 + ((value - 0xD800) << 10) + int(low[1], 16) - 0xDC00), after + _LONGEST
    if value < 0xDC00 and low is None and _may_grow(text, after):
        return "", after + _LONGEST
    return "\ufffd", after  # an unpaired surrogate


def _may_grow(text: str, at: int) -> bool:
    """Return True if the text may end within an escape."""
    return len(text) < at + _LONGEST and "\\u".startswith(text[at : at + 2])
