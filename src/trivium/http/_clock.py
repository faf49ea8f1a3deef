"""The time that a block of code on a loop may take."""

from __future__ import annotations

import asyncio
from contextvars import Context


class TimeLimit:
    """Limits a block, which raises a TimeoutError past its seconds, unless the limit was lifted before.

    `asyncio.timeout` does the same, and its timer keeps the context of a run, and so all that the run holds, for as
    long as it would have lasted: a loop drops cancelled timers late.

    Args:
        seconds: how long the block may take; None: no limit.

    Attributes:
        expired: True once the seconds are over.
    """

    __slots__ = ("_cancelling", "_seconds", "_task", "_timer", "expired")
    _task: asyncio.Task[object]
    _cancelling: int

    def __init__(self, seconds: float | None) -> None:
        self._seconds, self.expired = seconds, False
        self._timer: asyncio.TimerHandle | None = None

    async def __aenter__(self) -> None:
        if self._seconds is None:
            return
        task = asyncio.current_task()
        assert task is not None, "asyncio runs tasks alone"
        self._task, self._cancelling = task, task.cancelling()
        self._timer = task.get_loop().call_later(self._seconds, self._expire, context=Context())

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self.lift()
        if self.expired and self._task.uncancel() <= self._cancelling and kind is asyncio.CancelledError:
            raise TimeoutError from error

    def lift(self) -> None:
        """End the limit: the block may take as long as it will."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _expire(self) -> None:
        self._timer, self.expired = None, True
        self._task.cancel()
