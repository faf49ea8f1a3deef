"""Work for each item of a source, a bounded number at a time."""

from __future__ import annotations

from asyncio import Lock
from collections.abc import AsyncIterable, Callable, Coroutine, Iterable, Sized
from contextlib import aclosing
from itertools import count
from typing import Any, TypeVar

from trivium.commander._drivers import driver_neutral, gather
from trivium.commander._iteration import iterate
from trivium.commander._loops import await_on_loop, is_blocking

__all__ = ["for_each"]

T = TypeVar("T")
_END = object()


@driver_neutral
async def for_each(
    items: Iterable[T] | AsyncIterable[T], work: Callable[[int, T], Coroutine[Any, Any, object]], at_once: int = 1
) -> None:
    """Await `work(index, item)` for each item, in the order of the items; the next starts when one ends.

    The first failure cancels the others, and is raised when they have ended. It must run inside a node. With one at a
    time, a sync call stays in its thread.

    Args:
        items: any iterable, sync or async; it is pulled only as fast as the work proceeds, and closed at the end.
        work: a driver-neutral coroutine function.
        at_once: the most that run at the same time.
    """
    if isinstance(items, Sized):
        at_once = min(at_once, len(items))
    if at_once > 1 and is_blocking():  # here, so that the source too is pulled on the loop
        return await_on_loop(lambda: for_each(items, work, at_once), lend=False)
    indexes, pulling = count(), Lock()
    async with aclosing(iterate(lambda: items)) as source:

        @driver_neutral
        async def worker() -> None:
            while True:
                async with pulling:  # a kill reaches the worker that pulls, whose failure cancels those that wait
                    item: Any = await anext(source, _END)
                    index = next(indexes)
                if item is _END:
                    return
                await work(index, item)

        await gather(*[worker] * max(1, at_once))
