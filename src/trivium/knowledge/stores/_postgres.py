"""A store in PostgreSQL with pgvector."""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar, Final
from uuid import UUID, uuid4
from weakref import finalize

from pydantic import Field, field_validator

from trivium.exceptions import (
    CollectionNotFoundError,
    IncompleteSourceError,
    StoreConnectionError,
)
from trivium.journal.lowlevel import postgres_parameters, postgres_place
from trivium.knowledge.embeddings import Vectors
from trivium.knowledge.stores._filters import Filter, matches_filter
from trivium.knowledge.stores._postgres_pool import Pool
from trivium.knowledge.stores._postgres_tables import COLUMNS, PostgresTables, postgres_row, text_key
from trivium.knowledge.stores._records import chunk_of, from_stored, to_stored
from trivium.knowledge.stores._store import Hit, SourceRecord, VectorStore, VectorStoreConfig
from trivium.parsing import Chunk
from trivium.parsing.lowlevel import stems

if TYPE_CHECKING:
    from collections.abc import Iterator

    from psycopg import Connection

_PAGE: Final = 200
_SCHEMA: Final = re.compile("[a-z_][a-z0-9_]{0,62}")
_BM25: Final = """
WITH total AS (SELECT count(*)::float AS n, greatest(avg(length), 1) AS mean FROM #chunk WHERE served),
wanted AS (
    SELECT word, ln(1 + (n - found + 0.5) / (found + 0.5)) AS weight FROM total, unnest(%s::text[]) AS word,
        LATERAL (SELECT count(*) AS found FROM #chunk WHERE served AND words @@ word::tsquery) AS often
)
SELECT content, metadata, score FROM #chunk NATURAL JOIN (
    SELECT id, served, sum(weight * often * 2.2 / (often + 1.2 * (0.25 + 0.75 * length / mean))) AS score
    FROM #chunk, total, unnest(words) AS kept JOIN wanted ON word = quote_literal(lexeme),
        LATERAL (SELECT cardinality(positions)::float AS often) AS counted
    WHERE served AND words @@ %s::tsquery AND #where
    GROUP BY id, served ORDER BY score DESC, id LIMIT %s
) AS best ORDER BY score DESC, id
"""


class PostgresStoreConfig(VectorStoreConfig):
    """The config of a `PostgresStore`; see `VectorStoreConfig`.

    libpq's defaults hold for fields that are not given: `~/.pgpass` is read, and the server is reached by a local
    socket.

    Args:
        url: "postgresql://user:password@host:5432/database"; the fields below override its parts.
        host: a name, an address or the folder of a socket.
        port: port of the server; 0: libpq's default.
        user: name of the user.
        password: password of the user; it and the URL are left out of `repr` and of dumps.
        database: name of the database; the extension `vector` is created in it if need be and the user may.
        schema_name: schema of the tables: 1 to 63 small letters, digits and "_", no digit first. It is created if there
            is none.
        hnsw: True: new collections have an index of their vectors, which quickly finds almost all of the nearest;
            False: a search reads all vectors and is exact.
        ef_search: number of candidates in the index, 1 to 1000: more find more and take longer.
        connections: maximum number of open connections.
        timeout: seconds that a statement, or the wait for a connection, may take.
        connect_timeout: seconds that connecting may take.
    """

    store: ClassVar[str] = "trivium.knowledge.stores.PostgresStore"

    url: str = Field(default="", repr=False, exclude=True)
    host: str = ""
    port: int = Field(default=0, ge=0, le=65_535)
    user: str = ""
    password: str = Field(default="", repr=False, exclude=True)
    database: str = ""
    schema_name: str = "trivium"
    hnsw: bool = False
    ef_search: int = Field(default=100, ge=1, le=1000)
    connections: int = Field(default=4, ge=1)
    timeout: float = Field(default=30.0, gt=0)
    connect_timeout: float = Field(default=10.0, gt=0)

    @field_validator("schema_name")
    @classmethod
    def _is_plain(cls, given: str) -> str:
        if not _SCHEMA.fullmatch(given):
            raise ValueError(f"{given!r} cannot be a schema: give 1 to 63 letters a-z, digits and '_', no digit first")
        return given


