"""A vector store in an SQLite file."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Final
from weakref import finalize

from pydantic import Field

from trivium.caches.lowlevel import SQLiteConnections
from trivium.exceptions import (
    StoreBusyError,
    StoreDamagedError,
    StoreError,
    StoreFullError,
    StoreVersionError,
    TriviumError,
)
from trivium.knowledge.embeddings import Vectors
from trivium.knowledge.stores._filters import Filter, matches_filter
from trivium.knowledge.stores._kind import DAMAGED
from trivium.knowledge.stores._records import chunk_of, from_stored, to_stored
from trivium.knowledge.stores._sqlite_matrix import Matrix, nearest_keys, read_matrix
from trivium.knowledge.stores._sqlite_rows import insert, sqlite_row
from trivium.knowledge.stores._sqlite_tables import (
    APPLICATION,
    VERSION,
    SQLiteTables,
)
from trivium.knowledge.stores._store import Hit, SourceRecord, VectorStore, VectorStoreConfig
from trivium.parsing import Chunk
from trivium.parsing.lowlevel import stems

if TYPE_CHECKING:
    from sqlite3 import Connection

_FEW: Final = 1000  # chunks that are ranked in no time
_MANY: Final = 256  # free pages of 4,096 bytes that are worth shrinking a file
_WAIT: Final = 100  # milliseconds to wait for readers before the log is emptied
_SQLITE_BUSY, _SQLITE_LOCKED, _SQLITE_CORRUPT, _SQLITE_FULL, _SQLITE_NOT_A_DATABASE = 5, 6, 11, 13, 26


class SQLiteStoreConfig(VectorStoreConfig):
    """The config of an `SQLiteStore`; see `VectorStoreConfig`.

    Args:
        storage_path: the file, on a local disk; ":memory:": nothing is saved.
        busy_seconds: seconds that a writer waits for others.
    """

    type: str = "sqlite"
    busy_seconds: float = Field(default=30.0, gt=0)


class SQLiteStore(VectorStore):
    """Stores chunks in one file, for all threads and processes of a machine: many read while one writes.

    Vector search is exact and in memory: 1 byte for each dimension of a chunk, read at the first search. Words are
    found by SQLite's full-text search. The file is created for its owner alone and is not encrypted. Deleted data are
    overwritten in the file, and a file that is mostly empty shrinks at the next deletion.

    Args:
        config: the settings; default: a store in memory.

    Raises:
        ConfigurationError: the name of the collection is not valid.

    Example:
        >>> from trivium.knowledge import Chunk
        >>> store = SQLiteStore(SQLiteStoreConfig(embedding=None))
        >>> _ = store.add_documents([Chunk.of("The rent is 950 EUR.", source="lease.txt", line=3)])
        >>> [hit.chunk.metadata.citation for hit in store.full_text("What is the rent?") or ()]
        ['lease.txt:3']
    """

    def __init__(self, config: VectorStoreConfig | None = None) -> None:
        super().__init__(SQLiteStoreConfig() if config is None else config)
        own = self.config if isinstance(self.config, SQLiteStoreConfig) else SQLiteStoreConfig()
        path, self._busy_seconds = self.config.storage_path, own.busy_seconds
        prepare = self._prepare
        self._place = (
            _Memory(prepare)
            if path == ":memory:"
            else SQLiteConnections(Path(path).expanduser(), self._busy_seconds, prepare, reads_at_least=True)
        )
        self._matrices: dict[int, Matrix] = {}

    def close(self) -> None:
        """Close the file and release the vectors; the next use opens it again. A store in memory loses its content."""
        self._place.close()
        self._matrices, self._opened = {}, ""

    # ---- collections
    def read_collections(self) -> dict[str, int]:
        with self._database() as database:
            names = [name for (name,) in database.execute("SELECT name FROM collection").fetchall()]
            every = [(name, SQLiteTables.of(database, name)) for name in names]
            count = "SELECT COUNT(*) FROM chunk_# WHERE served = 1"
            return {name: tables.run(count).fetchone()[0] for name, tables in every if tables is not None}

    def open_collection(self, collection: str) -> None:
        identity = self._identity()
        with self._database() as database:
            tables = SQLiteTables.of(database, collection)
            is_worn = tables is not None and tables.are_words_worn()
        if tables is None or (identity != tables.identity and identity != ("", 0)):
            with self._database("IMMEDIATE") as database:
                self._made(database, collection, identity)
        if is_worn:
            try:
                with self._database("IMMEDIATE") as database:
                    tables = SQLiteTables.of(database, collection)
                    if tables is not None and tables.are_words_worn():
                        tables.renew_words()
            except StoreBusyError:  # whoever writes there renews it, at the latest when something is deleted
                if tables is None or tables.are_words_unreadable():
                    raise

    def _made(self, database: Connection, collection: str, identity: tuple[str, int]) -> SQLiteTables:
        """Return the tables of a collection for an embedding model; create them if there are none."""
        tables = SQLiteTables.of(database, collection)
        if tables is not None and tables.identity == identity:
            return tables
        if tables is not None and tables.run("SELECT 1 FROM chunk_# LIMIT 1").fetchone():
            raise self._mismatch(collection, tables.identity)
        if tables is not None:
            tables.drop()
        query = "INSERT INTO collection (name, model, dimensions, revision) VALUES (?, ?, ?, 0)"
        number = database.execute(query, (collection, *identity)).lastrowid
        made = SQLiteTables(database, number or 0, *identity, 0)
        made.create()
        return made

    def drop_collection(self, collection: str) -> None:
        with self._database("IMMEDIATE") as database:
            tables = SQLiteTables.of(database, collection)
            if tables is not None:
                tables.drop()
                self._matrices.pop(tables.number, None)
        self._forget_log()

    # ---- keeping
    def write_chunks(self, chunks: Sequence[Chunk], vectors: Vectors | None) -> None:
        self._insert(chunks, vectors, 1)

    def stage_chunks(self, chunks: Sequence[Chunk], vectors: Vectors | None) -> None:
        self._insert(chunks, vectors, 0)

    def _insert(self, chunks: Sequence[Chunk], vectors: Vectors | None, served: int) -> None:
        rows = [sqlite_row(each) for each in chunks]
        with self._writing(served) as tables:
            if tables.identity != self._identity():
                raise self._mismatch(self.collection_name, tables.identity)
            insert(tables, rows, vectors, served)

    def publish_source(self, record: SourceRecord) -> None:
        source, fingerprint = to_stored(record.source), to_stored(record.fingerprint)
        with self._writing() as tables:
            query = "SELECT COUNT(*) FROM chunk_# WHERE source = ? AND fingerprint = ? AND served = 0"
            count = tables.run(query, source, fingerprint).fetchone()[0]
            if count != record.chunks:
                raise self._incomplete(record, count)
            tables.remove("source = ? AND (served = 1 OR fingerprint <> ?)", source, fingerprint)
            tables.remove("served = 1 AND id IN (SELECT id FROM chunk_# WHERE source = ? AND served = 0)", source)
            tables.run("UPDATE chunk_# SET served = 1 WHERE source = ? AND served = 0", source)
            values = (source, fingerprint, record.chunks, to_stored(record.title), record.size, record.modified)
            tables.run("INSERT OR REPLACE INTO source_# VALUES (?, ?, ?, ?, ?, ?)", *values)

    def discard_staged(self, source: str) -> None:
        with self._writing(served=0) as tables:
            tables.remove("source = ? AND served = 0", to_stored(source))

    def delete_matching(self, where: Filter) -> int:
        with self._writing() as tables:
            count = tables.run("SELECT COUNT(*) FROM chunk_# WHERE served = 1 AND @", where=where).fetchone()[0]
            if tables.remove("@", where=where):
                tables.forget_words()
            empty = tables.run(
                "SELECT source, fingerprint, title, chunks FROM source_# AS record WHERE NOT EXISTS "
                "(SELECT 1 FROM chunk_# WHERE source = record.source AND served = 1)"
            ).fetchall()
            for source, fingerprint, title, chunks in empty:
                about = {
                    "source": from_stored(source),
                    "fingerprint": from_stored(fingerprint),
                    "title": from_stored(title),
                }
                if chunks or matches_filter(where, about):  # a source without chunks can only match by its name
                    tables.run("DELETE FROM source_# WHERE source = ?", source)
        self._forget_log()
        return count

    def _forget_log(self) -> None:
        """Empty the write-ahead log, which may hold deleted data, and shrink a file that is mostly empty.

        Beside others who use the file, or without room for a copy of what is left, this is left to the next time.
        """
        import sqlite3

        with self._guarded() as database:
            database.execute(f"PRAGMA busy_timeout = {_WAIT}")
            pages, free = (
                database.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count")
            )
            if free > _MANY and 2 * free > pages:
                with suppress(sqlite3.OperationalError):
                    database.execute("VACUUM")
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            database.execute(f"PRAGMA busy_timeout = {int(1000 * self._busy_seconds)}")

    # ---- finding
    def find_nearest(self, vector: Vectors, k: int, where: Filter) -> list[Hit]:
        with self._reading() as tables:
            if tables is None or not tables.dimensions:
                return []
            if tables.identity != self._identity():
                raise self._mismatch(self.collection_name, tables.identity)
            matrix = self._matrices.get(tables.number)
            if matrix is None or matrix.revision != tables.revision:
                matrix = self._matrices[tables.number] = read_matrix(tables, matrix)
            return self._hits(tables, nearest_keys(tables, matrix, vector, k, where))

    def find_words(self, query: str, k: int, where: Filter) -> list[Hit] | None:
        words = list(dict.fromkeys(stems(query)))
        with self._reading() as tables:
            if tables is None or not words:
                return []
            found = tables.run(
                "SELECT key, -bm25(word_#) AS score FROM word_# JOIN chunk_# ON key = word_#.rowid "
                "WHERE word_# MATCH ? AND served = 1 AND @ ORDER BY score DESC, key LIMIT ?",
                " OR ".join(f'"{each}"' for each in distinctive_words(tables, words)),
                k,
                where=where,
            )
            return self._hits(tables, found.fetchall())

    def read_chunks(self, ids: Sequence[str]) -> list[Chunk]:
        with self._reading() as tables:
            if tables is None:
                return []
            rows = tables.run(
                "SELECT content, metadata FROM json_each(?) AS wanted "
                "JOIN chunk_# ON chunk_#.id = wanted.value AND served = 1 "
                "JOIN text_# ON text_#.key = chunk_#.key ORDER BY wanted.key",
                json.dumps([to_stored(each) for each in ids]),
            )
            return [self._chunk(*row) for row in rows]

    def scan_chunks(self, where: Filter) -> Iterator[Chunk]:
        rows = self._texts(where)
        for content, metadata in list(rows) if isinstance(self._place, _Memory) else rows:
            yield self._chunk(content, metadata)

    def _texts(self, where: Filter) -> Iterator[tuple[str, str]]:
        with self._reading() as tables:
            if tables is not None:
                yield from tables.run(
                    "SELECT content, metadata FROM chunk_# JOIN text_# USING (key) WHERE served = 1 AND @ "
                    "ORDER BY source, position, key",
                    where=where,
                )

    def count_chunks(self, where: Filter) -> int:
        with self._reading() as tables:
            if tables is None:
                return 0
            return tables.run("SELECT COUNT(*) FROM chunk_# WHERE served = 1 AND @", where=where).fetchone()[0]

    def read_revision(self) -> object:
        with self._reading() as tables:
            if tables is None:
                return None
            counted = tables.run("SELECT COUNT(*), MAX(key), SUM(key) FROM chunk_# WHERE served = 1").fetchone()
            return tables.number, *counted  # keys are never reused

    def read_sources(self) -> Iterable[SourceRecord]:
        with self._reading() as tables:
            if tables is None:
                return []
            rows = tables.run(
                "SELECT source, max(fingerprint), COUNT(*), '', 0, 0.0 FROM chunk_# WHERE served = 1 GROUP BY source "
                "UNION ALL SELECT * FROM source_#"
            )
            made: dict[str, SourceRecord] = {}
            for source, fingerprint, count, title, size, modified in rows:  # a record comes after its chunks
                record = SourceRecord(
                    from_stored(source), from_stored(fingerprint), count, from_stored(title), size, modified
                )
                counted = made.get(record.source)
                made[record.source] = record if counted is None else record._replace(chunks=counted.chunks)
            return list(made.values())

    # ---- inside
    def _hits(self, tables: SQLiteTables, found: Iterable[tuple[int, float]]) -> list[Hit]:
        query = "SELECT content, metadata FROM text_# WHERE key = ?"
        return [Hit(self._chunk(*tables.run(query, key).fetchone()), score) for key, score in found]

    def _chunk(self, content: str, metadata: str) -> Chunk:
        try:
            return chunk_of(content, json.loads(metadata))
        except (TypeError, ValueError) as error:
            raise self._failed(error) from error

    @contextmanager
    def _reading(self) -> Generator[SQLiteTables | None]:
        """Provide the tables in one state of the file; None if the collection was deleted."""
        with self._database() as database:
            yield SQLiteTables.of(database, self.collection_name)

    @contextmanager
    def _writing(self, served: int = 1) -> Generator[SQLiteTables]:
        """Provide the tables in one transaction; a change of served chunks (`served=1`) raises the revision."""
        with self._database("IMMEDIATE") as database:
            tables = SQLiteTables.of(database, self.collection_name)
            if tables is None:  # another process deleted it
                tables = self._made(database, self.collection_name, self._identity())
            yield tables
            query = "UPDATE collection SET revision = revision + ? WHERE number = ?"
            database.execute(query, (served, tables.number))

    @contextmanager
    def _database(self, kind: str = "DEFERRED") -> Generator[Connection]:
        """Provide a connection within one transaction."""
        with self._guarded() as database:
            database.execute(f"BEGIN {kind}")
            try:
                yield database
                database.execute("COMMIT")
            except BaseException:
                if database.in_transaction:
                    database.execute("ROLLBACK")
                raise

    @contextmanager
    def _guarded(self) -> Generator[Connection]:
        """Provide a connection; its errors become errors of the store."""
        import sqlite3

        try:
            with self._place.use() as database:
                yield database
        except TriviumError:
            raise
        except (sqlite3.Error, OSError, TypeError, ValueError) as error:
            raise self._failed(error) from error

    def _prepare(self, database: Connection) -> None:
        database.execute("PRAGMA secure_delete = ON")  # deleted data are overwritten
        empty, application, version = (  # emptiness first: another process may create it between these queries
            database.execute(query).fetchone()[0]
            for query in ("SELECT COUNT(*) = 0 FROM sqlite_master", "PRAGMA application_id", "PRAGMA user_version")
        )
        if application != APPLICATION and not empty:
            raise StoreDamagedError(
                f"{self.config.storage_path} is a database, but not a vector store: give another path",
                self.config.storage_path,
            )
        if version > VERSION:
            raise StoreVersionError(
                f"{self.config.storage_path} was made by a newer trivium: its format is {version}, and this one knows "
                f"{VERSION}: upgrade trivium, or give another path",
                self.config.storage_path,
                version,
            )
        if application != APPLICATION:
            database.executescript(
                f"BEGIN IMMEDIATE; PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION}; "
                "CREATE TABLE IF NOT EXISTS collection (number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE, "
                "model TEXT, dimensions INTEGER, revision INTEGER); COMMIT;"
            )

    def _failed(self, error: Exception) -> StoreError:
        place, code = self.config.storage_path, getattr(error, "sqlite_errorcode", 0) & 0xFF
        said = f"the store {place} cannot be used ({error}): "
        if code in (_SQLITE_BUSY, _SQLITE_LOCKED):
            return StoreBusyError(f"{said}others write to it; try again, or give a larger busy_seconds", place)
        if code == _SQLITE_FULL:
            return StoreFullError(f"{said}make room on its disk; sources published before are complete", place)
        if code in (_SQLITE_CORRUPT, _SQLITE_NOT_A_DATABASE) or isinstance(error, TypeError | ValueError):
            return StoreDamagedError(f"{said}{DAMAGED}", place)
        return StoreError(f"{said}give a file that can be written, on a disk of this machine", place)


class _Memory:
    """One connection to a database in memory, used by one thread at a time."""

    def __init__(self, prepare: Callable[[Connection], None]) -> None:
        self._lock, self._prepare = Lock(), prepare
        self._connection: Connection | None = None

    @contextmanager
    def use(self) -> Generator[Connection]:
        import sqlite3

        with self._lock:
            if self._connection is None:
                self._connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
                finalize(self, self._connection.close)
                self._prepare(self._connection)
            yield self._connection

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None


def distinctive_words(tables: SQLiteTables, words: list[str]) -> list[str]:
    """Remove the words of most chunks: they have no weight, and take most of the time."""
    count = "SELECT COUNT(*) FROM word_# WHERE word_# MATCH ?"
    found = {word: tables.run(count, f'"{word}"').fetchone()[0] for word in words}
    most = tables.run("SELECT COUNT(*) FROM chunk_#").fetchone()[0] / 2 if max(found.values()) > _FEW else _FEW
    return [word for word, many in found.items() if 0 < many <= most] or words
