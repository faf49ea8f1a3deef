"""The base of a store of your own: three methods say how a database changes, searches and reads chunks."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import repeat
from threading import RLock
from typing import Any, Final, TypeAlias

from trivium.exceptions import ConfigurationError
from trivium.knowledge.embeddings import Vectors
from trivium.knowledge.stores._filters import AllOf, AnyOf, Filter, matches_filter, parse_filter
from trivium.knowledge.stores._kind import Hit, SourceRecord, VectorStoreConfig
from trivium.knowledge.stores._records import as_stored
from trivium.knowledge.stores._store import VectorStore
from trivium.parsing import Chunk

Row: TypeAlias = "tuple[Chunk, Vectors | None]"
"""A chunk, all of whose metadata are values of JSON, and its vector of norm 1; None in a store without vectors."""

_ALL: Final = AllOf(())
_NONE: Final = AnyOf(())


class SimpleStore(VectorStore):
    """A store of your own, with one collection: it implements `replace_chunks`, `find_nearest` and `scan_chunks`.

    All else follows from these, and may be overridden by what your database does better: `find_words` gives None,
    `count_chunks` and `read_chunks` scan. Chunks are staged in the memory of this object until they are published.
    The record of a source is made of its chunks: it has no title and no size, and one without chunks is not kept.

    Args:
        config: its settings. The name of the collection cannot be changed later.
    """

    def __init__(self, config: VectorStoreConfig) -> None:
        super().__init__(config)
        self._turn, self._only = RLock(), config.collection_name
        self._staged: dict[tuple[str, str], dict[str, Row]] = {}
        """The staged chunks and vectors, by source and fingerprint."""

    @abstractmethod
    def replace_chunks(self, where: Filter, rows: Sequence[Row]) -> int:
        """Delete the chunks that meet a condition and keep others, which also replace those of the same ids.

        A reader sees the store before or after it, and so does the next process if this one is killed meanwhile. One
        thread of this object calls it at a time.

        Returns:
            The number of chunks that met the condition.
        """

    # ---- one collection
    def read_collections(self) -> dict[str, int]:
        """Return the name of the collection, and the number of its chunks."""
        return {self._only: self.count_chunks(_ALL)}

    def open_collection(self, collection: str) -> None:
        """Refuse another name than that of the collection.

        Raises:
            ConfigurationError: it is another one.
        """
        if collection != self._only:
            raise ConfigurationError(
                f"{type(self).__name__} has one collection, {self._only!r}: make another store for {collection!r}"
            )

    def drop_collection(self, collection: str) -> None:
        """Delete all chunks, if it is this collection."""
        if collection == self._only:
            self.delete_matching(_ALL)

    # ---- keeping
    def write_chunks(self, chunks: Sequence[Chunk], vectors: Vectors | None) -> None:
        """Serve chunks at once; chunks of the same id are replaced."""
        with self._turn:
            self.replace_chunks(_NONE, [*_rows(chunks, vectors).values()])

    def stage_chunks(self, chunks: Sequence[Chunk], vectors: Vectors | None) -> None:
        """Keep chunks of one source and fingerprint in memory."""
        about = chunks[0].metadata
        with self._turn:
            self._staged.setdefault((about.source, about.fingerprint), {}).update(_rows(chunks, vectors))

    def publish_source(self, record: SourceRecord) -> None:
        """Serve the staged chunks of a source in place of those that it has.

        Raises:
            IncompleteSourceError: the number of staged chunks is not that of the record; nothing changes.
        """
        with self._turn:
            rows = self._staged.get((record.source, record.fingerprint), {})
            if len(rows) != record.chunks:
                raise self._incomplete(record, len(rows))
            self.replace_chunks(parse_filter({"source": record.source}), [*rows.values()])
            self.discard_staged(record.source)

    def discard_staged(self, source: str) -> None:
        """Delete the staged chunks of a source."""
        with self._turn:
            self._staged = {key: rows for key, rows in self._staged.items() if key[0] != source}

    def delete_matching(self, where: Filter) -> int:
        """Delete matching chunks, staged or served; return the number that was served."""
        with self._turn:
            for rows in self._staged.values():
                for chunk, _ in [*rows.values()]:
                    if matches_filter(where, chunk.metadata.model_dump()):
                        del rows[chunk.metadata.id]
            return self.replace_chunks(where, ())

    # ---- finding
    def find_words(self, query: str, k: int, where: Filter) -> list[Hit] | None:
        """Return None: it cannot rank by words."""
        return None

    def read_chunks(self, ids: Sequence[str]) -> list[Chunk]:
        """Return chunks by id, in this order; unknown ids are left out."""
        found = {each.metadata.id: each for each in self.scan_chunks(parse_filter({"id": {"$in": [*ids]}}))}
        return [found[each] for each in ids if each in found]

    def count_chunks(self, where: Filter) -> int:
        """Return the number of matching chunks."""
        return sum(1 for _ in self.scan_chunks(where))

    def read_sources(self) -> Iterable[SourceRecord]:
        """Return the records of the sources: their names, fingerprints and numbers of chunks."""
        about = [each.metadata for each in self.scan_chunks(_ALL)]
        counts = Counter(each.source for each in about)
        fingerprints = {each.source: each.fingerprint for each in about}
        return [SourceRecord(source, fingerprints[source], count) for source, count in counts.items()]

    def close(self) -> None:
        """Do nothing: what is to be closed is that of your database."""


def _rows(chunks: Sequence[Chunk], vectors: Vectors | None) -> dict[str, Row]:
    """Return chunks with their vectors, by id: of equal ids the last one is kept."""
    rows: Iterable[Any] = repeat(None) if vectors is None else vectors
    return {chunk.metadata.id: (as_stored(chunk), row) for chunk, row in zip(chunks, rows, strict=False)}
