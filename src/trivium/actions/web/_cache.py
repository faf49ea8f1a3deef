"""What was fetched a short time ago, and what is being fetched now."""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine, Hashable
from copy import copy
from math import inf
from threading import Lock
from typing import Any, Generic, TypeVar

from trivium.commander import ThreadEvent, driver_neutral, wait
from trivium.exceptions import FetchError, WouldDeadlockError

__all__ = ["Recent", "SharedCalls"]

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Recent(Generic[K, V]):
    """A table of what was used last, from any thread.

    Args:
        most: entries it holds; of more, the one that was not used for longest goes.
        seconds: how long an entry stays after it was put.
        clock: what the time is, in seconds.

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
        """The value, or None if there is none any more."""
        with self._lock:
            entry = self._entries.pop(key, None)
            if entry is None or self._clock() >= entry[0]:
                return None
            self._entries[key] = entry  # behind all others: it is used now
            return entry[1]

    def put(self, key: K, value: V) -> None:
        """Set a value, in place of an older one."""
        with self._lock:
            self._entries.pop(key, None)
            self._entries[key] = (self._clock() + self._seconds, value)
            while len(self._entries) > self._most:
                del self._entries[next(iter(self._entries))]


class _Flight(Generic[V]):
    """A call that is being made, for who waits for it."""

    def __init__(self) -> None:
        self.over = ThreadEvent()
        self.result: V | None = None
        self.error: FetchError | None = None


class SharedCalls(Generic[V]):
    """Makes each call once, however many want it at the same time, in one loop or in many threads.

    Args:
        recent: where results are kept.
    """

    def __init__(self, recent: Recent[str, V]) -> None:
        self._recent = recent
        self._flights: dict[str, _Flight[V]] = {}

    @driver_neutral
    async def get(self, key: str, call: Callable[[], Coroutine[Any, Any, V]]) -> V:
        """The result that is kept, or that of the call that somebody makes already, or of one made now.

        Raises:
            FetchError: as the call does; it is kept for nobody.
        """
        while True:
            mine = _Flight[V]()
            flight = self._flights.setdefault(key, mine)
            if flight is mine:
                return await self.run_flight(key, mine, call)
            try:
                await wait(event=flight.over)
            except WouldDeadlockError:  # a sync call on a loop's own thread must not wait for others
                return await call()
            if flight.result is not None:
                return flight.result
            if flight.error is not None:
                raise copy(flight.error)
            # Who made the call was stopped: make it here.

    @driver_neutral
    async def run_flight(self, key: str, flight: _Flight[V], call: Callable[[], Coroutine[Any, Any, V]]) -> V:
        """Make the call for which others of the same key wait."""
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
