"""A cache of recent results, and calls that several callers share while they run."""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine, Hashable
from copy import copy
from math import inf
from threading import Lock
from typing import Any, Generic, TypeVar

from trivium.commander import ThreadEvent, driver_neutral, wait
from trivium.exceptions import FetchError, WouldDeadlockError

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Recent(Generic[K, V]):
    """A thread-safe cache of the most recently used entries.

    Args:
        most: the most entries; one more removes the least recently used.
        seconds: the time to live of an entry, in seconds.
        clock: a function that returns the time in seconds.

    Example:
        >>> table = Recent[str, int](2)
        >>> for name in "abc":
        ...     table.put(name, 1)
        >>> table.get("a"), table.get("b"), len(table)
        (None, 1, 2)
    """

    def __init__(self, most: int, seconds: float = inf, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._seconds, self._clock = most, seconds, clock
        self._entries: dict[K, tuple[float, V]] = {}
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: K) -> V | None:
        """Return the value; None if there is none, or it has expired."""
        with self._lock:
            entry = self._entries.pop(key, None)
            if entry is None or self._clock() >= entry[0]:
                return None
            self._entries[key] = entry  # to the end: it is the most recently used
            return entry[1]

    def put(self, key: K, value: V) -> None:
        """Set a value; it replaces an older one."""
        with self._lock:
            self._entries.pop(key, None)
            self._entries[key] = (self._clock() + self._seconds, value)
            while len(self._entries) > self._most:
                del self._entries[next(iter(self._entries))]


class _Flight(Generic[V]):
    """A call in progress, with its waiters."""

    def __init__(self) -> None:
        self.over = ThreadEvent()
        self.result: V | None = None
        self.error: FetchError | None = None


class SharedCalls(Generic[V]):
    """Runs each call once for all callers at the same time, in one loop or in several threads.

    Args:
        recent: the cache for results.
    """

    def __init__(self, recent: Recent[str, V]) -> None:
        self._recent = recent
        self._flights: dict[str, _Flight[V]] = {}

    @driver_neutral
    async def get(self, key: str, call: Callable[[], Coroutine[Any, Any, V]]) -> V:
        """Return the cached result, or wait for a call in progress, or make the call.

        Raises:
            FetchError: the call failed; errors are not cached.
        """
        while True:
            mine = _Flight[V]()
            flight = self._flights.setdefault(key, mine)
            if flight is mine:
                return await self.run_flight(key, mine, call)
            try:
                await wait(event=flight.over)
            except WouldDeadlockError:  # a sync call on a loop's own thread must not wait for another call
                return await call()
            if flight.result is not None:
                return flight.result
            if flight.error is not None:
                raise copy(flight.error)
            # The caller that ran it was cancelled: make the call here.

    @driver_neutral
    async def run_flight(self, key: str, flight: _Flight[V], call: Callable[[], Coroutine[object, object, V]]) -> V:
        """Make the call for which callers with the same key wait."""
        try:
            flight.result = self._recent.get(key)
            if flight.result is None:
                flight.result = await call()
                self._recent.put(key, flight.result)
            return flight.result
        except FetchError as error:
            flight.error = error
            raise
        finally:
            del self._flights[key]
            flight.over.set()
