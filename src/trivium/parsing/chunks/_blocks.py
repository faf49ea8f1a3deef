"""From blocks to chunks: what a text is made of, packed until a chunk is full, and cut where a block is too large."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from sys import maxsize
from typing import Any, NamedTuple, TypeAlias

from trivium.exceptions import ConfigurationError
from trivium.parsing._chunk import Chunk
from trivium.parsing._passages import LINES, PARAGRAPHS, WORDS, Border, split
from trivium.parsing._places import Locator
from trivium.parsing.chunks._sentences import sentence_ends
from trivium.schema import Document

__all__ = ["CODE", "PROSE", "Block", "Count", "Outline", "Sizes", "chunks_from", "titled"]

Count: TypeAlias = Callable[[str], int]
"""How long a text is: `len` counts characters, a tokenizer tokens."""

PROSE = (PARAGRAPHS, sentence_ends, LINES, WORDS)
CODE = (PARAGRAPHS, LINES, WORDS)
_LEADING = re.compile(r"\s*")
_LONGEST_TITLE = 120
_OF_THE_WHOLE = {"pages", "source_lines", "first_offset", "headings", "id", "is_chunk", "window_ids", "end_page"}


@dataclass(frozen=True, slots=True)
class Sizes:
    """How large chunks are.

    Args:
        size: what a chunk holds at most, with its overlap.
        overlap: how much of it may be the end of the chunk before.
        count: the unit of both; `len` counts characters.
    """

    size: int = 1200
    overlap: int = 0
    count: Count = len

    def checked(self) -> Sizes:
        """The same, if it can be.

        Raises:
            ConfigurationError: the size is below 1, or the overlap is not smaller.
        """
        if self.size < 1 or not 0 <= self.overlap < self.size:
            raise ConfigurationError(
                f"size is {self.size} and overlap {self.overlap}: give a size of at least 1 and a smaller overlap"
            )
        return self


class Block(NamedTuple):
    """A stretch of a text that is best kept whole. The blocks of a text follow each other without a gap.

    Args:
        start: where it begins.
        end: where the next one begins.
        heading: the headings above it; only blocks with the same ones are put together.
        borders: where it may be cut if it is too large.
        parts: what it consists of, which is taken in its place if it is too large.
        page: its page, where there are pages.
        is_title: it is a heading itself.
    """

    start: int
    end: int
    heading: str = ""
    borders: tuple[Border, ...] = PROSE
    parts: tuple[Block, ...] = ()
    page: int = 0
    is_title: bool = False


class Outline:
    """The headings that are open at a place.

    >>> outline = Outline()
    >>> [outline.enter(level, title) for level, title in [(1, "Lease"), (2, "Rent"), (2, "Deposit")]]
    ['Lease', 'Lease > Rent', 'Lease > Deposit']
    """

    def __init__(self) -> None:
        self._open: list[tuple[int, str]] = []

    def enter(self, level: int, title: str) -> str:
        """The headings from here on, after one of this level."""
        while self._open and self._open[-1][0] >= level:
            self._open.pop()
        self._open.append((level, " ".join(title.split())[:_LONGEST_TITLE]))
        return " > ".join(title for _, title in self._open if title)


def titled(blocks: Iterable[Block]) -> Iterator[Block]:
    """The blocks with each heading put to what follows it, so that no chunk ends with one."""
    title: Block | None = None
    for block in blocks:
        if block.is_title:
            title = block if title is None else block._replace(start=title.start)
        elif title is None:
            yield block
        else:  # what is not prose stays whole where it fits by itself
            parts = () if block.borders is PROSE and not block.parts else (title._replace(heading=block.heading), block)
            yield block._replace(start=title.start, parts=parts)
            title = None
    if title is not None:
        yield title


def chunks_from(document: Document, blocks: Iterable[Block], sizes: Sizes) -> Iterator[Chunk]:
    """The chunks of a document that consists of these blocks.

    A chunk is a slice of the text without the white space around it, within one page and below one heading.
    """
    sizes.checked()
    text, given = document.content, document.metadata
    locator, shift = Locator(document), given.first_offset
    shared: dict[str, Any] = given.model_dump(exclude=_OF_THE_WHOLE)
    position, before = shared.pop("position", 0), Block(0, 0)
    for block in _packed(text, _fitting(text, _on_pages(blocks, given.pages), sizes), sizes):
        start, end = _inked(text, block)
        if start == end:
            continue
        if sizes.overlap and (before.end, before.heading, before.page) == (block.start, block.heading, block.page):
            start = _earlier(text, before.start, start, sizes)
        before = block
        first, last = locator.place(start), locator.place(end - 1)
        where = {"start": start + shift, "end": end + shift, "line": first.line, "end_line": last.line}
        shared |= where | {"page": first.page, "position": position}
        shared["heading"] = block.heading
        shared["source_lines"] = _lines_within(given.source_lines, start, end)
        yield Chunk.of(text[start:end], **shared)
        position += 1


def _lines_within(pairs: tuple[tuple[int, int], ...], start: int, end: int) -> tuple[tuple[int, int], ...]:
    inside = pairs[bisect_right(pairs, (start, maxsize)) : bisect_left(pairs, (end, 0))]
    return tuple((offset - start, line) for offset, line in inside)


def _on_pages(blocks: Iterable[Block], pages: tuple[int, ...]) -> Iterator[Block]:
    """The blocks, cut where a page ends, for a citation names one page."""
    for block in blocks:
        start, page = block.start, bisect_right(pages, block.start)
        while page < len(pages) and pages[page] < block.end:
            yield block._replace(start=start, end=pages[page], page=page, parts=())
            start, page = pages[page], bisect_right(pages, pages[page])
        whole = start == block.start
        yield block._replace(start=start, page=page, parts=block.parts if whole else ())


def _fitting(text: str, blocks: Iterable[Block], sizes: Sizes) -> Iterator[tuple[Block, int]]:
    """The blocks with their sizes; what is too large in parts, or cut at its borders."""
    room = sizes.size - sizes.overlap
    for block in blocks:
        size = _size(text, block, sizes)
        if size <= room:
            yield block, size
        elif block.parts:
            parts = (part._replace(page=block.page) for part in block.parts)
            yield from _fitting(text, parts, sizes)
        elif block.end - block.start == 1:  # a character of several tokens
            yield block, size
        else:
            most = max(1, (block.end - block.start) * room // size)
            pieces = split(text[block.start : block.end], size=most, borders=block.borders)
            cut = [block._replace(start=block.start + each.start, end=block.start + each.end) for each in pieces]
            yield from _fitting(text, cut, sizes)


def _size(text: str, block: Block, sizes: Sizes) -> int:
    return block.end - block.start if sizes.count is len else sizes.count(text[block.start : block.end])


def _packed(text: str, blocks: Iterable[tuple[Block, int]], sizes: Sizes) -> Iterator[Block]:
    """Blocks below the same heading put together: as few as possible, and of about the same size."""
    room = sizes.size - sizes.overlap
    for _, together in groupby(blocks, key=lambda each: (each[0].heading, each[0].page)):
        members = list(together)
        total = sum(size for _, size in members)
        enough = total / -(-total // room)
        held: Block | None = None
        filled = 0
        for block, size in members:
            if held is not None and (filled >= enough or filled + size > room):
                yield held
                held, filled = None, 0
            held = block if held is None else held._replace(end=block.end)
            filled += size
        if held is not None:
            yield held


def _inked(text: str, block: Block) -> tuple[int, int]:
    """A block without the white space around it; but the indentation of its first line stays: it means something."""
    end = block.end
    while end > block.start and text[end - 1].isspace():
        end -= 1
    match = _LEADING.match(text, block.start, end)
    start = end if match is None else match.end()
    line = text.rfind("\n", block.start, start) + 1
    if line or block.start == 0 or text[block.start - 1] == "\n":
        start = max(line, block.start) if start < end else end
    return start, end


def _earlier(text: str, limit: int, start: int, sizes: Sizes) -> int:
    """Where a chunk begins that repeats the end of the one before: at a sentence, a line or a word."""
    reach = sizes.overlap
    if sizes.count is not len:
        reach = (start - limit) * reach // max(1, sizes.count(text[limit:start]))
    first = max(limit, start - reach)
    for ends in PROSE[1:]:
        begin = next((end for end in ends(text, first, start) if end < start), start)
        if begin < start:
            return begin
    return start
