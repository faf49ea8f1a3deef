"""A chunk: a part of a document that can be found, cited and read on its own."""

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


class ChunkMetaData(DocMetaData):
    """Metadata of a chunk. Every field but `source` has a default, so that a text alone can be a chunk.

    Args:
        start: offset of the first character in the text of the document.
        end: offset behind the last character; 0 if the chunk was not cut from a document.
        line: first line, from 1: of the source file if the format has lines, else of its text; counted within the page
            if there are pages. 0: not known.
        end_line: last line.
        source_lines: as `DocMetaData.source_lines`, with offsets within the chunk; see `Chunk.line_at`.
        page: page, slide or sheet of the first character, from 1; None if the format has no pages.
        end_page: page of the last character, if it is another one.
        attachment: the file attached to the e-mail that is the source; pages and lines are those of that file.
        heading: the headings above the chunk, outermost first, joined by " > ".
        position: number of the chunk in its source, from 0.
        fingerprint: identifies the version of the source that the chunk was cut from; see `Library.ingest`.
    """

    is_chunk: bool = True
    start: int = 0
    end: int = 0
    line: int = 0
    end_line: int = 0
    page: int | None = None
    end_page: int | None = None
    attachment: str = ""
    heading: str = ""
    position: int = 0
    fingerprint: str = ""

    @property
    def citation(self) -> str:
        """Source, page and lines, in a form that editors open.

        >>> ChunkMetaData(source="lease.txt", line=3, end_line=7).citation
        'lease.txt:3-7'
        >>> ChunkMetaData(source="book.pdf", page=12, line=1, end_line=9).citation
        'book.pdf, page 12, lines 1-9'
        >>> ChunkMetaData(source="book.pdf", page=12, line=40, end_page=13, end_line=9).citation
        'book.pdf, page 12, line 40 to page 13, line 9'
        >>> ChunkMetaData(source="offer.eml", attachment="price.pdf", page=2, line=3).citation
        'offer.eml, attachment price.pdf, page 2, line 3'
        """
        file = f"{self.source}, attachment {self.attachment}" if self.attachment else self.source
        if not self.line:
            return file
        if self.end_page is not None:
            return f"{file}, page {self.page}, line {self.line} to page {self.end_page}, line {self.end_line}"
        lines = f"{self.line}-{self.end_line}" if self.end_line > self.line else f"{self.line}"
        if self.page is None and not self.attachment:
            return f"{file}:{lines}"
        page = "" if self.page is None else f"page {self.page}, "
        return f"{file}, {page}line{'s' if '-' in lines else ''} {lines}"


class Chunk(Document):
    """A part of a document, with its place there.

    Args:
        parts: for a passage of several chunks, the offset in its content at which each begins, and its metadata.

    Example:
        >>> chunk = Chunk.of("The rent is 950 EUR.", source="lease.txt", line=3, end_line=3)
        >>> chunk.metadata.citation
        'lease.txt:3'
    """

    metadata: ChunkMetaData = Field(default_factory=ChunkMetaData)  # pyright: ignore[reportIncompatibleVariableOverride]
    parts: tuple[tuple[int, ChunkMetaData], ...] = ()

    @property
    def indexed_text(self) -> str:
        """The text that is embedded and indexed: the attached file and the headings above the chunk, then its content.

        >>> Chunk.of("It is 950 EUR.", heading="Lease > Rent").indexed_text
        'Lease > Rent\\nIt is 950 EUR.'
        """
        return "\n".join(filter(None, [self.metadata.attachment, self.metadata.heading, self.content]))

    def line_at(self, offset: int) -> int:
        """Return the line of a character of the chunk, counted as `line` is; 0 if it is not known.

        Args:
            offset: offset of the character in the content.

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
        """Return the metadata of the stored chunk from which a character comes.

        Args:
            offset: offset of the character in the content.
        """
        before = bisect_right(self.parts, offset, key=itemgetter(0)) - 1
        return self.parts[before][1] if before >= 0 else self.metadata

    @classmethod
    def of(cls, content: str, **metadata: Any) -> Chunk:
        """Create a chunk; unless `id` is given, the id is a hash of text and place, so that equal chunks share it."""
        made = cls(content=content, metadata=ChunkMetaData(**metadata))
        return made if "id" in metadata else made.identified()

    def identified(self) -> Chunk:
        """Set the id to a hash of the text and its place, and return the chunk."""
        about = self.metadata
        key = "\0".join((about.source, about.fingerprint, str(about.position), str(about.start), self.content))
        about.id = sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        return self


def check_documents(values: Iterable[Any]) -> None:
    """Check that all values are documents.

    Raises:
        ArgumentTypeError: one is not a `Document`.
    """
    for each in values:
        if not isinstance(each, Document):
            kind = type(each).__name__
            raise ArgumentTypeError(f"a Document is expected, not {kind}: create one by Document.from_string(text)")


def splice(slices: Sequence[tuple[str, Chunk, int, int]], metadata: ChunkMetaData, **places: Any) -> Chunk:
    """Join slices of chunks to one chunk that knows the line and the stored chunk of each of its characters.

    Args:
        slices: at least one `(separator, chunk, start, end)`: the text put before the slice, and its offsets.
        metadata: metadata of the new chunk, except its pages and `source_lines`.
        **places: fields of the metadata that differ, for example `line`.

    >>> chunk = Chunk.of("a\\nb\\nc", line=1)
    >>> made = splice([("", chunk, 0, 1), ("; ", chunk, 4, 5)], chunk.metadata)
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
