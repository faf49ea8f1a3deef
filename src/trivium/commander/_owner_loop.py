"""A loop of its own in a worker, for connections that must be opened, used and closed on one loop."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from typing import Any, TypeVar

from trivium.commander._loops import lender
from trivium.commander._node import current
from trivium.commander._workers import get_running_loop, post_later, submit
from trivium.exceptions import RunKilledError

T = TypeVar("T")
Work = Callable[[], Coroutine[Any, Any, T]]
_LAST_SECONDS = 10.0


class OwnerLoop:
    """A loop that starts with the first call and runs until it is closed; any thread and any loop may call.

    Code on it never waits for code outside, so that a caller cannot deadlock.

    Args:
        farewell: a coroutine function that is awaited there before the loop ends.
    """

    def __init__(self, farewell: Work[object]) -> None:
        self._farewell = farewell
        self._lock = threading.Lock()
        self._stay: _Stay | None = None

    async def call(self, work: Work[T]) -> T:
        """Return the result of `await work()` there. Call it through `invoke`, so that a kill reaches the work.

        Raises:
            RunKilledError: the loop was closed meanwhile.
        """
        with self._lock:
            stay = self._stay
            if stay is None or stay.pid != os.getpid():  # a forked child has none of its parent's threads
                stay = self._stay = _Stay(self._farewell)
            context = copy_context()
            context.run(current.set, None)  # no part of the caller's run: a kill comes as a cancellation
            context.run(lender.set, None)
            future = context.run(asyncio.run_coroutine_threadsafe, work(), stay.loop)
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            raise RunKilledError("the connection was closed meanwhile") from None

    async def close(self) -> None:
        """Await the farewell, end the loop, and wait for its end; a later call starts another loop."""
        stay = self._leave()
        if stay is not None:
            await asyncio.wrap_future(stay.over)

    def abandon(self) -> None:
        """Close from a finalizer, which may run in any thread; on a thread that runs a loop, without waiting."""
        stay = self._leave()
        if stay is not None and get_running_loop() is None:
            with suppress(TimeoutError):
                stay.over.result(_LAST_SECONDS)

    def _leave(self) -> _Stay | None:
        with self._lock:
            stay, self._stay = self._stay, None
        if stay is None or stay.pid != os.getpid():
            return None
        post_later(stay.loop, stay.leaving.set)
        return stay


class _Stay:
    """One lifetime of the loop."""

    loop: asyncio.AbstractEventLoop
    leaving: asyncio.Event

    def __init__(self, farewell: Work[object]) -> None:
        self.pid, self.over = os.getpid(), Future[None]()
        ready = threading.Event()
        submit(partial(self._body, farewell, ready))
        ready.wait()

    def _body(self, farewell: Work[object], ready: threading.Event) -> None:
        try:
            asyncio.run(self._live(farewell, ready))
        finally:
            self.over.set_result(None)

    async def _live(self, farewell: Work[object], ready: threading.Event) -> None:
        self.loop, self.leaving = asyncio.get_running_loop(), asyncio.Event()
        ready.set()
        await self.leaving.wait()
        await farewell()
