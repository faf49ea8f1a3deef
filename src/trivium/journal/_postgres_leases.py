"""The leases of a process on runs in PostgreSQL: advisory locks, all of one connection."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from trivium.exceptions import JournalError
from trivium.journal._postgres_connections import PostgresConnections

if TYPE_CHECKING:
    from psycopg import Connection

_KEY: Final = "hashtextextended(current_schema() || '/trivium_run/' || %s, 0)"
_AGAIN: Final = f"""
SELECT pg_try_advisory_lock({_KEY}) FROM trivium_run
WHERE id = %s AND epoch = %s AND head = %s AND status = 'running'
"""  # noqa: S608 - our own text
"""The head tells of records that a server has lost which was killed, and of a new run of the same id."""


class Lease:
    """The lease of an attempt on a run: it holds as long as the connection that has its lock.

    Args:
        run_id: the run.
        connection: the connection.

    Attributes:
        is_lost: whether nothing may be written any more.
        epoch: the number of the attempt; 0: it has not begun.
        head: the link of the run's last record, as far as the attempt knows.
    """

    def __init__(self, run_id: str, connection: Connection[Any]) -> None:
        self.run_id, self.connection, self.is_lost = run_id, connection, False
        self.epoch, self.head = 0, ""


class PostgresLeases:
    """The leases of this process, which end with its connection; a child process has none of them.

    All are free where the connection is lost, as where the server restarts. An attempt that then has something to write
    takes its lease again, if the run still is as the attempt has left it.

    Args:
        connections: how the database is reached.
    """

    def __init__(self, connections: PostgresConnections) -> None:
        self._connections, self._lock, self._pid = connections, Lock(), os.getpid()
        self._connection: Connection[Any] | None = None
        self._held: set[str] = set()

    def take(self, run_id: str) -> Lease | None:
        """Take the lease of a run; None: another attempt has it."""
        with self._own():
            connection = self._locked(run_id, f"SELECT pg_try_advisory_lock({_KEY})", run_id)
            return None if connection is None else Lease(run_id, connection)

    def hold(self, lease: Lease) -> None:
        """See that a lease holds; take it again if its connection was lost.

        Raises:
            JournalError: it is lost: something could not be written, another attempt has begun, or records are missing.
        """
        with self._own():
            if not lease.is_lost and lease.connection is self._connection and _is_open(lease.connection):
                return
            taken = (
                None
                if lease.is_lost
                else self._locked(lease.run_id, _AGAIN, lease.run_id, lease.run_id, lease.epoch, lease.head)
            )
            if taken is None:
                lease.is_lost = True
                raise JournalError(
                    f"the run {lease.run_id!r} has lost its connection to {self._connections.place}: see that the "
                    "server runs and can be reached, then resume the run",
                    lease.run_id,
                    self._connections.place,
                )
            lease.connection = taken

    def _locked(self, run_id: str, query: str, *values: object) -> Connection[Any] | None:
        """Return the connection once it has the lock of a run, by a query that tries to take it; None: it has not."""
        connection = self._connection
        if connection is None or not _is_open(connection):
            self._drop()
            with self._connections.use(run_id, is_kept=True) as connection:
                self._connection = connection
        elif run_id in self._held:  # a connection would get its own lock again
            return None
        with self._connections.typed_errors(run_id):
            if connection.execute(query.encode(), values).fetchone() != (True,):
                return None
        self._held.add(run_id)
        return connection

    def lose(self, lease: Lease) -> None:
        """Give a lease back of which a record could not be written: nothing may be written after it."""
        lease.is_lost = True
        self.give(lease)

    def give(self, lease: Lease) -> None:
        """Give a lease back, if it still holds."""
        run_id, connection = lease.run_id, lease.connection
        with self._own():
            if connection is not self._connection or run_id not in self._held:
                return
            self._held.discard(run_id)
            try:
                with self._connections.typed_errors(run_id):
                    connection.execute(f"SELECT pg_advisory_unlock({_KEY})".encode(), (run_id,))
            except JournalError:
                self._drop()

    def close(self) -> None:
        """Close the connection, if no lease is held."""
        with self._own():
            if not self._held:
                self._drop()

    def drop(self) -> None:
        """Close the connection: no lease holds any more."""
        with self._own():
            self._drop()

    def _drop(self) -> None:
        connection, self._connection, self._held = self._connection, None, set()
        if connection is not None:
            connection.close()

    @contextmanager
    def _own(self) -> Generator[None]:
        if self._pid != os.getpid():  # a new child has one thread; the lock may have been held at the fork
            self._lock, self._pid, self._connection, self._held = Lock(), os.getpid(), None, set()
        with self._lock:
            yield


def _is_open(connection: Connection[Any]) -> bool:
    """Return whether the server has not ended a connection, as far as this machine was told."""
    with suppress(Exception):
        connection.pgconn.consume_input()  # the server's last word, if it has said one
        connection.pgconn.consume_input()  # and the end of the connection
        return not connection.closed
    return False
