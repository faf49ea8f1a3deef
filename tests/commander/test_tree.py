"""The run tree: its place names a node in every run; listeners hear of it; what has ended is given back."""

from __future__ import annotations

import contextvars
import gc
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from trivium import Agent, Message, Module, this_call
from trivium.commander import NodeState, TaskNode, driver_neutral, gather
from trivium.exceptions import AttributeNotSetError, CommanderNotRunError, FinishedNodeError

from ._helpers import Entry, SyncNest, add, calling, every_entry, here, in_thread, nest


# ---- names and numbers
def test_paths_say_where_a_node_stands():
    paths: list[str] = []
    agent = Agent(calling("add", times=2, a=1, b=2), tools=[add], name="A")
    agent("x", listeners=[lambda event: paths.append(event.path) if event.kind == "started" else None])
    assert paths == ["A#0", "A#0/model#0", "A#0/tool:add#0", "A#0/model#1", "A#0/tool:add#1", "A#0/model#2"]


@every_entry
def test_branches_are_numbered_in_their_order(entry: Entry):
    paths: list[str] = []

    class Fan(Module):
        @driver_neutral
        async def forward(self, message: Message) -> int:
            return len(await gather(*[lambda: Leaf().acall("x")] * 5))

    class Leaf(Module):
        def forward(self, message: Message) -> str:
            paths.append(this_call().path)
            return "leaf"

    entry(Fan(), "x")
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


@every_entry
def test_what_a_call_inherits(entry: Entry):
    seen: list[Any] = []

    class Leaf(Module):
        def forward(self, message: Message) -> None:
            call = this_call()
            seen.append((call.name, call.session_id, call.context, call.run_id))

    entry(nest((SyncNest, SyncNest), _text(Leaf())), "x", session_id="s", context={"rent": 900})
    entry(_text(Leaf()), "x")
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
    with pytest.raises(CommanderNotRunError, match="within a call, as of an agent, a task or a tool"):
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
            remove = here().listen(lambda event: heard.append((event.kind, event.name)))
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
@every_entry
def test_nothing_starts_below_an_ended_call(entry: Entry):
    kept: list[Any] = []

    class Careless(Module):
        def forward(self, message: Message) -> str:
            kept.append(contextvars.copy_context())
            return "ok"

    entry(Careless(), "x")
    leaf = Agent(calling("add", a=1, b=2), tools=[add])
    with pytest.raises(FinishedNodeError, match="Careless, which has ended"):
        in_thread(lambda: kept[0].run(leaf, "x"))


@every_entry
def test_finished_subtrees_are_given_back(entry: Entry):
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

    entry(Top(), "x")
    assert alive[0] <= 1
    gc.collect()
    assert sum(node() is not None for node in nodes) <= 1
