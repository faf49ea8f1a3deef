"""What a record is written as: flat JSON, and a trace that viewers open."""

# pyright: reportPrivateUsage=false
# Nodes are started and closed by hand here.
from __future__ import annotations

import gc
import json
import os
import time
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commander._helpers import add, calling, join_all
from trivium import Agent, CommanderAsync, Job, RunRecord
from trivium.commander import PASS_WORD, HandlerCoroutine, handler, tasker, wait
from trivium.commander.lowlevel import CallNode
from trivium.exceptions import OutputError
from trivium.schema import Usage
from trivium.testing import ScriptedModel, call_tool

from ._nodes import WALL_TIME, chain, grow, happens, start, ticking

pytestmark = pytest.mark.usefixtures("frozen")

Moves = Sequence[tuple[int, int, bool]]
MOVES = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 50), st.booleans()), min_size=1, max_size=60)
STEPS = st.lists(st.sampled_from([0.0, 1e-7, 1e-6, 0.5e-6, 3e-6, 0.1]), min_size=1, max_size=7)
SLACK = 1e-6


def recorded(moves: Moves, steps: Sequence[float], *, nested: bool) -> tuple[RunRecord, int]:
    record = RunRecord()
    with ticking(*steps):
        return record, grow(record, moves, nested=nested)


def slices_of(trace: dict[str, Any]) -> list[dict[str, Any]]:
    return [event for event in trace["traceEvents"] if event["ph"] == "X"]


def check_format(trace: dict[str, Any]) -> None:
    """The rules of the Trace Event Format for the phases that are used."""
    assert set(trace) == {"traceEvents", "displayTimeUnit"}
    assert trace["displayTimeUnit"] in ("ms", "ns")
    json.dumps(trace, allow_nan=False)
    named = {each["tid"] for each in trace["traceEvents"] if each["ph"] == "M" and each["name"] == "thread_name"}
    for event in trace["traceEvents"]:
        assert isinstance(event["name"], str)
        assert isinstance(event["args"], dict)
        assert all(type(event[key]) is int and event[key] >= 0 for key in ("pid", "tid", "ts"))
        if event["ph"] == "M":
            assert event["name"] in {"process_name", "thread_name", "thread_sort_index"}
            continue
        assert event["tid"] in named
        assert isinstance(event["cat"], str)
        if event["ph"] == "X":
            assert type(event["dur"]) is int
            assert event["dur"] >= 0
        else:
            assert (event["ph"], event["s"]) == ("i", "t")


def check_nesting(trace: dict[str, Any]) -> None:
    """On each lane any two slices are apart, or one lies within the other: each pair is looked at."""
    lanes: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for each in slices_of(trace):
        lanes[each["tid"]].append((each["ts"], each["ts"] + each["dur"]))
    for spans in lanes.values():
        for number, (began, end) in enumerate(spans):
            for other, until in spans[:number]:
                apart = end <= other or until <= began
                within = (other <= began and end <= until) or (began <= other and until <= end)
                assert apart or within, f"{(began, end)} and {(other, until)} cross"


@given(MOVES, STEPS)
def test_each_node_stands_once_in_the_json_behind_its_parent_and_within_its_time(moves: Moves, steps: list[float]):
    record, made = recorded(moves, steps, nested=True)
    nodes = json.loads(json.dumps(record.as_json(), allow_nan=False))["nodes"]
    assert [node["id"] for node in nodes] == list(range(made))
    assert sorted(int(node["name"].removeprefix("node").removeprefix("root")) for node in nodes) == list(range(made))
    for node in nodes:
        assert node["seconds"] >= 0
        if node["parent"] is None:
            assert node["name"].startswith("root")
            continue
        above = nodes[node["parent"]]
        assert above["id"] < node["id"]
        assert above["started"] <= node["started"]
        assert node["started"] + node["seconds"] <= above["started"] + above["seconds"] + SLACK


@given(MOVES, STEPS, st.booleans())
def test_slices_of_a_lane_nest_whatever_ran_when(moves: Moves, steps: list[float], nested: bool):
    record, made = recorded(moves, steps, nested=nested)
    trace = record.as_chrome_trace()
    check_format(trace)
    check_nesting(trace)
    slices = slices_of(trace)
    assert sorted(each["args"]["id"] for each in slices) == list(range(made))
    parents = {node["id"]: node["parent"] for node in record.as_json()["nodes"]}
    assert {each["args"]["id"]: each["args"].get("parent") for each in slices} == parents
    assert [each["ts"] for each in slices] == sorted(each["ts"] for each in slices)


def test_what_ran_one_after_the_other_is_on_one_lane():
    record = RunRecord()
    for _ in range(3):
        Agent(calling("add", a=1, b=2), tools=[add])("x", listeners=[record])
    assert {each["tid"] for each in slices_of(record.as_chrome_trace())} == {1}


