"""iCalendar: the lines of the file, with long ones in one piece, and without the escapes of their texts."""

from __future__ import annotations

import re
from itertools import accumulate

from trivium.parsing.formats._decoding import decode, tidy
from trivium.parsing.formats._formats import Original, Parsed
from trivium.parsing.formats._lines import join_lines

_LINE_END = re.compile(r"\n(?![ \t])")
_FOLD = re.compile(r"\n[ \t]")
_ESCAPE = re.compile(r"\\([\\;,nN])")


def parse_calendar(original: Original) -> Parsed:
    """Return each line as it was before it was folded and escaped (RFC 5545, 3.1 and 3.3.11), cited where it begins."""
    lines = _LINE_END.split(tidy(decode(original.data, original.charset)))
    numbers = accumulate((1 + line.count("\n") for line in lines), initial=1)
    plain = (_ESCAPE.sub(lambda found: " " if found[1] in "nN" else found[1], _FOLD.sub("", line)) for line in lines)
    text, pairs = join_lines((number, f"{line}\n") for number, line in zip(numbers, plain, strict=False) if line)
    return Parsed(text, lines=pairs)
