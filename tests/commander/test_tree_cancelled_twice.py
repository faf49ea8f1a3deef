"""What cleans up is not cut by a second cancellation, or by a kill that wakes a task twice."""

# These tests look at the internals of nodes, which are underscored since a user's `Job` is a node.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import aclosing
from typing import Any

from trivium import CommanderAsync, Message, Module
from trivium.commander import (
    NodeState,
    driver_neutral,
    gather,
    iterate,
)

from ._helpers import in_thread
from ._small import HANGS, Do, doing, for_ever


async def cancelled_twice(task: asyncio.Task[Any]) -> bool:
    """Whether it still runs, some steps after it was cancelled the second time."""
    for _ in range(2):
        task.cancel()
        for _ in range(5):
            await asyncio.sleep(0)
    return not task.done()


async def waits_for_its_thread(module: Module, entered: threading.Event, leave: threading.Event) -> bool:
    """Whether a call whose code sits in a worker still runs after two cancellations."""
    call = asyncio.create_task(module.acall("x"))
    await asyncio.to_thread(entered.wait, HANGS)
    try:
        return await cancelled_twice(call)
    finally:
        leave.set()
        await asyncio.wait([call])


def test_a_call_that_is_cancelled_twice_waits_for_its_sync_code():
    entered, leave = threading.Event(), threading.Event()

    class Holds(Module):
        def forward(self, message: Message) -> None:
            entered.set()
            assert leave.wait(HANGS)

    assert in_thread(lambda: asyncio.run(waits_for_its_thread(Holds(), entered, leave)), HANGS)


def test_a_kill_from_another_thread_leaves_no_worker_behind():
    """The job and the handler that it awaits are both woken; between the two cancellations the task makes a step."""
    entered, leave = threading.Event(), threading.Event()
    late: list[str] = []

    class Holds(Module):
        def forward(self, message: Message) -> None:
            entered.set()
            assert leave.wait(HANGS)
            late.append("over")

    async def call(node: Any) -> None:
        await Holds().acall("x")

    async def body(job: Any) -> None:
        await doing(call)

    async def main() -> list[str]:
        commander, job = CommanderAsync(), Do(body)
        run = asyncio.create_task(commander.run_async(job, auto_exit=True))
        await asyncio.to_thread(entered.wait, HANGS)
        for node in [*reversed(list(job._subtree()))]:  # as `kill` does, with the loop's steps in between
            node._stopping = (job, "slowly")
        for node in [*reversed(list(job._subtree()))]:
            node._wake()
            for _ in range(5):
                await asyncio.sleep(0)
        early = run.done()
        leave.set()
        await run
        return ["too early", *late] if early else list(late)

    assert in_thread(lambda: asyncio.run(main()), HANGS) == ["over"]


def test_a_run_that_is_cancelled_twice_still_ends_its_nodes():
    log: list[str] = []

    async def cleans_up(node: Any) -> None:
        try:
            await for_ever(node)
        finally:
            for _ in range(20):
                await asyncio.sleep(0)
            log.append("cleaned up")

    async def body(job: Any) -> Any:
        return doing(cleans_up)

    async def main() -> CommanderAsync:
        commander = CommanderAsync()
        run = asyncio.create_task(commander.run_async(Do(body)))
        for _ in range(5):
            await asyncio.sleep(0)
        await cancelled_twice(run)
        await asyncio.wait([run])
        return commander

    commander = in_thread(lambda: asyncio.run(main()), HANGS)
    assert log == ["cleaned up"]
    assert (commander.state, commander.children, commander._loop) == (NodeState.TERMINATED, [], None)


def test_a_sync_source_is_closed_before_a_call_that_is_cancelled_twice_ends():
    entered, leave = threading.Event(), threading.Event()

    def source() -> Iterator[str]:
        entered.set()
        assert leave.wait(HANGS)
        yield "x"

    class Pulls(Module):
        @driver_neutral
        async def forward(self, message: Message) -> None:
            async with aclosing(iterate(source)) as items:
                async for _ in items:
                    pass

    assert in_thread(lambda: asyncio.run(waits_for_its_thread(Pulls(), entered, leave)), HANGS)


def test_a_gather_that_is_cancelled_twice_waits_for_its_branches():
    ended: list[str] = []

    async def branch() -> None:
        try:
            await for_ever(None)
        finally:
            for _ in range(20):
                await asyncio.sleep(0)
            ended.append("branch")

    async def main() -> list[str]:
        task = asyncio.create_task(gather(branch, branch))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        await cancelled_twice(task)
        await asyncio.wait([task])
        return list(ended)

    assert in_thread(lambda: asyncio.run(main()), HANGS) == ["branch", "branch"]
