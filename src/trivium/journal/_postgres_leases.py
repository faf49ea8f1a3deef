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


class Lease:
    """The lease of an attempt on a run: it holds as long as the connection that has its lock.

    Args:
        run_id: the run.
        connection: the connection.
    """

    def __init__(self, run_id: str, connection: Connection[Any]) -> None:
        self.run_id, self.connection, self.is_lost = run_id, connection, False


class PostgresLeases:
    """The leases of this process, which end with its connection; a child process has none of them.

    All are lost where the connection is: a lease holds as long as the connection does by which it was taken.

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
            connection = self._connection
            if connection is None or not _is_open(connection):
                self._drop()
                with self._connections.use(run_id, is_kept=True) as connection:
                    self._connection = connection
            elif run_id in self._held:  # a connection would get its own lock again
                return None
            with self._connections.typed_errors(run_id):
                query = f"SELECT pg_try_advisory_lock({_KEY})"
                if connection.execute(query.encode(), (run_id,)).fetchone() != (True,):
                    return None
            self._held.add(run_id)
            return Lease(run_id, connection)

    def check(self, lease: Lease) -> None:
        """Check that a lease holds.

        Raises:
            JournalError: the connection was lost.
        """
        with self._own():
            if lease.is_lost or lease.connection is not self._connection or not _is_open(lease.connection):
                raise JournalError(
                    f"the run {lease.run_id!r} has lost its connection to {self._connections.place}: see that the "
                    "server runs and can be reached, then resume the run",
                    lease.run_id,
                    self._connections.place,
                )

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
