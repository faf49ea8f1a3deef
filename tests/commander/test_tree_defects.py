"""The edges of a node's life that random plans have found: one small program each."""

from __future__ import annotations

import asyncio
import gc
import logging
import threading
import time
from contextlib import suppress
from functools import partial
from typing import Any

import pytest

from trivium import CommanderAsync, Message, Module
from trivium.commander import (
    PASS_WORD,
    Callback,
    HandlerCoroutine,
    NodeState,
    handler,
)
from trivium.exceptions import DeadlineExceededError, RunKilledError

from ._helpers import here
from ._small import Do, doing, for_ever, nothing, noting, run


@pytest.mark.parametrize("kind", ["job", "handler"])
def test_what_its_start_callback_kills_does_not_run(kind: str):
    ran: list[str] = []

    async def body(node: Any) -> None:
        ran.append("body")

    def kill(task_node: Any) -> None:
        task_node.kill("not today")

    killing = Callback()
    for stage in ("at_job_start", "at_handler_start"):
        killing.add(stage, {"function": kill, "inject_task_node": True})
    job = Do(body)

    async def start(node: Any) -> Any:
        return doing(body, killing)

    if kind == "job":
        job.add_callback(killing)
    else:
        job.work = start
    run(job)
    assert ran == []


def test_a_kill_during_an_async_start_callback_is_not_lost():
    async def body(job: Any) -> None:
        up, go_on = asyncio.Event(), asyncio.Event()

        async def slow() -> None:
            up.set()
            await go_on.wait()

        killed = doing(for_ever, Callback(at_handler_start=slow))
        job.call_handler(killed)
        await up.wait()
        killed.kill("by its parent")
        go_on.set()

    commander = run(Do(body))
    assert [type(error) for _, error in commander.failures] == [RunKilledError]


@pytest.mark.parametrize("stage", ["at_job_start", "at_job_end"])
def test_a_kill_during_an_async_callback_shows_no_stop(stage: Any):
    async def slow(task_node: Any) -> None:
        asyncio.get_running_loop().call_soon(task_node.kill, "during the callback")
        for _ in range(5):
            await asyncio.sleep(0)

    job = Do(nothing)
    job.add_callback_functions(stage, {"function": slow, "inject_task_node": True})
    commander = run(job)
    assert all(isinstance(error, Exception) for _, error in commander.failures)


@pytest.mark.parametrize("who", ["its handler", "a stranger"])
def test_a_job_whose_body_is_over_can_be_terminated(who: str):
    async def body(job: Any) -> Any:
        return doing(ends if who == "its handler" else waits)

    async def ends(node: Any) -> None:
        await node.parent.terminate_task_node()

    async def waits(node: Any) -> None:
        while owner.state is not NodeState.TERMINATED:  # noqa: ASYNC110 - one step of the loop each
            await asyncio.sleep(0)

    async def stranger(job: Any) -> None:
        await owner.terminate_task_node()

    owner = Do(body)
    run(owner, Do(nothing if who == "its handler" else stranger))
    assert (owner.state, owner.children) == (NodeState.TERMINATED, [])


@pytest.mark.parametrize("max_running", [None, 1])
def test_a_handler_that_was_called_and_has_not_begun_can_be_awaited(max_running: int | None):
    answers: list[Any] = []

    async def seven(node: Any) -> int:
        return 7

    async def second(node: Any) -> None:
        await asyncio.sleep(0)

    async def body(job: Any) -> None:
        late = doing(seven)
        job.call_handler(doing(second))
        job.call_handler(late)
        answers.append(await late)

    assert run(Do(body), max_running=max_running).failures == []
    assert answers == [7]


def test_a_handler_can_be_awaited_by_two_at_once():
    answers: list[Any] = []

    async def slow(node: Any) -> int:
        for _ in range(5):
            await asyncio.sleep(0)
        return 7

    async def body(job: Any) -> None:
        shared = doing(slow)

        async def awaits(node: Any) -> None:
            answers.append(await shared)

        job.call_handler(doing(awaits))
        job.call_handler(doing(awaits))

    assert run(Do(body)).failures == []
    assert answers == [7, 7]


def test_an_exit_from_an_awaited_handler_is_no_failure():
    async def leaves(node: Any) -> None:
        await node.exit_commander("bye")

    async def body(job: Any) -> str:
        await doing(leaves)
        return "to its end"

    job = Do(body)
    assert run(job).failures == []
    assert job.result == "to its end"


