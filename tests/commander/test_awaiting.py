"""Awaiting handlers: new ones run in place, started ones are joined, and what cannot end is an error."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from trivium import Job
from trivium.commander import PASS_WORD, HandlerCoroutine, NodeState, handler
from trivium.exceptions import RunKilledError, WouldDeadlockError

from ._helpers import in_thread
from ._work import Do, doing, failing, giving, outcome, run, run_jobs, steps, stuck, types_of

LIMITS = pytest.mark.parametrize("limits", [{}, {"max_running": 1}, {"max_queued": 1}], ids=str)


@LIMITS
def test_awaits_nest(limits: Any):
    async def add(me: HandlerCoroutine, depth: int) -> int:
        return 1 + await nested(depth - 1) if depth else 0

    @handler(PASS_WORD)
    async def nested(self_handler: HandlerCoroutine, depth: int) -> int:
        return await add(self_handler, depth)

    async def work(job: Job) -> Any:
        return await nested(20)

    assert outcome(work, **limits) == 20
    _, job = run(lambda job: nested(20), **limits)
    assert job.result.result == 20


@LIMITS
@pytest.mark.parametrize("later", [0, 1, 2, 9])
def test_a_started_handler_is_joined(limits: Any, later: int):
    async def work(job: Job) -> Any:
        called = giving(7)
        job.call_handler(called)
        await steps(later)
        return await called, await called, called.parent

    commander, job = run(work, **limits)
    assert (job.result, commander.failures) == ((7, 7, job), [])


@LIMITS
def test_several_may_await_the_same(limits: Any):
    shared = giving(7)

    async def awaits(me: HandlerCoroutine) -> Any:
        return await shared

    async def work(job: Job) -> Any:
        several = [doing(awaits) for _ in range(3)]
        for each in several:
            job.call_handler(each)
        return [await each for each in several]

    assert outcome(work, **limits) == [7, 7, 7]


@LIMITS
def test_a_joined_handler_gives_its_error_to_all_who_await_it(limits: Any):
    called = failing(ValueError("broken"))

    async def awaits(me: HandlerCoroutine) -> str:
        with pytest.raises(ValueError, match="broken"):
            await called
        return "went on"

    async def work(job: Job) -> Any:
        job.call_handler(called)
        first, second = doing(awaits), doing(awaits)
        job.call_handler(first)
        return await second, await first

    commander, job = run(work, **limits)
    assert job.result == ("went on", "went on")
    assert set(types_of(commander)) <= {("failing", "ValueError")}


def test_an_awaited_handler_may_start_what_outlives_it():
    below = stuck()

    async def work(job: Job) -> Any:
        outer = doing(lambda me: me.call_handler(below))
        await outer
        found = (outer.state, outer.children == [below], below.state)
        below.kill("over")
        return found

    assert run(work)[1].result == (NodeState.ACTIVE, True, NodeState.PENDING)


@LIMITS
def test_what_is_awaited_by_its_own_code_is_an_error(limits: Any):
    async def own(me: HandlerCoroutine) -> str:
        with pytest.raises(WouldDeadlockError, match="doing would wait for itself"):
            await me
        return await doing(lambda below: inner(me))

    async def inner(me: HandlerCoroutine) -> str:
        with pytest.raises(WouldDeadlockError):
            await me
        return "went on"

    async def work(job: Job) -> Any:
        return await doing(own)

    assert outcome(work, **limits) == "went on"
    _, job = run(lambda job: doing(own), **limits)
    assert job.result.result == "went on"


def test_handlers_that_await_each_other_are_an_error():
    both: list[HandlerCoroutine] = []

    async def awaits(me: HandlerCoroutine) -> Any:
        await steps(2)
        other = both[1 - both.index(me)]
        try:
            return await other
        except WouldDeadlockError as error:
            return str(error)

    async def work(job: Job) -> Any:
        both.extend(doing(awaits) for _ in range(2))
        for each in both:
            job.call_handler(each)
        return [await each for each in both]

    assert outcome(work) == ["doing would wait for itself: it is awaited by its own code"] * 2


def test_a_started_child_may_await_the_body_above_it():
    async def above(me: HandlerCoroutine) -> str:
        me.call_handler(child)
        await steps()
        return "body"

    child: HandlerCoroutine = doing(lambda me: wait_for(parent))
    parent = doing(above)

    async def wait_for(node: HandlerCoroutine) -> Any:
        return await node

    run(lambda job: parent)
    assert child.result == "body"


@LIMITS
@pytest.mark.parametrize("whom", ["who is awaited", "who awaits"])
def test_a_kill_ends_a_join(limits: Any, whom: str):
    called = stuck()

    async def awaits(me: HandlerCoroutine) -> None:
        await called

    async def work(job: Job) -> None:
        waiting = doing(awaits)
        job.call_handler(called)
        job.call_handler(waiting)
        await steps()
        (called if whom == "who is awaited" else waiting).kill("enough")
        with pytest.raises(RunKilledError):
            await waiting
        called.kill("over")

    assert run(work, **limits)[1].exception is None


def test_who_gives_up_a_join_stops_nothing():
    async def work(job: Job) -> Any:
        gate = asyncio.Event()

        async def opens(me: HandlerCoroutine) -> str:
            await gate.wait()
            return "open"

        called = doing(opens)
        job.call_handler(called)
        with pytest.raises(asyncio.TimeoutError):
            async with asyncio.timeout(0):
                await called
        gate.set()
        return await called

    assert outcome(work) == "open"


def test_one_that_waits_for_its_turn_runs_where_it_is_awaited():
    """With one place, taken by who awaits: it could never begin elsewhere."""
    order: list[str] = []

    async def outer(me: HandlerCoroutine) -> None:
        first, second = (doing(lambda me, name=name: order.append(name)) for name in ("first", "second"))
        me.call_handler(first)
        me.call_handler(second)
        await steps()
        assert order == []
        await second
        order.append("outer")

    commander, _ = run(lambda job: doing(outer), max_running=1)
    assert (order, commander.failures) == (["second", "outer", "first"], [])


@pytest.mark.parametrize("place", ["job", "handler"])
def test_who_awaits_is_in_the_tree_above_a_new_one(place: str):
    async def awaits(me: Any) -> bool:
        return await doing(lambda inner: inner.parent is me)

    _, job = run(awaits if place == "job" else lambda job: doing(awaits))
    assert (job.result if place == "job" else job.result.result) is True


@pytest.mark.parametrize("call", [lambda: giving(7), lambda: doing(lambda me: 7)])
def test_outside_a_commander_it_is_a_plain_coroutine(call: Callable[[], HandlerCoroutine]):
    async def main() -> Any:
        called = call()
        return await called, await called, await asyncio.wait_for(call(), 30), called.state

    assert in_thread(lambda: asyncio.run(main())) == (7, 7, 7, NodeState.PENDING)


def test_outside_a_commander_an_error_reaches_who_awaits():
    async def main() -> None:
        await failing(ValueError("broken"))

    with pytest.raises(ValueError, match="broken"):
        asyncio.run(main())


def test_an_ended_handler_runs_no_second_time():
    ran: list[int] = []
    called = doing(lambda me: ran.append(1))

    async def work(job: Job) -> None:
        job.call_handler(called)

    async def again(job: Job) -> None:
        await called

    assert run_jobs(Do(work), Do(again)).failures == []
    assert ran == [1]
