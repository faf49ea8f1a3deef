"""A pool of connections to a PostgreSQL server, and its errors."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from trivium.exceptions import (
    CollectionNotFoundError,
    MissingExtraError,
    StoreBusyError,
    StoreConnectionError,
    StoreError,
    StoreFullError,
)

if TYPE_CHECKING:
    from psycopg import Connection, Error

_BUSY: Final = ("55P03", "57014", "40001", "40P01", "53300")  # a lock, a time-out, conflicts, too many connections
_FULL: Final = ("53100", "54000")
_GONE: Final = ("42P01", "3F000")  # no such table, no such schema


class Pool:
    """A pool of connections; each serves one thread at a time, and a broken one is not used again.

    A child process opens its own: closing those of its parent would end the parent's sessions.

    Args:
        parameters: the parameters for libpq.
        place: the server, without a password.
        size: maximum number of connections.
        timeout: seconds to wait for a connection of this pool.
        prepared: called with each new connection.
    """

    def __init__(
        self,
        parameters: Mapping[str, Any],
        place: str,
        size: int,
        timeout: float,
        prepared: Callable[[Connection[Any]], None],
    ) -> None:
        self._parameters, self._place, self._size = parameters, place, size
        self._timeout, self._prepared = timeout, prepared
        self._of_parent: list[list[_Slot]] = []
        self._fresh()

    def _fresh(self) -> None:
        self._pid, self._slots, self._turn = os.getpid(), [_Slot() for _ in range(self._size)], 0

    @contextmanager
    def connection(self) -> Generator[Connection[Any]]:
        """Provide a connection for this thread alone.

        Raises:
            StoreConnectionError: the server cannot be reached, or went away.
            StoreBusyError: it took too long.
            StoreFullError: its disk is full.
            StoreError: it refused.
        """
        import psycopg

        slot = self._take()
        try:
            yield slot.open(self._connect)
        except psycopg.Error as error:
            broken = slot.broken
            slot.close()
            raise self._failed(error, broken) from error
        except BaseException:
            if not slot.idle:
                slot.close()
            raise
        finally:
            slot.lock.release()

    def close(self) -> None:
        """Close the idle connections now, and the others when they become idle."""
        if self._pid != os.getpid():
            return
        for slot in self._slots:
            if slot.lock.acquire(blocking=False):
                slot.close()
                slot.lock.release()

    def _take(self) -> _Slot:
        if self._pid != os.getpid():  # nobody else runs in a child that was just made
            self._of_parent.append(self._slots)
            self._fresh()
        for slot in self._slots:
            if slot.lock.acquire(blocking=False):
                return slot
        self._turn += 1  # races are harmless: it only spreads the waiting threads
        slot = self._slots[self._turn % self._size]
        if not slot.lock.acquire(timeout=self._timeout):
            raise StoreBusyError(
                f"all {self._size} connections to {self._place} are in use: give its config more `connections`, and "
                "take what `scan` gives to its end, or close it",
                self._place,
            )
        return slot

    def _connect(self) -> Connection[Any]:
        try:
            import psycopg
        except ImportError:
            raise MissingExtraError("psycopg", "postgres") from None
        connection, failed = None, None
        try:
            connection = psycopg.connect(autocommit=True, **self._parameters)
        except psycopg.Error as error:
            failed = self._failed(error, True)
        if connection is None:  # not while that error is handled: it holds the parameters, and so the password
            assert failed is not None
            raise failed
        try:
            self._prepared(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _failed(self, error: Error, broken: bool) -> StoreError:
        """Return the error of the store for one of the server or of the connection."""
        state, said = error.sqlstate or "", str(error).strip().partition("\n")[0]
        if password := self._parameters.get("password"):
            said = said.replace(str(password), "…")
        if state in _BUSY:
            kind, advice = StoreBusyError, "others hold it, or it has too much to do: try again, or give it more time"
        elif state in _FULL:
            kind, advice = StoreFullError, "make room on its disk"
        elif state in _GONE:
            kind, advice = CollectionNotFoundError, "the collection was deleted: the next use creates it again"
        elif broken or state.startswith(("08", "57P")) or not state:
            kind, advice = StoreConnectionError, "see that it runs and is reached; the next use connects anew"
        else:
            kind, advice = StoreError, "check the privileges of the user of this connection"
        return kind(f"the store {self._place} cannot be used ({said}): {advice}", self._place)


class _Slot:
    """A slot of the pool, with or without a connection."""

    def __init__(self) -> None:
        self.lock = Lock()
        self._connection: Connection[Any] | None = None

    @property
    def broken(self) -> bool:
        return self._connection is None or self._connection.broken or self._connection.closed

    @property
    def idle(self) -> bool:
        """True if no transaction is open."""
        return not self.broken and self._connection.info.transaction_status == 0  # pyright: ignore[reportOptionalMemberAccess]

    def open(self, connect: Callable[[], Connection[object]]) -> Connection[Any]:
        """Return the connection; open one if there is none, or if the server closed it."""
        if self._connection is not None and has_hung_up(self._connection):
            self.close()
        if self._connection is None:
            self._connection = connect()
        return self._connection

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):
                connection.close()


def has_hung_up(connection: Connection[object]) -> bool:
    """Tell, without waiting, that the server closed an idle connection."""
    import psycopg

    try:
        connection.pgconn.consume_input()
    except psycopg.Error:
        return True
    return connection.closed
