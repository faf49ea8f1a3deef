"""The run tree: every node that starts ends once, after its children; its place names it in every run."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import weakref
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trivium import Agent, CommanderAsync, Event, Job, Message, Module, this_call
from trivium.commander import PASS_WORD, HandlerCoroutine, NodeState, TaskNode, gather, handler, portable, tasker
from trivium.exceptions import AttributeNotSetError, CommanderNotRunError, FinishedNodeError, RunKilledError

from ._helpers import Door, SyncNest, add, calling, every_door, here, in_thread, nest

Kind = Literal["sync", "async", "core", "job", "handler"]
End = Literal["ok", "fail", "kill", "kill all"]


@dataclass
class Plan:
    """What a node does: what it starts below itself, and how it ends."""

    kind: Kind
    end: End
    below: Sequence[Plan]


def plans(kinds: Sequence[Kind], below: st.SearchStrategy[Plan] | None = None) -> st.SearchStrategy[Plan]:
    ends: st.SearchStrategy[End] = st.sampled_from(("ok", "ok", "ok", "ok", "fail", "kill", "kill all"))
    inner = st.just(()) if below is None else st.lists(below, max_size=3)
    return st.builds(Plan, st.sampled_from(kinds), ends, inner)


CALLS: Sequence[Kind] = ("sync", "async", "core")
WORK: Sequence[Kind] = ("job", "handler")
call_plans = st.recursive(plans(CALLS), lambda inner: plans(CALLS, inner), max_leaves=6)
work_plans = st.recursive(plans(WORK, call_plans), lambda inner: plans(WORK, inner | call_plans), max_leaves=12)


def finish(plan: Plan) -> None:
    if plan.end == "fail":
        raise ValueError("planned")
    if plan.end == "kill":
        here().kill("planned")
    if plan.end == "kill all":
        here().ancestor_chain[-1].kill("all")


class Call(Module):
    """A call that does what its plan says; an error of one child does not keep it from starting the next."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(name=plan.kind)
        self.plan = plan
        self.forward = {"sync": self.by_def, "async": self.by_async_def, "core": self.by_core}[plan.kind]

    def by_def(self, message: Message) -> str:
        for plan in self.plan.below:
            try:
                Call(plan)(message)
            except (ValueError, RunKilledError):
                continue
        finish(self.plan)
        return "ok"

    async def by_async_def(self, message: Message) -> str:
        await start(self.plan, None)
        return "ok"

    @portable
    async def by_core(self, message: Message) -> str:
        await start(self.plan, None)
        return "ok"


class PlannedJob(Job):
    def __init__(self, plan: Plan) -> None:
        super().__init__()
        self.plan = plan

    @tasker(PASS_WORD)
    async def task(self) -> None:
        await start(self.plan, self)


@handler(PASS_WORD)
async def planned_handler(self_handler: HandlerCoroutine, plan: Plan) -> None:
    await start(plan, self_handler)


async def start(plan: Plan, node: Job | HandlerCoroutine | None) -> None:
    for each in plan.below:
        if each.kind == "job" and node is not None:
            await node.put_job(PlannedJob(each))
        elif each.kind == "handler" and node is not None:
            node.call_handler(planned_handler(each))
        else:
            try:
                await Call(each).acall("x")
            except (ValueError, RunKilledError):
                continue
    finish(plan)


def run(plan: Plan) -> list[Event]:
    """All events of a run of the plan."""
    events: list[Event] = []
    commander = CommanderAsync()
    commander.listen(events.append)
    try:
        commander.run(PlannedJob(plan), auto_exit=True)
    except RunKilledError:
        assert commander.state is NodeState.TERMINATED
    return events


