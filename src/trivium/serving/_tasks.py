"""Work that outlives the request that began it, and work that ends with it: the tasks of a server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Hashable
from contextlib import asynccontextmanager
from typing import Any
from weakref import WeakValueDictionary

__all__ = ["Background", "News", "Turns", "while_connected"]

Receive = Callable[[], Awaitable[dict[str, Any]]]


class Background:
    """Work that goes on by itself on the running loop.

    Args:
        work: the work; it handles its own errors.
    """

    def __init__(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._task = asyncio.get_running_loop().create_task(work())

    @property
    def is_over(self) -> bool:
        """Return whether it has ended."""
        return self._task.done()

    def cancel(self, why: str) -> None:
        """Cancel it where it waits."""
        self._task.cancel(why)

    async def ended(self, seconds: float | None = None) -> None:
        """Wait for its end, at most so many seconds; it goes on if the wait is cancelled."""
        await asyncio.wait([self._task], timeout=seconds)


class News:
    """The signal that there is something new, for any number of tasks of one loop that wait for it."""

    def __init__(self) -> None:
        self._waiting: set[asyncio.Future[bool]] = set()

    @property
    def is_awaited(self) -> bool:
        """Return whether somebody waits."""
        return bool(self._waiting)

    def announce(self) -> None:
        """Wake all that wait."""
        for each in self._waiting:
            _settle(each, True)

    async def wait(self, seconds: float | None = None) -> bool:
        """Wait for the next announcement; return False where none has come for so many seconds."""
        loop = asyncio.get_running_loop()
        waiting: asyncio.Future[bool] = loop.create_future()
        timer = None if seconds is None else loop.call_later(seconds, _settle, waiting, False)
        self._waiting.add(waiting)
        try:
            return await waiting
        finally:
            self._waiting.discard(waiting)
            if timer is not None:
                timer.cancel()


def _settle(waiting: asyncio.Future[bool], is_news: bool) -> None:
    if not waiting.done():
        waiting.set_result(is_news)


class Turns:
    """One turn after the other for each of many things."""

    def __init__(self) -> None:
        self._locks = WeakValueDictionary[Hashable, asyncio.Lock]()

    @asynccontextmanager
    async def of(self, key: Hashable) -> AsyncGenerator[None]:
        """Wait for the turn of a thing, and have it as long as the block runs."""
        lock = self._locks.setdefault(key, asyncio.Lock())
        async with lock:
            yield


async def while_connected(
    receive: Receive, work: Coroutine[Any, Any, None], on_gone: Callable[[], object] | None = None
) -> None:
    """Do work for a client; where it leaves before the end, the work is cancelled.

    Args:
        receive: ASGI's function that tells when the client has left.
        work: the work.
        on_gone: called when the client has left before its end.
    """

    async def until_gone() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    working, gone = asyncio.ensure_future(work), asyncio.ensure_future(until_gone())
    try:
        await asyncio.wait([working, gone], return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            working.result()
        elif on_gone is not None:
            on_gone()
    finally:
        working.cancel()
        gone.cancel()
        await asyncio.gather(working, gone, return_exceptions=True)
