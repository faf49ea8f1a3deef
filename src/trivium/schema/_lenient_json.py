"""JSON as models write it: a fault that leaves one meaning is read over; what was cut off is not completed. No I/O."""

from __future__ import annotations

import json
import re
from typing import Any, Final

__all__ = ["DEEPEST", "QUOTES", "read_json"]

DEEPEST: Final = 32
"""Levels of objects and lists within each other that are read over faults."""
QUOTES: Final = "\"'“"
"""What may open a string."""

_decoder = json.JSONDecoder(strict=False)
_GAP = re.compile(r"(?:\s++|//[^\n]*+|#[^\n]*+|/\*(?:[^*]|\*(?!/))*+\*/)*+")
_STRINGS = {
    '"': re.compile(r'"((?:[^"\\]|\\.)*+)"', re.DOTALL),
    "'": re.compile(r"'((?:[^'\\]|\\.)*+)'", re.DOTALL),
    "“": re.compile(r"“((?:[^”\\]|\\.)*+)”", re.DOTALL),
}
_WORD = re.compile(r"-?[\w$][\w$.+-]*+")
_NAME = re.compile(r"[^\W\d][\w-]*+")
_WORDS = {"true": True, "True": True, "false": False, "False": False, "null": None, "None": None}
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))", re.DOTALL)
_ESCAPED = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "\n": ""} | {sign: sign for sign in "\"'“”\\/"}


def read_json(text: str, quotes: str = QUOTES) -> Any:
    """The value that a text is, where it is JSON but for these faults.

    Read over are: other quotes, names without any, a comma too many or too few, comments, Python's True, False and
    None, line breaks in strings, and escapes that JSON does not know. Nothing is guessed: an object that does not
    end, a string that does not, bare words, and a second value behind the first are errors.

    Args:
        text: the text, without what stands around the value.
        quotes: which signs open a string, of `QUOTES`.

    Raises:
        ValueError: it cannot be read so.

    Example:
        >>> read_json("{'city': 'Rom', days: 3, 'sun': True,}")
        {'city': 'Rom', 'days': 3, 'sun': True}
    """
    try:
        return _decoder.decode(text)
    except (ValueError, RecursionError) as error:
        fault = error
    reader = _Reader(text, quotes)
    try:
        value = reader.value(DEEPEST)
        if reader.sign():
            raise ValueError("there is more behind the end")
    except ValueError as error:
        at = f"{error} at character {reader.at}"
        raise ValueError(at if isinstance(fault, RecursionError) else f"{fault}; {at}") from None
    return value


class _Reader:
    """Reads one value from the left to the right; each character once."""

    def __init__(self, text: str, quotes: str) -> None:
        self.text, self.at, self._quotes = text, 0, quotes

    def sign(self) -> str:
        """The next sign behind spaces and comments; "" at the end."""
        gap = _GAP.match(self.text, self.at)
        self.at = gap.end() if gap else self.at
        return self.text[self.at : self.at + 1]

    def value(self, levels: int) -> Any:
        sign = self.sign()
        if sign in ("{", "[") and levels == 0:
            raise ValueError("too many levels")
        if sign == "{":
            return dict(self._members("}", levels))
        if sign == "[":
            return [value for _, value in self._members("]", levels)]
        return self._string(sign) if sign and sign in self._quotes else self._word()

    def _members(self, end: str, levels: int) -> list[tuple[str, Any]]:
        """What stands between two brackets; the names are empty in a list."""
        self.at += 1
        found: list[tuple[str, Any]] = []
        while (sign := self.sign()) != end:
            if not sign:
                raise ValueError("it does not end")
            name = self._name(sign) if end == "}" else ""
            found.append((name, self.value(levels - 1)))
            if self.sign() == ",":
                self.at += 1
        self.at += 1
        return found

    def _name(self, sign: str) -> str:
        found = None if sign in self._quotes else _NAME.match(self.text, self.at)
        name = self._string(sign) if found is None else found[0]
        self.at = self.at if found is None else found.end()
        if self.sign() != ":":
            raise ValueError("':' is missing")
        self.at += 1
        return name

    def _string(self, sign: str) -> str:
        found = _STRINGS[sign].match(self.text, self.at) if sign in self._quotes else None
        if found is None:
            raise ValueError("a string does not end" if sign in self._quotes else "a name is missing")
        self.at = found.end()
        return _unescaped(found[1])

    def _word(self) -> Any:
        found = _WORD.match(self.text, self.at)
        if found is None:
            raise ValueError("a value is missing")
        self.at = found.end()
        return _WORDS[found[0]] if found[0] in _WORDS else _decoder.decode(found[0])


def _unescaped(text: str) -> str:
    if "\\" not in text:
        return text
    found = _ESCAPE.sub(_character, text)
    return found.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # pairs become one character


def _character(found: re.Match[str]) -> str:
    code = found[1] or found[2]
    return (
        chr(int(code, 16)) if code else _ESCAPED.get(found[3], found[0])
    )  # a stray backslash, as in a regular expression, is itself
