"""A store in PostgreSQL with pgvector."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar, Final
from uuid import UUID, uuid4
from weakref import finalize

from pydantic import Field

from trivium.exceptions import (
    CollectionNotFoundError,
    ConfigurationError,
    IncompleteSourceError,
    MissingExtraError,
    StoreConnectionError,
)
from trivium.knowledge.embeddings import Vectors
from trivium.knowledge.stores._filters import Filter, matches
from trivium.knowledge.stores._postgres_pool import Pool
from trivium.knowledge.stores._postgres_tables import COLUMNS, Tables, digest, row_of
from trivium.knowledge.stores._records import chunk_of, plain, restored
from trivium.knowledge.stores._store import Hit, SourceRecord, VectorStore, VectorStoreConfig
from trivium.parsing import Chunk
from trivium.parsing.lowlevel import stems

if TYPE_CHECKING:
    from collections.abc import Iterator

    from psycopg import Connection

__all__ = ["PostgresStore", "PostgresStoreConfig"]

_PAGE: Final = 200
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
    """What a store in PostgreSQL is made of.

    What is not given is as libpq has it: `~/.pgpass` is read, and a socket of this machine is the default.

    Args:
        url: "postgresql://user:password@host:5432/database"; what follows wins over what it says.
        host: a name, an address or the folder of a socket.
        port: of the server; 0 is libpq's default.
        user: as whom.
        password: of the user; neither it nor the URL is ever shown or saved.
        database: which database; the extension `vector` is made in it, if it is not there and the user may.
        schema_name: where the tables are; it is made where it is not there.
        hnsw: collections made from now on have an index of their vectors, which finds almost all of the nearest
            quickly; without it a search reads all vectors and is exact.
        ef_search: how many candidates the index looks at: more find more, more slowly; 1 to 1000.
        connections: how many are open at once.
        timeout: seconds that a statement, or a connection to come free, may take.
        connect_timeout: seconds that connecting may take.
    """

    store: ClassVar[str] = "trivium.knowledge.stores.PostgresStore"

    url: str = Field(default="", repr=False, exclude=True)
    host: str = ""
    port: int = 0
    user: str = ""
    password: str = Field(default="", repr=False, exclude=True)
    database: str = ""
    schema_name: str = Field(default="trivium", pattern="^[a-z_][a-z0-9_]{0,62}$")
    hnsw: bool = False
    ef_search: int = Field(default=100, ge=1, le=1000)
    connections: int = Field(default=4, ge=1)
    timeout: float = Field(default=30.0, gt=0)
    connect_timeout: float = Field(default=10.0, gt=0)


class PostgresStore(VectorStore):
    """Keeps chunks in tables of a PostgreSQL server, for any number of threads, processes and machines.

    What is published, added or deleted is one transaction: readers see all of it or nothing, whoever is killed when.
    Words are found by BM25, which the server computes over its index of words. Needs the extra `postgres`, and a server
    with the extension `vector` from 0.8.

    Args:
        config: where the server is; default: libpq's.

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
        self._place = _place(self._parameters)
        self._known: dict[str, Tables] = {}

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
            self._opened = ""  # what was known of the collection may hold no more
            raise

    @contextmanager
    def _using(self, model: bool = False) -> Generator[Tables]:
        """The tables of the collection, in one transaction; `model` if it has to be of this embedding model."""
        with self._database() as connection:
            tables = self._known[self.collection_name]._replace(connection=connection)
            if model and tables.identity != self._identity():
                raise self._mismatch(self.collection_name, tables.identity)
            yield tables

    @contextmanager
    def _shared(self) -> Generator[Tables]:
        """All collections, for whoever makes or drops one; nobody else does meanwhile."""
        with self._database() as connection:
            tables = Tables(connection, self.config.schema_name)
            tables.run("SELECT pg_advisory_xact_lock(hashtext(%s))", tables.schema)
            yield tables

    @staticmethod
    def _prepared(connection: Connection[Any]) -> None:
        """Have the type of vectors, also where this is the first use of a database."""
        from pgvector.psycopg import register_vector

        if connection.execute("SELECT FROM pg_extension WHERE extname = 'vector'").fetchone() is None:
            with connection.transaction():
                connection.execute("SELECT pg_advisory_xact_lock(7237120)")  # two that make it at once collide
                connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        register_vector(connection)

    # ---- collections
    def _collections(self) -> dict[str, int]:
        with self._database() as connection:
            tables = Tables(connection, self.config.schema_name)
            if not tables.there():
                return {}
            query = (
                "SELECT name, coalesce(sum(chunks), 0)::int FROM #collection LEFT JOIN #source ON collection = number "
                "GROUP BY name"
            )
            return dict(tables.run(query).fetchall())

    def _open(self, collection: str) -> None:
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

    def _drop(self, collection: str) -> None:
        with self._shared() as tables:
            found = tables.of(collection) if tables.there() else None
            if found is not None:
                found.drop()

    # ---- keeping
    def _add(self, chunks: Sequence[Chunk], vectors: Vectors | None) -> None:
        rows = _rows(chunks, True, vectors)
        new = {digest(each.metadata.source): each.metadata for each in chunks}
        with self._using(model=True) as tables:
            self._turn(tables, new)
            former = tables.run("DELETE FROM #chunk WHERE served AND id = ANY(%s) RETURNING source", [*rows])
            touched = {*new, *_keys(former)}
            _insert(tables, rows)
            records = {key: SourceRecord(about.source, about.fingerprint, 0) for key, about in new.items()}
            _recount(tables, touched, records)

    def _stage(self, chunks: Sequence[Chunk], vectors: Vectors | None) -> None:
        rows = _rows(chunks, False, vectors)
        with self._using(model=True) as tables:
            _insert(tables, rows)

    def _publish(self, record: SourceRecord) -> None:
        source, state = digest(record.source), digest(record.fingerprint)
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

    def _discard(self, source: str) -> None:
        with self._using() as tables:
            tables.run("DELETE FROM #chunk WHERE source = %s AND NOT served", digest(source))

    def _delete(self, where: Filter) -> int:
        with self._using() as tables:
            gone = tables.run("DELETE FROM #chunk WHERE #where RETURNING source, served", where=where).fetchall()
            touched = {source for source, _ in gone}
            empty = tables.run("SELECT source, record FROM #source WHERE collection = %s AND chunks = 0", tables.number)
            for source, record in empty.fetchall():  # what never had a chunk can only be meant by its name
                about = _record(record)
                if matches(where, {"source": about.source, "fingerprint": about.fingerprint, "title": about.title}):
                    touched.add(source)
            self._turn(tables, touched)
            _recount(tables, touched, {})
        return sum(served for _, served in gone)

    @staticmethod
    def _turn(tables: Tables, sources: Iterable[UUID]) -> None:
        """Nobody else changes these sources until the transaction ends."""
        for source in sorted(sources):
            tables.run("SELECT pg_advisory_xact_lock(%s, %s)", tables.number, source.int % 2**31)

    # ---- finding
    def _nearest(self, vector: Vectors, k: int, where: Filter) -> list[Hit]:
        query = "SELECT content, metadata, vector <#> %s FROM #chunk WHERE served AND #where ORDER BY vector <#> %s"
        with self._using(model=True) as tables:
            if self.config.hnsw:
                tables.run("SELECT set_config('hnsw.ef_search', %s, true)", str(self.config.ef_search))
                tables.run("SET LOCAL hnsw.iterative_scan = strict_order")  # conditions are checked after the index
            else:
                query += ", id"
            rows = tables.run(f"{query} LIMIT %s", vector, vector, k, where=where).fetchall()
        return [Hit(chunk_of(content, metadata), max(-1.0, min(-away, 1.0))) for content, metadata, away in rows]

    def _full_text(self, query: str, k: int, where: Filter) -> list[Hit]:
        words = [f"'{each}'" for each in dict.fromkeys(stems(query))]  # letters and digits, no more
        if not words:
            return []
        with self._using() as tables:
            rows = tables.run(_BM25, words, " | ".join(words), k, where=where).fetchall()
        return [Hit(chunk_of(content, metadata), float(score)) for content, metadata, score in rows]

    def _get(self, ids: Sequence[str]) -> list[Chunk]:
        wanted = [digest(each) for each in ids]
        with self._using() as tables:
            query = "SELECT id, content, metadata FROM #chunk WHERE served AND id = ANY(%s)"
            found = {key: (content, metadata) for key, content, metadata in tables.run(query, wanted).fetchall()}
        return [chunk_of(*found[key]) for key in wanted if key in found]

    def _scan(self, where: Filter) -> Iterator[Chunk]:
        with self._using() as tables:
            cursor = f"scan_{uuid4().hex}"
            query = "SELECT content, metadata FROM #chunk WHERE served AND #where ORDER BY place, position, id"
            tables.run(f"DECLARE {cursor} CURSOR FOR {query}", where=where)
            while page := tables.run(f"FETCH {_PAGE} FROM {cursor}").fetchall():
                for content, metadata in page:
                    yield chunk_of(content, metadata)

    def _count(self, where: Filter) -> int:
        with self._using() as tables:
            return tables.first("SELECT count(*) FROM #chunk WHERE served AND #where", where=where)

    def _sources(self) -> Iterable[SourceRecord]:
        with self._using() as tables:
            rows = tables.run("SELECT record, chunks FROM #source WHERE collection = %s", tables.number).fetchall()
        return [_record(record)._replace(chunks=count) for record, count in rows]