class PostgresStore(VectorStore):
    """Stores chunks in tables of a PostgreSQL server, for any number of threads, processes and machines.

    Each publication, addition or deletion is one transaction: readers see all of it or nothing, even if a process is
    killed. Words are ranked by BM25, which the server computes with its index of words. It needs the extra `postgres`,
    and a server with the extension `vector` 0.8 or later.

    Args:
        config: the settings; default: libpq's defaults.

    Example::

        store = PostgresStore(PostgresStoreConfig(url="postgresql://ada@db.example.org/notes"))
        store.add_documents([Document.from_string("The rent is 950 EUR.")])
        store.similar_texts_with_scores("What do I pay?")
    """

    config: PostgresStoreConfig  # pyright: ignore[reportIncompatibleVariableOverride] - it is only read here

    def __init__(self, config: PostgresStoreConfig | None = None) -> None:
        super().__init__(config or PostgresStoreConfig())
        self._pool: Pool | None = None
        self._making = Lock()
        self._parameters = _parameters(self.config)
        self._place = postgres_place(self._parameters)
        self._known: dict[str, PostgresTables] = {}

    def __repr__(self) -> str:
        return f"PostgresStore({self._place!r}, collection={self.collection_name!r})"

    def close(self) -> None:
        """Close the connections; the next use opens new ones."""
        if self._pool is not None:
            self._pool.close()

    # ---- connections
    @contextmanager
    def _database(self) -> Generator[Connection[Any]]:
        with self._making:
            if self._pool is None:
                config = self.config
                self._pool = Pool(self._parameters, self._place, config.connections, config.timeout, self._prepared)
                finalize(self, self._pool.close).atexit = False
            pool = self._pool
        try:
            with pool.connection() as connection, connection.transaction():
                yield connection
        except (CollectionNotFoundError, StoreConnectionError):
            self._opened = ""  # the collection may have changed
            raise

    @contextmanager
    def _using(self, model: bool = False) -> Generator[PostgresTables]:
        """Provide the tables of the collection in one transaction; `model=True` requires its embedding model."""
        with self._database() as connection:
            tables = self._known[self.collection_name]._replace(connection=connection)
            if model and tables.identity != self._identity():
                raise self._mismatch(self.collection_name, tables.identity)
            yield tables

    @contextmanager
    def _shared(self) -> Generator[PostgresTables]:
        """Provide the shared tables, locked against other processes that create or drop collections."""
        with self._database() as connection:
            tables = PostgresTables(connection, self.config.schema_name)
            tables.run("SELECT pg_advisory_xact_lock(hashtext(%s))", tables.schema)
            yield tables

    @staticmethod
    def _prepared(connection: Connection[object]) -> None:
        """Register the type of vectors; create the extension at the first use of a database."""
        from pgvector.psycopg import register_vector

        if connection.execute("SELECT FROM pg_extension WHERE extname = 'vector'").fetchone() is None:
            with connection.transaction():
                connection.execute("SELECT pg_advisory_xact_lock(7237120)")  # creating it twice at the same time fails
                connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        register_vector(connection)

    # ---- collections
    def read_collections(self) -> dict[str, int]:
        with self._database() as connection:
            tables = PostgresTables(connection, self.config.schema_name)
            if not tables.there():
                return {}
            query = (
                "SELECT name, coalesce(sum(chunks), 0)::int FROM #collection LEFT JOIN #source ON collection = number "
                "GROUP BY name"
            )
            return dict(tables.run(query).fetchall())

    def open_collection(self, collection: str) -> None:
        wanted = self._identity()
        with self._shared() as tables:
            if not tables.there():
                tables.prepare()
            found = tables.of(collection)
            if found is not None and wanted not in (found.identity, ("", 0)):
                if found.first("SELECT 1 FROM #chunk LIMIT 1"):
                    raise self._mismatch(collection, found.identity)
                found.drop()
                found = None
            self._known[collection] = found or tables.make(collection, wanted, self.config.hnsw)

    def drop_collection(self, collection: str) -> None:
        with self._shared() as tables:
            found = tables.of(collection) if tables.there() else None
            if found is not None:
                found.drop()

    # ---- keeping
    def write_chunks(self, chunks: Sequence[Chunk], vectors: Vectors | None) -> None:
        rows = _rows(chunks, True, vectors)
        new = {text_key(each.metadata.source): each.metadata for each in chunks}
        with self._using(model=True) as tables:
            self._turn(tables, new)
            former = tables.run("DELETE FROM #chunk WHERE served AND id = ANY(%s) RETURNING source", [*rows])
            touched = {*new, *_keys(former)}
            _insert(tables, rows)
            records = {key: SourceRecord(about.source, about.fingerprint, 0) for key, about in new.items()}
            _recount(tables, touched, records)

    def stage_chunks(self, chunks: Sequence[Chunk], vectors: Vectors | None) -> None:
        rows = _rows(chunks, False, vectors)
        with self._using(model=True) as tables:
            self._turn(tables, {text_key(each.metadata.source) for each in chunks})
            _insert(tables, rows)

    def publish_source(self, record: SourceRecord) -> None:
        source, state = text_key(record.source), text_key(record.fingerprint)
        with self._using(model=True) as tables:
            self._turn(tables, [source])
            query = "SELECT count(*) FROM #chunk WHERE source = %s AND fingerprint = %s AND NOT served"
            if (staged := tables.first(query, source, state)) != record.chunks:
                raise self._incomplete(record, staged)
            tables.run("DELETE FROM #chunk WHERE source = %s AND (served OR fingerprint <> %s)", source, state)
            others = tables.run(
                "DELETE FROM #chunk WHERE served AND id IN (SELECT id FROM #chunk WHERE source = %s) RETURNING source",
                source,
            )
            _recount(tables, _keys(others), {})
            tables.run("UPDATE #chunk SET served = true WHERE source = %s", source)
            _keep(tables, source, record, record.chunks)

    def _incomplete(self, record: SourceRecord, staged: int) -> IncompleteSourceError:
        made = super()._incomplete(record, staged)
        made.store = self._place
        return made

    def discard_staged(self, source: str) -> None:
        with self._using() as tables:
            tables.run("DELETE FROM #chunk WHERE source = %s AND NOT served", text_key(source))

    def delete_matching(self, where: Filter) -> int:
        with self._using() as tables:
            gone = tables.run("DELETE FROM #chunk WHERE #where RETURNING source, served", where=where).fetchall()
            touched = {source for source, _ in gone}
            empty = tables.run("SELECT source, record FROM #source WHERE collection = %s AND chunks = 0", tables.number)
            for source, record in empty.fetchall():  # a source without chunks can only match by its name
                about = _record(record)
                if matches_filter(
                    where, {"source": about.source, "fingerprint": about.fingerprint, "title": about.title}
                ):
                    touched.add(source)
            self._turn(tables, touched)
            _recount(tables, touched, {})
        return sum(served for _, served in gone)

    @staticmethod
    def _turn(tables: PostgresTables, sources: Iterable[UUID]) -> None:
        """Lock sources against other writers until the transaction ends."""
        for source in sorted(sources):
            tables.run("SELECT pg_advisory_xact_lock(%s, %s)", tables.number, source.int % 2**31)

    # ---- finding
    def find_nearest(self, vector: Vectors, k: int, where: Filter) -> list[Hit]:
        query = "SELECT content, metadata, vector <#> %s FROM #chunk WHERE served AND #where ORDER BY vector <#> %s"
        with self._using(model=True) as tables:
            if self.config.hnsw:
                tables.run("SELECT set_config('hnsw.ef_search', %s, true)", str(self.config.ef_search))
                tables.run("SET LOCAL hnsw.iterative_scan = strict_order")  # conditions are checked after the index
            else:
                query += ", id"
            rows = tables.run(f"{query} LIMIT %s", vector, vector, k, where=where).fetchall()
        return [Hit(chunk_of(content, metadata), max(-1.0, min(-away, 1.0))) for content, metadata, away in rows]

    def find_words(self, query: str, k: int, where: Filter) -> list[Hit]:
        words = [f"'{each}'" for each in dict.fromkeys(stems(query))]  # letters and digits, no more
        if not words:
            return []
        with self._using() as tables:
            rows = tables.run(_BM25, words, " | ".join(words), k, where=where).fetchall()
        return [Hit(chunk_of(content, metadata), float(score)) for content, metadata, score in rows]

    def read_chunks(self, ids: Sequence[str]) -> list[Chunk]:
        wanted = [text_key(each) for each in ids]
        with self._using() as tables:
            query = "SELECT id, content, metadata FROM #chunk WHERE served AND id = ANY(%s)"
            found = {key: (content, metadata) for key, content, metadata in tables.run(query, wanted).fetchall()}
        return [chunk_of(*found[key]) for key in wanted if key in found]

    def scan_chunks(self, where: Filter) -> Iterator[Chunk]:
        with self._using() as tables:
            cursor = f"scan_{uuid4().hex}"
            query = "SELECT content, metadata FROM #chunk WHERE served AND #where ORDER BY place, position, id"
            tables.run(f"DECLARE {cursor} CURSOR FOR {query}", where=where)
            while page := tables.run(f"FETCH {_PAGE} FROM {cursor}").fetchall():
                for content, metadata in page:
                    yield chunk_of(content, metadata)

    def count_chunks(self, where: Filter) -> int:
        with self._using() as tables:
            return tables.first("SELECT count(*) FROM #chunk WHERE served AND #where", where=where)

    def read_sources(self) -> Iterable[SourceRecord]:
        with self._using() as tables:
            rows = tables.run("SELECT record, chunks FROM #source WHERE collection = %s", tables.number).fetchall()
        return [_record(record)._replace(chunks=count) for record, count in rows]


