"""A lock of a folder, for databases that only one process may open, or write."""

from __future__ import annotations

import os
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING, Final
from weakref import finalize

from trivium.exceptions import StoreBusyError, StoreError

if TYPE_CHECKING:
    from sqlite3 import Connection

_NAME: Final = "trivium.lock"
_PAUSE: Final = 0.01  # seconds between two attempts


class FolderLock:
    """A lock from `acquire` to `release`, or for a `with` block; the end of the process, even if it is killed, ends it.

    It locks an empty SQLite file, because these locks work on every system, and no child process inherits them.

    Args:
        folder: the folder; it is created if there is none.
        advice: end of the error message: what to do if it is held elsewhere.
        seconds: how long to wait for whoever holds it.
    """

    def __init__(self, folder: str, advice: str, seconds: float = 0) -> None:
        self._folder, self._advice, self._seconds = folder, advice, seconds
        self._held: Connection | None = None
        self._of_parent: list[Connection | None] = []
        self._pid = os.getpid()

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *error: object) -> None:
        self.release()

    def acquire(self) -> None:
        """Acquire the lock.

        Raises:
            StoreBusyError: it is held elsewhere, in this process or in another.
            StoreError: the folder cannot be written.
        """
        import sqlite3

        if self._pid != os.getpid():
            self._of_parent.append(self._held)  # kept open: closing it would release the lock of the parent
            self._held, self._pid = None, os.getpid()
        if self._held is not None:
            return
        try:
            Path(self._folder).mkdir(parents=True, exist_ok=True)
            path = Path(self._folder) / _NAME
            held = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
        except (OSError, sqlite3.Error) as error:
            raise self._unusable(error) from error
        try:
            self._lock(held)
        except BaseException:
            held.close()
            raise
        self._held = held
        finalize(self, _close, held, self._pid).atexit = False  # what was opened under it may still be open then

    def _lock(self, held: Connection) -> None:
        """Lock the file; SQLite itself would ask ever less often, so that new threads overtake those that wait."""
        import sqlite3

        end = monotonic() + self._seconds
        while True:
            try:
                held.execute("BEGIN EXCLUSIVE")
                return
            except sqlite3.Error as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                    raise self._unusable(error) from error
            if monotonic() >= end:
                raise StoreBusyError(
                    f"the store {self._folder} is in use, here or in another process: {self._advice}", self._folder
                )
            sleep(_PAUSE)

    def release(self) -> None:
        """Release the lock."""
        if self._held is not None and self._pid == os.getpid():
            self._held.close()
            self._held = None

    def _unusable(self, error: Exception) -> StoreError:
        return StoreError(
            f"the store {self._folder} cannot be used ({error}): give a folder that can be written", self._folder
        )


def _close(held: Connection, pid: int) -> None:
    if pid == os.getpid():
        held.close()
