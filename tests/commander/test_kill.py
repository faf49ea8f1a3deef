"""Stopping: a kill reaches whatever runs below the node, nothing beside or above it, and the caller is told."""

# These tests look at the internals of nodes, which are underscored since a user's `Job` is a node.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from trivium import Agent, Event, Message, Module, RunRecord
from trivium.commander import NodeState, TaskNode, current, driver_neutral, gather, invoke, wait
from trivium.commander.lowlevel import background_loop
from trivium.exceptions import DeadlineExceededError, RunKilledError
from trivium.testing import ScriptedModel

from ._helpers import (
    GUARD,
    AsyncNest,
    AsyncWaiter,
    Endless,
    Entry,
    MixedNest,
    Nest,
    SyncNest,
    add,
    async_entry,
    calling,
    every_entry,
    find,
    here,
    join_all,
    nest,
    sync_entry,
)


class Roots:
    """A listener that keeps the first node it hears of."""

    def __init__(self) -> None:
        self.first: TaskNode | None = None

    def __call__(self, event: Event) -> None:
        self.first = self.first or event.node

    @property
    def node(self) -> TaskNode:
        assert self.first is not None
        return self.first


def while_waiting(event: threading.Event, act: Callable[[], object]) -> threading.Thread:
    """A thread that acts as soon as the event is set."""

    def body() -> None:
        assert event.wait(GUARD)
        act()

    thread = threading.Thread(target=body, daemon=True)
    thread.start()
    return thread


@every_entry
@pytest.mark.parametrize("kinds", [(), (SyncNest, AsyncNest), (MixedNest, SyncNest), (AsyncNest, AsyncNest)])
def test_a_kill_reaches_a_running_model(entry: Entry, kinds: Sequence[type[Nest]]):
    model, roots, record = AsyncWaiter(), Roots(), RunRecord()
    module = nest(kinds, Agent(model, name="leaf"))
    killer = while_waiting(model.asked, lambda: roots.node.kill("no more"))
    with pytest.raises(RunKilledError, match="was stopped: no more") as killed:
        entry(module, "x", listeners=[roots, record])
    killer.join()
    assert killed.value.path == f"{module.name}#0"
    assert len(model.closed) == 1
    assert current.get() is None
    assert not record._open
    assert {node._state for node in roots.node._subtree()} == {NodeState.TERMINATED}


@every_entry
def test_a_kill_wakes_a_waiting_primitive(entry: Entry):
    roots, waiting = Roots(), threading.Event()

    class Waits(Module):
        @driver_neutral
        async def forward(self, message: Message) -> None:
            waiting.set()
            await wait(3600)

    while_waiting(waiting, lambda: roots.node.kill())
    with pytest.raises(RunKilledError):
        entry(SyncNest(Waits(), ""), "x", listeners=[roots])


@every_entry
def test_a_kill_stops_an_endless_sync_model(entry: Entry):
    roots, model, heard = Roots(), Endless(), threading.Event()

    def hear(event: Event) -> None:
        if event.kind == "delta":
            heard.set()

    while_waiting(heard, lambda: roots.node.kill())
    with pytest.raises(RunKilledError):
        entry(Agent(model), "x", listeners=[roots, hear])
    assert set(model.closed_in) == model.threads


@every_entry
def test_a_killed_sub_agent_is_a_result_for_the_model_that_called_it(entry: Entry):
    model, roots = AsyncWaiter(), Roots()
    victim = Agent(model, name="victim")

    async def ask_victim() -> str:
        return (await victim.acall("x")).content

    agent = Agent(calling("ask_victim"), tools=[ask_victim])
    while_waiting(model.asked, lambda: find(roots.node, "victim").kill("enough"))
    out = entry(agent, "x", listeners=[roots])
    assert out.content.startswith("done:error: ")
    assert "victim#0 was stopped: enough" in out.content
    assert roots.node.state is NodeState.COMPLETED


