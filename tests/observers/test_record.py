"""The recorder: the tree of each run, with its sessions, tokens, times and errors."""

# pyright: reportPrivateUsage=false
# Nodes are started and closed by hand here.
from __future__ import annotations

import time
from typing import Any

import pytest

from commander._helpers import Entry, add, calling, every_entry, here, join_all
from trivium import Agent, ChatAgent, CommanderAsync, Job, Message, Module, RunRecord, Task
from trivium.commander import PASS_WORD, HandlerCoroutine, NodeState, handler, tasker
from trivium.commander.lowlevel import CallNode, emit
from trivium.llms import UsageEvent
from trivium.observers import RecordedNode
from trivium.schema import Usage
from trivium.testing import ScriptedModel, call_tool

from ._nodes import WALL_TIME, chain, happens, start, ticking


def outline(node: RecordedNode) -> list[Any]:
    return [node.name, *map(outline, node.children)]


def test_a_record_shows_how_much_it_holds():
    record = RunRecord(content=True)
    assert repr(record) == "RunRecord(runs=0, nodes=0)"
    Agent(ScriptedModel(["a" * 10_000]))("hi", listeners=[record])
    assert repr(record) == "RunRecord(runs=1, nodes=2)"


@every_entry
def test_the_tree_of_a_run(entry: Entry):
    record = RunRecord()
    entry(Agent(calling("add", a=1, b=2), tools=[add], name="A"), "x", listeners=[record], session_id="s")
    assert [outline(root) for root in record.roots] == [["A", ["model"], ["tool:add"], ["model"]]]
    assert {node.session_id for node in record.roots[0].walk()} == {"s"}
    assert [node.name for node in record.roots[0].walk()] == ["A", "model", "tool:add", "model"]


@every_entry
def test_tokens_are_counted_where_they_were_used_and_summed_above(entry: Entry):
    record = RunRecord()
    model = ScriptedModel([[call_tool("add", a=1, b=2), Usage(10, 1)], ["ok", Usage(20, 2)]])
    entry(Agent(model, tools=[add]), "x", listeners=[record])
    root = record.roots[0]
    assert (root.tokens, root.own_usage, root.usage, record.usage) == (33, Usage(), Usage(30, 3), Usage(30, 3))
    assert [child.tokens for child in root.children] == [11, 0, 22]
    assert root.children[2].own_usage == Usage(20, 2)


def test_time_is_that_of_the_node():
    with ticking(1.0):
        record, (root, child) = RunRecord(), chain(2)
        root.listen(record)
        for node in (root, child):
            start(node)
        for node in (child, root):
            node._close()
    (recorded,) = record.roots
    assert (recorded.seconds, recorded.children[0].seconds) == (3, 1)
    assert recorded.children[0].started - recorded.started == 1
    assert (recorded.wall_time, recorded.children[0].wall_time) == (WALL_TIME, None)


@every_entry
def test_errors_are_reported_in_a_line(entry: Entry):
    class Fails(Module):
        def forward(self, message: Message) -> str:
            raise error

    for error, text in ((ValueError("broken"), "ValueError: broken"), (LookupError(), "LookupError")):
        record = RunRecord()
        with pytest.raises(type(error)):
            entry(Fails(), "x", listeners=[record])
        assert [node.error for node in record.roots[0].walk()] == [text]
    record = RunRecord()
    entry(Agent(ScriptedModel(["ok"])), "x", listeners=[record])
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
    assert record._open == record._queued == {}


def test_parents_come_first_and_siblings_in_order():
    tree = RecordedNode("a", 0, 0.0)
    tree.children = [RecordedNode("b", 0, 0.0, children=[RecordedNode("c", 0, 0.0)]), RecordedNode("d", 0, 0.0)]
    assert [node.name for node in tree.walk()] == ["a", "b", "c", "d"]


def test_tokens_that_come_in_parts_add_up():
    class Parts(Module):
        def forward(self, message: Message) -> None:
            for _ in range(3):
                emit(here(), UsageEvent, Usage(1, 2))

    record = RunRecord()
    Parts()("x", listeners=[record])
    assert record.roots[0].own_usage == Usage(3, 6)


def test_a_deep_tree_is_walked():
    root = node = RecordedNode("0", 0, 0.0, own_usage=Usage(1, 0))
    for level in range(1, 10_000):
        child = RecordedNode(str(level), 0, 0.0, own_usage=Usage(0, 1))
        node.children.append(child)
        node = child
    assert root.tokens == 10_000
    assert [each.name for each in root.walk()][-1] == "9999"


class Leaf(Job):
    @tasker(PASS_WORD)
    async def task(self) -> None:
        await Agent(ScriptedModel(["ok"])).acall("x")


class Branch(Job):
    @handler(PASS_WORD)
    async def beside(self, self_handler: HandlerCoroutine) -> None: ...

    @tasker(PASS_WORD)
    async def task(self) -> HandlerCoroutine:
        await self.put_job(Leaf())
        return self.beside()


def test_jobs_handlers_and_calls_are_distinguished():
    commander, record = CommanderAsync(), RunRecord()
    commander.listen(record)
    commander.run(Branch(), auto_exit=True)
    (root,) = record.roots
    kinds = {node.name: node.kind for node in root.walk()}
    assert kinds == {
        "commander": "commander", "Branch": "job", "Leaf": "job", "beside": "handler", "Agent": "call", "model": "call"
    }  # fmt: skip
    assert {node.state for node in root.walk()} == {NodeState.COMPLETED}
    assert record._open == record._queued == {}


