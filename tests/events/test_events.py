"""Events describe themselves: to people, to other programs, and to every view, which know no kinds."""

from __future__ import annotations

import json
import re
from inspect import getsource
from logging import INFO, WARNING
from pathlib import Path
from typing import Any, Literal, get_args

import pytest
from rich.console import Console

from commander._helpers import add
from distributed._helpers import served
from distributed.test_http_client import client_of
from observers.test_live import console, drawn
from trivium import Agent, ChatAgent, Message, RunRecord, Task
from trivium.actions import Tool, ToolProgress
from trivium.actions._approval import ApprovalDecision, ApprovalRequest
from trivium.commander import CallNode, NodeState
from trivium.commander.lowlevel import emit
from trivium.events import Event, RunEvent, _union, event_class, event_kinds
from trivium.events._registry import HOMES
from trivium.exceptions import ContextOverflowError, ProviderConnectionError
from trivium.journal import Fork
from trivium.knowledge._library import IngestProgress
from trivium.knowledge.embeddings import EmbeddingProgress
from trivium.llms import Fallback, Lookup, Overflow, Reasoning, Request, Retry, ToolCallPart
from trivium.memory import MemoryChange
from trivium.observers import LiveTree
from trivium.observers._redaction import mask_secrets
from trivium.schema import Usage
from trivium.tasks import Response
from trivium.terminal import Screen
from trivium.testing import ScriptedModel, call_tool

KINDS = sorted(event_kinds())
FAILED = ProviderConnectionError("no answer")
SECRET = "the moon is made of cheese"
SAMPLES: dict[str, list[Any]] = {
    "approval": [ApprovalDecision(ApprovalRequest(Tool.of(add), {"a": SECRET}, CallNode("n")), False, "not today")],
    "cache": [Lookup("k", True, Usage(3, 4)), Lookup("k", False), Lookup("k", True), Lookup("k", False)],
    "delta": [SECRET, Reasoning(SECRET), ToolCallPart(0, "1", "add", SECRET)],
    "embedded": [EmbeddingProgress(1, 2)],
    "ended": [None, ValueError("broken")],
    "fallback": [Fallback("a", FAILED, "b")],
    "forked": [Fork("order-17", "0123abcd"), Fork("order-17", "")],
    "ingest": [IngestProgress("a.pdf", "added", 1, 2)],
    "memory": [MemoryChange("erase", (Message(content=SECRET),)), MemoryChange("reset", ())],
    "message": [Message(content=SECRET, sender="ada")],
    "note": ["half of it", None, 3],
    "overflow": [Overflow(ContextOverflowError("too long"), ({"role": "user", "content": SECRET},), 3)],
    "partial": [Message(content=SECRET)],
    "queued": [None],
    "rate_limit": [1.25],
    "response": [Response("t", "LLM", Message(content=SECRET)), Response("t", "User", None, False)],
    "retried": [ValueError("broken")],
    "retry": [Retry(1, 0.5, FAILED)],
    "started": [None],
    "tool_call": [("add", {"a": SECRET}), ("add", f'{{"a": "{SECRET}"}}')],
    "tool_abandoned": ["add"],
    "tool_progress": [ToolProgress(1, 2, SECRET), ToolProgress(0.5)],
    "tool_result": [SECRET, {"deep": [SECRET]}, object()],
    "tool_retry": [ValueError("broken")],
    "unclaimed": [("agent#0/tool:pay#0",)],
    "usage": [Usage(1000, 2, 0.25)],
    "user_input": [SECRET],
}


class PagesEvent(Event[str, Literal["pages"]], level=WARNING):
    """An event of a user's own."""

    __slots__ = ()

    def detail(self, content: bool = False) -> str:
        return f"of {self.data}" if content else "three pages"

    def fields(self, content: bool = False) -> dict[str, Any]:
        return {"pages": 3, **({"book": self.data} if content else {})}

    @classmethod
    def parse(cls, fields: Any) -> str:
        return fields["book"]

    def is_for_clients(self) -> bool:
        return True


def read(book: str) -> str:
    """Read a book."""
    from trivium.commander import current

    node = current.get()
    assert node is not None
    emit(node, PagesEvent, book)
    return "read"


def reader() -> Agent:
    return Agent(ScriptedModel([call_tool("read", book="Emma"), "Done."]), tools=[read])


# ---- the kinds
def test_the_registry_the_union_and_the_checked_types_name_the_same_classes():
    union = {each.kind: each for each in get_args(RunEvent)}
    assert {kind: event_class(kind) for kind in union} == union
    assert {kind: each for kind, each in event_kinds().items() if kind in union} == union
    assert {each.__name__ for each in union.values()} == {"Event", *HOMES}, "with the base, whose kind is note"
    assert re.findall(r"events\.(\w+Event)", getsource(_union)) == list(HOMES)
    assert set(SAMPLES) == {*union, "note"}


