"""A source while it is ingested: its size, its chunks and its time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

from trivium.exceptions import DocumentTimeoutError, DocumentTooLargeError
from trivium.knowledge._limits import IngestLimits
from trivium.knowledge.loading import Source
from trivium.knowledge.stores import SourceRecord
from trivium.parsing import Chunk
from trivium.parsing.chunks import chunk_parts
from trivium.schema import Document

if TYPE_CHECKING:
    from trivium.knowledge._library import Library


@dataclass(slots=True)
class IngestItem:
    """A source that is being read.

    Args:
        source: the source.
        fingerprint: that of its content, its state and the recipe of its chunks.
        before: its record in the store.
    """

    source: Source
    fingerprint: str
    before: SourceRecord | None
    title: str = ""
    bytes: int = 0
    chunks: int = 0
    is_staged: bool = False
    is_read: bool = False
    began: float = field(default_factory=time.monotonic)

    def batches(self, library: Library, most: int) -> Iterator[list[Chunk]]:
        """Return its chunks, so many at a time."""
        documents = (self.register(each, library.limits) for each in self.source.documents())
        chunks = chunk_parts(documents, fingerprint=self.fingerprint, size=library.size, chunker=library.chunker)
        while batch := list(islice(chunks, most)):
            yield batch

    def check_time(self, seconds: float) -> None:
        """Stop where the source has taken too long.

        Raises:
            DocumentTimeoutError: it takes longer than these seconds.
        """
        if time.monotonic() - self.began <= seconds:
            return
        text = f"{self.source.name}: ingesting it takes longer than {seconds:g} seconds ({self.chunks:,} chunks so far)"
        advice = "split it, or raise IngestLimits(seconds=…)"
        raise DocumentTimeoutError(f"{text}; {advice}", self.source.name, "seconds", seconds)

    def register(self, document: Document, limits: IngestLimits) -> Document:
        """Add the size and the title of a part, and return it under the name of the source in the store.

        Raises:
            DocumentLimitError: the source takes too long, or has too much text.
        """
        self.check_time(limits.seconds)  # here too: of parts without text no batch of chunks is ever complete
        self.bytes += len(document.content.encode("utf-8", "surrogatepass"))
        if self.bytes > (most := limits.text_bytes):
            text = f"{self.source.name}: its text has more than {most:,} bytes; split it, or raise "
            raise DocumentTooLargeError(f"{text}IngestLimits(text_bytes=…)", self.source.name, "text_bytes", most)
        about = document.metadata
        self.title = self.title or ("" if about.title == "Unknown Title" else about.title)
        if about.source == self.source.name:
            return document
        return document.model_copy(update={"metadata": about.model_copy(update={"source": self.source.name})})

    def time_left(self, seconds: float) -> float:
        """Return the seconds until it has taken so many."""
        return max(self.began + seconds - time.monotonic(), 0.001)

    def record(self) -> SourceRecord:
        """Return its record in the store."""
        return SourceRecord(self.source.name, self.fingerprint, self.chunks, self.title, self.bytes)
