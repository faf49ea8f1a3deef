"""What can be said of a text by number: its sentences, rows and items, short enough to be read each by itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from trivium.parsing.chunks import sentences

__all__ = ["HEADER", "statements"]

_LONGEST: Final = 400
HEADER: Final = r"(?:From|To|Cc|Date|Subject): "
"""How the header of a mail begins."""
# Of a list; a row, a heading; and where a narrowed passage leaves something out.
_BORDER: Final = re.compile(rf"(?m:^…\n)|\n(?=[ \t]*(?:[-*•+|#>]|\d+[.)]|\.\.)\s|{HEADER})")


def statements(text: str) -> Iterator[tuple[int, int]]:
    """Where the sentences of a text begin and end; rows and items of lists are such, what is too long is cut.

    >>> text = "It is cold. Put on a hat:\\n- red\\n- blue"
    >>> [text[start:end] for start, end in statements(text)]
    ['It is cold.', 'Put on a hat:', '- red', '- blue']
    """
    for sentence in sentences(text):
        start = sentence.start
        for border in _BORDER.finditer(text, sentence.start, sentence.end):
            yield from _pieces(text, start, border.start())
            start = border.end()
        yield from _pieces(text, start, sentence.end)


def _pieces(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """A span without space around it, in pieces of bearable length that end at lines, else at words."""
    while end - start > _LONGEST:
        cut = max(text.rfind(border, start + _LONGEST // 2, start + _LONGEST) for border in ("\n", " "))
        cut = cut if cut > start else start + _LONGEST
        yield from _trimmed(text, start, cut)
        start = cut
    yield from _trimmed(text, start, end)


def _trimmed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    part = text[start:end]
    start += len(part) - len(part.lstrip())
    end -= len(part) - len(part.rstrip())
    if any(map(str.isalnum, text[start:end])):
        yield start, end