@settings(max_examples=60, deadline=None)
@given(work_plans)
def test_every_node_that_starts_ends_once_and_never_before_its_children(plan: Plan):
    events = run(plan)
    started: dict[TaskNode, int] = {}
    ended: dict[TaskNode, int] = {}
    for at, event in enumerate(events):
        seen = {"started": started, "ended": ended}.get(event.kind)
        if seen is not None:
            assert event.node not in seen
            seen[event.node] = at
    assert started.keys() == ended.keys()
    for node, start_at in started.items():
        assert start_at < ended[node]
        assert node.state in (NodeState.COMPLETED, NodeState.EXCEPTION, NodeState.TERMINATED)
        assert node.children == []
        if node.parent in started:
            assert started[node.parent] < start_at  # type: ignore[index]
            assert ended[node] < ended[node.parent]  # type: ignore[index]
    assert len({node._get_key() for node in started}) == len(started)


@settings(max_examples=30, deadline=None)
@given(work_plans)
def test_keys_are_the_same_in_every_run(plan: Plan):
    def calm(plan: Plan) -> Plan:
        return Plan(plan.kind, "ok", [calm(each) for each in plan.below])

    first, second = (
        {event.node._path(): event.node._get_key() for event in run(calm(plan)) if event.kind == "started"}
        for _ in range(2)
    )
    assert first == second
    assert len(set(first.values())) == len(first)


# ---- names and numbers
def test_paths_say_where_a_node_stands():
    paths: list[str] = []
    agent = Agent(calling("add", times=2, a=1, b=2), tools=[add], name="A")
    agent("x", listeners=[lambda event: paths.append(event.node._path()) if event.kind == "started" else None])
    assert paths == ["A#0", "A#0/model#0", "A#0/tool:add#0", "A#0/model#1", "A#0/tool:add#1", "A#0/model#2"]


@every_door
def test_branches_are_numbered_in_their_order(door: Door):
    paths: list[str] = []

    class Fan(Module):
        @portable
        async def forward(self, message: Message) -> int:
            return len(await gather(*[lambda: Leaf().acall("x")] * 5))

    class Leaf(Module):
        def forward(self, message: Message) -> str:
            paths.append(this_call().path)
            return "leaf"

    door(Fan(), "x")
    assert sorted(paths) == [f"Fan#0/Leaf#{n}" for n in range(5)]


def test_numbers_are_shared_by_threads_without_a_double():
    class Leaf(Module):
        def forward(self, message: Message) -> str:
            return this_call().key

    class Top(Module):
        def forward(self, message: Message) -> list[str]:
            def call(context: contextvars.Context) -> list[str]:
                return [context.run(Leaf(), "x").content for _ in range(50)]

            contexts = [contextvars.copy_context() for _ in range(20)]
            with ThreadPoolExecutor(20) as pool:
                return [key for keys in pool.map(call, contexts) for key in keys]

    keys = Top()("x").content
    assert len(set(keys)) == len(keys) == 1000


@every_door
def test_what_a_call_inherits(door: Door):
    seen: list[Any] = []

    class Leaf(Module):
        def forward(self, message: Message) -> None:
            call = this_call()
            seen.append((call.name, call.session_id, call.context, call.run_id))

    door(nest((SyncNest, SyncNest), _text(Leaf())), "x", session_id="s", context={"rent": 900})
    door(_text(Leaf()), "x")
    first, second = seen
    assert first[:3] == ("Leaf", "s", {"rent": 900})
    assert second[:3] == ("Leaf", 0, None)
    assert first[3] != second[3]


def _text(inner: Module) -> Module:
    class Text(Module):
        def forward(self, message: Message) -> str:
            inner(message)
            return "text"

    return Text()


def test_an_unknown_place_is_an_error():
    with pytest.raises(CommanderNotRunError):
        this_call()

    class NoCommander(Module):
        def forward(self, message: Message) -> None:
            _ = here().commander

    with pytest.raises(AttributeNotSetError, match="NoCommander"):
        NoCommander()("x")


def test_the_documented_names_of_a_node():
    class Inner(Module):
        def forward(self, message: Message) -> None:
            node = here()
            assert isinstance(node.parent, TaskNode)
            assert node.parent.parent == "Null"
            assert node.parent.children == [node]
            assert node.parent.children_num == 1
            assert node.ancestor_chain == [node, node.parent]
            assert node.state is NodeState.ACTIVE

    _text(Inner())("x")


