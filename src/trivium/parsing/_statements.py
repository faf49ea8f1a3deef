"""Statements of a text: its sentences, rows and list items, each short enough to be numbered and read by itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from trivium.parsing.chunks import sentences

_LONGEST: Final = 400
MAIL_HEADER: Final = r"(?:From|To|Cc|Date|Subject): "
"""Pattern of the beginning of an e-mail header."""
_BAR: Final = " | "
_ROW: Final = re.compile(r"(?m)^[^`\n]*? \| .*$")
"""A line that may be a row of a table, as the readers write it."""
_NAMED: Final = re.compile(r"[^:|]+:(?:\s|\Z)")
"""The beginning of a cell with the name of its column."""
# Before a list item, a row, a heading, a header; and at the ellipsis of a narrowed passage.
_BORDER: Final = re.compile(rf"(?m:^…\n)|\n(?=[ \t]*(?:[-*•+|#>]|\d+[.)]|\.\.)\s|{MAIL_HEADER})")


def statements(text: str) -> Iterator[tuple[int, int]]:
    """Return the spans of a text's sentences, rows and list items; longer ones are cut at 400 characters.

    >>> text = "It is cold. Put on a hat:\\n- red\\n- blue"
    >>> [text[start:end] for start, end in statements(text)]
    ['It is cold.', 'Put on a hat:', '- red', '- blue']
    """
    done = 0
    for start, end in _rows(text):
        if start - done > 1:  # between rows there is only the line end
            yield from _sentences(text, done, start)
        yield from _pieces(text, start, end)
        done = end
    yield from _sentences(text, done, len(text))


def _rows(text: str) -> Iterator[tuple[int, int]]:
    """Return the spans of rows: a line beside it has as many cells, or each of its cells begins with a name."""
    lines = [(line.start(), line.end(), text.count(_BAR, *line.span())) for line in _ROW.finditer(text)]
    for at, (start, end, bars) in enumerate(lines):
        before, behind = lines[max(0, at - 1)], lines[min(at + 1, len(lines) - 1)]
        is_like_before = (before[1] + 1, before[2]) == (start, bars)
        is_like_behind = (behind[0] - 1, behind[2]) == (end, bars)
        if is_like_before or is_like_behind or all(map(_NAMED.match, text[start:end].split(_BAR))):
            yield start, end


def _sentences(text: str, first: int, last: int) -> Iterator[tuple[int, int]]:
    """Return the spans of sentences and list items of a part without rows."""
    for sentence in sentences(text[first:last]):
        start, end = first + sentence.start, first + sentence.end
        for border in _BORDER.finditer(text, start, end):
            yield from _pieces(text, start, border.start())
            start = border.end()
        yield from _pieces(text, start, end)


def _pieces(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Cut a span at lines, else at words, into pieces of at most `_LONGEST` characters, without space around them."""
    while start < end:
        cut = end
        if end - start > _LONGEST:
            cut = max(text.rfind(border, start + _LONGEST // 2, start + _LONGEST) for border in ("\n", " "))
            cut = cut if cut > start else start + _LONGEST
        part = text[start:cut]
        if any(map(str.isalnum, part)):
            yield start + len(part) - len(part.lstrip()), cut - len(part) + len(part.rstrip())
        start = cut
