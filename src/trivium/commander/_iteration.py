"""The fourth primitive: pull from an iterator of a user or a provider, sync or async."""

# A user's `Job` is a node, so the internals of nodes are underscored; the files of this package share them.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
import threading
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Callable,
    Coroutine,
    Generator,
    Iterable,
    Sized,
)
from contextlib import AbstractAsyncContextManager, aclosing, closing, suppress
from itertools import count
from types import GeneratorType
from typing import Any, Generic, TypeVar, cast

from trivium.commander._drivers import driver_neutral, gather, is_driver_neutral, settle
from trivium.commander._loops import (
    Give,
    await_foreign,
    await_on_loop,
    in_worker,
    is_blocking,
    iterate_on_loop,
    open_reply,
    shield,
)
from trivium.commander._node import TaskNode, checkpoint, current_node
from trivium.commander._workers import post, submit, value_or_raise
from trivium.exceptions import CommanderNotRunError

T = TypeVar("T")
_END = object()
_AHEAD = 16
"""The most items by which an async source may be ahead of a consumer in sync code."""


async def iterate(function: Callable[..., Any], *args: Any) -> AsyncGenerator[Any]:
    """Yield the items of an iterator of a user or provider, sync or async.

    One task or one worker owns the source from its first item to its close. While a listener lags behind, nothing is
    pulled.
    """
    node = current_node()
    if node is None:
        raise CommanderNotRunError("no call runs here: for_each is for code within a run, gather for any code")
    checkpoint(node)
    source = function(*args)
    if hasattr(source, "__await__"):
        source = await settle(source)
    async with aclosing(_items_of(source, node, function)) as items:
        async for item in items:
            yield item
            await _between_items(node)


async def pull(take: Callable[[Any], object], function: Callable[..., Any], *args: Any) -> None:
    """Call `take` with each item of an iterator of a user or provider; cheaper than `iterate`, by half."""
    node = current_node()
    assert node is not None, "pull runs inside a node"
    if node._stopping is not None or node._scope.deadline is not None:
        checkpoint(node)
    source = function(*args)
    kind: Any = source.__class__
    if kind is not GeneratorType and hasattr(source, "__await__"):
        source = await settle(source)
        kind = source.__class__
    is_sync = is_blocking()
    if not is_sync and hasattr(source, "__aiter__"):  # what waits is woken by a kill once for all items
        await await_foreign(node, _take_all(node, _Opened(source), take))
    elif kind is list or (kind is GeneratorType and is_sync):  # most turns
        try:
            for item in source:
                take(item)
                if (scope := node._scope).pipes or scope.deadline or node._stopping:
                    await _between_items(node)
        finally:
            if kind is GeneratorType:
                source.close()
    else:
        await _take_all(node, aclosing(_items_of(source, node, function)), take)


def _items_of(source: Any, node: TaskNode, function: Callable[..., Any]) -> AsyncGenerator[Any]:
    is_sync = is_blocking()
    if not hasattr(source, "__aiter__"):
        return _in_place(source) if is_sync or issubclass(type(source), list | tuple) else _from_sync(node, source)
    if not is_sync:
        return _from_async(node, source)
    return source if is_driver_neutral(function) else _from_async_blocking(source)


async def _in_place(source: Iterable[T]) -> AsyncGenerator[T]:
    items = iter(source)
    try:
        for item in items:
            yield item
    finally:
        if isinstance(items, Generator):
            items.close()


async def _take_all(
    node: TaskNode, opened: AbstractAsyncContextManager[AsyncIterator[T]], take: Callable[[T], object]
) -> None:
    async with opened as items:
        async for item in items:
            take(item)
            if (scope := node._scope).pipes or scope.deadline or node._stopping:
                await _between_items(node)


class _Opened(Generic[T]):
    """The iterator of an async source, closed at the end; a class, since `asynccontextmanager` costs more."""

    __slots__ = ("_items",)

    def __init__(self, source: AsyncIterable[T]) -> None:
        self._items: AsyncIterator[T] = aiter(source)

    async def __aenter__(self) -> AsyncIterator[T]:
        return self._items

    async def __aexit__(self, *raised: object) -> None:
        if isinstance(items := cast("Any", self._items), AsyncGenerator):
            await items.aclose()


async def _between_items(node: TaskNode) -> None:
    for pipe in node._scope.pipes:
        await pipe.drained()
    checkpoint(node)


async def _from_async(node: TaskNode, source: AsyncIterable[T]) -> AsyncGenerator[T]:
    async with _Opened(source) as items:
        with suppress(StopAsyncIteration):
            while True:
                yield await await_foreign(node, anext(items))


async def _from_async_blocking(source: AsyncIterable[T]) -> AsyncGenerator[T]:
    window, loops = asyncio.Semaphore(_AHEAD), list[asyncio.AbstractEventLoop]()

    async def pump(give: Give) -> None:
        loops.append(asyncio.get_running_loop())
        async with _Opened(source) as items:
            async for item in items:
                await window.acquire()
                give(item)

    with closing(iterate_on_loop(pump)) as items:
        for item in items:
            yield item
            post(loops[0], window.release)


async def _from_sync(node: TaskNode, source: Iterable[T]) -> AsyncGenerator[T]:
    """A sync source under the async driver: one worker pulls, one item ahead of the consumer at most."""
    loop = asyncio.get_running_loop()
    arrived: asyncio.Queue[tuple[T] | None] = asyncio.Queue()
    wanted = threading.Semaphore(2)
    left = threading.Event()

    def body() -> None:
        items = iter(source)
        try:
            for item in items:
                wanted.acquire()
                if left.is_set():
                    break
                post(loop, arrived.put_nowait, (item,))
        finally:
            if isinstance(items, Generator):
                items.close()

    # The pool runs the body even where a blocked caller lends its thread: a source is one long work.
    done, reply = open_reply()
    done.add_done_callback(lambda _: arrived.put_nowait(None))
    submit(in_worker(body, reply, loop))
    try:
        while (entry := await await_foreign(node, arrived.get())) is not None:
            wanted.release()
            yield entry[0]
    finally:
        left.set()
        wanted.release()
        await shield(asyncio.wait([done]))
    value_or_raise(done.result())


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
    indexes, pulling = count(), asyncio.Lock()
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
