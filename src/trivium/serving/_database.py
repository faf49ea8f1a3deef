"""The database of a server: an SQLite file for one server, or PostgreSQL for several."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

from trivium.caches.lowlevel import SQLiteConnections
from trivium.exceptions import ConfigurationError, JournalError
from trivium.journal.lowlevel import ADVISORY_LOCKS, IS_CLAIMED, PostgresConnections, file_at, has_server, server_lock

if TYPE_CHECKING:
    from psycopg import Connection

BUSY_SECONDS: Final = 30.0
ColumnTypes: TypeAlias = tuple[str, Mapping[str, str]]
"""A table, and the types of its columns in SQL. Those that a table of an earlier version lacks are added."""
_MAKING: Final = 7_248_351_190_212_012
"""The advisory lock of those that create the tables."""
_KEY: Final = "hashtextextended(current_schema() || '/trivium_served/' || %s, 0)"
_SERVERS: Final = "servers"


class StoreChanges(Protocol):
    """A transaction: texts of SQL with `?` for values, in either dialect."""

    def read(self, query: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        ...

    def write(self, query: str, rows: Sequence[Sequence[object]]) -> None:
        """Execute a statement for each row of values."""
        ...


class Database(Protocol):
    """The tables, and names that one process at a time holds.

    Attributes:
        is_shared: whether other servers use it too.
        for_share: the end of a query whose rows nobody changes before the transaction ends.
        is_free: a condition in SQL: no process holds the name that begins with `run/` and ends with the column `id`.
    """

    is_shared: bool
    for_share: str
    is_free: str

    def read(self, query: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        ...

    def change(self) -> AbstractContextManager[StoreChanges]:
        """Begin a transaction; it counts where the block ends without an error."""
        ...

    def hold(self, name: str) -> bool:
        """Hold a name until it is released, or this process ends; return False where it is held."""
        ...

    def release(self, name: str) -> None:
        """Release a name, if it is held here."""
        ...

    def renew(self) -> set[str]:
        """Hold again what was held on a connection that broke, and return the names that others hold now."""
        ...

    def join(self) -> None:
        """Count as a server that is at work, until it is closed.

        Raises:
            ConfigurationError: there is one already, and there cannot be several.
        """
        ...

    def servers(self) -> int:
        """Return how many servers are at work."""
        ...

    def close(self) -> None:
        """Release all names and close the connections; the next use opens one again."""
        ...


def database_at(place: str | Path, tables: Sequence[str], columns: ColumnTypes) -> Database:
    """Return the database of a place.

    Args:
        place: an SQLite file, or the URL of a PostgreSQL database.
        tables: statements that create what is not there.
        columns: the columns of the table that has had further ones.
    """
    if isinstance(place, str) and place.startswith(("postgresql://", "postgres://")):
        return _Postgres(place, tables, columns)
    return _SQLite(file_at(place), tables, columns)


class _SQLite:
    is_shared, for_share, is_free = False, "", "1 = 1"

    def __init__(self, path: Path, tables: Sequence[str], columns: ColumnTypes) -> None:
        self._path, self._lock = path.absolute(), Lock()  # the process may change its folder
        self._joined: sqlite3.Connection | None = None
        self._place: tuple[int, int] | None = None
        """The file itself, whatever its name is, since the server is at work with it."""
        prepare = partial(_create, tables=tables, columns=columns)
        self._connections = SQLiteConnections(self._path, BUSY_SECONDS, prepare)

    def read(self, query: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
        with self._use() as database:
            return database.execute(query, values).fetchall()

    @contextmanager
    def change(self) -> Generator[StoreChanges]:
        with self._lock, self._use() as database:
            database.execute("BEGIN IMMEDIATE")
            yield _SQLiteChanges(database)
            database.execute("COMMIT")

    @contextmanager
    def _use(self) -> Generator[sqlite3.Connection]:
        with self._typed_errors():
            if self._place is not None and _place_of(self._path) != self._place:
                raise OSError("it was deleted or replaced while the server is at work with it")
            with self._connections.use() as database:
                yield database

    @contextmanager
    def _typed_errors(self) -> Generator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            advice = "free the disk or mend the file; a server that has started then goes on by itself"
            raise JournalError(f"{self._path} cannot be used ({error}): {advice}", place=str(self._path)) from error

    def hold(self, name: str) -> bool:
        return True

    def release(self, name: str) -> None:
        pass

    def renew(self) -> set[str]:
        return set()

    def join(self) -> None:
        with self._typed_errors():
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._joined = self._joined or server_lock(self._path)
            self._place = _place_of(self._path)
        if self._joined is None:
            raise ConfigurationError(
                f"another server is at work with {self._path}: end it first, or give this one a file of its own;"
                " several servers share a PostgreSQL database"
            )

    def servers(self) -> int:
        with self._typed_errors():
            return int(self._joined is not None or has_server(self._path))

    def close(self) -> None:
        joined, self._joined, self._place = self._joined, None, None
        if joined is not None:
            joined.close()
        self._connections.close()


def _place_of(path: Path) -> tuple[int, int] | None:
    """Return which file has a name now; None: there is none."""
    with suppress(FileNotFoundError):
        found = path.stat()
        return found.st_dev, found.st_ino
    return None


class _SQLiteChanges:
    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def read(self, query: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
        return self._database.execute(query, values).fetchall()

    def write(self, query: str, rows: Sequence[Sequence[object]]) -> None:
        self._database.executemany(query, rows)


def _create(database: sqlite3.Connection, tables: Sequence[str], columns: ColumnTypes) -> None:
    for each in tables:
        database.execute(each)

    def missing() -> list[str]:
        found = database.execute(f"SELECT name FROM pragma_table_info('{columns[0]}')")  # noqa: S608
        return _missing(columns, {str(row[0]) for row in found})

    if missing():
        database.execute("BEGIN IMMEDIATE")
        for each in missing():
            database.execute(each)
        database.execute("COMMIT")


def _missing(columns: ColumnTypes, found: set[str]) -> list[str]:
    """Return statements that add the columns which a table of an earlier version lacks."""
    table, wanted = columns
    return [f"ALTER TABLE {table} ADD COLUMN {name} {kind}" for name, kind in wanted.items() if name not in found]


class _Postgres:
    is_shared, for_share = True, " FOR SHARE"
    is_free = f"NOT {IS_CLAIMED}"

    def __init__(self, url: str, tables: Sequence[str], columns: ColumnTypes) -> None:
        self._connections = PostgresConnections(url, partial(_prepare, tables=tables, columns=columns))
        self._held = _Held(self._connections)

    def read(self, query: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
        with self._connections.use() as database:
            return database.execute(_psycopg(query), values).fetchall()

    @contextmanager
    def change(self) -> Generator[StoreChanges]:
        with self._connections.use() as database, database.transaction():
            yield _PostgresChanges(database)

    def hold(self, name: str) -> bool:
        return self._held.take(name)

    def release(self, name: str) -> None:
        self._held.release(name)

    def renew(self) -> set[str]:
        return self._held.renew()

    def join(self) -> None:
        self._held.join()

    def servers(self) -> int:
        query = f"SELECT count(*) FROM ({ADVISORY_LOCKS} AND mode = 'ShareLock') AS held (key) WHERE key = {_KEY}"  # noqa: S608
        with self._connections.use() as database:
            row = database.execute(query.encode(), (_SERVERS,)).fetchone()
        return 0 if row is None else int(row[0])

    def close(self) -> None:
        self._held.close()
        self._connections.close()


class _PostgresChanges:
    def __init__(self, database: Connection[Any]) -> None:
        self._database = database

    def read(self, query: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
        return self._database.execute(_psycopg(query), values).fetchall()

    def write(self, query: str, rows: Sequence[Sequence[object]]) -> None:
        if rows:
            self._database.cursor().executemany(_psycopg(query), rows)


class _Held:
    """Names that this process holds, as advisory locks of one connection: they are free when the process has ended."""

    def __init__(self, connections: PostgresConnections) -> None:
        self._connections, self._lock = connections, Lock()
        self._connection: Connection[Any] | None = None
        self._names: set[str] = set()
        self._lost: set[str] = set()
        self._joins = False

    def take(self, name: str) -> bool:
        with self._lock:
            if name in self._names or not self._execute("pg_try_advisory_lock", name):
                return False
            self._names.add(name)
            return True

    def release(self, name: str) -> None:
        with self._lock, suppress(JournalError):  # it is gone with its connection
            if name in self._names:
                self._names.discard(name)
                self._execute("pg_advisory_unlock", name)

    def join(self) -> None:
        with self._lock:
            self._joins = True
            self._execute("pg_advisory_lock_shared", _SERVERS)

    def renew(self) -> set[str]:
        with self._lock:
            self._execute("length", "")
            lost, self._lost = self._lost, set[str]()
            return lost

    def _execute(self, function: str, name: str) -> bool:
        """Call a function of the database with a key, on the connection of the locks, or anew where that is broken."""
        query = f"SELECT {function}({_KEY if function != 'length' else '%s'})".encode()
        with self._connections.typed_errors(""):
            connection, self._connection = self._connection, None
            if connection is not None:
                try:
                    row = connection.execute(query, (name,)).fetchone()
                except Exception:
                    connection.close()
                else:
                    self._connection = connection
                    return row == (True,)
            return self._opened().execute(query, (name,)).fetchone() == (True,)

    def _opened(self) -> Connection[Any]:
        """Open the connection, and hold on it what was held on the one before."""
        with self._connections.use(is_kept=True) as connection:
            if self._joins:
                connection.execute(f"SELECT pg_advisory_lock_shared({_KEY})".encode(), (_SERVERS,))
            query = f"SELECT pg_try_advisory_lock({_KEY})".encode()
            lost = {each for each in self._names if connection.execute(query, (each,)).fetchone() != (True,)}
        self._names, self._lost, self._connection = self._names - lost, self._lost | lost, connection
        return connection

    def close(self) -> None:
        """Release all."""
        with self._lock:
            connection, self._connection = self._connection, None
            self._names, self._joins = set[str](), False
        if connection is not None:
            connection.close()


def _prepare(connection: Connection[Any], tables: Sequence[str], columns: ColumnTypes) -> None:
    """Create the tables, and add what one of an earlier version lacks; all in one transaction, or nothing."""
    query = b"SELECT attname FROM pg_attribute WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped"
    table, wanted = columns

    def found() -> set[str]:
        return {str(row[0]) for row in connection.execute(query, (table,))}

    if wanted.keys() <= found():
        return
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_MAKING,))
        for each in tables:
            connection.execute(each.encode())
        for each in _missing(columns, found()):
            connection.execute(each.encode())


def _psycopg(query: str) -> bytes:
    return query.replace("?", "%s").encode()