def test_a_kind_that_nobody_defined_has_no_class():
    assert event_class("surprise") is None
    assert event_class("pages") is PagesEvent


@pytest.mark.parametrize("kind", SAMPLES)
def test_each_kind_describes_itself_and_tells_contents_only_on_request(kind: str):
    node = CallNode("inner", CallNode("outer"))
    for data in SAMPLES[kind]:
        event = event_kinds()[kind](node, data)
        assert event.summary().partition(":")[0] == event.kind == kind
        for content in (False, True):
            line, told = event.summary(content), event.as_json(content)
            assert "\n" not in line
            assert len(line) < 300
            assert json.loads(json.dumps(told, allow_nan=False)) == told
            assert (told["kind"], told["node"], told["path"]) == (kind, "inner", "outer#0/inner#0")
            assert (told["key"], told["time"]) == (node.key, event.time)
            if not content:
                assert SECRET not in line + json.dumps(told)
        holds_it = SECRET in str(data) + str(getattr(data, "request", ""))
        assert (SECRET in json.dumps(event.as_json(content=True))) is (holds_it or kind == "message")


@pytest.mark.parametrize(
    ("kind", "detail"),
    [
        ("approval", "add is refused: not today"),
        ("cache", "hit, 7 tokens saved"),
        ("fallback", "b is called instead of a: ProviderConnectionError: no answer"),
        ("overflow", "1 messages are left out, 3 are sent"),
        ("rate_limit", "waits 1.2 s"),
        ("response", "LLM responds in t"),
        ("retry", "attempt 1 failed, the next follows in 0.5 s: ProviderConnectionError: no answer"),
        ("usage", "1,002 tokens, $0.25"),
        ("ended", ""),
        ("note", "half of it"),
    ],
)
def test_details_are_written_for_people(kind: str, detail: str):
    assert event_kinds()[kind](CallNode("n"), SAMPLES[kind][0]).detail() == detail


@pytest.mark.parametrize("kind", SAMPLES)
def test_what_a_server_sends_is_parsed_back(kind: str):
    for data in SAMPLES[kind]:
        event = event_kinds()[kind](CallNode("n"), data)
        if event.is_for_clients() and isinstance(data, str | tuple | dict):
            assert type(event).parse(event.fields(content=True)) == data
    assert event_kinds()[kind](CallNode("n"), SAMPLES[kind][0]).is_for_clients() is (
        kind in ("delta", "tool_call", "tool_progress", "tool_result")
    )


def test_the_node_of_an_event_is_known_by_name_place_and_parent():
    outer = CallNode("outer")
    event = PagesEvent(CallNode("inner", outer), "Emma")
    assert (event.name, event.path, event.parent, event.node_kind) == ("inner", "outer#0/inner#0", outer, "call")
    assert (PagesEvent(outer, "Emma").parent, repr(event)) == (None, "PagesEvent(inner, 'Emma')")
    assert (event.level, Event(outer, 1).level, Event(outer, 1).kind) == (WARNING, INFO, "note")


def test_values_that_are_no_json_become_text():
    class Mute:
        def __str__(self) -> str:
            raise RuntimeError

    cycle: list[Any] = []
    cycle.append(cycle)
    for data in (Mute(), cycle, {1: b"\xff", "n": float("nan")}, {Mute(): 1}):
        json.dumps(Event(CallNode("n"), data).as_json(content=True), allow_nan=False)


# ---- every view shows a kind that it does not know
def test_a_new_kind_is_in_the_live_tree():
    live = LiveTree(console=console())
    node = CallNode("reading")
    node.listen(live)
    with node:
        emit(node, PagesEvent, "Emma")
        assert drawn(live)[0].endswith("  pages: three pages")
    assert "pages" not in "".join(drawn(live))


def test_a_new_kind_is_in_the_record_and_its_exports():
    record = RunRecord()
    reader()("go", listeners=[record])
    (tool,) = [node for node in record.roots[0].walk() if node.name == "tool:read"]
    assert [(each.kind, each.text, each.data) for each in tool.events] == [
        ("tool_call", "read", {"name": "read"}), ("pages", "three pages", {"pages": 3}), ("tool_result", "", {}),
    ]  # fmt: skip
    (node,) = [node for node in record.as_json()["nodes"] if node["name"] == "tool:read"]
    assert node["events"][1]["data"] == {"pages": 3}
    (instant,) = [each for each in record.as_chrome_trace()["traceEvents"] if each["name"] == "pages: three pages"]
    assert instant["args"]["pages"] == 3
    assert "Emma" not in json.dumps([record.as_json(), record.as_chrome_trace()])


