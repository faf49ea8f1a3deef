"""Streaming is listening: the same call, with its events given out while it runs."""

from __future__ import annotations

import asyncio
import queue
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, Generic, Self

from typing_extensions import TypeVar

from trivium.commander._drivers import ThreadEvent, drive, wait
from trivium.commander._loops import asyncio_loop, home_loop_here, in_worker, is_blocking, shield
from trivium.commander._node import TaskNode, change_scope, current, scope_of
from trivium.commander._workers import Outcome, capture_async, get_item, get_running_loop, post, submit, value_or_raise
from trivium.exceptions import CommanderNotRunError

if TYPE_CHECKING:
    from trivium.events import RunEvent

T = TypeVar("T")
E_co = TypeVar("E_co", covariant=True, default="RunEvent")
_MOST_BEHIND = 1024
"""Events that may wait for a slow consumer before the call pauses."""


class _Pipe:
    """Events on their way to a consumer; the model is not pulled while too many are waiting."""

    __slots__ = ("_given", "_put", "_taken", "_waiting", "most_behind")

    def __init__(self, put: Callable[[RunEvent | None], object]) -> None:
        self._put = put
        self._given = self._taken = 0  # one side writes each: no lock
        self.most_behind = _MOST_BEHIND
        self._waiting: list[ThreadEvent] = []

    def give(self, event: RunEvent) -> None:
        self._given += 1
        self._put(event)

    def took(self) -> None:
        self._taken += 1
        if self._waiting and self._given - self._taken <= self.most_behind // 2:
            while self._waiting:
                self._waiting.pop().set()

    async def drained(self) -> None:
        """Wait until the consumer has caught up; never if it could not run meanwhile."""
        if self._given - self._taken <= self.most_behind or (is_blocking() and get_running_loop() is not None):
            return
        drained = ThreadEvent()
        self._waiting.append(drained)
        if self._given - self._taken <= self.most_behind // 2:  # it caught up between the two lines
            drained.set()
        await wait(event=drained)


def _attach(node: TaskNode, pipe: _Pipe) -> None:
    change_scope(node, listeners=(pipe.give,), pipes=(*scope_of(node).pipes, pipe))


class Stream(Generic[T, E_co]):
    """The events of a call in sync code, while it runs; `result` when it is over.

    The call runs in a worker, so it may emit from any depth. Leaving early kills it and waits for its end; a later
    loop goes on with the events up to there.

    Example:
        >>> from trivium import Agent
        >>> from trivium.testing import ScriptedModel
        >>> stream = Agent(ScriptedModel(["hello"])).stream("hi")
        >>> [event.data for event in stream if event.kind == "delta"]
        ['hello']
        >>> stream.result.content
        'hello'
    """

    def __init__(self, node: TaskNode, work: Callable[[], Coroutine[Any, Any, T]]) -> None:
        self.node, self._work = node, work
        self._queue: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.pipe = _Pipe(self._queue.put)
        self._outcome: Outcome[T] | None = None
        self._started, self._rest = False, deque[Any]()
        _attach(node, self.pipe)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.node!r})"

    def __iter__(self) -> Iterator[E_co]:
        if not self._started:
            self._start()
        try:
            while (event := self._rest.popleft() if self._rest else self._next()) is not None:
                yield event
        finally:
            self.close()
        _ = self.result

    def _next(self) -> E_co | None:
        event = get_item(self._queue)
        if event is None:
            self._queue.put(None)  # a second reader is at the end again
        self.pipe.took()
        return event

    def _start(self) -> None:
        self._started = True
        context = copy_context()
        context.run(current.set, self.node)

        def reply(outcome: Outcome[T]) -> None:
            self._outcome = outcome
            self._queue.put(None)

        submit(context.run(in_worker, lambda: drive(self._work()), reply, home_loop_here()))

    def close(self) -> None:
        """Stop the call if it still runs, and wait for its end."""
        if self._outcome is None:
            self.node.kill("closed")
        if not self._started:  # killed before it starts: the call only ends its node
            self._start()
        self._rest += iter(self._next, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @property
    def result(self) -> T:
        """The result of the call; reads the stream to its end first."""
        if self._outcome is None:
            for _ in self:
                pass
        assert self._outcome is not None
        return value_or_raise(self._outcome)


class AsyncStream(Generic[T, E_co]):
    """`async with agent.open(message) as stream:`, then `async for event in stream`; `result` when it is over.

    Leaving the block early kills the call and waits for its end.
    """

    def __init__(self, node: TaskNode, work: Callable[[], Coroutine[Any, Any, T]]) -> None:
        self.node, self._work = node, work
        self._queue: asyncio.Queue[Any] = asyncio.Queue()
        self._task: asyncio.Task[Outcome[T]] | None = None

    __repr__ = Stream.__repr__  # type: ignore[assignment]

    async def __aenter__(self) -> Self:
        loop = asyncio_loop()
        self.pipe = _Pipe(lambda event: post(loop, self._queue.put_nowait, event))
        _attach(self.node, self.pipe)
        context = copy_context()
        context.run(current.set, self.node)

        # An error belongs to who reads, if anybody still does.
        self._task = task = loop.create_task(capture_async(self._work), context=context)
        task.add_done_callback(lambda _: self._queue.put_nowait(None))
        return self

    async def __aiter__(self) -> AsyncIterator[E_co]:
        task = self._opened()
        while (event := await self._queue.get()) is not None:
            self.pipe.took()
            yield event
        self._queue.put_nowait(None)  # a second reader is at the end again
        value_or_raise(await task)

    def _opened(self) -> asyncio.Task[Outcome[T]]:
        if self._task is None:
            raise CommanderNotRunError("the stream is not open: async with agent.open(message) as stream: …")
        return self._task

    @property
    def result(self) -> T:
        """The result of the call, once the stream has been read to its end."""
        if not (task := self._opened()).done():
            raise CommanderNotRunError("the call has not ended: read the stream to its end before its result")
        return value_or_raise(task.result())

    async def __aexit__(self, *exc: object) -> None:
        if not (task := self._opened()).done():
            self.node.kill("closed")
            await shield(asyncio.wait([task]))
