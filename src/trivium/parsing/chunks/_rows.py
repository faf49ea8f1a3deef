"""Rows: tables and logs, with one line for each record."""

from __future__ import annotations

from collections.abc import Iterator

from trivium.parsing._chunk import Chunk
from trivium.parsing._passages import LINES, WORDS
from trivium.parsing.chunks._blocks import Block, Count, Sizes, chunks_from
from trivium.schema import Document


def chunk_rows(document: Document, *, size: int = 1200, overlap: int = 0, count: Count = len) -> Iterator[Chunk]:
    """Return the chunks of a text whose lines are records: complete lines, as many as fit.

    Args:
        document: the text; in tables from `read`, each line names its columns.
        size: maximum size of a chunk (default 1200).
        overlap: maximum size of its part that repeats the end of the chunk before (default 0).
        count: measures both; default: characters. A tokenizer's function measures about in tokens.

    Raises:
        ConfigurationError: the size is below 1, or the overlap is not smaller.

    >>> rents = Document(content="flat: 1 | rent: 950\\nflat: 2 | rent: 800\\n")
    >>> [each.metadata.citation for each in chunk_rows(rents, size=20)]
    ['context:1', 'context:2']
    """
    return chunks_from(document, _rows(document.content), Sizes(size, overlap, count))


def _rows(text: str) -> Iterator[Block]:
    start = 0
    for end in LINES(text, 0, len(text)):
        yield Block(start, end, "", _BORDERS)
        start = end
    if start < len(text):
        yield Block(start, len(text), "", _BORDERS)


_BORDERS = (LINES, WORDS)
