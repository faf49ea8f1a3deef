"""Wide and deep trees: no recursion, a cost that is linear in the nodes, memory that is given back."""

# These tests look at the internals of nodes, which are underscored since a user's `Job` is a node.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
import gc
import time
import tracemalloc
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from trivium import CommanderAsync, Job
from trivium.commander import PASS_WORD, HandlerCoroutine, NodeState, TaskNode, handler, tasker
from trivium.exceptions import RunKilledError

pytestmark = pytest.mark.usefixtures("frozen")

DEEP, MANY, WIDE = 10_000, 20_000, 100_000


class Chain(Job):
    """A job that puts the next below itself; the last calls what it was given."""

    def __init__(self, left: int, last: Callable[[TaskNode], object], seen: list[TaskNode]) -> None:
        super().__init__()
        self.left, self.last, self.seen = left, last, seen

    @tasker(PASS_WORD)
    async def task(self) -> None:
        self.seen.append(self)
        if self.left:
            await self.put_job(Chain(self.left - 1, self.last, self.seen))
        else:
            self.last(self)


@handler(PASS_WORD)
async def chain(
    self_handler: HandlerCoroutine, left: int, last: Callable[[TaskNode], object], seen: list[TaskNode], waits: bool
) -> None:
    seen.append(self_handler)
    if left:
        self_handler.call_handler(chain(left - 1, last, seen, waits))
    else:
        last(self_handler)
    if waits:
        await asyncio.get_running_loop().create_future()


class Below(Job):
    """A job that starts so many handlers at once; each does the work."""

    def __init__(self, number: int, work: Callable[[], Awaitable[Any]]) -> None:
        super().__init__()
        self.number, self.work = number, work

    @tasker(PASS_WORD)
    async def task(self) -> None:
        for _ in range(self.number):
            self.call_handler(working(self.work))


class Starts(Job):
    """A job that returns a handler."""

    def __init__(self, first: HandlerCoroutine[Any]) -> None:
        super().__init__()
        self.first = first

    @tasker(PASS_WORD)
    async def task(self) -> HandlerCoroutine[Any]:
        return self.first


@handler(PASS_WORD)
async def working(self_handler: HandlerCoroutine, work: Callable[[], Awaitable[Any]]) -> None:
    await work()


def nothing(node: TaskNode) -> None: ...


# ---- deep
def test_a_deep_chain_of_jobs_ends_from_the_last_to_the_first():
    seen: list[TaskNode] = []
    ended: list[TaskNode] = []
    commander = CommanderAsync()
    commander.listen(lambda event: ended.append(event.node) if event.kind == "ended" else None)
    commander.run(Chain(DEEP, nothing, seen), auto_exit=True)
    assert ended == [*reversed(seen), commander]
    assert {node.state for node in seen} == {NodeState.COMPLETED}
    assert len({node._get_key() for node in reversed(seen)}) == DEEP + 1
    assert commander.is_empty()


def test_a_deep_chain_of_handlers_ends_from_the_last_to_the_first():
    seen: list[TaskNode] = []
    ended: list[TaskNode] = []
    commander = CommanderAsync()
    commander.listen(lambda event: ended.append(event.node) if event.kind == "ended" else None)
    job = Starts(chain(DEEP, nothing, seen, waits=False))
    commander.run(job, auto_exit=True)
    assert ended == [*reversed(seen), job, commander]
    assert {node.state for node in seen} == {NodeState.COMPLETED}


@pytest.mark.parametrize("what", ["jobs", "handlers"])
def test_a_deep_chain_is_killed_from_its_head(what: str):
    seen: list[TaskNode] = []

    def kill_head(node: TaskNode) -> None:
        seen[0].kill("the head")

    first = Chain(DEEP, kill_head, seen) if what == "jobs" else Starts(chain(DEEP, kill_head, seen, waits=True))
    commander = CommanderAsync()
    commander.run(first, auto_exit=True)
    assert len(seen) == DEEP + 1
    assert {node.state for node in seen} == {NodeState.TERMINATED}
    told = [(node, type(error)) for node, error in commander.failures if node is seen[0]]
    assert told == [(seen[0], RunKilledError)]
    assert (commander.state, commander.is_empty()) == (NodeState.COMPLETED, True)


