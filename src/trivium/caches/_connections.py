"""Connections to an SQLite file, for many threads and processes at once."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Final
from weakref import finalize

if TYPE_CHECKING:
    from sqlite3 import Connection

_SWITCH_SECONDS: Final = 0.005
"""The longest pause before a file is switched to WAL mode again."""


class SQLiteConnections:
    """Connections to one file, in WAL mode; the file is made for its owner alone.

    Args:
        path: the file; its folder is made too.
        busy_seconds: how long a writer waits for others.
        prepare: a function that prepares each new connection, such as creating the tables.
        reads_at_least: a file that cannot be written is opened to be read, where SQLite can.
    """

    def __init__(
        self, path: Path, busy_seconds: float, prepare: Callable[[Connection], None], *, reads_at_least: bool = False
    ) -> None:
        self.path, self._busy_seconds, self._prepare = path, busy_seconds, prepare
        self._reads_at_least, self._idle = reads_at_least, _Idle()
        self._is_fixed = False
        """Whether a connection takes the file for one that nobody writes to."""
        finalize(self, self._idle.close)

    def __reduce__(self) -> tuple[Callable[..., SQLiteConnections], tuple[object, ...]]:
        """Copy and send its options: a copy has connections of its own."""
        make = partial(SQLiteConnections, reads_at_least=self._reads_at_least)
        return make, (self.path, self._busy_seconds, self._prepare)

    @contextmanager
    def use(self) -> Generator[Connection]:
        """A connection for this thread alone, as long as the block runs; rolled back and closed where it fails."""
        database = self._idle.take()
        try:
            database = database or self._opened()
            yield database
        except BaseException:
            if database is not None:
                with suppress(Exception):  # a statement that a traceback keeps would keep the locks of a closed one too
                    database.rollback()
                database.close()
            raise
        if self._is_fixed:  # somebody may write to it before the next use
            database.close()
        else:
            self._idle.put(database)

    def close(self) -> None:
        """Close unused connections; the next use opens one again."""
        self._idle.close()

    def _opened(self) -> Connection:
        import sqlite3

        self.path.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):  # to close a file that is open elsewhere here drops the locks of SQLite on it
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        if self.path.stat().st_size == 1:  # SQLite takes it for an empty file, and would write over it
            raise sqlite3.DatabaseError("file is not a database")
        log = Path(f"{self.path}-wal")
        can_write = not self._reads_at_least or os.access(self.path, os.W_OK)
        # Else a reader would leave a log of its own, to which the owner of the file cannot write.
        if can_write or log.exists():
            try:
                return self._connected("rwc")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN):
                    raise
                if not self._reads_at_least or (can_write and os.access(self.path.parent, os.W_OK)):
                    raise
            try:
                return self._connected("ro")
            except sqlite3.OperationalError:
                if log.exists() and log.stat().st_size:  # it has what the file has not, and cannot be read
                    raise
        self._is_fixed = True
        return self._connected("ro&immutable=1")  # without its log nobody writes to it now

    def _connected(self, mode: str) -> Connection:
        import sqlite3

        place, seconds = f"{self.path.absolute().as_uri()}?mode={mode}", self._busy_seconds
        database = sqlite3.connect(place, timeout=seconds, isolation_level=None, check_same_thread=False, uri=True)
        try:
            self._write_ahead(database)
            database.execute("PRAGMA synchronous = NORMAL")
            self._prepare(database)
        except BaseException:
            database.close()
            raise
        return database

    def _write_ahead(self, database: Connection) -> None:
        """Switch a file to WAL mode. SQLite refuses two that switch a new file at once, and waits for neither."""
        import sqlite3

        until = time.monotonic() + self._busy_seconds
        while True:
            try:
                database.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                    raise
            time.sleep(random.uniform(0.0, _SWITCH_SECONDS))  # noqa: S311 - not all at once again


class _Idle:
    """Unused connections. A child process leaves those of its parent alone: closing them would undo
    the parent's locks."""

    def __init__(self) -> None:
        self._lock, self._pid = Lock(), os.getpid()
        self._connections: list[Connection] = []
        self._of_parent: list[list[Connection]] = []

    def take(self) -> Connection | None:
        with self._own():
            return self._connections.pop() if self._connections else None

    def put(self, connection: Connection) -> None:
        with self._own():
            self._connections.append(connection)

    def close(self) -> None:
        with self._own():
            while self._connections:
                self._connections.pop().close()

    @contextmanager
    def _own(self) -> Generator[None]:
        if self._pid != os.getpid():  # a new child has one thread; the lock may have been held at the fork
            self._of_parent.append(self._connections)
            self._lock, self._pid, self._connections = Lock(), os.getpid(), []
        with self._lock:
            yield