def _rows(chunks: Sequence[Chunk], served: bool, vectors: Vectors | None) -> dict[UUID, list[Any]]:
    """Return rows by id, sorted, so that two writers cannot deadlock; of equal ids the last one is kept."""
    rows = [postgres_row(chunk, served) for chunk in chunks]
    if vectors is not None:
        rows = [[*row, vector] for row, vector in zip(rows, vectors, strict=True)]
    return dict(sorted({row[0]: row for row in rows}.items()))


def _insert(tables: PostgresTables, rows: Mapping[UUID, list[object]]) -> None:
    """Write rows; they replace those of the same id and the same `served`."""
    columns = [*COLUMNS, *(["vector"] if tables.dimensions else [])]
    changes = ", ".join(f"{each} = excluded.{each}" for each in columns)
    marks = ", ".join(["%s"] * len(columns))
    query = f"INSERT INTO #chunk ({', '.join(columns)}) VALUES ({marks})"  # noqa: S608 - constants
    tables.run_many(f"{query} ON CONFLICT (id, served) DO UPDATE SET {changes}", rows.values())


def _recount(tables: PostgresTables, sources: Iterable[UUID], new: Mapping[UUID, SourceRecord]) -> None:
    """Update the number of served chunks of some sources; delete the records of those without."""
    for source in sorted(sources):
        count = tables.first("SELECT count(*) FROM #chunk WHERE source = %s AND served", source)
        key = (tables.number, source)
        if not count:
            tables.run("DELETE FROM #source WHERE collection = %s AND source = %s", *key)
        elif not tables.run(
            "UPDATE #source SET chunks = %s WHERE collection = %s AND source = %s", count, *key
        ).rowcount:
            _keep(tables, source, new[source], count)


