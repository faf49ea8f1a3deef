"""Where an offset lies, in the words of a reader: page and line."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from sys import maxsize
from typing import NamedTuple

from trivium.exceptions import ConfigurationError
from trivium.schema import Document

__all__ = ["Locator", "Place", "locate"]


class Place(NamedTuple):
    """A page and a line, both counted from 1.

    `line` is that of the file: the text was read from there. `page` is None where the format has no pages. Where it
    has, `line` counts within the page: lines of its text in PDF and PPTX, in XLSX the rows of the sheet.
    """

    page: int | None
    line: int

    def __str__(self) -> str:
        return f"line {self.line}" if self.page is None else f"page {self.page}, line {self.line}"


class Locator:
    """Places of offsets in one document: the line table is built once, each look-up is O(log n).

    Args:
        document: the text and its metadata; both are read now and never again. It may be a part of a long text.

    >>> from trivium.schema import Document
    >>> Locator(Document(content="one\\ntwo")).place(4)
    Place(page=None, line=2)
    """

    def __init__(self, document: Document) -> None:
        self._length = len(document.content)
        self._pages = document.metadata.pages
        self._pairs = document.metadata.source_lines
        self._line_ends = _line_ends(document.content)

    def place(self, offset: int) -> Place:
        """The page and line that hold the character at `offset`.

        Args:
            offset: characters from the start, from 0 to the length of the text (its end).

        Raises:
            ConfigurationError: the offset is outside the text.
        """
        if not 0 <= offset <= self._length:
            raise ConfigurationError(f"offset {offset} is outside the text; give 0 to {self._length}")
        page = max(1, bisect_right(self._pages, offset)) if self._pages else None
        start, line = (self._pages[page - 1] if page else 0), 1
        if self._pairs:
            before = bisect_right(self._pairs, (offset, maxsize)) - 1
            start, line = self._pairs[before] if before >= 0 else (start, line)
        return Place(page, line + bisect_left(self._line_ends, offset) - bisect_left(self._line_ends, start))


def locate(document: Document, offset: int) -> Place:
    """The place of one offset; for several in one document, build a `Locator` once.

    Args:
        document: the text and its metadata.
        offset: characters from the start, from 0 to the length of the text (its end).

    Raises:
        ConfigurationError: the offset is outside the text.

    >>> from trivium.schema import DocMetaData, Document
    >>> locate(Document(content="ab\\ncd\\nef", metadata=DocMetaData(pages=(0, 3))), 6)
    Place(page=2, line=2)
    """
    return Locator(document).place(offset)


def _line_ends(text: str) -> array[int]:
    ends = array("Q")
    end = text.find("\n")
    while end >= 0:
        ends.append(end)
        end = text.find("\n", end + 1)
    return ends