def _rows(chunks: Sequence[Chunk], served: bool, vectors: Vectors | None) -> dict[UUID, list[Any]]:
    """Rows by id, in the order of these, so that two who write the same never wait for each other in a ring; of an id
    that comes twice the last one stays."""
    rows = [row_of(chunk, served) for chunk in chunks]
    if vectors is not None:
        rows = [[*row, vector] for row, vector in zip(rows, vectors, strict=True)]
    return dict(sorted({row[0]: row for row in rows}.items()))


def _insert(tables: Tables, rows: Mapping[UUID, list[Any]]) -> None:
    """Write rows; those that are there of the same id, and served as they are, give way."""
    columns = [*COLUMNS, *(["vector"] if tables.dimensions else [])]
    changes = ", ".join(f"{each} = excluded.{each}" for each in columns)
    marks = ", ".join(["%s"] * len(columns))
    query = f"INSERT INTO #chunk ({', '.join(columns)}) VALUES ({marks})"  # noqa: S608 - constants
    tables.run_many(f"{query} ON CONFLICT (id, served) DO UPDATE SET {changes}", rows.values())


def _recount(tables: Tables, sources: Iterable[UUID], new: Mapping[UUID, SourceRecord]) -> None:
    """Say anew how many chunks are served of some sources; those with none are forgotten."""
    for source in sorted(sources):
        count = tables.first("SELECT count(*) FROM #chunk WHERE source = %s AND served", source)
        key = (tables.number, source)
        if not count:
            tables.run("DELETE FROM #source WHERE collection = %s AND source = %s", *key)
        elif not tables.run(
            "UPDATE #source SET chunks = %s WHERE collection = %s AND source = %s", count, *key
        ).rowcount:
            _keep(tables, source, new[source], count)


