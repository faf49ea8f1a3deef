"""JSON as models write it: a fault that leaves one meaning is read over; what was cut off is not completed. No I/O."""

from __future__ import annotations

import json
import re
from typing import Any, Final

DEEPEST: Final = 32
"""Levels of objects and lists within each other that are read over faults."""
QUOTES: Final = "\"'“"
"""What may open a string."""

_decoder = json.JSONDecoder(strict=False)
_GAP: Final = r"(?:\s|//[^\n]*+|#[^\n]*+|/\*(?:[^*]|\*(?!/))*+\*/)"
_TOKENS: Final = re.compile(
    rf"(?P<gap>{_GAP}++)|(?P<name>[^\W\d][\w-]*+)(?={_GAP}*+:)|(?P<word>-?[\w$][\w$.+-]*+)|(?P<sign>[][{{}}:,])"
    r"""|(?P<text>"(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+'|“(?:[^”\\]|\\.)*+”)|.""",
    re.DOTALL,
)
_WORDS: Final = {"True": "true", "False": "false", "None": "null"}
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))", re.DOTALL)
_ESCAPED: Final = dict(zip("bfnrt\n\"'“”\\/", ["\b", "\f", "\n", "\r", "\t", "", *"\"'“”\\/"], strict=True))


def read_json(text: str, quotes: str = QUOTES) -> Any:
    """Return the value that a text is, where it is JSON but for these faults.

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
    try:
        return _decoder.decode(_as_json(text, quotes))
    except ValueError as error:
        raise ValueError(f"{fault}; {error.msg if isinstance(error, json.JSONDecodeError) else error}") from None


def _as_json(text: str, quotes: str) -> str:
    """Write a text as plain JSON, token by token; the decoder finds what is wrong with their order."""
    written, levels, before, fault = list[str](), 0, "", ""
    for token in _TOKENS.finditer(text):
        kind, found, sign = token.lastgroup, token[0], token[0][0]
        if kind == "gap":
            continue
        levels += (sign in "{[") - (sign in "}]")
        if kind is None or (kind == "text" and sign not in quotes):
            fault = "a string does not end" if sign in quotes else "a value is missing"
        elif sign in ",:" and (levels == 0 or before in ",:[{"):
            fault = "a value is missing"
        elif levels > DEEPEST:
            fault = "too many levels"
        if fault:
            raise ValueError(f"{fault} at character {token.start()}")
        if sign not in ",:]}" and before not in ("", ":", "[", "{"):
            written.append(",")  # where there was one, and where it is missing
        if kind == "text":
            written.append(json.dumps(_unescape(found[1:-1])))
        elif sign != ",":
            written.append(f'"{found}"' if kind == "name" else _WORDS.get(found, found))
        before = sign
    if levels > 0:
        raise ValueError("it does not end")
    return "".join(written)


def _unescape(text: str) -> str:
    found = _ESCAPE.sub(_character, text)
    return found.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # pairs become one character


def _character(found: re.Match[str]) -> str:
    code = found[1] or found[2]  # a stray backslash, as in a regular expression, is itself
    return chr(int(code, 16)) if code else _ESCAPED.get(found[3], found[0])
