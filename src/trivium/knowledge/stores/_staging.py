"""Atomic publication for databases without transactions: the common part of the stores of Qdrant and Chroma.

Every chunk carries a *generation*: a random name shared by the chunks that become visible together. For each source a
note names the visible generation, and the hidden ones, which are staged or wait for deletion. One write of one note
changes what readers see:

- staging writes a note that hides a new generation, then the chunks of that generation;
- publishing writes a note that shows the new generation and hides the former one, then deletes the former one, then
  writes the note without it.

A process that is killed between two steps leaves hidden chunks; the next publication or `discard` of the source deletes
them. Another note is the clock, rewritten after each note: a reader compares it before and after, and reads again if it
has changed.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from threading import RLock
from typing import Any, Final, Literal, NamedTuple, Protocol, TypeVar
from uuid import UUID, uuid4

from trivium.exceptions import StoreBusyError
from trivium.knowledge.embeddings import Vectors
from trivium.knowledge.stores._filters import Filter, matches_filter
from trivium.knowledge.stores._records import chunk_of, from_stored, json_of, metadata_of, to_stored
from trivium.knowledge.stores._store import Hit, SourceRecord, VectorStore, VectorStoreConfig
from trivium.knowledge.stores._terms import (
    Every,
    Has,
    Some,
    TermFilter,
    metadata_fits,
    search_widened,
    term,
    terms_of,
    widen,
)
from trivium.parsing import Chunk

T = TypeVar("T")
Table = Literal["chunks", "notes"]
_TRIES: Final = 100  # attempts of a read while others write
_SLICE: Final = 200
_ABOUT, _CLOCK = "about", "clock"


class Point(NamedTuple):
    """An entry under a key.

    Args:
        key: a UUID.
        terms: the terms by which it is found.
        content: the text of a chunk; "" in a note.
        metadata: JSON.
        score: similarity to the vector of a search.
    """

    key: str
    terms: Sequence[str]
    content: str
    metadata: str
    score: float = 0.0


class Points(Protocol):
    """The interface of the database. Each collection has two tables; several threads may call."""

    local: bool
    """True if only this object uses the database; then one thread at a time does."""

    most: int
    """Maximum number of terms of a condition, without ids and generations."""

    def names(self) -> Iterable[str]:
        """Return the collections, including those that are not complete."""
        ...

    def make(self, collection: str, table: Table, dimensions: int) -> None:
        """Create a table, unless it exists."""
        ...

    def alone(self, collection: str) -> AbstractContextManager[None]:
        """Lock out the other stores that write a collection, in all processes."""
        ...

    def drop(self, collection: str, *tables: Table) -> None:
        """Delete tables, in this order, if they exist."""
        ...

    def put(self, collection: str, table: Table, points: Sequence[Point], vectors: Vectors | None) -> None:
        """Write points; they replace those of the same keys."""
        ...

    def get(self, collection: str, table: Table, keys: Sequence[str]) -> list[Point]:
        """Return the points of some keys, in any order; unknown keys are left out."""
        ...

    def find(self, collection: str, table: Table, condition: TermFilter) -> Iterable[Point]:
        """Return all points that meet a condition."""
        ...

    def count(self, collection: str, condition: TermFilter) -> int:
        """Return the number of chunks that meet a condition."""
        ...

    def erase(self, collection: str, table: Table, condition: TermFilter | Sequence[str]) -> None:
        """Delete the points that meet a condition, or those of some keys."""
        ...

    def nearest(self, collection: str, vector: Vectors, condition: TermFilter, limit: int) -> list[Point]:
        """Return the nearest chunks that meet a condition, best first."""
        ...

    def close(self) -> None:
        """Release the database; the next use opens it again."""
        ...


@dataclass
class _Note:
    """The state of a source.

    Args:
        source: its name.
        shown: the visible generation; "" before the first.
        staged: the generations that are being written, by fingerprint.
        gone: the generations that wait for deletion.
        record: the published record; None if chunks were only added.
        count: number of visible chunks; -1: unknown.
    """

    source: str
    shown: str = ""
    staged: dict[str, str] = field(default_factory=dict[str, str])
    gone: list[str] = field(default_factory=list[str])
    record: list[Any] | None = None
    fingerprint: str = ""
    count: int = 0

    @property
    def hidden(self) -> list[str]:
        return [*self.staged.values(), *self.gone]

    def point(self) -> Point:
        terms = ["note", *(["busy"] if self.hidden else [])]
        return Point(_key("source", self.source), terms, "", to_stored(json.dumps(asdict(self))))

    @classmethod
    def of(cls, point: Point) -> _Note:
        return cls(**json.loads(from_stored(point.metadata)))


class _State(NamedTuple):
    """The visible chunks, as the notes had it when the clock was read."""

    clock: str
    visible: TermFilter


class StagedStore(VectorStore):
    """A store over `Points`."""

    def __init__(self, config: VectorStoreConfig) -> None:
        super().__init__(config)
        self._turn = RLock()
        self._states: dict[str, _State] = {}
        self._points = self.create_points()

    @abstractmethod
    def create_points(self) -> Points:
        """Create the database of the points, which opens at its first use."""

    def close(self) -> None:
        """Release files and connections; the next use opens them again."""
        with self._turn:
            self._points.close()
            self._opened = ""

    # ---- collections
    def read_collections(self) -> dict[str, int]:
        with self._turn:
            return {name: self._steady(name, self._points.count) for name in self._points.names() if self._about(name)}

    def _about(self, collection: str) -> tuple[str, int] | None:
        """Return name and dimensions of the embedding model; None for an incomplete collection."""
        kept = self._points.get(collection, "notes", [_key(_ABOUT)])
        return (*json.loads(kept[0].metadata),) if kept else None  # pyright: ignore[reportReturnType]

    def open_collection(self, collection: str) -> None:
        with self._turn:
            kept = self._about(collection) if collection in self._points.names() else None
            if self._fits(kept):
                return
            if kept is None:
                self._points.make(collection, "notes", 0)
            with self._points.alone(collection):
                kept = self._about(collection)
                if self._fits(kept):  # another process has made it meanwhile
                    return
                if kept is not None and self._points.count(collection, Every()):
                    raise self._mismatch(collection, kept)
                self._clear(collection)
                self._points.make(collection, "chunks", self._identity()[1])
                about = Point(_key(_ABOUT), [], "", json.dumps(self._identity()))
                self._points.put(collection, "notes", [about], None)

    def _clear(self, collection: str) -> None:
        """Delete what is left of a creation or deletion that was interrupted: its chunks must not be served again."""
        self._points.erase(collection, "notes", [_key(_ABOUT)])  # first: with it, a collection is complete
        self._points.erase(collection, "notes", Has("note"))
        self._points.drop(collection, "chunks")

    def _fits(self, kept: tuple[str, int] | None) -> bool:
        return kept is not None and self._identity() in (kept, ("", 0))

    def drop_collection(self, collection: str) -> None:
        with self._turn:
            self._states.pop(collection, None)
            self._points.drop(collection, "notes", "chunks")

    def _checked_model(self) -> None:
        kept = self._about(self.collection_name) or ("", 0)
        if kept != self._identity():
            raise self._mismatch(self.collection_name, kept)

    # ---- keeping
    def write_chunks(self, chunks: Sequence[Chunk], vectors: Vectors | None) -> None:
        name = self.collection_name
        with self._writing():
            self._checked_model()
            last = {chunk.metadata.id: at for at, chunk in enumerate(chunks)}  # of equal ids the last one is kept
            ids = Some(tuple(Has(term("id", each)) for each in last))
            former = list(self._points.find(name, "chunks", Every((ids, self._state(name).visible))))
            keys = {json.loads(each.metadata)["id"]: each.key for each in former}
            touched = {source for each in former if (source := from_stored(json.loads(each.metadata)["source"]))}
            notes = {source: self._note(source) for source in touched | {each.metadata.source for each in chunks}}
            for chunk in chunks:
                note = notes[chunk.metadata.source]
                note.shown, note.fingerprint = note.shown or uuid4().hex, note.fingerprint or chunk.metadata.fingerprint
            for note in notes.values():
                note.count = -1
            self._write(*notes.values())
            points = [_point(chunks[at], notes[chunks[at].metadata.source].shown, keys) for at in last.values()]
            self._points.put(name, "chunks", points, None if vectors is None else vectors[[*last.values()]])
            self._recount(notes.values())

    def stage_chunks(self, chunks: Sequence[Chunk], vectors: Vectors | None) -> None:
        name, about = self.collection_name, chunks[0].metadata
        with self._writing():
            self._checked_model()
            note = self._note(about.source)
            generation = note.staged.get(about.fingerprint)
            if generation is None:
                generation = note.staged[about.fingerprint] = uuid4().hex
                self._write(note)
            last = {chunk.metadata.id: at for at, chunk in enumerate(chunks)}
            points = [_point(chunks[at], generation, {}) for at in last.values()]
            self._points.put(name, "chunks", points, None if vectors is None else vectors[[*last.values()]])

    def publish_source(self, record: SourceRecord) -> None:
        name = self.collection_name
        with self._writing():
            self._checked_model()
            note = self._note(record.source)
            generation = note.staged.pop(record.fingerprint, "")
            staged = self._points.count(name, Has(_generation(generation))) if generation else 0
            if staged != record.chunks:
                raise self._incomplete(record, staged)
            twins = self._twins(note, generation) if staged else {}
            note.gone += [*note.staged.values(), *([note.shown] if note.shown else [])]
            note.shown, note.staged, note.count = generation or uuid4().hex, {}, staged
            note.record, note.fingerprint = list(record), record.fingerprint
            self._write(note)
            if twins:
                others = [self._note(source) for source in set(twins.values())]
                for other in others:
                    other.count = -1
                self._write(*others)
                self._points.erase(name, "chunks", list(twins))
                self._recount(others)
            self._sweep(note)

    def _twins(self, note: _Note, generation: str) -> dict[str, str]:
        """Return keys and sources of visible chunks of other sources that have an id of this generation."""
        name, visible = self.collection_name, self._state(self.collection_name).visible
        staged = self._points.find(name, "chunks", Has(_generation(generation)))
        ids = [from_stored(json.loads(each.metadata)["id"]) for each in staged]
        made: dict[str, str] = {}
        for start in range(0, len(ids), _SLICE):
            among = Some(tuple(Has(term("id", each)) for each in ids[start : start + _SLICE]))
            other = Has(term("source", note.source), False)
            for each in self._points.find(name, "chunks", Every((among, other, visible))):
                made[each.key] = from_stored(json.loads(each.metadata)["source"])
        return made

    def discard_staged(self, source: str) -> None:
        with self._writing():
            note = self._note(source)
            if note.hidden:
                note.gone, note.staged = note.hidden, {}
                self._write(note)
                self._sweep(note)

    def _sweep(self, note: _Note) -> None:
        """Delete the hidden chunks of a source."""
        if note.gone:
            gone = Some(tuple(Has(_generation(each)) for each in note.gone))
            self._points.erase(self.collection_name, "chunks", gone)
            note.gone = []
            self._write(note)

    def delete_matching(self, where: Filter) -> int:
        name, wanted = self.collection_name, widen(where, self._points.most)
        with self._writing():
            rows = [
                each
                for each in self._points.find(name, "chunks", wanted.filter)
                if wanted.exact or metadata_fits(where, each.metadata)
            ]
            shown = {_generation(note.shown): note for note in self._notes() if note.shown}
            served = Counter(each for row in rows for each in row.terms if each in shown)
            notes = [shown[each] for each in served]
            notes += [each for each in shown.values() if _is_empty(each) and matches_filter(where, _metadata(each))]
            for note in notes:
                note.count = -1
            if rows or notes:
                self._write(*notes)
                self._points.erase(name, "chunks", [row.key for row in rows])
                self._recount(notes)
        return served.total()

    def _recount(self, notes: Iterable[_Note]) -> None:
        """Update the number of visible chunks of some sources; delete the notes of those without."""
        for note in notes:
            note.count = self._points.count(self.collection_name, Has(_generation(note.shown)))
            if not note.count and not note.hidden:
                self._points.erase(self.collection_name, "notes", [note.point().key])
            elif not note.count:
                note.shown, note.record, note.fingerprint = "", None, ""
                self._write(note)
            else:
                self._write(note)

    # ---- notes
    def _note(self, source: str) -> _Note:
        kept = self._points.get(self.collection_name, "notes", [_key("source", source)])
        return _Note.of(kept[0]) if kept else _Note(source)

    def _notes(self, name: str = "") -> list[_Note]:
        return [_Note.of(each) for each in self._points.find(name or self.collection_name, "notes", Has("note"))]

    def _write(self, *notes: _Note) -> None:
        """Write notes, then the clock."""
        points = [note.point() for note in notes]
        clock = Point(_key(_CLOCK), [], "", uuid4().hex)
        for each in (points, [clock]):
            if each:
                self._points.put(self.collection_name, "notes", each, None)

    def _clock(self, name: str) -> str:
        kept = self._points.get(name, "notes", [_key(_CLOCK)])
        return kept[0].metadata if kept else ""

    def _state(self, name: str) -> _State:
        """Return the condition for visible chunks by the present notes."""
        clock, known = self._clock(name), self._states.get(name)
        if known is None or known.clock != clock:
            busy = [_Note.of(each) for each in self._points.find(name, "notes", Has("busy"))]
            hidden = (Has(_generation(each), False) for note in busy for each in note.hidden)
            known = self._states[name] = _State(clock, Every(tuple(hidden)))
        return known

    @contextmanager
    def _writing(self) -> Generator[None]:
        """Lock out all other writers."""
        with self._turn, self._points.alone(self.collection_name):
            yield

    def _steady(self, name: str, read: Callable[[str, TermFilter], T]) -> T:
        """Call a function in one state of the store; it gets the condition for visible chunks."""
        if self._points.local:
            with self._turn:
                return read(name, self._state(name).visible)
        for _ in range(_TRIES):
            state = self._state(name)
            made = read(name, state.visible)
            if self._clock(name) == state.clock:
                return made
        place = self.config.storage_path
        raise StoreBusyError(f"the store {place} changed while it was read, {_TRIES} times: try again", place)

    # ---- finding
    def find_nearest(self, vector: Vectors, k: int, where: Filter) -> list[Hit]:
        def read(name: str, visible: TermFilter) -> list[dict[str, Any]]:
            self._checked_model()

            def search(condition: TermFilter, limit: int) -> list[dict[str, Any]]:
                points = self._points.nearest(name, vector, Every((condition, visible)), limit)
                return [each._asdict() for each in points]

            return search_widened(search, k, where, self._points.most)

        rows = self._steady(self.collection_name, read)
        hits = [Hit(_chunk(row["content"], row["metadata"]), max(-1.0, min(row["score"], 1.0))) for row in rows]
        return sorted(hits, key=lambda hit: -hit.score)

    def find_words(self, query: str, k: int, where: Filter) -> list[Hit] | None:
        return None

    def read_chunks(self, ids: Sequence[str]) -> list[Chunk]:
        among = Some(tuple(Has(term("id", each)) for each in ids))

        def read(name: str, visible: TermFilter) -> list[Point]:
            return list(self._points.find(name, "chunks", Every((among, visible)))) if ids else []

        chunks = [_chunk(each.content, each.metadata) for each in self._steady(self.collection_name, read)]
        kept = {chunk.metadata.id: chunk for chunk in chunks}
        return [kept[each] for each in ids if each in kept]

    def scan_chunks(self, where: Filter) -> Iterator[Chunk]:
        wanted = widen(where, self._points.most)

        def read(name: str, visible: TermFilter) -> list[Point]:
            points = self._points.find(name, "chunks", Every((wanted.filter, visible)))
            return [each for each in points if wanted.exact or metadata_fits(where, each.metadata)]

        rows = self._steady(self.collection_name, read)
        for row in sorted(rows, key=_place):
            yield _chunk(row.content, row.metadata)

    def count_chunks(self, where: Filter) -> int:
        wanted = widen(where, self._points.most)
        if not wanted.exact:
            return sum(1 for _ in self.scan_chunks(where))
        return self._steady(
            self.collection_name, lambda name, visible: self._points.count(name, Every((wanted.filter, visible)))
        )

    def read_sources(self) -> Iterable[SourceRecord]:
        def read(name: str, visible: TermFilter) -> list[SourceRecord]:
            made: list[SourceRecord] = []
            for note in self._notes(name):
                count = note.count
                if count < 0:  # a process was killed while it changed the source
                    count = self._points.count(name, Has(_generation(note.shown)))
                if count or _is_empty(note):
                    values: list[Any] = note.record or [note.source, note.fingerprint, 0]
                    made.append(SourceRecord(*values)._replace(chunks=count))
            return made

        return self._steady(self.collection_name, read)


def _is_empty(note: _Note) -> bool:
    """True if the source was published without chunks."""
    return note.record is not None and not note.record[2] and note.count == 0


def _metadata(note: _Note) -> Mapping[str, Any]:
    """Return the metadata of a source without chunks, for conditions."""
    assert note.record is not None
    return {"source": note.source, "fingerprint": note.record[1], "title": note.record[3]}


def _key(*parts: str) -> str:
    text = json.dumps(parts)
    return str(UUID(bytes=sha256(text.encode()).digest()[:16]))


def _generation(name: str) -> str:
    """Return the term of a generation, which differs from that of any metadata."""
    return f"@{name}"


def _point(chunk: Chunk, generation: str, keys: Mapping[str, str]) -> Point:
    """Convert a chunk to a point, under the key of its id, else under a key of its generation."""
    metadata = metadata_of(chunk)
    key = keys.get(metadata["id"]) or _key(generation, chunk.metadata.id)
    return Point(key, [*terms_of(metadata), _generation(generation)], to_stored(chunk.content), json_of(metadata))


def _chunk(content: str, metadata: str) -> Chunk:
    return chunk_of(content, json.loads(metadata))


def _place(point: Point) -> tuple[str, int, str]:
    metadata = json.loads(point.metadata)
    return metadata["source"], metadata.get("position", 0), metadata["id"]