def test_what_ran_at_once_is_on_lanes_of_its_own_and_a_free_lane_is_used_again():
    with ticking(1e-3):
        record, root = RunRecord(), CallNode("root")
        root.listen(record)
        start(root)
        for _ in range(2):
            children = [CallNode(f"child{number}", root) for number in range(3)]
            for child in children:
                start(child)
            for child in children:
                child._close()
        root._close()
    trace = record.as_chrome_trace()
    check_nesting(trace)
    assert [each["tid"] for each in slices_of(trace)] == [1, 1, 2, 3, 1, 2, 3]
    names = [each["args"]["name"] for each in trace["traceEvents"] if each["name"] == "thread_name"]
    assert names == ["lane 1", "lane 2", "lane 3"]


def test_what_began_before_the_queued_node_above_it_has_a_lane_of_its_own():
    with ticking(1e-3):
        record, (root, queued, child) = RunRecord(), chain(3)
        root.listen(record)
        start(root)
        happens(record, "queued", queued)
        start(child)
        start(queued)
        for node in (child, queued, root):
            node._close()
    trace = record.as_chrome_trace()
    check_nesting(trace)
    assert {each["name"]: each["tid"] for each in slices_of(trace)} == {"node0": 1, "node2": 2, "node1": 1}
    assert [node["parent"] for node in record.as_json()["nodes"]] == [None, 0, 1]


class Wide(Job):
    @handler(PASS_WORD)
    async def beside(self, self_handler: HandlerCoroutine) -> None:
        await wait(0)
        await Agent(ScriptedModel(["ok"])).acall("x", session_id=object())

    @tasker(PASS_WORD)
    async def task(self) -> None:
        for _ in range(5):
            self.call_handler(self.beside())


def test_a_commander_is_exported_with_all_its_kinds():
    commander, record = CommanderAsync(), RunRecord()
    commander.listen(record)
    commander.run([Wide(), Wide()], auto_exit=True)
    trace = record.as_chrome_trace()
    check_format(trace)
    check_nesting(trace)
    assert {each["cat"] for each in slices_of(trace)} == {"commander", "job", "handler", "call"}
    nodes = record.as_json()["nodes"]
    assert len(nodes) == 1 + 2 + 10 + 20
    assert sum(node["session"] == 0 for node in nodes) == 13
    assert sum(str(node["session"]).startswith("<object object") for node in nodes) == 20


def test_calls_in_many_threads_are_exported():
    record, agent = RunRecord(), Agent(calling("add", a=1, b=2, times=3), tools=[add])
    join_all([lambda number=number: agent("x", listeners=[record], session_id=number) for number in range(8)])
    trace = record.as_chrome_trace()
    check_format(trace)
    check_nesting(trace)
    assert len(slices_of(trace)) == len(record.as_json()["nodes"]) == 8 * 8


def test_the_json_of_a_run():
    model = ScriptedModel([[call_tool("add", a=1, b=2), Usage(10, 1)], ValueError("broken")])
    record = RunRecord()
    with ticking(0.25), pytest.raises(ValueError, match="broken"):
        Agent(model, tools=[add], name="A")("secret", listeners=[record], session_id=("a", 1))
    written = record.as_json()
    assert written["version"] == 1
    assert [run["root"] for run in written["runs"]] == [0]
    assert datetime.fromisoformat(written["runs"][0]["started_at"]).timestamp() == WALL_TIME
    root, model_node, tool, failed = written["nodes"]
    assert root == {
        "id": 0, "parent": None, "name": "A", "kind": "call", "session": "('a', 1)", "queued": None, "started": 0.0,
        "seconds": root["seconds"], "state": "EXCEPTION", "error": "ValueError: broken", "input_tokens": 0,
        "output_tokens": 0, "usd": 0.0, "events": [],
    }  # fmt: skip
    assert (model_node["input_tokens"], model_node["output_tokens"]) == (10, 1)
    assert [(event["kind"], event["text"]) for event in tool["events"]] == [("tool_call", "add"), ("tool_result", "")]
    assert tool["started"] < tool["events"][0]["at"] < tool["started"] + tool["seconds"]
    assert (failed["parent"], failed["error"]) == (0, "ValueError: broken")
    assert "secret" not in json.dumps(written)


def test_the_trace_of_a_run_tells_tokens_errors_and_tool_calls():
    model = ScriptedModel([[call_tool("add", a=1, b=2), Usage(10, 1)], ValueError("broken")])
    record = RunRecord()
    with pytest.raises(ValueError, match="broken"):
        Agent(model, tools=[add], name="A")("secret", listeners=[record])
    trace = record.as_chrome_trace()
    check_format(trace)
    root, first, _, failed = slices_of(trace)
    assert root["args"] == {"id": 0, "session": 0, "state": "EXCEPTION", "error": "ValueError: broken"}
    assert (first["args"]["input_tokens"], first["args"]["output_tokens"]) == (10, 1)
    assert failed["args"]["error"] == "ValueError: broken"
    instants = [each["name"] for each in trace["traceEvents"] if each["ph"] == "i"]
    assert instants == ["delta", "tool_call: add", "tool_result"]
    assert "secret" not in json.dumps(trace)