def test_a_killed_node_that_minds_no_error_of_its_child_is_stopped_too():
    async def outer(node: Any) -> None:
        with suppress(RunKilledError):
            await doing(for_ever)
        await for_ever(node)

    async def body(job: Any) -> None:
        killed = doing(outer)
        job.call_handler(killed)
        while not any(child is not killed for child in killed.children):  # noqa: ASYNC110 - one step of the loop each
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        killed.kill("both")

    commander = run(Do(body))
    assert [type(error) for _, error in commander.failures] == [RunKilledError]


def test_a_node_killed_while_it_awaits_is_stopped_and_has_not_failed():
    log: list[str] = []

    async def outer(node: Any) -> None:
        await doing(for_ever, noting(log, "inner"))

    async def body(job: Any) -> None:
        killed = doing(outer, noting(log, "outer"))
        job.call_handler(killed)
        while "inner at_handler_start" not in log:  # noqa: ASYNC110 - one step of the loop each
            await asyncio.sleep(0)
        killed.kill("both")

    run(Do(body))
    assert [each for each in log if "start" not in each and "commander" not in each] == [
        "inner at_terminate",
        "outer at_terminate",
    ]


@pytest.mark.parametrize("what", ["callbacks", "timeout"])
def test_a_handler_awaited_in_a_call_is_a_node(what: str):
    log: list[str] = []

    @handler(PASS_WORD, timeout=0.01)
    async def endless(self_handler: HandlerCoroutine) -> None:
        await asyncio.wait_for(for_ever(None), 1.0)

    class Asks(Module):
        async def forward(self, message: Message) -> str:
            if what == "callbacks":
                await doing(nothing, noting(log, "H"))
            else:
                with pytest.raises(DeadlineExceededError):
                    await endless()
            return "ok"

    async def body(job: Any) -> None:
        await Asks().acall("x")

    commander = run(Do(body))
    assert commander.failures == []
    assert log[:2] == (["H at_handler_start", "H at_handler_end"] if what == "callbacks" else [])


def test_a_handler_outlives_the_sync_call_that_started_it():
    """Its task takes over the context of that call, and in it the thread that the call had lent."""
    called = threading.Event()

    class Says(Module):
        def forward(self, message: Message) -> str:
            return "said"

    async def later(node: Any) -> str:
        while not called.is_set():  # noqa: ASYNC110 - one step of the loop each
            await asyncio.sleep(0)
        return (await Says().acall("x")).content

    class Starts(Module):
        async def forward(self, message: Message) -> None:
            here().call_handler(doing(later))

    class Calls(Module):
        def forward(self, message: Message) -> None:
            Starts()("x")
            called.set()

    async def body(job: Any) -> None:
        await Calls().acall("x")

    run(Do(body))


def test_an_awaited_handler_that_terminates_who_awaits_it_is_stopped_with_it():
    """It is a part of the other's body: what was *started* below goes on, not this."""
    children: list[HandlerCoroutine] = []

    async def ends(node: HandlerCoroutine) -> None:
        children.append(node)
        assert isinstance(node.parent, Do)
        await node.parent.terminate_task_node()
        await for_ever(node)

    async def body(job: Any) -> None:
        await doing(ends)

    job = Do(body)
    run(job)
    assert [node.state for node in (job, *children)] == [NodeState.TERMINATED] * 2
    assert all(isinstance(node.exception, RunKilledError) for node in (job, *children))


def test_a_kill_does_not_cut_the_last_callback_of_an_awaited_handler():
    finished: list[str] = []

    async def slow() -> None:
        for _ in range(5):
            await asyncio.sleep(0)
        finished.append("at_terminate")

    async def kills(node: Any) -> None:
        node.parent.kill("both")

    async def body(job: Any) -> None:
        await doing(kills, Callback(at_terminate=slow))

    commander = run(Do(body))
    assert finished == ["at_terminate"]
    assert [type(error) for _, error in commander.failures] == [RunKilledError]


@pytest.mark.slow
def test_a_deep_chain_that_fails_costs_what_a_short_one_does():
    def cost(depth: int) -> float:
        async def chain(node: Any, left: int) -> None:
            if left:
                node.call_handler(doing(partial(chain, left=left - 1)))
            raise ValueError

        async def body(job: Any) -> Any:
            return doing(partial(chain, left=depth))

        commander = CommanderAsync(logger=logging.Logger("quiet", logging.CRITICAL))
        before = time.process_time()
        commander.run(Do(body), auto_exit=True)
        assert len(commander.failures) == depth + 1
        return (time.process_time() - before) / depth

    gc.disable()  # what it costs to walk what other tests have left is not asked here
    try:
        assert any(cost(4_000) < 3 * cost(500) for _ in range(5))
    finally:
        gc.enable()
