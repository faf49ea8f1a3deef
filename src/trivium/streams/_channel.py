"""A source that one task reads, for readers in other tasks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable
from contextlib import aclosing
from contextvars import copy_context
from typing import Any, Protocol, runtime_checkable

from trivium.commander.lowlevel import (
    CallNode,
    Cancellation,
    ThreadEvent,
    current,
    iterate,
    run_in_worker,
    shield,
    wait,
)
from trivium.exceptions import RunKilledError

_AHEAD = 16
"""The most items read ahead of the readers."""


@runtime_checkable
class _AsyncClosable(Protocol):
    """A source with `aclose`."""

    def aclose(self) -> object: ...


@runtime_checkable
class _Closable(Protocol):
    """A source with `close`, sync or async."""

    def close(self) -> object: ...


class Channel:
    """Reads a source, sync or async, in one task, which starts with the first reader and ends with `aclose`.

    The source is independent of the readers: a reader may be cancelled, and readers may alternate.

    Args:
        source: the source; it is closed at its end, or with the channel.
        receive: called in place with each item.

    Attributes:
        over: set when the source has ended and is closed.
    """

    def __init__(self, source: Iterable[Any] | AsyncIterable[Any], receive: Callable[[Any], object]) -> None:
        self._source, self._receive, self.over = source, receive, ThreadEvent()
        self._arrived, self._wanted, self._ahead = ThreadEvent(), ThreadEvent(), 0
        self._error: BaseException | None = None
        self._closing = False
        self._task: asyncio.Task[None] | None = None
        self._context = copy_context()
        if current.get() is None:
            self._context.run(current.set, CallNode("channel"))

    def want(self) -> None:
        """Allow more of the source to be read."""
        self._ahead = 0
        self._wanted.set()

    async def more(self) -> bool:
        """Wait until an item was received; return False at the end of the source, or raise its error."""
        self.want()
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._pull(), context=self._context)
        if not self.over.is_set():
            await wait(event=self._arrived)
            return True
        if self._error is not None:
            raise self._error
        return False

    async def aclose(self) -> None:
        """Stop reading, and wait until the source is closed."""
        if self._task is not None:
            if not self._closing:
                self._task.cancel()
            await shield(asyncio.wait([self._task]))  # a reader that is cancelled waits too
        if not self.over.is_set():  # no reader has started it
            await self._close()

    async def _pull(self) -> None:
        try:
            async with aclosing(iterate(lambda: self._source)) as items:
                async for item in items:
                    self._receive(item)
                    self._notify()
                    self._ahead += 1
                    if self._ahead >= _AHEAD:
                        self._wanted = ThreadEvent()
                        await wait(event=self._wanted)
        except (Cancellation, asyncio.CancelledError):
            self._error = RunKilledError("the source was cancelled before its end, with the run in which it began")
        except BaseException as error:
            self._error = error
        await self._close()

    async def _close(self) -> None:
        self._closing = True
        source, close = self._source, None
        if isinstance(source, _AsyncClosable | _Closable):
            close = source.aclose if isinstance(source, _AsyncClosable) else source.close
        try:
            if close is not None:
                closed = close() if isinstance(source, AsyncIterable) else await run_in_worker(close)
                if isinstance(closed, Awaitable):
                    await closed
        except Exception as error:
            self._error = self._error or error
        finally:
            self.over.set()
            self._notify()

    def _notify(self) -> None:
        arrived, self._arrived = self._arrived, ThreadEvent()
        arrived.set()