# ---- listeners
def test_a_listener_hears_what_is_below_and_can_be_taken_off():
    heard: list[tuple[str, str]] = []

    class Outer(Module):
        def forward(self, message: Message) -> str:
            remove = here().listen(lambda event: heard.append((event.kind, event.node._name)))
            Agent(calling("add", a=1, b=2), tools=[add], name="inner")("x")
            remove()
            remove()
            Agent(calling("add", a=1, b=2), tools=[add], name="unheard")("x")
            return "ok"

    Outer()("x")
    assert ("started", "inner") in heard
    assert ("ended", "inner") in heard
    assert not any(name in ("unheard", "Outer") for _, name in heard)


def test_listeners_hear_in_their_order_and_only_their_own_call():
    heard: list[str] = []
    inner = Agent(calling("add", a=1, b=2), tools=[add], name="inner")

    class Outer(Module):
        def forward(self, message: Message) -> str:
            inner("x", listeners=[lambda event: heard.append("inner")])
            return "ok"

    Outer()("x", listeners=[lambda event: heard.append("outer")])
    assert heard[0] == heard[-1] == "outer"
    assert "inner" in heard
    for at, who in enumerate(heard):
        if who == "inner":
            assert heard[at - 1] == "outer"


# ---- nothing is started below what has ended, and what has ended is given back
@every_door
def test_nothing_starts_below_an_ended_call(door: Door):
    kept: list[Any] = []

    class Careless(Module):
        def forward(self, message: Message) -> str:
            kept.append(contextvars.copy_context())
            return "ok"

    door(Careless(), "x")
    leaf = Agent(calling("add", a=1, b=2), tools=[add])
    with pytest.raises(FinishedNodeError, match="Careless, which has ended"):
        in_thread(lambda: kept[0].run(leaf, "x"))


@every_door
def test_finished_subtrees_are_given_back(door: Door):
    nodes: list[weakref.ref[TaskNode]] = []
    alive: list[int] = []

    class Leaf(Module):
        def forward(self, message: Message) -> str:
            nodes.append(weakref.ref(here()))
            return "leaf"

    class Top(Module):
        def forward(self, message: Message) -> str:
            for _ in range(50):
                Leaf()("x")
            assert here().children_num == 0
            gc.collect()
            alive.append(sum(node() is not None for node in nodes))
            return "top"

    door(Top(), "x")
    assert alive[0] <= 1
    gc.collect()
    assert sum(node() is not None for node in nodes) <= 1


def test_a_chain_of_ten_thousand_jobs():
    count = 0
    keys: set[str] = set()

    class Chain(Job):
        def __init__(self, left: int) -> None:
            super().__init__()
            self.left = left

        @tasker(PASS_WORD)
        async def task(self) -> None:
            nonlocal count
            count += 1
            keys.add(self._get_key())
            if self.left:
                await self.put_job(Chain(self.left - 1))

    commander = CommanderAsync()
    commander.run(Chain(10_000), auto_exit=True)
    assert count == len(keys) == 10_001
    assert commander.is_empty()
    assert commander.failures == []


def test_a_chain_of_ten_thousand_handlers_is_killed_as_a_whole():
    reached: list[TaskNode] = []

    @handler(PASS_WORD)
    async def chain(self_handler: HandlerCoroutine, left: int) -> None:
        reached.append(self_handler)
        if left:
            self_handler.call_handler(chain(left - 1))
        else:
            self_handler.ancestor_chain[-1].kill("all of it")
        await asyncio.get_running_loop().create_future()

    class Start(Job):
        @tasker(PASS_WORD)
        async def task(self) -> HandlerCoroutine:
            return chain(10_000)

    with pytest.raises(RunKilledError, match="all of it"):
        CommanderAsync().run(Start())
    assert len(reached) == 10_001
    assert {node.state for node in reached} == {NodeState.TERMINATED}
