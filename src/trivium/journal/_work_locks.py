"""Locks of the attempts at work on an SQLite file, which other containers see, and which end with their process.

They also tell an attempt from a later process of its id, where the system does not say when a process started.
"""

from __future__ import annotations

import errno
import os
import stat
import struct
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from logging import getLogger
from pathlib import Path
from threading import RLock
from typing import Final

try:
    import fcntl
except ImportError:  # Windows, where a file is not shared with containers
    fcntl = None

_logger = getLogger("trivium.journal")
_OFFSETS: Final = 1 << 62


class WorkLocks:
    """The locks of a journal's attempts: each is one byte of an empty file beside it, which goes with the last one.

    A container cannot see the processes of another one, but the locks that these hold. The system drops the locks of a
    process on a file when it closes that file: so it has it open once, as long as it holds one. On Linux others in the
    process, as a backup, may open and close it too.

    Args:
        journal: the file of the journal.
    """

    def __init__(self, journal: Path) -> None:
        self._journal, self._path = journal, f"{journal}-work"
        self._is_warned = False

    def take(self, attempt: str) -> None:
        """Take the lock of an attempt; where that fails there is none, and a warning says so once."""
        if fcntl is None:
            return
        try:
            while True:
                with _opened(self._path, os.O_RDWR | os.O_CREAT, self._journal) as (file, held):
                    _lock(file, fcntl.LOCK_EX, attempt)  # others may look at it for a moment
                    if os.fstat(file).st_nlink:  # else it was removed between the two lines
                        held.add(attempt)
                        return
        except OSError as error:
            if not self._is_warned and error.errno != errno.EROFS:  # where nothing is written, the journal says so
                self._is_warned = True
                _logger.warning(
                    "%s cannot be locked (%s): the runs of this process are not known to be at work in other "
                    "containers, and on macOS in other processes, which may take them over, or wait for them after "
                    "they have ended",
                    self._path,
                    error,
                )

    def leave(self, attempt: str) -> None:
        """Leave the lock of an attempt."""
        if fcntl is not None and self._path in _files:
            with suppress(OSError), _opened(self._path, os.O_RDWR) as (file, held):
                held.discard(attempt)
                _lock(file, fcntl.LOCK_UN, attempt)

    def remove(self) -> None:
        """Remove the file if nobody holds a lock; but where it alone proves that an attempt has ended, it stays."""
        if fcntl is not None and sys.platform == "linux" and os.path.exists(self._path):
            with suppress(OSError), _opened(self._path, os.O_RDWR) as (file, held):
                if not held:
                    _lock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    os.unlink(self._path)

    def is_held(self, attempt: str, without_file: bool = False) -> bool:
        """Return whether a process holds the lock of an attempt, or may hold it; `without_file` where no file is."""
        if fcntl is None:
            return True
        try:
            with _opened(self._path, os.O_RDONLY) as (file, held):
                if attempt in held:  # this one does, whose lock would end below
                    return True
                _lock(file, fcntl.LOCK_SH | fcntl.LOCK_NB, attempt)
                _lock(file, fcntl.LOCK_UN, attempt)
        except FileNotFoundError:
            return without_file
        except OSError:
            return True
        return False


def _lock(file: int, how: int, attempt: str = "") -> None:
    """Lock or unlock the byte of an attempt, or of all, as `fcntl.lockf` does it."""
    assert fcntl is not None
    start, length = (_offset_of(attempt), 1) if attempt else (0, 0)
    if sys.platform == "linux":
        kind = {fcntl.LOCK_EX: fcntl.F_WRLCK, fcntl.LOCK_UN: fcntl.F_UNLCK}.get(how & ~fcntl.LOCK_NB, fcntl.F_RDLCK)
        asked = struct.pack("hhqqi0q", kind, os.SEEK_SET, start, length, 0)  # the `struct flock` of Linux
        try:
            fcntl.fcntl(file, fcntl.F_OFD_SETLK if how & fcntl.LOCK_NB else fcntl.F_OFD_SETLKW, asked)
        except OSError as error:
            if error.errno != errno.EINVAL:  # this system, or this disk, has no locks of open files
                raise
        else:
            return
    fcntl.lockf(file, how, length, start)


class _Files:
    """The files that are open in this process, each with the attempts whose locks it holds."""

    def __init__(self) -> None:
        self.lock, self.open = RLock(), dict[str, tuple[int, set[str]]]()

    def __contains__(self, path: str) -> bool:
        return path in self.open

    def leave_to_parent(self) -> None:
        """Close them in a child process: open there, they would hold the locks for longer than the parent lives."""
        for file, _ in self.open.values():
            with suppress(OSError):
                os.close(file)
        self.open.clear()
        self.lock.release()


_files: Final = _Files()


@contextmanager
def _opened(path: str, how: int, journal: Path | None = None) -> Generator[tuple[int, set[str]]]:
    """Have a file open, with the mode and owner of the journal if that is given."""
    with _files.lock:
        if path not in _files:
            _files.open[path] = os.open(path, how, 0o600), set()
        file, held = _files.open[path]
        try:
            if journal is not None and not held:
                _share(file, journal)
            yield file, held
        finally:
            if not held:
                del _files.open[path]
                os.close(file)


def _share(file: int, journal: Path) -> None:
    """Let all who may write to the journal lock the file."""
    own, of_journal = os.fstat(file), journal.stat()
    with suppress(OSError):  # it is another user's, who has done so
        if (own.st_uid, own.st_gid) != (of_journal.st_uid, of_journal.st_gid):
            os.fchown(file, of_journal.st_uid, of_journal.st_gid)
    with suppress(OSError):
        if stat.S_IMODE(own.st_mode) != of_journal.st_mode & 0o666:
            os.fchmod(file, of_journal.st_mode & 0o666)


if fcntl is not None:  # nobody is about to open or lock one when a child begins
    os.register_at_fork(
        before=_files.lock.acquire, after_in_parent=_files.lock.release, after_in_child=_files.leave_to_parent
    )


def _offset_of(attempt: str) -> int:
    """Return the byte of an attempt, which no other one has."""
    return int.from_bytes(blake2b(attempt.encode("utf-8", "replace"), digest_size=8).digest()) % _OFFSETS
