"""Work for each item of a source, a bounded number at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Coroutine, Iterable, Sized
from contextlib import aclosing
from typing import Any, TypeVar

from trivium.commander._drivers import ThreadEvent, driver_neutral, gather, wait
from trivium.commander._iteration import iterate
from trivium.commander._loops import await_on_loop, is_blocking

__all__ = ["for_each"]

T = TypeVar("T")
_END = object()


@driver_neutral
async def for_each(
    items: Iterable[T] | AsyncIterable[T], work: Callable[[int, T], Coroutine[Any, Any, object]], at_once: int = 1
) -> None:
    """Await `work(index, item)` for each item, in the order of the items; the next begins when one ends.

    The first failure stops the others, and is raised when they have ended. It runs inside a node. With one at a
    time, a sync call stays in its thread.

    Args:
        items: any iterable, sync or async; it is pulled only as fast as the work goes on, and closed at the end.
        work: a core coroutine function.
        at_once: how many run at the same time, at most.
    """
    if isinstance(items, Sized):
        at_once = min(at_once, len(items))
    if at_once > 1 and is_blocking():  # here, so that the source too is pulled on the loop
        return await_on_loop(lambda: for_each(items, work, at_once), lend=False)
    async with aclosing(iterate(lambda: items)) as source:
        line = _Line(source)

        @driver_neutral
        async def worker() -> None:
            while (entry := await line.pull()) is not None:
                await work(*entry)

        await gather(*[worker] * max(1, at_once))


class _Line:
    """Workers that share a source, all on one thread: one pulls, the others wait, first come, first served."""

    __slots__ = ("_count", "_pulls", "_source", "_waiting")

    def __init__(self, source: AsyncGenerator[Any]) -> None:
        self._source, self._count, self._pulls = source, 0, False
        self._waiting: deque[ThreadEvent] = deque()

    async def pull(self) -> tuple[int, Any] | None:
        """The next item and its number; None at the end."""
        if self._pulls:
            self._waiting.append(turn := ThreadEvent())
            await wait(event=turn)  # whoever sets it leaves `_pulls` as it is: nobody gets in between
        self._pulls = True
        try:
            item = await anext(self._source, _END)
            self._count += 1
            return None if item is _END else (self._count - 1, item)
        finally:
            if self._waiting:
                self._waiting.popleft().set()
            else:
                self._pulls = False
