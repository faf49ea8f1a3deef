"""Statements of a text: its sentences, rows and list items, each short enough to be numbered and read by itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from trivium.parsing.chunks import sentences

_LONGEST: Final = 400
MAIL_HEADER: Final = r"(?:From|To|Cc|Date|Subject): "
"""Pattern of the beginning of an e-mail header."""
# Before a list item, a row, a heading, a header; and at the ellipsis of a narrowed passage.
_ROW: Final = re.compile(r"(?m)^[^`\n]*? \| .*$")
"""A line that is a row of a table, as the readers write it."""
_BORDER: Final = re.compile(rf"(?m:^…\n)|\n(?=[ \t]*(?:[-*•+|#>]|\d+[.)]|\.\.)\s|{MAIL_HEADER})")


def statements(text: str) -> Iterator[tuple[int, int]]:
    """Return the spans of a text's sentences, rows and list items; longer ones are cut at 400 characters.

    >>> text = "It is cold. Put on a hat:\\n- red\\n- blue"
    >>> [text[start:end] for start, end in statements(text)]
    ['It is cold.', 'Put on a hat:', '- red', '- blue']
    """
    done = 0
    for row in _ROW.finditer(text):
        yield from _sentences(text, done, row.start())
        yield from _pieces(text, *row.span())
        done = row.end()
    yield from _sentences(text, done, len(text))


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
