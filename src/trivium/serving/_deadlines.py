"""Times at which something is to be done to connections: one timer for all of them, and few at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Mapping
from typing import Final, Generic, TypeVar

__all__ = ["Deadlines"]

_AT_ONCE: Final = 16
_PAUSE_SECONDS: Final = 0.01
"""The pause after so many: a thousand that came at once are over at once too, and others have their turn meanwhile."""

K = TypeVar("K", bound=Hashable)
T = TypeVar("T", bound=Hashable)


class Deadlines(Generic[K, T]):
    """Things, each of which waits for one of some kinds of deadlines.

    Args:
        kinds: of each kind the seconds, and what is called with a thing when they are over.
    """

    def __init__(self, kinds: Mapping[K, tuple[float, Callable[[T], object]]]) -> None:
        self._kinds = kinds
        self._waiting = {kind: dict[T, float]() for kind in kinds}
        """The things of each kind, in the order of their deadlines."""
        self._timer: asyncio.TimerHandle | None = None

    def move(self, thing: T, before: K | None, after: K | None) -> None:
        """Let the deadline of a kind be that of a thing, in the place of another one; None: none."""
        if before is not None:
            self._waiting[before].pop(thing, None)
        if after is not None:
            loop = asyncio.get_running_loop()
            at = self._waiting[after][thing] = loop.time() + self._kinds[after][0]
            if self._timer is None or at < self._timer.when():
                self._look_at(at)

    def _look_at(self, at: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_at(at, self._look)

    def _look(self) -> None:
        self._timer, now, left = None, asyncio.get_running_loop().time(), _AT_ONCE
        for kind, waiting in self._waiting.items():
            while waiting and left:
                thing, at = next(iter(waiting.items()))
                if at > now:
                    break
                del waiting[thing]
                left -= 1
                self._kinds[kind][1](thing)
        firsts = [next(iter(waiting.values())) for waiting in self._waiting.values() if waiting]
        if firsts:
            self._look_at(max(min(firsts), now + (0 if left else _PAUSE_SECONDS)))
