"""Commits of several writers in one transaction."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from threading import RLock
from typing import Generic, TypeAlias, TypeVar

from trivium.commander.lowlevel import Outcome, await_reply, driver_neutral, is_blocking, open_reply, submit

T = TypeVar("T")
Commit: TypeAlias = Callable[[Sequence[T]], Mapping[int, Exception]]
"""Writes several, in one transaction, and returns the errors of those that may not be written, by their places. An
error that it raises is that of the first one alone; the others are written after it."""


@dataclass(eq=False)
class _Waiting(Generic[T]):
    item: T
    reply: Callable[[Outcome[None]], object] | None = None
    is_done: bool = False
    error: BaseException | None = None


class GroupCommit(Generic[T]):
    """Has all that write at the same time share a transaction: it waits for the disk once for all of them.

    A writer that comes while another one writes waits for it; the first that then goes on writes for all that wait.
    SQLite's own wait looks only from time to time, and would let each wait for the disk in its turn. What is written
    on a loop is written by one thread, which goes on as long as something waits.
    """

    def __init__(self) -> None:
        self._lock, self._pid = RLock(), os.getpid()
        self.waiting: deque[_Waiting[T]] = deque()
        self._is_coming = False
        """True while a thread will look once more at what waits."""

    def lock(self) -> AbstractContextManager[object]:
        """Return the lock that a writer has while it writes."""
        if self._pid != os.getpid():  # a new child has one thread; the lock may have been held at the fork
            self._lock, self._pid, self.waiting, self._is_coming = RLock(), os.getpid(), deque(), False
        return self._lock

    @driver_neutral
    async def write_beside(self, item: T, commit: Commit[T]) -> None:
        """Do as `write`, but a loop goes on meanwhile. It is written also if the wait is cancelled."""
        if is_blocking():
            return self.write(item, commit)
        self.lock()
        done, reply = open_reply()
        self.waiting.append(_Waiting(item, reply))
        self._call_thread(commit)
        await await_reply(done)

    def write(self, item: T, commit: Commit[T]) -> None:
        """Write this, and what others wait to have written.

        Args:
            item: what is to be written.
            commit: writes it, and what others wait to have written.

        Raises:
            Exception: why this may not be written, or cannot.
        """
        lock, own = self.lock(), _Waiting(item)
        self.waiting.append(own)
        with lock:
            if not own.is_done:
                self._write_all(own, commit)
        if own.error is not None:
            raise own.error

    def _call_thread(self, commit: Commit[T]) -> None:
        if not self._is_coming:
            self._is_coming = True
            submit(partial(self._write_on, commit))

    def _write_on(self, commit: Commit[T]) -> None:
        """Write what waits, until nothing does."""
        while self._is_coming:
            with self.lock():
                self._is_coming = False  # before the look: who comes after it calls a thread again
                if self.waiting:
                    self._is_coming = True
                    self._write_all(self.waiting[0], commit)

    def _write_all(self, first: _Waiting[T], commit: Commit[T]) -> None:
        """Write this one and what waits, while this thread has the lock."""
        others = [self.waiting.popleft() for _ in range(len(self.waiting))]
        group = [first, *(each for each in others if each is not first)]
        try:
            errors: Mapping[int, BaseException] = commit([each.item for each in group])
        except BaseException as error:
            self.waiting.extendleft(reversed(group[1:]))
            errors, group = {0: error}, group[:1]
            if self.waiting:
                self._call_thread(commit)
        for at, each in enumerate(group):
            each.is_done, each.error = True, errors.get(at)
            if each.reply is not None:
                each.reply((None, each.error))