def _keep(tables: Tables, source: UUID, record: SourceRecord, count: int) -> None:
    tables.run(
        "INSERT INTO #source VALUES (%s, %s, %s, %s) ON CONFLICT (collection, source) "
        "DO UPDATE SET record = excluded.record, chunks = excluded.chunks",
        tables.number,
        source,
        json.dumps([plain(each) if isinstance(each, str) else each for each in record]),
        count,
    )


def _record(kept: Sequence[Any]) -> SourceRecord:
    values: list[Any] = [restored(each) if isinstance(each, str) else each for each in kept]
    return SourceRecord(*values)


def _keys(cursor: Any) -> set[UUID]:
    return {row[0] for row in cursor.fetchall()}


def _parameters(config: PostgresStoreConfig) -> dict[str, Any]:
    """What libpq needs; an URL that it cannot read is never shown, for it may hold a password."""
    try:
        from psycopg import ProgrammingError
        from psycopg.conninfo import conninfo_to_dict
    except ImportError:
        raise MissingExtraError("psycopg", "postgres") from None
    made: dict[str, Any] | None = None
    with suppress(ProgrammingError):
        made = {**conninfo_to_dict(config.url)}
    if made is None:  # not while that error is handled: its text holds the URL
        raise ConfigurationError(
            "the url of a PostgresStoreConfig is none of PostgreSQL: give postgresql://user:password@host:5432/name, "
            "with what is odd in the password written as %..."
        )
    given = {"host": config.host, "port": config.port, "user": config.user, "password": config.password}
    made |= {name: value for name, value in {**given, "dbname": config.database}.items() if value}
    made.setdefault("application_name", "trivium")
    made.setdefault("connect_timeout", max(1, round(config.connect_timeout)))
    limit = f"-c statement_timeout={round(config.timeout * 1000)}"
    made["options"] = f"{made.get('options', '')} {limit}".strip()
    return made


def _place(parameters: dict[str, Any]) -> str:
    """The server as an URL without a password."""
    user = f"{parameters['user']}@" if "user" in parameters else ""
    port = f":{parameters['port']}" if "port" in parameters else ""
    return f"postgresql://{user}{parameters.get('host', '')}{port}/{parameters.get('dbname', '')}"