def test_a_task_and_its_sub_task_are_one_tree():
    record = RunRecord()
    inner = Task(ChatAgent(ScriptedModel(["DONE seven"]), name="inner"), interactive=False)
    outer = Task(ChatAgent(ScriptedModel(["what?", "DONE"]), name="outer"), interactive=False)
    outer.add_sub_task(inner)
    outer("go", listeners=[record])
    (root,) = record.roots
    names = [node.name for node in root.walk()]
    assert names.count("model") >= 2
    assert any(node.name == "inner" and "model" in [each.name for each in node.walk()] for node in root.walk())


def test_the_state_at_the_end_is_kept():
    record, stopped, failed = RunRecord(), CallNode("stopped"), CallNode("failed")
    for node in (stopped, failed):
        node.listen(record)
        start(node)
    assert [root.is_open for root in record.roots] == [True, True]
    stopped.kill()
    stopped._close(RuntimeError("killed"))
    failed._close(ValueError())
    assert [root.state for root in record.roots] == [NodeState.TERMINATED, NodeState.EXCEPTION]
    assert [root.is_open for root in record.roots] == [False, False]


def test_what_waits_in_a_queue_is_known_from_then_on():
    with ticking(1.0):
        record, (root, child) = RunRecord(), chain(2)
        root.listen(record)
        start(root)
        happens(record, "queued", child)
        (recorded,) = record.roots[0].children
        assert (recorded.state, recorded.is_open) == (NodeState.PENDING, True)
        start(child)
        assert record._queued == {}
        child._close()
        root._close()
    assert recorded.queued is not None
    assert (recorded.started - recorded.queued, recorded.seconds) == (1, 1)
    assert len(record.roots[0].children) == 1


@pytest.mark.parametrize("tells", [True, False])
def test_what_was_queued_and_never_started_ends_with_its_run(tells: bool):
    record, (root, child) = RunRecord(), chain(2)
    root.listen(record)
    start(root)
    happens(record, "queued", child)
    root.kill()
    child._close(RuntimeError("killed"))
    if tells:
        happens(record, "ended", child, RuntimeError("killed"))
    root._close(RuntimeError("killed"))
    (recorded,) = record.roots[0].children
    assert (recorded.state, recorded.seconds) == (NodeState.TERMINATED, 0)
    assert record._open == record._queued == {}


def test_what_was_queued_and_never_heard_of_again_ends_with_what_it_stood_below():
    record, (root, child) = RunRecord(), chain(2)
    root.listen(record)
    start(root)
    happens(record, "queued", child)
    root._close()
    assert record.roots[0].children[0].state is NodeState.TERMINATED
    assert record._queued == {}


def test_a_node_that_is_tried_again_stays_one():
    record, (root,) = RunRecord(), chain(1)
    root.listen(record)
    start(root)
    happens(record, "retried", root, ValueError("once more"))
    happens(record, "started", root)
    root._close()
    (recorded,) = record.roots
    assert [(event.kind, event.text) for event in recorded.events] == [("retried", "ValueError: once more")]
    assert record._open == {}


def test_events_hold_names_and_nothing_that_was_said():
    record, (root,) = RunRecord(), chain(1)
    root.listen(record)
    start(root)
    for kind, data in [
        ("delta", "secret"), ("delta", "secret"), ("message", Message(content="secret")), ("unheard of", "secret"),
        ("tool_call", ("add", {"key": "secret"})), ("tool_result", "secret"), ("note", "half of it"),
    ]:  # fmt: skip
        happens(record, kind, root, data)
    kept = [(event.kind, event.text) for event in record.roots[0].events]
    assert kept == [
        ("delta", ""), ("unheard of", ""), ("tool_call", "add"), ("tool_result", ""), ("note", "half of it")
    ]  # fmt: skip


def test_an_error_that_cannot_be_written_is_named():
    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    record, (root,) = RunRecord(), chain(1)
    root.listen(record)
    start(root)
    root._close(Mute())
    assert record.roots[0].error == "Mute"


def test_events_of_many_threads_are_all_counted():
    class Slow:
        """Lets another thread in just where a count is read and not yet written."""

        output_tokens = 1
        usd = 0.5
        cached_tokens = cache_write_tokens = reasoning_tokens = 0

        @property
        def input_tokens(self) -> int:
            time.sleep(0)
            return 1

    record, root = RunRecord(), CallNode("root")
    root.listen(record)
    start(root)

    def work() -> None:
        for _ in range(200):
            node = CallNode("leaf", root)
            start(node)
            happens(record, "usage", root, Slow())
            node._close()

    join_all([work] * 8)
    root._close()
    (recorded,) = record.roots
    assert (recorded.own_usage, len(recorded.children)) == (Usage(1600, 1600, 800.0), 1600)
    assert {child.state for child in recorded.children} == {NodeState.COMPLETED}
    assert record._open == {}


def test_two_runs_at_once_and_two_records_do_not_mix():
    records, agent = [RunRecord(), RunRecord()], Agent(calling("add", a=1, b=2, times=5), tools=[add], name="A")
    join_all([lambda number=number: agent("x", listeners=records, session_id=number) for number in range(8)])
    for record in records:
        assert sorted(str(root.session_id) for root in record.roots) == list("01234567")
        for root in record.roots:
            assert {node.session_id for node in root.walk()} == {root.session_id}
            assert len(list(root.walk())) == 12
