"""From blocks to chunks: the parts of a text, packed until a chunk is full, and cut if a block is too large."""

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

Count: TypeAlias = Callable[[str], int]
"""A function that measures a text: `len` counts characters, a tokenizer tokens."""

PROSE = (PARAGRAPHS, sentence_ends, LINES, WORDS)
CODE = (PARAGRAPHS, LINES, WORDS)
_LEADING = re.compile(r"\s*")
_LONGEST_TITLE = 120
_OF_THE_WHOLE = {"pages", "source_lines", "first_offset", "headings", "id", "is_chunk", "window_ids", "end_page"}


@dataclass(frozen=True, slots=True)
class Sizes:
    """The size of chunks.

    Args:
        size: maximum size of a chunk, including its overlap.
        overlap: maximum size of the part that repeats the end of the chunk before.
        count: measures both; `len` counts characters.
    """

    size: int = 1200
    overlap: int = 0
    count: Count = len

    def measure(self, text: str, start: int, end: int) -> int:
        """Return the size of a slice of a text."""
        return end - start if self.count is len else self.count(text[start:end])


class Block(NamedTuple):
    """A slice of a text that is best kept in one chunk. The blocks of a text follow each other without a gap.

    Args:
        start: offset of its first character.
        end: offset at which the next block begins.
        heading: the headings above it; only blocks below the same headings are packed together.
        borders: borders at which it may be cut if it is too large.
        parts: blocks that replace it if it is too large.
        page: its page, if there are pages.
        is_title: True for a heading.
    """

    start: int
    end: int
    heading: str = ""
    borders: tuple[Border, ...] = PROSE
    parts: tuple[Block, ...] = ()
    page: int = 0
    is_title: bool = False


class Outline:
    """The headings above a place in a text, as a stack.

    >>> outline = Outline()
    >>> [outline.enter(level, title) for level, title in [(1, "Lease"), (2, "Rent"), (2, "Deposit")]]
    ['Lease', 'Lease > Rent', 'Lease > Deposit']
    """

    def __init__(self) -> None:
        self._open: list[tuple[int, str]] = []

    def enter(self, level: int, title: str) -> str:
        """Add a heading of a level, and return the headings that are in force from here on, joined by " > "."""
        while self._open and self._open[-1][0] >= level:
            self._open.pop()
        self._open.append((level, " ".join(title.split())[:_LONGEST_TITLE]))
        return " > ".join(title for _, title in self._open if title)


def join_titles(blocks: Iterable[Block]) -> Iterator[Block]:
    """Join each heading with the block that follows it, so that no chunk ends with a heading."""
    title: Block | None = None
    for block in blocks:
        if block.is_title:
            title = block if title is None else block._replace(start=title.start)
        elif title is None:
            yield block
        else:  # a list, table or code block stays complete if it fits without the heading
            parts = () if block.borders is PROSE and not block.parts else (title._replace(heading=block.heading), block)
            yield block._replace(start=title.start, parts=parts)
            title = None
    if title is not None:
        yield title


def chunks_from(document: Document, blocks: Iterable[Block], sizes: Sizes) -> Iterator[Chunk]:
    """Return the chunks of a document that consists of these blocks.

    A chunk is a slice of the text without whitespace around it, within one page and below one heading.

    Raises:
        ConfigurationError: the size is below 1, or the overlap is not smaller.
    """
    size, overlap = sizes.size, sizes.overlap
    if size < 1 or not 0 <= overlap < size:
        raise ConfigurationError(
            f"size is {size} and overlap {overlap}: give a size of at least 1 and a smaller overlap"
        )
    text, given = document.content, document.metadata
    locator, shift, pairs = Locator(document), given.first_offset, given.source_lines
    shared: dict[str, Any] = given.model_dump(exclude=_OF_THE_WHOLE)
    position, before = shared.pop("position", 0), Block(0, 0)
    for block in pack_blocks(_fit(text, cut_at_pages(blocks, given.pages), sizes), sizes):
        start, end = ink_span(text, block)
        if start == end:
            continue
        if overlap and (before.end, before.heading, before.page) == (block.start, block.heading, block.page):
            start = overlap_start(text, before.start, start, sizes)
        before = block
        first, last = locator.place(start), locator.place(end - 1)
        where = {"start": start + shift, "end": end + shift, "line": first.line, "end_line": last.line}
        shared |= where | {"page": first.page, "position": position}
        shared["attachment"] = first.attachment or shared.get("attachment", "")
        shared["heading"] = block.heading
        inside = pairs[bisect_right(pairs, (start, maxsize)) : bisect_left(pairs, (end, 0))]
        shared["source_lines"] = tuple((offset - start, line) for offset, line in inside)
        yield Chunk.of(text[start:end], **shared)
        position += 1


def cut_at_pages(blocks: Iterable[Block], pages: tuple[int, ...]) -> Iterator[Block]:
    """Cut blocks where a page ends, because a citation names one page.

    Args:
        blocks: the blocks of a text.
        pages: offsets at which its pages begin.
    """
    for block in blocks:
        start, page = block.start, bisect_right(pages, block.start)
        while page < len(pages) and pages[page] < block.end:
            yield block._replace(start=start, end=pages[page], page=page, parts=())
            start, page = pages[page], bisect_right(pages, pages[page])
        yield block._replace(start=start, page=page, parts=block.parts if start == block.start else ())


def _fit(text: str, blocks: Iterable[Block], sizes: Sizes) -> Iterator[tuple[Block, int]]:
    """Return blocks and their sizes; a block that is too large is replaced by its parts, or cut at its borders."""
    room = sizes.size - sizes.overlap
    for block in blocks:
        size = sizes.measure(text, block.start, block.end)
        if size <= room:
            yield block, size
        elif block.parts:
            parts = (part._replace(page=block.page) for part in block.parts)
            yield from _fit(text, parts, sizes)
        elif block.end - block.start == 1:  # a character of several tokens
            yield block, size
        else:
            most = max(1, (block.end - block.start) * room // size)
            pieces = split(text[block.start : block.end], size=most, borders=block.borders)
            cut = [block._replace(start=block.start + each.start, end=block.start + each.end) for each in pieces]
            yield from _fit(text, cut, sizes)


def pack_blocks(blocks: Iterable[tuple[Block, int]], sizes: Sizes) -> Iterator[Block]:
    """Join blocks below the same heading: to as few as possible, of about the same size."""
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


def ink_span(text: str, block: Block) -> tuple[int, int]:
    """Return the span of a block without whitespace around it, but with the indentation of its first line."""
    end = block.end
    while end > block.start and text[end - 1].isspace():
        end -= 1
    match = _LEADING.match(text, block.start, end)
    start = end if match is None else match.end()
    line = text.rfind("\n", block.start, start) + 1
    if line or block.start == 0 or text[block.start - 1] == "\n":
        start = max(line, block.start) if start < end else end
    return start, end


def overlap_start(text: str, limit: int, start: int, sizes: Sizes) -> int:
    """Return the start of a chunk that repeats the end of the chunk before it, from a sentence, line or word on.

    Args:
        text: the complete text.
        limit: start of the chunk before.
        start: start of the chunk without overlap.
        sizes: maximum size of the overlap.
    """
    reach = sizes.overlap
    if sizes.count is not len:
        reach = (start - limit) * reach // max(1, sizes.count(text[limit:start]))
    first = max(limit, start - reach)
    for ends in PROSE[1:]:
        begin = next((end for end in ends(text, first, start) if end < start), start)
        if begin < start:
            return begin
    return start
