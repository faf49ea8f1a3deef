"""Jobs and handlers that the tests of the runtime share."""

# These tests look at the internals of nodes, which are underscored since a user's `Job` is a node.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

from trivium import CommanderAsync, Job
from trivium.commander import PASS_WORD, HandlerCoroutine, handler, tasker

from ._helpers import GUARD, in_thread


class Do(Job):
    """A job that does what it was given."""

    def __init__(self, work: Callable[[Any], Any] = lambda job: None) -> None:
        self.work = work
        super().__init__()

    @tasker(PASS_WORD)
    async def task(self) -> Any:
        out = self.work(self)
        return await out if asyncio.iscoroutine(out) else out


@handler(PASS_WORD)
async def giving(self_handler: HandlerCoroutine, value: Any = None) -> Any:
    """Give a value, one step of the loop later."""
    await asyncio.sleep(0)
    return value


@handler(PASS_WORD)
async def failing(self_handler: HandlerCoroutine, error: Exception) -> None:
    raise error


@handler(PASS_WORD)
async def stuck(self_handler: HandlerCoroutine) -> None:
    """Wait for ever."""
    await asyncio.get_running_loop().create_future()


@handler(PASS_WORD)
async def doing(self_handler: HandlerCoroutine, work: Callable[[HandlerCoroutine], Any]) -> Any:
    """Do what it was given."""
    out = work(self_handler)
    return await out if asyncio.iscoroutine(out) else out


async def steps(count: int = 5) -> None:
    """Let everything else go on for some steps of the loop."""
    for _ in range(count):
        await asyncio.sleep(0)


def run_jobs(*jobs: Job, **kwargs: Any) -> CommanderAsync:
    """Run jobs to the end of all that they start, with a guard against a hang."""
    commander = CommanderAsync(**kwargs)
    in_thread(lambda: commander.run(jobs, auto_exit=True))
    assert commander.is_empty()
    return commander


def run(work: Callable[[Any], Any], **kwargs: Any) -> tuple[CommanderAsync, Do]:
    """Run one job that does `work`."""
    job = Do(work)
    return run_jobs(job, **kwargs), job


def outcome(work: Callable[[Any], Any], **kwargs: Any) -> Any:
    """What the task of one job returned; nothing may have failed."""
    commander, job = run(work, **kwargs)
    assert commander.failures == []
    return job.result


class Beside:
    """A commander that runs in a thread of its own."""

    def __init__(self, *jobs: Job, auto_exit: bool = False, **kwargs: Any) -> None:
        self.commander, up = CommanderAsync(**kwargs), threading.Event()
        self._outcome: list[Any] = []
        first = Do(lambda job: up.set())

        def body() -> None:
            try:
                self._outcome.append(self.commander.run([first, *jobs], auto_exit=auto_exit))
            except BaseException as error:
                self._outcome.append(error)

        self.thread = threading.Thread(target=body, daemon=True)
        self.thread.start()
        assert up.wait(GUARD)

    def join(self) -> Any:
        """What `run` returned, or the error that it raised."""
        self.thread.join(GUARD)
        assert not self.thread.is_alive(), "the commander hangs"
        return self._outcome[0]


def types_of(commander: CommanderAsync) -> list[tuple[str, str]]:
    """The failures, as the names of nodes and of errors."""
    return [(node._name, type(error).__name__) for node, error in commander.failures]
