"""A chunk: a part of a document that is found, cited and read on its own."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from hashlib import sha256
from operator import itemgetter
from sys import maxsize
from typing import Any

from pydantic import Field

from trivium.exceptions import ArgumentTypeError
from trivium.schema import DocMetaData, Document

__all__ = ["Chunk", "ChunkMetaData", "check_documents", "spliced"]


class ChunkMetaData(DocMetaData):
    """What is known about a chunk. All but `source` has a default, so that a text alone is a chunk too.

    Args:
        start: offset in the text of the document at which it begins, in characters.
        end: offset behind its last character; 0 where the chunk was made of no document.
        line: the line on which it begins, from 1; of the source file where the format has lines, else of its text.
            Within its page where there are pages. 0 is not known.
        end_line: the line on which it ends.
        source_lines: as of a document, within this chunk; see `Chunk.line_at`.
        page: its page, slide or sheet, from 1, that of its beginning; None where the format has none.
        end_page: the page on which a passage ends, where that is another one.
        heading: the headings above it, outermost first, joined by " > ".
        position: its place among the chunks of its source, from 0.
        fingerprint: which state of the source it was cut from; see `Ingest`.
    """

    is_chunk: bool = True
    start: int = 0
    end: int = 0
    line: int = 0
    end_line: int = 0
    page: int | None = None
    end_page: int | None = None
    heading: str = ""
    position: int = 0
    fingerprint: str = ""

    @property
    def citation(self) -> str:
        """Where it stands, in a form that editors open: source, page and lines.

        >>> ChunkMetaData(source="lease.txt", line=3, end_line=7).citation
        'lease.txt:3-7'
        >>> ChunkMetaData(source="book.pdf", page=12, line=1, end_line=9).citation
        'book.pdf, page 12, lines 1-9'
        >>> ChunkMetaData(source="book.pdf", page=12, line=40, end_page=13, end_line=9).citation
        'book.pdf, page 12, line 40 to page 13, line 9'
        """
        if not self.line:
            return self.source
        if self.end_page is not None:
            return f"{self.source}, page {self.page}, line {self.line} to page {self.end_page}, line {self.end_line}"
        lines = f"{self.line}-{self.end_line}" if self.end_line > self.line else f"{self.line}"
        if self.page is None:
            return f"{self.source}:{lines}"
        return f"{self.source}, page {self.page}, line{'s' if '-' in lines else ''} {lines}"


class Chunk(Document):
    """A part of a document, with where it stands.

    Args:
        parts: of a passage of several chunks, where in its content each begins, and its metadata.

    Example:
        >>> chunk = Chunk.of("The rent is 950 EUR.", source="lease.txt", line=3, end_line=3)
        >>> chunk.metadata.citation
        'lease.txt:3'
    """

    metadata: ChunkMetaData = Field(default_factory=ChunkMetaData)  # pyright: ignore[reportIncompatibleVariableOverride]
    parts: tuple[tuple[int, ChunkMetaData], ...] = ()

    @property
    def indexed_text(self) -> str:
        """What it is found by, its meaning and its words alike: the headings above it, then its text.

        >>> Chunk.of("It is 950 EUR.", heading="Lease > Rent").indexed_text
        'Lease > Rent\\nIt is 950 EUR.'
        """
        return f"{self.metadata.heading}\n{self.content}" if self.metadata.heading else self.content

    def line_at(self, offset: int) -> int:
        """The line on which a character of the chunk stands, counted as `line` is; 0 where that is not known.

        Args:
            offset: of the character in the content.

        >>> chunk = Chunk.of("one two\\nthree", line=7, source_lines=((4, 9),))
        >>> [chunk.line_at(offset) for offset in (0, 4, 8)]
        [7, 9, 10]
        """
        about = self.metadata
        if not about.line:
            return 0
        before = bisect_right(about.source_lines, (offset, maxsize)) - 1
        start, line = about.source_lines[before] if before >= 0 else (0, about.line)
        return line + self.content.count("\n", start, offset)

    def about(self, offset: int) -> ChunkMetaData:
        """What is known about the chunk of the store that holds a character of this one.

        Args:
            offset: of the character in the content.
        """
        before = bisect_right(self.parts, offset, key=itemgetter(0)) - 1
        return self.parts[before][1] if before >= 0 else self.metadata

    @classmethod
    def of(cls, content: str, **metadata: Any) -> Chunk:
        """A chunk of a text and its metadata; its id follows from these, so that equal ones have equal ids."""
        made = cls(content=content, metadata=ChunkMetaData(**metadata))
        return made if "id" in metadata else made.identified()

    def identified(self) -> Chunk:
        """This chunk, with the id that follows from its text and place."""
        about = self.metadata
        key = "\0".join((about.source, about.fingerprint, str(about.position), str(about.start), self.content))
        about.id = sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        return self


def check_documents(values: Iterable[Any]) -> None:
    """Refuse what is no document."""
    for each in values:
        if not isinstance(each, Document):
            kind = type(each).__name__
            raise ArgumentTypeError(f"a Document is wanted, not {kind}: make one of a text by Document.from_string")


def spliced(slices: Sequence[tuple[str, Chunk, int, int]], metadata: ChunkMetaData, **places: Any) -> Chunk:
    """Slices of chunks as one text, which knows of each character the line and the chunk that it is from.

    Args:
        slices: each with what stands before it, and where in the chunk it begins and ends; not none.
        metadata: what the new one has, but for its pages and `source_lines`.
        **places: what else of the metadata is its own, as the line on which it begins.

    >>> chunk = Chunk.of("a\\nb\\nc", line=1)
    >>> made = spliced([("", chunk, 0, 1), ("; ", chunk, 4, 5)], chunk.metadata)
    >>> made.content, made.metadata.source_lines, made.line_at(3)
    ('a; c', ((3, 3),), 3)
    """
    text, pairs, parts, last = "", list[tuple[int, int]](), list[tuple[int, ChunkMetaData]](), (0, 0)
    for before, chunk, start, end in slices:
        text += before
        base = len(text) - start
        text += chunk.content[start:end]
        parts.append((base + start, chunk.about(start)))
        parts += [(base + at, about) for at, about in chunk.parts if start < at < end]
        inside = [(base + at, line) for at, line in chunk.metadata.source_lines if start < at < end]
        for at, line in [(base + start, chunk.line_at(start)), *inside]:
            if line and last[1] and line != last[1] + text.count("\n", last[0], at):
                pairs.append((at, line))
            last = (at, line)
    first, end = parts[0][1].page, parts[-1][1].page
    places |= {"source_lines": tuple(pairs), "page": first, "end_page": None if end == first else end}
    return Chunk(content=text, metadata=metadata.model_copy(update=places), parts=tuple(parts))