@every_entry
def test_siblings_of_a_killed_node_live(entry: Entry):
    model, roots = AsyncWaiter(), Roots()
    victim, sibling = Agent(model, name="victim"), Agent(ScriptedModel(["alive"]), name="sibling")

    class Both(Module):
        @driver_neutral
        async def forward(self, message: Message) -> list[Any]:
            return await gather(lambda: self.safely(victim), lambda: self.safely(sibling))

        async def safely(self, agent: Agent) -> Any:
            try:
                return (await agent.acall("x")).content
            except RunKilledError as error:
                return type(error)

    while_waiting(model.asked, lambda: find(roots.node, "victim").kill())
    assert entry(Both(), "x", listeners=[roots]).content == [RunKilledError, "alive"]


@every_entry
def test_a_call_can_kill_itself_and_the_first_reason_stays(entry: Entry):
    roots = Roots()
    ran: list[int] = []

    def tool(a: int) -> int:
        ran.append(a)
        roots.node.kill("first")
        roots.node.kill("second")
        return a

    agent = Agent(calling("tool", times=9, a=1), tools=[tool])
    with pytest.raises(RunKilledError, match="first"):
        entry(agent, "x", listeners=[roots])
    assert ran == [1]


@every_entry
def test_a_call_killed_before_it_starts_runs_nothing(entry: Entry):
    ran: list[str] = []

    class Inner(Module):
        def forward(self, message: Message) -> None:
            ran.append("inner")

    class Outer(Module):
        def forward(self, message: Message) -> None:
            here().kill("before")
            Inner()("x")

    with pytest.raises(RunKilledError, match="before"):
        entry(Outer(), "x")
    assert ran == []


@pytest.mark.parametrize("stop", ["kill", "deadline"])
def test_async_code_whose_call_was_stopped_while_its_loop_was_busy_is_not_begun(stop: str):
    ran, roots = list[str](), Roots()
    busy, free = threading.Event(), threading.Event()

    class Later(Module):
        async def forward(self, message: Message) -> None:
            ran.append("later")

    def block() -> None:
        busy.set()
        assert free.wait(GUARD)

    def kill() -> None:
        roots.node.kill("before")
        free.set()

    background_loop(0).call_soon_threadsafe(block)
    assert busy.wait(GUARD)
    threading.Timer(0.05, kill if stop == "kill" else free.set).start()
    with pytest.raises(RunKilledError if stop == "kill" else DeadlineExceededError):
        Later()("x", listeners=[roots], timeout=None if stop == "kill" else 0.01)
    assert ran == []


def test_the_error_that_async_code_makes_of_its_stop_is_not_that_of_the_sync_call():
    roots, waiting = Roots(), threading.Event()

    class Stubborn(Module):
        async def forward(self, message: Message) -> None:
            try:
                waiting.set()
                await asyncio.sleep(GUARD)
            except asyncio.CancelledError:
                raise ValueError("of its own") from None

    while_waiting(waiting, lambda: roots.node.kill("enough"))
    with pytest.raises(RunKilledError, match="enough"):
        Stubborn()("x", listeners=[roots])


@every_entry
def test_a_kill_during_sync_code_takes_effect_after_it(entry: Entry):
    roots, entered, leave = Roots(), threading.Event(), threading.Event()
    ran: list[int] = []

    def tool(a: int) -> int:
        entered.set()
        assert leave.wait(GUARD)
        ran.append(a)
        return a

    def kill() -> None:
        roots.node.kill()
        leave.set()

    while_waiting(entered, kill)
    with pytest.raises(RunKilledError):
        entry(Agent(calling("tool", times=9, a=1), tools=[tool]), "x", listeners=[roots])
    assert ran == [1]


def test_a_kill_of_an_ended_call_changes_nothing():
    nodes: list[TaskNode] = []

    class Inner(Module):
        def forward(self, message: Message) -> str:
            nodes.append(here())
            return "done"

    class Outer(Module):
        async def forward(self, message: Message) -> str:
            for _ in range(3):
                await Inner().acall("x")
                nodes[-1].kill()
                await asyncio.sleep(0)
            return "fine"

    assert asyncio.run(Outer().acall("x")).content == "fine"
    assert [node.state for node in nodes] == [NodeState.COMPLETED] * 3


