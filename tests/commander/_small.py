"""Jobs and handlers of one function each, for small programs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from trivium import CommanderAsync, Job
from trivium.commander import PASS_WORD, Callback, HandlerCoroutine, handler, tasker
from trivium.commander._callbacks import STAGES

from ._helpers import in_thread

HANGS = 3.0
"""Seconds after which a program of this file, which takes a few milliseconds, is taken to hang."""
Body = Callable[[Any], Awaitable[Any]]


class Do(Job):
    """A job that does what it was given."""

    def __init__(self, work: Body) -> None:
        super().__init__()
        self.work = work

    @tasker(PASS_WORD)
    async def task(self) -> Any:
        return await self.work(self)


@handler(PASS_WORD)
async def doing(self_handler: HandlerCoroutine, work: Body, callback: Callback | None = None) -> Any:
    return await work(self_handler)


async def nothing(node: Any) -> None: ...


async def for_ever(node: Any) -> None:
    await asyncio.get_running_loop().create_future()


def run(*jobs: Job, **kwargs: Any) -> CommanderAsync:
    """A run of the jobs to its end, in a thread so that one that hangs fails."""
    commander = CommanderAsync(**kwargs)
    in_thread(lambda: commander.run(jobs, auto_exit=True), HANGS)
    return commander


def noting(log: list[str], owner: str) -> Callback:
    stages: dict[str, Any] = {stage: partial(log.append, f"{owner} {stage}") for stage in STAGES}
    return Callback(**stages)