def test_a_new_kind_goes_over_the_wire():
    heard: list[Event] = []
    with served(reader()) as ask:
        client_of(ask, name="far")("go", listeners=[heard.append])
    (event,) = [each for each in heard if isinstance(each, PagesEvent)]
    assert (event.data, event.name) == ("Emma", "far")


def test_a_new_kind_that_matters_is_on_the_screen(tmp_path: Path):
    with open(tmp_path / "screen", "w+") as file:
        reader()("go", listeners=[Screen(Console(file=file, width=80))])
        file.seek(0)
        assert "pages: three pages\n" in file.read()


def test_a_new_kind_that_matters_is_in_the_log_of_a_task(tmp_path: Path):
    agent = ChatAgent(ScriptedModel([call_tool("read", book="Emma"), "DONE"]), tools=[read], name="clerk")
    task = Task(agent, interactive=False)
    task.config.logs_dir = str(tmp_path)
    task.run("go")
    for name in ("clerk.log", "clerk.html"):
        assert "pages: three pages" in (tmp_path / name).read_text()


# ---- contents on request
def add_secretly(a: int, b: int, password: str) -> str:
    """Add two numbers."""
    return f"{a + b}, and the key is sk-abcdefghijklmnopqrstuvwxyz"


def test_a_record_holds_contents_on_request_and_secrets_never():
    record = RunRecord(content=True)
    model = ScriptedModel([call_tool("add_secretly", a=1, b=2, password="xyzzy"), ["thr", "ee"]])
    Agent(model, "Be brief.", tools=[add_secretly])("1 + 2?", listeners=[record])
    root, first, tool, last = record.roots[0].walk()
    events = {node: {event.kind: event.data for event in node.events} for node in (root, first, tool, last)}
    request = events[first]["started"]["request"]
    assert [each["content"] for each in request["messages"]] == ["Be brief.", "1 + 2?"]
    assert [each["name"] for each in request["tools"]] == ["add_secretly"]
    assert events[last]["ended"]["result"]["text"] == "three"
    assert json.loads(events[tool]["tool_call"]["arguments"]) == {"a": 1, "b": 2, "password": "***"}
    assert events[tool]["tool_result"] == {"result": "3, and the key is ***"}
    assert [each.data["data"]["content"] for each in root.events if each.kind == "message"][-1] == "three"
    written = json.dumps([record.as_json(), record.as_chrome_trace()])
    assert "xyzzy" not in written
    assert "sk-abc" not in written
    assert root.state is NodeState.COMPLETED


def test_without_the_request_a_record_holds_no_contents():
    record = RunRecord()
    Agent(ScriptedModel([call_tool("add", a="x-41-x", b=1), SECRET]), tools=[add])("what?", listeners=[record])
    written = json.dumps([record.as_json(), record.as_chrome_trace()])
    assert not any(each in written for each in (SECRET, "x-41-x", "what?"))


@pytest.mark.parametrize(
    ("given", "masked"),
    [
        ({"api_key": "x", "accessToken": "z"}, {"api_key": "***", "accessToken": "***"}),
        ({"Authorization": "y"}, {"Authorization": "***"}),
        ({"tokens": 3, "max_tokens": "12", "author": "ada", "keyboard": "a"}, None),
        ({"headers": [{"cookie": "a=b"}]}, {"headers": [{"cookie": "***"}]}),
        ({"password": ["a", "b"]}, {"password": ["***", "***"]}),
        ("Authorization: Bearer abc.def.ghi", "Authorization: Bearer ***"),
        ('{"db_password": "x\\"y", "a": 1}', '{"db_password": "***", "a": 1}'),
        ("AKIAABCDEFGHIJKLMNOP and ghp_abcdefghijklmnopqrstuvwxyz012345", "*** and ***"),
        ("a risk-free task-force", None),
    ],
)  # fmt: skip
def test_secrets_are_found_by_name_and_by_form(given: Any, masked: Any):
    assert mask_secrets(given) == (given if masked is None else masked)


def test_a_model_call_keeps_its_request_only_while_it_lives():
    requests: list[object] = []

    def listen(event: Event) -> None:
        if isinstance(event.node, CallNode):
            requests.append(event.node.request)

    Agent(ScriptedModel(["ok"]))("hi", listeners=[listen])
    assert any(isinstance(each, Request) for each in requests)
    assert CallNode("n").session_id == 0
