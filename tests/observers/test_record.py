"""The recorder: the tree of each run, with its sessions, tokens, times and errors."""

from __future__ import annotations

from typing import Any

import pytest

from commander._helpers import Door, add, calling, every_door, here
from trivium import Agent, CommanderAsync, Job, Message, Module, RunRecord
from trivium.commander import PASS_WORD, tasker
from trivium.llms import UsageEvent
from trivium.observers import RecordedNode
from trivium.schema import Usage
from trivium.testing import ScriptedModel, call_tool


def outline(node: RecordedNode) -> list[Any]:
    return [node.name, *map(outline, node.children)]


@every_door
def test_the_tree_of_a_run(door: Door):
    record = RunRecord()
    door(Agent(calling("add", a=1, b=2), tools=[add], name="A"), "x", listeners=[record], session_id="s")
    assert [outline(root) for root in record.roots] == [["A", ["model"], ["tool:add"], ["model"]]]
    assert {node.session_id for node in record.roots[0].walk()} == {"s"}
    assert [node.name for node in record.roots[0].walk()] == ["A", "model", "tool:add", "model"]


@every_door
def test_tokens_are_counted_where_they_were_used_and_summed_above(door: Door):
    record = RunRecord()
    model = ScriptedModel([[call_tool("add", a=1, b=2), Usage(10, 1)], ["ok", Usage(20, 2)]])
    door(Agent(model, tools=[add]), "x", listeners=[record])
    root = record.roots[0]
    assert (root.tokens, root.input_tokens, root.output_tokens) == (33, 0, 0)
    assert [child.tokens for child in root.children] == [11, 0, 22]
    assert (root.children[2].input_tokens, root.children[2].output_tokens) == (20, 2)


@every_door
def test_time_is_that_of_the_node(door: Door, monkeypatch: pytest.MonkeyPatch):
    class Clock:
        now = 100.0

        def monotonic(self) -> float:
            Clock.now += 1
            return Clock.now

    monkeypatch.setattr("trivium.observers._record.time", Clock())
    record = RunRecord()
    door(Agent(ScriptedModel(["ok"])), "x", listeners=[record])
    root = record.roots[0]
    assert (root.seconds, root.children[0].seconds) == (3, 1)
    assert root.started < root.children[0].started


@every_door
def test_errors_are_told_in_a_line(door: Door):
    class Fails(Module):
        def forward(self, message: Message) -> str:
            raise error

    for error, text in ((ValueError("broken"), "ValueError: broken"), (LookupError(), "LookupError")):
        record = RunRecord()
        with pytest.raises(type(error)):
            door(Fails(), "x", listeners=[record])
        assert [node.error for node in record.roots[0].walk()] == [text]
    record = RunRecord()
    door(Agent(ScriptedModel(["ok"])), "x", listeners=[record])
    assert [node.error for node in record.roots[0].walk()] == [None, None]


def test_every_run_is_a_root_and_nothing_of_it_stays_open():
    record = RunRecord()
    agent = Agent(ScriptedModel(["ok"]))
    for session in range(3):
        agent("x", listeners=[record], session_id=session)
    assert [root.session_id for root in record.roots] == [0, 1, 2]
    assert record._open == {}


def test_a_part_of_a_run_can_be_recorded():
    record = RunRecord()
    inner = Agent(ScriptedModel(["ok"]), name="inner")

    class Outer(Module):
        def forward(self, message: Message) -> Message:
            return inner(message, listeners=[record])

    Outer()("x")
    assert [outline(root) for root in record.roots] == [["inner", ["model"]]]


def test_one_that_joins_late_records_what_begins_after_it():
    record = RunRecord()

    class First(Job):
        @tasker(PASS_WORD)
        async def task(self) -> None:
            self.commander.listen(record)
            await self.put_job(Second())

    class Second(Job):
        @tasker(PASS_WORD)
        async def task(self) -> None: ...

    CommanderAsync().run(First(), auto_exit=True)
    assert [outline(root) for root in record.roots] == [["Second"]]
    assert record._open == {}


def test_parents_come_first_and_siblings_in_order():
    tree = RecordedNode("a", 0, 0.0)
    tree.children = [RecordedNode("b", 0, 0.0, children=[RecordedNode("c", 0, 0.0)]), RecordedNode("d", 0, 0.0)]
    assert [node.name for node in tree.walk()] == ["a", "b", "c", "d"]


def test_tokens_that_come_in_parts_add_up():
    class Parts(Module):
        def forward(self, message: Message) -> None:
            for _ in range(3):
                here()._emit(UsageEvent, Usage(1, 2))

    record = RunRecord()
    Parts()("x", listeners=[record])
    assert (record.roots[0].input_tokens, record.roots[0].output_tokens) == (3, 6)


def test_a_deep_tree_is_walked():
    root = node = RecordedNode("0", 0, 0.0, input_tokens=1)
    for level in range(1, 10_000):
        child = RecordedNode(str(level), 0, 0.0, output_tokens=1)
        node.children.append(child)
        node = child
    assert root.tokens == 10_000
    assert [each.name for each in root.walk()][-1] == "9999"