def test_a_run_that_goes_on_can_be_exported():
    record, (root, child) = RunRecord(), chain(2)
    root.listen(record)
    start(root)
    happens(record, "queued", child)
    waiting = record.as_json()["nodes"]
    start(child)
    nodes, trace = record.as_json()["nodes"], record.as_chrome_trace()
    assert [(node["state"], node["seconds"]) for node in waiting] == [("ACTIVE", None), ("PENDING", None)]
    assert [(node["state"], node["seconds"]) for node in nodes] == [("ACTIVE", None), ("ACTIVE", None)]
    check_format(trace)
    check_nesting(trace)
    above, below = slices_of(trace)
    assert above["ts"] + above["dur"] == below["ts"] + below["dur"]
    assert below["args"]["waited_ms"] >= 0


def test_nothing_recorded_is_a_record_too(tmp_path: Path):
    record = RunRecord()
    assert record.as_json() == {"version": 1, "runs": [], "nodes": []}
    check_format(record.as_chrome_trace())
    assert slices_of(record.as_chrome_trace()) == []


@pytest.mark.parametrize("session", [None, True, 7, 1.5, "ada", float("nan"), float("inf"), ("a",), frozenset({1})])
def test_any_session_can_be_written(session: Any):
    record, node = RunRecord(), CallNode("node")
    node._session_id, node._scope = session, node._scope.replace(listeners=(record,))
    start(node)
    node._close()
    written = json.loads(json.dumps(record.as_json(), allow_nan=False))["nodes"][0]["session"]
    if session is None or isinstance(session, str | int) or session == 1.5:
        assert (written, type(written)) == (session, type(session))
    else:
        assert written == repr(session)
    check_format(record.as_chrome_trace())


def test_a_session_that_cannot_be_shown_is_named_by_its_class():
    class Mute:
        def __repr__(self) -> str:
            raise RuntimeError

    record, node = RunRecord(), CallNode("node")
    node._session_id, node._scope = Mute(), node._scope.replace(listeners=(record,))
    start(node)
    node._close()
    assert record.as_json()["nodes"][0]["session"] == "<Mute>"


def test_a_chain_of_ten_thousand_is_exported(tmp_path: Path):
    record, nodes = RunRecord(), chain(10_000)
    nodes[0].listen(record)
    for node in nodes:
        start(node)
    for node in reversed(nodes):
        node._close()
    record.write_json(tmp_path / "run.json")
    written = json.loads((tmp_path / "run.json").read_text())["nodes"]
    assert [node["parent"] for node in written] == [None, *range(9_999)]
    trace = record.as_chrome_trace()
    check_format(trace)
    depths: dict[int, int] = defaultdict(int)
    for each in slices_of(trace):
        depths[each["tid"]] += 1
    assert max(depths.values()) < 256  # viewers drop what is deeper
    assert sum(depths.values()) == 10_000
    repr(record.roots[0])


def seconds_of(nodes: int) -> float:
    """Processor time to record and export a run of one wide level."""
    record, root = RunRecord(), CallNode("root")
    root.listen(record)
    gc.collect()
    began = time.process_time()
    start(root)
    for _ in range(nodes):
        node = CallNode("leaf", root)
        start(node)
        node._close()
    root._close()
    record.as_json()
    record.as_chrome_trace()
    return time.process_time() - began


@pytest.mark.slow
def test_ten_times_the_nodes_cost_about_ten_times_the_work():
    ratios = (seconds_of(100_000) / seconds_of(10_000) for _ in range(5))
    assert any(ratio < 40 for ratio in ratios)  # 100 if anything were quadratic


def test_a_file_is_replaced_as_a_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    record, path = RunRecord(), tmp_path / "trace.json"
    Agent(ScriptedModel(["ok"]), name="Björk")("x", listeners=[record])
    path.write_text("old")
    record.write_chrome_trace(path)
    assert json.loads(path.read_text()) == json.loads(json.dumps(record.as_chrome_trace()))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(OutputError, match="No space left on device"):
        record.write_json(str(path))
    assert "traceEvents" in path.read_text()
    assert [each.name for each in tmp_path.iterdir()] == ["trace.json"]


def test_a_folder_that_is_not_there_is_reported(tmp_path: Path):
    with pytest.raises(OutputError, match=r"cannot write .*missing.run\.json: No such file"):
        RunRecord().write_json(tmp_path / "missing" / "run.json")


def test_a_link_stays_and_a_pipe_is_written(tmp_path: Path):
    (tmp_path / "link.json").symlink_to(tmp_path / "run.json")
    RunRecord().write_json(tmp_path / "link.json")
    assert (tmp_path / "link.json").is_symlink()
    assert json.loads((tmp_path / "run.json").read_text())["nodes"] == []
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    RunRecord().write_json(tmp_path / "pipe")
    assert json.loads(os.read(reader, 1 << 16))["version"] == 1
    os.close(reader)
    assert (tmp_path / "pipe").is_fifo()