def _keep(tables: PostgresTables, source: UUID, record: SourceRecord, count: int) -> None:
    tables.run(
        "INSERT INTO #source VALUES (%s, %s, %s, %s) ON CONFLICT (collection, source) "
        "DO UPDATE SET record = excluded.record, chunks = excluded.chunks",
        tables.number,
        source,
        json.dumps([to_stored(each) if isinstance(each, str) else each for each in record]),
        count,
    )


def _record(kept: Sequence[object]) -> SourceRecord:
    values: list[Any] = [from_stored(each) if isinstance(each, str) else each for each in kept]
    return SourceRecord(*values)


def _keys(cursor: Any) -> set[UUID]:
    return {row[0] for row in cursor.fetchall()}


def _parameters(config: PostgresStoreConfig) -> dict[str, Any]:
    made = postgres_parameters(config.url)
    given = {"host": config.host, "port": config.port, "user": config.user, "password": config.password}
    made |= {name: value for name, value in {**given, "dbname": config.database}.items() if value}
    made.setdefault("application_name", "trivium")
    made.setdefault("connect_timeout", max(1, round(config.connect_timeout)))
    limit = f"-c statement_timeout={round(config.timeout * 1000)}"
    made["options"] = f"{made.get('options', '')} {limit}".strip()
    return made
