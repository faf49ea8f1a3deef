"""Callbacks and their nodes: which node a function gets, where a callback may be given, and what it may start."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from trivium import CommanderAsync, Job
from trivium.commander import PASS_WORD, Callback, HandlerCoroutine, NodeState, TaskNode, handler, tasker

from ._helpers import in_thread
from ._work import Do, doing, giving, run_jobs, steps


def keeping(nodes: list[TaskNode | None]) -> Any:
    def keep(task_node: TaskNode | None) -> None:
        nodes.append(task_node)

    return {"function": keep, "inject_task_node": True}


def test_each_node_gets_itself_from_a_callback_that_several_share():
    nodes: list[TaskNode | None] = []
    callback = Callback(at_job_end=keeping(nodes))
    jobs = [Do(), Do(), Do()]
    for job in jobs:
        job.add_callback(callback)
    run_jobs(*jobs)
    assert nodes == jobs
    assert callback.task_node is jobs[-1]


@pytest.mark.parametrize(
    ("given", "number", "kept"),
    [(False, None, 2), (False, 0, None), (False, 1, 0), (False, 2, 1), (False, 9, 2), (True, 1, 3), (True, 2, 0)],
)
def test_a_callback_follows_as_many_settings_as_it_was_told(given: bool, number: int | None, kept: int | None):
    nodes = [Do(), Do(), Do(), Do()]
    callback = Callback(task_node=nodes[3] if given else None, task_node_auto_lock_num=number)
    for each in nodes[:3]:
        callback.task_node = each
    assert callback.task_node is (None if kept is None else nodes[kept])


def test_a_locked_callback_keeps_its_node_wherever_it_is_added():
    nodes: list[TaskNode | None] = []
    first, second, third = Do(), Do(), Do()
    callback = Callback(at_job_end=keeping(nodes), task_node=first)
    callback.task_node_lock()
    second.add_callback(callback)
    run_jobs(second)
    callback.task_node_unlock()
    third.add_callback(callback)
    run_jobs(third)
    assert nodes == [first, third]


@pytest.mark.parametrize("by", ["position", "keyword"])
def test_a_callback_among_the_arguments_is_added_and_passed_on(by: str):
    log: list[str] = []
    callbacks = [Callback(at_handler_end=partial(log.append, f"end {number}")) for number in range(2)]

    @handler(PASS_WORD)
    async def takes(self_handler: HandlerCoroutine, first: Callback, other: int, second: Callback) -> list[Any]:
        return [first, other, second]

    called = takes(callbacks[0], 7, callbacks[1]) if by == "position" else takes(
        second=callbacks[1], other=7, first=callbacks[0]
    )  # fmt: skip
    run_jobs(Do(lambda job: called))
    assert called.result == [callbacks[0], 7, callbacks[1]]
    assert sorted(log) == ["end 0", "end 1"]


def test_a_job_takes_a_callback_when_it_is_made():
    log: list[str] = []

    class Marked(Job):
        @tasker(PASS_WORD)
        async def task(self) -> None:
            log.append("body")

    run_jobs(Marked(Callback(at_job_start=lambda: log.append("start"), at_job_end=[lambda: log.append("end")])))
    assert log == ["start", "body", "end"]


def test_what_was_added_is_seen_as_one():
    job = Do()
    assert job.callback is None
    job.add_callback([Callback(at_job_end=print), None, Callback(at_job_end=print, at_exception=print)])
    job.add_callback(None)
    assert repr(job.callback) == "Callback(at_job_end=2, at_exception=1)"


def test_a_callback_may_start_something_at_every_stage():
    ran: list[str] = []

    def starting(stage: str) -> Any:
        async def start(task_node: TaskNode) -> None:
            task_node.call_handler(doing(lambda me: ran.append(f"{stage} handler")))
            await task_node.put_job(Do(lambda job: ran.append(f"{stage} job")))
            ran.append(str(await giving(f"{stage} awaited")))

        return {"function": start, "inject_task_node": True}

    job = Do(lambda job: 1 / 0)
    for stage in ("at_job_start", "at_exception", "at_job_end"):
        job.add_callback_functions(stage, starting(stage))
    commander = run_jobs(job)
    assert [type(error) for _, error in commander.failures] == [ZeroDivisionError]
    stages = ("at_job_start", "at_exception", "at_job_end")
    assert sorted(ran) == sorted(f"{stage} {kind}" for stage in stages for kind in ("handler", "job", "awaited"))


def test_the_end_callback_of_a_handler_sees_it_active_and_alone():
    seen: list[Any] = []

    async def at_end(task_node: HandlerCoroutine) -> None:
        seen.append((task_node.state, task_node.children_num, task_node.result))
        await asyncio.sleep(0)

    async def parent(me: HandlerCoroutine) -> str:
        me.call_handler(giving())
        return "result"

    called = doing(parent)
    called.add_callback_functions("at_handler_end", {"function": at_end, "inject_task_node": True})
    run_jobs(Do(lambda job: called))
    assert (seen, called.state) == ([(NodeState.ACTIVE, 0, "result")], NodeState.COMPLETED)


@pytest.mark.parametrize("function", [lambda: 1 / 0, lambda: in_async()])
def test_functions_after_one_that_fails_are_called(function: Callable[[], Any]):
    called: list[str] = []
    job = Do()
    job.add_callback_functions("at_job_end", [function, lambda: called.append("second")])
    commander = run_jobs(job)
    assert (called, [type(error) for _, error in commander.failures]) == (["second"], [ZeroDivisionError])
    assert job.state is NodeState.COMPLETED


async def in_async() -> None:
    await steps()
    raise ZeroDivisionError


def test_the_last_callbacks_come_in_the_order_of_the_starts_and_the_commanders_at_the_end():
    log: list[str] = []

    def noted(node: Any, name: str) -> Any:
        node.add_callback_functions("at_commander_end", lambda: log.append(name))
        return node

    handlers = [noted(giving(), f"handler {number}") for number in range(2)]
    jobs = [noted(Do(lambda job, each=each: each), f"job {n}") for n, each in enumerate(handlers)]
    commander = noted(CommanderAsync(), "commander")
    in_thread(lambda: commander.run(jobs, auto_exit=True))
    assert log == ["job 0", "handler 0", "job 1", "handler 1", "commander"]
