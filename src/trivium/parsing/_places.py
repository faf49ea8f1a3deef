"""Places in a document as readers name them: page and line of an offset."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from sys import maxsize
from typing import NamedTuple, Self

from trivium.exceptions import ConfigurationError
from trivium.parsing._mail import attachment_at
from trivium.schema import Document


class _PageAndLine(NamedTuple):
    page: int | None
    line: int


class Place(_PageAndLine):
    """A page and a line, both counted from 1.

    `line` is the line of the file from which the text was read. `page` is None if the format has no pages; if it has
    pages, `line` counts within the page: lines of text in PDF and PPTX, rows of the sheet in XLSX.

    Args:
        page: the page.
        line: the line.
        attachment: the name of the file attached to an e-mail in which they are; it is no item of the pair.

    >>> page, line = Place(2, 7, "price.pdf")
    >>> str(Place(page, line)), str(Place(2, 7, "price.pdf"))
    ('page 2, line 7', 'attachment price.pdf, page 2, line 7')
    """

    attachment: str = ""

    def __new__(cls, page: int | None, line: int, attachment: str = "") -> Self:
        """Return a place."""
        made = super().__new__(cls, page, line)
        made.attachment = attachment
        return made

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Place):
            return (*self, self.attachment) == (*other, other.attachment)
        return tuple(self) == other and not self.attachment

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = _PageAndLine.__hash__

    def __repr__(self) -> str:
        attached = f", attachment={self.attachment!r}" if self.attachment else ""
        return f"Place(page={self.page}, line={self.line}{attached})"

    def __str__(self) -> str:
        file = f"attachment {self.attachment}, " if self.attachment else ""
        return f"{file}line {self.line}" if self.page is None else f"{file}page {self.page}, line {self.line}"


class Locator:
    """Places of offsets in one document: the line table is built once, each look-up is O(log n).

    Args:
        document: the text and its metadata, which are read once, now. It may be a part of a long text.

    >>> from trivium.schema import Document
    >>> Locator(Document(content="one\\ntwo")).place(4)
    Place(page=None, line=2)
    """

    def __init__(self, document: Document) -> None:
        self._length = len(document.content)
        self._pages = document.metadata.pages
        self._pairs = document.metadata.source_lines
        self._document, self._attached = document, dict[str, Locator]()
        self._line_ends = array("Q", map(re.Match[str].start, re.finditer("\n", document.content)))

    def place(self, offset: int) -> Place:
        """Return the page and line of the character at `offset`.

        Args:
            offset: characters from the start, from 0 to the length of the text (its end).

        Raises:
            ConfigurationError: the offset is outside the text.
        """
        if not 0 <= offset <= self._length:
            raise ConfigurationError(f"offset {offset} is outside the text; give 0 to {self._length}")
        if (found := attachment_at(self._document, offset)) is not None:
            if found.name not in self._attached:
                self._attached[found.name] = Locator(found.document)
            within = min(max(offset, found.start), found.end) - found.start
            return Place(*self._attached[found.name].place(within), found.name)
        page = max(1, bisect_right(self._pages, offset)) if self._pages else None
        start, line = (self._pages[page - 1] if page else 0), 1
        if self._pairs:
            before = bisect_right(self._pairs, (offset, maxsize)) - 1
            start, line = self._pairs[before] if before >= 0 else (start, line)
        return Place(page, line + bisect_left(self._line_ends, offset) - bisect_left(self._line_ends, start))


def locate(document: Document, offset: int) -> Place:
    """Return the place of one offset. For several offsets in one document, build a `Locator` once.

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
