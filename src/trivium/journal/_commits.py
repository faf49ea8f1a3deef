"""Commits of several writers in one transaction."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Generic, TypeVar

__all__ = ["GroupCommit"]

T = TypeVar("T")


@dataclass(eq=False)
class _Waiting(Generic[T]):
    item: T
    is_done: bool = False
    error: Exception | None = None


class GroupCommit(Generic[T]):
    """Has threads that write at the same time share a transaction: it waits for the disk once for all of them.

    A writer that comes while another one writes waits for it; the first that then goes on writes for all that wait.
    SQLite's own wait looks only from time to time, and would let each wait for the disk in its turn.
    """

    def __init__(self) -> None:
        self._lock, self._pid = Lock(), os.getpid()
        self.waiting: deque[_Waiting[T]] = deque()

    def lock(self) -> Lock:
        """Return the lock that a writer has while it writes."""
        if self._pid != os.getpid():  # a new child has one thread; the lock may have been held at the fork
            self._lock, self._pid, self.waiting = Lock(), os.getpid(), deque()
        return self._lock

    def write(self, item: T, commit: Callable[[Sequence[T]], dict[int, Exception]]) -> None:
        """Write this, and what others wait to have written.

        Args:
            item: what is to be written.
            commit: writes several, in one transaction, and returns the errors of those that may not be written, by
                their places. An error that it raises is that of the first one alone; the others try again themselves.

        Raises:
            Exception: why this may not be written, or cannot.
        """
        lock, own = self.lock(), _Waiting(item)
        self.waiting.append(own)
        with lock:
            if not own.is_done:
                others = [self.waiting.popleft() for _ in range(len(self.waiting))]
                group = [own, *(each for each in others if each is not own)]
                errors = commit([each.item for each in group])
                for at, each in enumerate(group):
                    each.is_done, each.error = True, errors.get(at)
        if own.error is not None:
            raise own.error
