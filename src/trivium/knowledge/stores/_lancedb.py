"""A store in a folder of LanceDB."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from threading import Lock
from typing import Any, ClassVar, Final, cast

from pydantic import Field

from trivium.exceptions import (
    CollectionNotFoundError,
    MissingExtraError,
    StoreBusyError,
    StoreDamagedError,
    StoreError,
    StoreFullError,
    TriviumError,
)
from trivium.knowledge.embeddings import Vectors
from trivium.knowledge.stores._filters import Filter, matches_filter
from trivium.knowledge.stores._folder_lock import FolderLock
from trivium.knowledge.stores._kind import DAMAGED
from trivium.knowledge.stores._records import chunk_of, from_stored, json_of, metadata_of, to_stored
from trivium.knowledge.stores._store import Hit, SourceRecord, VectorStore, VectorStoreConfig
from trivium.knowledge.stores._terms import Every, Has, TermFilter, metadata_fits, search_widened, terms_of, widen
from trivium.parsing import Chunk
from trivium.parsing.lowlevel import stems

_PAGE: Final = 500
_TIDIED: Final = 32  # changes after which small files are compacted
_KEPT: Final = timedelta(hours=1)  # lifetime of old versions, which scans may still read
_WAIT: Final = 60  # seconds that a writer waits for others
_TEXTS: Final = ("content", "metadata")
_STAGED, _SHOWN, _STALE = 0, 1, 2  # the states of a row
_SERVED: Final = f"state = {_SHOWN} AND record IS NULL"
_RECORDS: Final = f"state = {_SHOWN} AND record IS NOT NULL"
_KEY: Final = ("id", "state")
_PLACE_IN_CODE: Final = re.compile(r",? ?/\S+\.rs:\d+(:\d+)?")  # where in LanceDB's own code an error arose


class LanceStoreConfig(VectorStoreConfig):
    """The config of a `LanceStore`; see `VectorStoreConfig`.

    Args:
        storage_path: the folder; it is created if there is none.
    """

    store: ClassVar[str] = "trivium.knowledge.stores.LanceStore"

    storage_path: str = Field(default=".lancedb", min_length=1)


class LanceStore(VectorStore):
    """Stores chunks in the tables of a LanceDB folder, for any number of threads and processes.

    Each collection is one table, and each change creates a new version of it; readers keep the version with which they
    began. A publication is one change, which marks the new chunks as served and the former ones as stale; a second
    change deletes these. A process that is killed between the two leaves stale chunks, which are invisible, and which
    the next publication of the source deletes. One thread of one process writes at a time, under a lock of the folder;
    others wait for up to a minute and then get a StoreBusyError.

    Vector search is exact, without an index; words are ranked by LanceDB's BM25. Conditions on an order (`$gt` and the
    like, `$prefix`) are checked on the results, so that a selective one makes a search read more. It needs the extra
    `lancedb`.

    Args:
        config: the settings; default: the folder ".lancedb" in the working directory.

    Example::

        store = LanceStore(LanceStoreConfig(storage_path="notes.lance"))
        store.add_documents([Document.from_string("The rent is 950 EUR.")])
        store.similar_texts_with_scores("What do I pay?")
    """

    config: LanceStoreConfig  # pyright: ignore[reportIncompatibleVariableOverride] - it is only read here

    def __init__(self, config: LanceStoreConfig | None = None) -> None:
        super().__init__(config or LanceStoreConfig())
        self._lock = Lock()
        self._connected: Any = None
        self._changes = 0

    def close(self) -> None:
        """Release the folder; the next use opens it again."""
        with self._lock:
            self._connected, self._opened = None, ""

    # ---- tables
    @contextmanager
    def _folder(self) -> Generator[Any]:
        """Provide the connection to the folder; its errors become errors of the store."""
        try:
            with self._lock:
                if self._connected is None:
                    self._connected = _connected(self.config.storage_path)
                connected = self._connected
            yield connected
        except TriviumError:
            raise
        except (OSError, RuntimeError, ValueError) as error:  # LanceDB has no errors of its own
            raise self._failed(error) from error

    @contextmanager
    def _using(self, model: bool = False) -> Generator[Any]:
        """Provide the table of the collection; `model=True` requires its embedding model."""
        with self._folder() as folder:
            table = folder.open_table(self.collection_name)
            if model and (kept := _identity_of(table)) != self._identity():
                raise self._mismatch(self.collection_name, kept)
            yield table

    def _alone(self) -> FolderLock:
        """Lock out all other writers; LanceDB itself would join their changes, and a publication is several."""
        advice = "others write to it; try again, but not in a process that was forked during a write: use spawn"
        return FolderLock(self.config.storage_path, advice, _WAIT)

    @contextmanager
    def _writing(self, model: bool = False) -> Generator[Any]:
        """Provide the table to one writer at a time; small files are compacted now and then."""
        with self._alone(), self._using(model) as table:
            yield table
            self._changes += 1
            if self._changes % _TIDIED == 0:
                with suppress(OSError, RuntimeError, ValueError):  # a failure does no harm
                    table.optimize(cleanup_older_than=_KEPT)

    def _names(self, folder: Any) -> list[str]:
        names, page = list[str](), None
        while True:
            found = folder.list_tables(page_token=page)
            names += found.tables
            page = found.page_token
            if not page:
                return names

    def read_collections(self) -> dict[str, int]:
        with self._folder() as folder:
            return {name: folder.open_table(name).count_rows(_SERVED) for name in self._names(folder)}

    def open_collection(self, collection: str) -> None:
        with suppress(CollectionNotFoundError), self._folder() as folder:  # others may be creating or deleting it
            if self._fits(folder, collection) and folder.open_table(collection).list_indices():
                return
        with self._alone(), self._folder() as folder:
            if self._fits(folder, collection):
                table = folder.open_table(collection)
            else:
                self._drop(folder, collection)
                table = folder.create_table(collection, schema=table_schema(*self._identity()))
            if not table.list_indices():
                from lancedb.index import FTS

                plain_words = FTS(base_tokenizer="whitespace", stem=False, remove_stop_words=False, ascii_folding=False)
                table.create_index("words", config=plain_words)

    def _fits(self, folder: Any, collection: str) -> bool:
        """Tell that a collection is there for this embedding model; one of another model must be empty."""
        if collection not in self._names(folder):
            return False
        table = folder.open_table(collection)
        kept = _identity_of(table)
        if self._identity() in (kept, ("", 0)):
            return True
        if table.count_rows(f"record IS NULL AND state <> {_STALE}"):
            raise self._mismatch(collection, kept)
        return False

    def drop_collection(self, collection: str) -> None:
        with self._alone(), self._folder() as folder:
            self._drop(folder, collection)

    def _drop(self, folder: Any, collection: str) -> None:
        if collection in self._names(folder):
            folder.drop_table(collection)

    # ---- keeping
    def write_chunks(self, chunks: Sequence[Chunk], vectors: Vectors | None) -> None:
        self._write(chunks, vectors, _SHOWN)

    def stage_chunks(self, chunks: Sequence[Chunk], vectors: Vectors | None) -> None:
        self._write(chunks, vectors, _STAGED)

    def _write(self, chunks: Sequence[Chunk], vectors: Vectors | None, state: int) -> None:
        last = {chunk.metadata.id: at for at, chunk in enumerate(chunks)}  # of equal ids the last one is kept
        rows = [_row(chunks[at], state) for at in last.values()]
        with self._writing(model=True) as table:
            _merge(table, rows, None if vectors is None else vectors[[*last.values()]])

    def publish_source(self, record: SourceRecord) -> None:
        source, fingerprint = _text(to_stored(record.source)), _text(to_stored(record.fingerprint))
        staged = f"source = {source} AND fingerprint = {fingerprint} AND state = {_STAGED}"
        with self._writing(model=True) as table:
            count = table.count_rows(f"{staged} AND record IS NULL")
            if count != record.chunks:
                raise self._incomplete(record, count)
            _merge(table, [record_row(record)], None)
            twins = _twins(table, source, staged)
            also = f" OR (state = {_SHOWN} AND id IN ({', '.join(map(_text, twins))}))" if twins else ""
            # one expression for one column: columns of one update are set one after the other
            flip = {"state": f"{_STALE} - CAST(({staged}) AS TINYINT)"}
            table.update(where=f"source = {source}{also}", values_sql=flip)
            if table.count_rows(f"state = {_STALE}"):  # a change takes longer than a look
                table.delete(f"state = {_STALE}")

    def discard_staged(self, source: str) -> None:
        with self._writing() as table:
            table.delete(f"source = {_text(to_stored(source))} AND state = {_STAGED}")

    def delete_matching(self, where: Filter) -> int:
        wanted = widen(where)
        with self._writing() as table:
            condition = f"record IS NULL AND state <> {_STALE} AND {_sql(wanted.filter)}"
            if not wanted.exact:
                ids = [
                    row["id"]
                    for row in _rows(table, condition, ["id", *_TEXTS])
                    if metadata_fits(where, row["metadata"])
                ]
                condition = f"record IS NULL AND {_among('id', ids)}"
            gone = Counter(row["source"] for row in _rows(table, f"{condition} AND state = {_SHOWN}", ["source"]))
            left = Counter(row["source"] for row in _rows(table, _SERVED, ["source"]))
            records = [_record(row) for row in _rows(table, _RECORDS, ["record"])]
            empty = [
                to_stored(each.source)
                for each in records
                if left[to_stored(each.source)] == gone[to_stored(each.source)]
                and (each.chunks or matches_filter(where, _about(each)))
            ]
            table.delete(f"({condition}) OR (record IS NOT NULL AND {_among('source', empty)})")
        return gone.total()

    # ---- finding
    def find_nearest(self, vector: Vectors, k: int, where: Filter) -> list[Hit]:
        with self._using(model=True) as table:

            def search(terms: TermFilter, limit: int) -> list[dict[str, Any]]:
                query = table.search(vector, vector_column_name="vector").distance_type("dot")
                query = (
                    query.where(f"{_SERVED} AND {_sql(terms)}", prefilter=True)
                    .limit(limit)
                    .select([*_TEXTS, "id", "_distance"])
                )
                return cast("list[dict[str, Any]]", query.to_list())

            rows = search_widened(search, k, where)
        hits = [Hit(_chunk(row), max(-1.0, min(1.0 - row["_distance"], 1.0))) for row in rows]
        return sorted(hits, key=lambda hit: -hit.score)

    def find_words(self, query: str, k: int, where: Filter) -> list[Hit]:
        words = " ".join(dict.fromkeys(stems(query)))
        if not words:
            return []
        from lancedb.query import MatchQuery

        match: Any = MatchQuery
        with self._using() as table:

            def search(terms: TermFilter, limit: int) -> list[dict[str, Any]]:
                asked = table.search(match(words, "words"), query_type="fts")
                asked = asked.where(f"{_SERVED} AND {_sql(terms)}", prefilter=True)
                return cast("list[dict[str, Any]]", asked.limit(limit).select([*_TEXTS, "id", "_score"]).to_list())

            rows = search_widened(search, k, where)
        return [Hit(_chunk(row), float(row["_score"])) for row in sorted(rows, key=lambda row: -row["_score"])]

    def read_chunks(self, ids: Sequence[str]) -> list[Chunk]:
        with self._using() as table:
            condition = f"{_SERVED} AND {_among('id', map(to_stored, ids))}"
            kept = {row["id"]: row for row in _rows(table, condition, ["id", *_TEXTS])}
        return [_chunk(kept[to_stored(each)]) for each in ids if to_stored(each) in kept]

    def scan_chunks(self, where: Filter) -> Iterator[Chunk]:
        wanted = widen(where)
        with self._using() as table:
            table.checkout(table.version)
            query = table.search().where(f"{_SERVED} AND {_sql(wanted.filter)}").with_row_id(True)
            places = query.select(["source", "position", "id"]).to_arrow()
            order = sorted(
                zip(*(places[name].to_pylist() for name in ("source", "position", "id", "_rowid")), strict=True)
            )
            for start in range(0, len(order), _PAGE):
                rows = [each[-1] for each in order[start : start + _PAGE]]
                read = table.take_row_ids(rows).select([*_TEXTS, "_rowid"]).to_list()
                by_row = {row["_rowid"]: row for row in read}
                for number in rows:
                    if wanted.exact or metadata_fits(where, by_row[number]["metadata"]):
                        yield _chunk(by_row[number])

    def count_chunks(self, where: Filter) -> int:
        wanted = widen(where)
        with self._using() as table:
            condition = f"{_SERVED} AND {_sql(wanted.filter)}"
            if wanted.exact:
                return table.count_rows(condition)
            return sum(metadata_fits(where, row["metadata"]) for row in _rows(table, condition, list(_TEXTS)))

    def read_sources(self) -> Iterable[SourceRecord]:
        with self._using() as table:
            table.checkout(table.version)
            served = _rows(table, _SERVED, ["source", "fingerprint"])
            made = {
                row["source"]: SourceRecord(from_stored(row["source"]), from_stored(row["fingerprint"]), 0)
                for row in served
            }
            counts = Counter(row["source"] for row in served)
            made |= {to_stored(record.source): record for record in map(_record, _rows(table, _RECORDS, ["record"]))}
        return [record._replace(chunks=counts[source]) for source, record in made.items()]

    def _failed(self, error: Exception) -> StoreError:
        place = self.config.storage_path
        said = _PLACE_IN_CODE.sub("", str(error).partition("\n")[0])[:300]
        text = f"the store {place} cannot be used ({said}): "
        if "was not found" in said or "does not exist" in said or "Not found" in said:
            self._opened = ""
            return CollectionNotFoundError(
                f"{text}the collection was deleted: the next use creates it again", place, self.collection_name
            )
        if "onflict" in said or "Too many concurrent writers" in said:
            return StoreBusyError(f"{text}others write to it; try again", place)
        if "os error 28" in said or "No space left" in said:
            return StoreFullError(f"{text}make room on its disk; sources published before are complete", place)
        if isinstance(error, OSError) or "Permission denied" in said or "Not a directory" in said:
            return StoreError(f"{text}give a folder that can be written", place)
        return StoreDamagedError(f"{text}{DAMAGED}", place)


def _connected(path: str) -> Any:
    try:
        import lancedb
    except ImportError:
        raise MissingExtraError("lancedb", "lancedb") from None
    return lancedb.connect(path, read_consistency_interval=timedelta(0))  # sees at once what other processes write


def _arrow() -> Any:
    import pyarrow  # pyright: ignore[reportMissingTypeStubs] - it has none

    return cast("Any", pyarrow)


def table_schema(model: str, dimensions: int) -> Any:
    """Return the schema of a table, with the name and the dimensions of its embedding model."""
    pyarrow = _arrow()
    texts = ("id", "source", "fingerprint", "content", "metadata", "words", "record")
    fields = [pyarrow.field(name, pyarrow.string()) for name in texts]
    fields += [
        pyarrow.field("state", pyarrow.int8()),
        pyarrow.field("position", pyarrow.int64()),
        pyarrow.field("terms", pyarrow.list_(pyarrow.string())),
    ]
    if dimensions:
        fields.append(pyarrow.field("vector", pyarrow.list_(pyarrow.float32(), dimensions)))
    return pyarrow.schema(fields, {"trivium": json.dumps([model, dimensions])})


def _identity_of(table: Any) -> tuple[str, int]:
    """Return name and dimensions of the embedding model of a table."""
    kept = cast("dict[bytes, bytes]", table.schema.metadata or {})
    name, dimensions = json.loads(kept.get(b"trivium", b'["", -1]'))
    return name, dimensions


def _row(chunk: Chunk, state: int) -> dict[str, Any]:
    metadata = metadata_of(chunk)
    return {
        "id": metadata["id"],
        "source": metadata["source"],
        "fingerprint": metadata["fingerprint"],
        "position": chunk.metadata.position,
        "content": to_stored(chunk.content),
        "metadata": json_of(metadata),
        "words": " ".join(stems(chunk.content)),
        "terms": terms_of(metadata),
        "state": state,
    }


def record_row(record: SourceRecord) -> dict[str, Any]:
    """Return the row of a record, which is staged beside its chunks; its id differs from that of any chunk."""
    return {
        "id": f"{chr(0xE000)}{to_stored(record.source)}",
        "source": to_stored(record.source),
        "fingerprint": to_stored(record.fingerprint),
        "record": to_stored(json.dumps(record)),
        "state": _STAGED,
    }


def _merge(table: Any, rows: list[dict[str, Any]], vectors: Vectors | None) -> None:
    """Write rows atomically; they replace those of the same id and state."""
    pyarrow, schema = _arrow(), table.schema
    columns = [pyarrow.array([row.get(name) for row in rows], schema.field(name).type) for name in schema.names[:10]]
    if "vector" in schema.names:
        size = schema.field("vector").type.list_size
        flat = pyarrow.array([0.0] * size, pyarrow.float32()) if vectors is None else pyarrow.array(vectors.ravel())
        columns.append(pyarrow.FixedSizeListArray.from_arrays(flat, size))  # a record has one too, which is never read
    made = pyarrow.table(columns, schema=schema)
    table.merge_insert(_KEY).when_matched_update_all().when_not_matched_insert_all().execute(made)


def _twins(table: object, source: str, staged: str) -> list[str]:
    """Return the ids of staged chunks that chunks of other sources have too."""
    mine = {row["id"] for row in _rows(table, staged, ["id"])}
    return [row["id"] for row in _rows(table, f"{_SERVED} AND source <> {source}", ["id"]) if row["id"] in mine]


def _rows(table: Any, condition: str, columns: list[str]) -> list[dict[str, Any]]:
    return cast("list[dict[str, Any]]", table.search().where(condition).select(columns).to_list())


def _record(row: Mapping[str, Any]) -> SourceRecord:
    return SourceRecord(*json.loads(from_stored(row["record"])))


def _about(record: SourceRecord) -> dict[str, Any]:
    return {"source": record.source, "fingerprint": record.fingerprint, "title": record.title}


def _chunk(row: Mapping[str, Any]) -> Chunk:
    return chunk_of(row["content"], json.loads(row["metadata"]))


def _text(text: str) -> str:
    """Quote a text for SQL, in which a backslash has no special meaning."""
    return f"'{text.replace(chr(39), chr(39) * 2)}'"


def _among(column: str, values: Iterable[str]) -> str:
    listed = ", ".join(map(_text, values))
    return f"{column} IN ({listed})" if listed else "false"


def _sql(condition: TermFilter) -> str:
    if isinstance(condition, Has):
        return f"{'' if condition.there else 'NOT '}array_has(terms, {_text(condition.term)})"
    every = isinstance(condition, Every)
    alike = [each.term for each in condition.of if isinstance(each, Has) and each.there is not every]
    parts = [_sql(each) for each in condition.of if not (isinstance(each, Has) and each.there is not every)]
    if alike:  # a long list of values is one test
        any_of = f"array_has_any(terms, make_array({', '.join(map(_text, alike))}))"
        parts.append(f"NOT {any_of}" if every else any_of)
    return f"({_joined(parts, every)})"


def _joined(parts: list[str], every: bool) -> str:
    """Join tests as a balanced tree, so that they are not nested deeply."""
    if len(parts) <= 1:
        return parts[0] if parts else str(every).lower()
    half = len(parts) // 2
    return f"({_joined(parts[:half], every)} {'AND' if every else 'OR'} {_joined(parts[half:], every)})"
