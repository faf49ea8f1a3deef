"""Edges: what runs after what, in circles too, with data, and what ends a flow."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import pairwise
from typing import Any, cast

import pytest

from trivium import Job
from trivium.commander import HandlerCoroutine, NodeState
from trivium.commander.edge import add_conditional_edge, add_edge
from trivium.exceptions import ConfigurationError

from ._work import Do, doing, giving, run_jobs, steps, stuck, types_of

Make = Callable[[Callable[[Any], Any]], Any]
KINDS = pytest.mark.parametrize("make", [Do, doing], ids=["job", "handler"])


def start(node: Job | HandlerCoroutine) -> Job:
    """A job that starts the node, or the node."""
    return node if isinstance(node, Job) else Do(lambda job: job.commander.call_handler(node))


@KINDS
def test_the_next_runs_below_the_commander_when_all_below_the_first_has_ended(make: Make):
    seen: list[Any] = []

    async def below(me: HandlerCoroutine) -> None:
        await steps()
        seen.append("below")

    first = make(lambda me: me.call_handler(doing(below)))
    second = make(lambda me: seen.append(me.parent))
    add_edge(first, second)
    commander = run_jobs(start(first))
    assert seen == ["below", commander]
    assert (first.state, second.state) == (NodeState.COMPLETED, NodeState.COMPLETED)


@KINDS
def test_several_edges_of_a_node_are_followed_in_their_order(make: Make):
    order: list[str] = []
    first, *others = (make(lambda me, name=name: order.append(name)) for name in "abcd")
    for each in others:
        add_edge(first, each)
    run_jobs(start(first))
    assert order == ["a", "b", "c", "d"]


def test_jobs_and_handlers_are_joined_in_any_way():
    order: list[str] = []
    nodes: list[Any] = [make(lambda me, n=n: order.append(str(n))) for n, make in enumerate([Do, doing, doing, Do, Do])]
    for one, next_one in pairwise(nodes):
        add_edge(one, next_one)
    run_jobs(nodes[0])
    assert order == list("01234")


@KINDS
def test_a_circle_runs_until_a_result_leads_out_of_it(make: Make):
    order: list[str] = []
    results = iter(["again", "again", "out"])

    def choose(me: Any) -> str:
        order.append("choose")
        return next(results)

    choosing, working, out = make(choose), make(lambda me: order.append("work")), make(lambda me: order.append("out"))
    add_conditional_edge(choosing, {"again": working, "out": out})
    add_edge(working, choosing)
    assert run_jobs(start(choosing)).failures == []
    assert order == ["choose", "work", "choose", "work", "choose", "out"]


@KINDS
@pytest.mark.parametrize("limits", [{}, {"max_running": 1, "max_queued": 1}], ids=str)
def test_an_edge_may_lead_back_to_its_node(make: Make, limits: Any):
    left = 1_000
    ended: list[int] = []

    def count(me: Any) -> bool:
        nonlocal left
        left -= 1
        return left > 0

    node = make(count)
    node.add_callback_functions("at_job_end" if make is Do else "at_handler_end", lambda: ended.append(left))
    add_conditional_edge(node, {True: node})
    assert run_jobs(start(node), **limits).failures == []
    assert (left, len(ended), node.result) == (0, 1_000, False)


def test_an_exit_ends_a_circle():
    node = doing(lambda me: me.exit_commander() if next(turns) == 5 else None)
    turns = iter(range(100))
    add_edge(node, node)
    run_jobs(start(node))
    assert next(turns) == 6


@KINDS
@pytest.mark.parametrize("result", ["unknown", None, 3, [], {"unhashable": 1}])
def test_a_result_that_is_not_in_the_map_ends_the_flow(make: Make, result: Any):
    first, second = make(lambda me: result), make(lambda me: "never")
    add_conditional_edge(first, {"known": second})
    assert run_jobs(start(first)).failures == []
    assert (first.result, second.state) == (result, NodeState.PENDING)


def test_none_may_be_in_the_map():
    first, second = Do(), Do(lambda me: "ran")
    add_conditional_edge(first, {None: second})
    run_jobs(first)
    assert second.result == "ran"


@KINDS
def test_data_is_shared_along_the_edges(make: Make):
    data: list[str] = []

    def add(name: str) -> Any:
        return make(lambda me: me.data.append(name))

    first, second, third = add("a"), add("b"), add("c")
    first.data = data
    add_edge(first, second, data=data)
    add_conditional_edge(second, {None: third}, data=data)
    run_jobs(start(first))
    assert data == ["a", "b", "c"]


def test_without_data_a_node_keeps_its_own():
    first, second = Do(), Do(lambda me: me.data)
    second.data = "own"
    add_edge(first, second)
    run_jobs(first)
    assert second.result == "own"


@KINDS
@pytest.mark.parametrize("end", ["fails", "killed"])
def test_a_node_that_did_not_complete_has_no_next(make: Make, end: str):
    def work(me: Any) -> None:
        if end == "fails":
            raise ValueError("broken")
        me.kill("enough")

    first, second = make(work), make(lambda me: "never")
    add_edge(first, second)
    add_conditional_edge(first, {None: second})
    commander = run_jobs(start(first))
    assert second.state is NodeState.PENDING
    assert [name for _, name in types_of(commander)] == ["ValueError" if end == "fails" else "RunKilledError"]


def test_a_node_that_failed_below_does_not_end_the_flow():
    first, second = Do(lambda me: doing(lambda me: 1 / 0)), Do(lambda me: "ran")
    add_conditional_edge(first, {})
    add_edge(first, second)
    run_jobs(first)
    assert second.result == "ran"


def test_a_node_that_is_reached_while_it_runs_is_run_once_more_after_that():
    order: list[str] = []
    gate = asyncio.Event()

    async def slow(me: HandlerCoroutine) -> None:
        order.append("begin")
        await gate.wait()
        order.append("end")

    target = doing(slow)
    first, second = (doing(lambda me: None) for _ in range(2))
    add_edge(first, target)
    add_edge(second, target)

    async def work(job: Job) -> None:
        job.commander.call_handler(first)
        job.commander.call_handler(second)
        await steps()
        assert order == ["begin"]
        gate.set()

    assert run_jobs(Do(work)).failures == []
    assert order == ["begin", "end", "begin", "end"]


def test_nodes_with_edges_run_in_one_commander_after_the_other():
    ran: list[str] = []
    first, second = Do(lambda me: ran.append("a")), Do(lambda me: ran.append("b"))
    add_edge(first, second)
    for _ in range(3):
        run_jobs(first)
    assert ran == ["a", "b"] * 3


@pytest.mark.parametrize("wrong", [None, "node", giving, Do])
def test_an_edge_joins_jobs_and_called_handlers_only(wrong: Any):
    for join in (
        lambda: add_edge(Do(), wrong),
        lambda: add_edge(wrong, Do()),
        lambda: add_conditional_edge(Do(), {"a": Do(), "b": wrong}),
    ):
        with pytest.raises(ConfigurationError, match="an edge joins jobs and called handlers"):
            join()


def test_an_awaited_handler_has_edges_too():
    ran: list[Any] = []
    first, second = giving(7), doing(lambda me: ran.append(me.parent))
    add_edge(first, second)

    async def work(job: Job) -> Any:
        return await first

    job = Do(work)
    commander = run_jobs(job)
    assert (job.result, ran, commander.failures) == (7, [commander], [])


def test_a_node_that_is_stopped_while_it_runs_is_not_run_once_more_by_itself():
    target = stuck()
    add_edge(cast("HandlerCoroutine", target), target)

    async def work(job: Job) -> None:
        job.call_handler(target)
        await steps()
        target.kill("enough")

    assert types_of(run_jobs(Do(work))) == [("stuck", "RunKilledError")]
