"""JSON: its text, with escaped letters decoded."""

from __future__ import annotations

import re

from trivium.parsing.formats._decoding import decode, tidy
from trivium.parsing.formats._formats import Original, Parsed

_ESCAPED = re.compile(r"\\(?:u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|.)")


def parse_json_file(original: Original) -> Parsed:
    """Return the text with the lines of the file."""
    return Parsed(decode_escapes(tidy(decode(original.data, original.charset))))


def decode_escapes(text: str) -> str:
    r"""Replace the escapes of printable letters beyond ASCII, as programs write them, by the letters.

    >>> decode_escapes(r'{"a": "caf\u00e9\n\u0022\\u00e9"}')
    '{"a": "café\\n\\u0022\\\\u00e9"}'
    """
    return _ESCAPED.sub(unescape_letter, text) if "\\u" in text else text


def unescape_letter(escape: re.Match[str]) -> str:
    """Return the letter of an escape; the escape itself if the letter is ASCII or not printable."""
    high, low, one = escape.groups()
    if high:
        letter = chr(0x10000 + ((int(high, 16) - 0xD800) << 10) + int(low, 16) - 0xDC00)
    else:
        letter = chr(int(one, 16)) if one else ""
    return letter if letter > "\x7f" and letter.isprintable() else escape[0]
