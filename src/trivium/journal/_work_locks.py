"""Locks of the attempts at work on an SQLite file, which other containers see, and which end with their process."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from typing import Final

try:
    import fcntl
except ImportError:  # Windows, where a file is not shared with containers
    fcntl = None

_OFFSETS: Final = 1 << 62


class WorkLocks:
    """The locks of a journal's attempts: each is one byte of a file beside it, which stays empty.

    A container cannot see the processes of another one, but the locks that these hold. The system drops all locks of a
    process on a file when it closes that file once: so a process has it open once, as long as it holds one.

    Args:
        journal: the file of the journal.
    """

    def __init__(self, journal: Path) -> None:
        self._path = f"{journal}-work"

    def take(self, attempt: str) -> None:
        """Take the lock of an attempt; where the disk has no locks there is none, and `is_held` says so too."""
        if fcntl is not None:
            with suppress(OSError), _opened(self._path, os.O_RDWR | os.O_CREAT) as (file, held):
                held.add(attempt)
                fcntl.lockf(file, fcntl.LOCK_EX, 1, _offset_of(attempt))  # others may look at it for a moment

    def leave(self, attempt: str) -> None:
        """Leave the lock of an attempt."""
        if fcntl is not None and self._path in _files:
            with suppress(OSError), _opened(self._path, os.O_RDWR) as (file, held):
                held.discard(attempt)
                fcntl.lockf(file, fcntl.LOCK_UN, 1, _offset_of(attempt))

    def is_held(self, attempt: str) -> bool:
        """Return whether another process holds the lock of an attempt, or may hold it."""
        if fcntl is None:
            return True
        try:
            with _opened(self._path, os.O_RDONLY) as (file, _):
                fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB, 1, _offset_of(attempt))
                fcntl.lockf(file, fcntl.LOCK_UN, 1, _offset_of(attempt))
        except FileNotFoundError:
            return False
        except OSError:
            return True
        return False


class _Files:
    """The files that are open in this process, each with the attempts whose locks it holds."""

    def __init__(self) -> None:
        self.lock, self.open = Lock(), dict[str, tuple[int, set[str]]]()

    def __contains__(self, path: str) -> bool:
        return path in self.open


_files: Final = _Files()


@contextmanager
def _opened(path: str, how: int) -> Generator[tuple[int, set[str]]]:
    with _files.lock:
        if path not in _files:
            _files.open[path] = os.open(path, how, 0o600), set()
        file, held = _files.open[path]
        try:
            yield file, held
        finally:
            if not held:
                del _files.open[path]
                os.close(file)


if fcntl is not None:  # a child process holds none of the locks, and its threads none of the lock here
    os.register_at_fork(after_in_child=_files.__init__)


def _offset_of(attempt: str) -> int:
    """Return the byte of an attempt, which no other one has."""
    return int.from_bytes(blake2b(attempt.encode("utf-8", "replace"), digest_size=8).digest()) % _OFFSETS