def test_a_deep_chain_gives_its_memory_back_without_recursion():
    seen: list[TaskNode] = []
    commander = CommanderAsync()
    commander.run(Starts(chain(DEEP, nothing, seen, waits=False)), auto_exit=True)
    head = seen.pop(0)
    del seen  # from the last node a line of parents leads up: it goes as a whole
    gc.collect()
    assert (head.children, head.state) == ([], NodeState.COMPLETED)


# ---- wide
async def meet(number: int, start: Callable[[Callable[[], Awaitable[Any]]], Awaitable[Any]]) -> tuple[int, int]:
    """Start so many that all live at once. What they hold together in bytes, and what is left after their end."""
    arrived, all_here = 0, asyncio.Event()
    before, peak = tracemalloc.get_traced_memory()[0], 0

    async def work() -> None:
        nonlocal arrived, peak
        arrived += 1
        if arrived == number:
            peak = tracemalloc.get_traced_memory()[0]
            all_here.set()
        await all_here.wait()

    await start(work)
    assert arrived == number
    gc.collect()
    return peak - before, tracemalloc.get_traced_memory()[0] - before


async def as_handlers(number: int, work: Callable[[], Awaitable[Any]]) -> None:
    commander = CommanderAsync()
    await commander.run_async(Below(number, work), auto_exit=True)
    assert (commander.failures, commander.is_empty()) == ([], True)


async def as_tasks(number: int, work: Callable[[], Awaitable[Any]]) -> None:
    async with asyncio.TaskGroup() as group:
        for _ in range(number):
            group.create_task(work())  # type: ignore[arg-type]


Starter = Callable[[int, Callable[[], Awaitable[Any]]], Awaitable[None]]


def memory(number: int, starter: Starter) -> tuple[int, int]:
    tracemalloc.start()
    try:
        return asyncio.run(meet(number, lambda work: starter(number, work)))
    finally:
        tracemalloc.stop()


def seconds(number: int, starter: Starter, rounds: int) -> float:
    """The best of several, for each node; nothing else of the process is collected meanwhile."""
    taken: list[float] = []
    for _ in range(rounds):
        gc.collect()
        gc.disable()
        try:
            before = time.process_time()
            asyncio.run(meet(number, lambda work: starter(number, work)))
            taken.append((time.process_time() - before) / number)
        finally:
            gc.enable()
    return min(taken)


@pytest.mark.slow
def test_a_live_handler_takes_little_memory_and_gives_it_back():
    """A node, its task and its arguments, beside a bare task."""
    held, left = memory(MANY, as_handlers)
    held_bare, _ = memory(MANY, as_tasks)
    assert held / held_bare < 3
    assert left / held < 0.05  # asyncio's own set of tasks keeps its size: a fiftieth


@pytest.mark.slow
def test_a_hundred_thousand_live_handlers_cost_each_what_a_thousand_do():
    ratios: list[float] = []
    for _ in range(3):  # a busy machine may disturb one round, not each
        each_of_many = seconds(WIDE, as_handlers, 1)
        ratios = [each_of_many / seconds(few, as_handlers, 3) for few in (1_000, 10_000)]
        if max(ratios) <= 3:
            return
    pytest.fail(f"each of {WIDE} costs {ratios} times what one of 1,000 and of 10,000 does")


@pytest.mark.slow
@pytest.mark.usefixtures("without_the_collector")
def test_a_hundred_thousand_live_handlers_are_killed_at_once():
    nodes: list[TaskNode] = []

    async def main() -> CommanderAsync:
        commander, arrived = CommanderAsync(), 0

        async def work() -> None:
            nonlocal arrived
            arrived += 1
            if arrived == WIDE:
                nodes.extend(job.children)
                job.kill("all of them")
            await asyncio.get_running_loop().create_future()

        job = Below(WIDE, work)
        await commander.run_async(job, auto_exit=True)
        return commander

    commander = asyncio.run(main())
    assert len(nodes) == WIDE
    assert {node.state for node in nodes} == {NodeState.TERMINATED}
    assert (commander.is_empty(), commander.children) == (True, [])
