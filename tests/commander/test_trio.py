"""Inside a trio program: a call in a worker, its tools back in trio, and trio's cancellation as a kill."""

# These tests look at the internals of nodes, which are underscored since a user's `Job` is a node.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import threading
from typing import Any

import pytest
import trio
import trio.testing

from trivium import Agent, CommanderAsync, Event, Message, Module
from trivium.commander import NodeState, current
from trivium.exceptions import NoEventLoopError, RunKilledError
from trivium.testing import ScriptedModel

from ._helpers import GUARD, AsyncNest, AsyncWaiter, MixedNest, SyncNest, adder, calling, nest
from ._plans import Plan, Played, Story

ANSWER = "done:3"


def test_many_calls_of_a_trio_program_run_at_once():
    """They meet: each is in its tool when the last of them arrives."""
    meeting = threading.Barrier(20)

    def meet() -> str:
        meeting.wait(GUARD)
        return "met"

    async def main() -> list[str]:
        found: list[str] = []

        async def one(session: int) -> None:
            agent = Agent(calling("meet"), tools=[meet])
            found.append((await trio.to_thread.run_sync(lambda: agent("x", session_id=session))).content)

        async with trio.open_nursery() as nursery:
            for session in range(20):
                nursery.start_soon(one, session)
        return found

    assert trio.run(main) == ["done:met"] * 20


@pytest.mark.parametrize("kinds", [(), (SyncNest, AsyncNest)])
def test_a_sync_tool_of_a_call_in_a_worker_goes_back_to_trio(kinds: Any):
    """It runs in the worker that trio knows."""
    places: list[int] = []

    async def asked_in_trio() -> int:
        await trio.lowlevel.checkpoint()
        places.append(threading.get_ident())
        return 7

    def ask() -> int:
        return trio.from_thread.run(asked_in_trio)

    async def main() -> str:
        module = nest(kinds, Agent(calling("ask"), tools=[ask]))
        return (await trio.to_thread.run_sync(module, "x")).content

    assert trio.run(main).startswith("done:7")
    assert places == [threading.get_ident()]


def test_a_cancelled_scope_reaches_a_sync_tool_and_passes_through_the_call():
    events: list[Event] = []
    in_tool = threading.Event()
    cancelled = threading.Event()

    def long() -> str:
        in_tool.set()
        assert cancelled.wait(GUARD)
        trio.from_thread.check_cancelled()
        return "never"

    async def main() -> bool:
        agent = Agent(calling("long"), tools=[long])
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(cancel, scope)
                await trio.to_thread.run_sync(lambda: agent("x", listeners=[events.append]))
        return scope.cancelled_caught

    async def cancel(scope: trio.CancelScope) -> None:
        await trio.to_thread.run_sync(in_tool.wait, GUARD)
        scope.cancel()
        cancelled.set()

    assert trio.run(main)
    started, ended = ([event.node for event in events if event.kind == kind] for kind in ("started", "ended"))
    assert len(started) == len(ended) == len({*started, *ended})
    assert current.get() is None


@pytest.mark.parametrize("in_a_worker", [True, False])
def test_a_commander_runs_in_a_trio_program(in_a_worker: bool):
    plan = Plan("job", below=(Plan("started", below=(Plan("async"), Plan("agent"))), Plan("sync job"), Plan("task")))
    told = Played(Story(plan))

    def run() -> CommanderAsync:
        told.commander.run(told._job(plan), auto_exit=True)
        return told.commander

    async def main() -> CommanderAsync:
        return await trio.to_thread.run_sync(run) if in_a_worker else run()

    commander = trio.run(main)
    assert (commander.state, commander.failures) == (NodeState.COMPLETED, [])
    assert commander.is_empty()


# ---- the call that is awaited
@pytest.mark.parametrize("kinds", [(), (SyncNest, AsyncNest), (MixedNest, SyncNest)])
def test_a_call_is_awaited_in_a_trio_program(kinds: Any):
    async def main() -> str:
        return (await nest(kinds, adder()).acall("x")).content

    assert trio.run(main).startswith(ANSWER)
    assert current.get() is None


def test_an_awaited_call_lets_the_trio_program_go_on():
    class Quiet(Module):
        def forward(self, message: Message) -> str:
            assert went_on.wait(GUARD)
            return "ok"

    went_on = threading.Event()

    async def main() -> list[str]:
        found: list[str] = []

        async def call() -> None:
            found.append((await Quiet().acall("x")).content)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(call)
            await trio.testing.wait_all_tasks_blocked()
            went_on.set()
        return found

    assert trio.run(main) == ["ok"]


@pytest.mark.parametrize("kinds", [(), (SyncNest, AsyncNest)])
def test_trios_cancellation_is_a_kill_and_waits_for_the_end(kinds: Any):
    model, roots = AsyncWaiter(), list[Event]()

    async def main() -> bool:
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(cancel, scope)
                await nest(kinds, Agent(model)).acall("x", listeners=[roots.append])
        return scope.cancelled_caught

    async def cancel(scope: trio.CancelScope) -> None:
        await trio.to_thread.run_sync(model.asked.wait, GUARD)
        scope.cancel()

    assert trio.run(main)
    assert len(model.closed) == 1
    assert {event.node.state for event in roots} == {NodeState.TERMINATED}


def test_a_kill_reaches_a_call_that_trio_awaits():
    class Kills(Module):
        def forward(self, message: Message) -> None:
            node = current.get()
            assert node is not None
            node.kill("by itself")

    async def main() -> None:
        with pytest.raises(RunKilledError, match="by itself"):
            await Kills().acall("x")
        assert (await Agent(ScriptedModel(["next"])).acall("x")).content == "next"

    trio.run(main)


def test_what_needs_a_loop_of_asyncio_says_so():
    async def streams() -> None:
        async with Agent(ScriptedModel(["hi"])).open("x"):
            pass

    with pytest.raises(NoEventLoopError, match=r"in a trio program, await agent\.acall"):
        trio.run(streams)