@pytest.mark.parametrize("entry", [sync_entry, async_entry])
def test_a_late_kill_never_hits_the_parent(entry: Entry):
    """Another thread kills children without end, in whatever moment of their life; the parent goes on."""
    root: list[TaskNode] = []
    stop, hits = threading.Event(), [0]

    async def quick(a: int) -> int:
        await asyncio.sleep(0)
        return a

    class Top(Module):
        @driver_neutral
        async def forward(self, message: Message) -> str:
            root.append(here())
            sub = Agent(calling("quick", a=1), tools=[quick], name="sub", memory=False)
            for _ in range(150):
                try:
                    await sub.acall("x")
                except RunKilledError:
                    hits[0] += 1
                await invoke(quick, 1)  # must never be cancelled
            return "fine"

    def kill_children() -> None:
        while not stop.is_set():
            for node in root[0].children if root else ():
                if node._name == "sub":
                    node.kill()

    killer = threading.Thread(target=kill_children, daemon=True)
    killer.start()
    try:
        assert entry(Top(), "x").content == "fine"
    finally:
        stop.set()
        killer.join(GUARD)
    assert hits[0] > 0


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_kill_while_children_attach_misses_none(asynchronous: bool):
    """Many threads start calls below one node while it is killed: all of them end."""
    inner = Agent(calling("add", times=10**6, a=1, b=2), tools=[add], name="inner", memory=False, max_rounds=10**6)
    for _ in range(10):
        started = threading.Semaphore(0)
        roots, record = Roots(), RunRecord()

        class Top(Module):
            async def forward(self, message: Message) -> str:
                node = here()
                if asynchronous:
                    async with asyncio.TaskGroup() as group:
                        for _ in range(6):
                            group.create_task(inner.acall("x"))
                else:
                    join_all([lambda: self._below(node)] * 6)
                return "never"

            def _below(self, node: TaskNode) -> None:
                current.set(node)
                inner("x")

        def hear(event: Event) -> None:
            if event.name == "inner" and event.kind == "started":
                started.release()  # noqa: B023 - each round is over before the next begins

        def kill() -> None:
            started.acquire()  # noqa: B023
            started.acquire()  # noqa: B023
            roots.node.kill()  # noqa: B023

        killer = threading.Thread(target=kill, daemon=True)
        killer.start()
        with pytest.raises((RunKilledError, BaseExceptionGroup)):
            asyncio.run(Top().acall("x", listeners=[roots, record, hear]))
        killer.join(GUARD)
        assert not record._open


def test_the_callers_own_cancellation_passes():
    model = AsyncWaiter()
    roots = Roots()

    async def main() -> tuple[bool, int]:
        call = asyncio.create_task(AsyncNest(Agent(model), "").acall("x", listeners=[roots]))
        await asyncio.to_thread(model.asked.wait, GUARD)
        call.cancel()
        await asyncio.wait([call])
        return call.cancelled(), call.cancelling()

    assert asyncio.run(main()) == (True, 1)
    assert roots.node.state is NodeState.TERMINATED
    assert len(model.closed) == 1


def test_the_callers_timeout_stays_a_timeout():
    async def main() -> None:
        async with asyncio.timeout(0.01):
            await SyncNest(Agent(AsyncWaiter()), "").acall("x")

    with pytest.raises(TimeoutError) as timed_out:
        asyncio.run(main())
    assert type(timed_out.value) is TimeoutError


def test_a_cancelled_call_waits_for_its_sync_code():
    entered, leave = threading.Event(), threading.Event()
    ended: list[str] = []

    def tool(a: int) -> int:
        entered.set()
        assert leave.wait(GUARD)
        ended.append("tool")
        return a

    async def main() -> list[str]:
        call = asyncio.create_task(Agent(calling("tool", times=9, a=1), tools=[tool]).acall("x"))
        await asyncio.to_thread(entered.wait, GUARD)
        call.cancel()
        leave.set()
        await asyncio.wait([call])
        assert call.cancelled()
        return list(ended)

    assert asyncio.run(main()) == ["tool"]


def test_a_child_that_nobody_awaits_is_stopped_with_its_parent():
    model = AsyncWaiter()
    tasks: list[asyncio.Task[Message]] = []

    class Careless(Module):
        async def forward(self, message: Message) -> str:
            tasks.append(asyncio.create_task(Agent(model).acall("x")))
            await asyncio.to_thread(model.asked.wait, GUARD)
            return "gone"

    async def main() -> None:
        assert (await Careless().acall("x")).content == "gone"
        with pytest.raises(RunKilledError, match="its caller has ended"):
            await tasks[0]

    asyncio.run(main())
