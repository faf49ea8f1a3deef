"""Servers that show what they were given, and callers that give what cannot be sent."""

# What the SDK hands on is seen at the connection.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import json
import sys
import threading
import traceback
from pathlib import Path
from typing import Any

import pytest

from hardening._measured import cost_of
from trivium import Agent
from trivium.exceptions import ConfigurationError, MCPConnectionError, MCPProtocolError, ToolArgumentsError
from trivium.mcp import MCPServer, _link
from trivium.testing import ScriptedModel, call_tool

BAD = [sys.executable, str(Path(__file__).with_name("_bad_server.py"))]
KEY = "sk-marked-secret-123456"


@pytest.mark.parametrize("how", ["text", "failure", "refusal"])
def test_a_key_that_a_server_sends_back_is_not_shown(how: str):
    with MCPServer(BAD, env={"API_KEY": KEY}, name="bad") as server:
        returned = server({"how": how}, "work")
        said = f"{returned.errmsg} {returned.format_result()}"
        assert "the key is ***" in said
        assert KEY not in repr(returned)


def test_a_key_in_the_last_words_of_a_server_is_not_shown():
    server = MCPServer([*BAD, "die"], env={"API_KEY": KEY}, name="bad")
    with pytest.raises(MCPConnectionError, match=r"the key is \*\*\*") as caught:
        server.open()
    assert KEY not in "".join(traceback.format_exception(caught.value)) + server.log + caught.value.log


def test_a_refusal_names_the_server_the_request_and_what_to_do():
    with MCPServer(BAD, name="bad") as server:
        for ask, what in (
            (lambda: server.read_resource("memo://a"), "the resource memo://a: no resources/read"),
            (lambda: server.get_prompt("hello"), "the prompt hello: no prompts/get"),
        ):
            with pytest.raises(MCPProtocolError) as caught:
                ask()
            offers = "It does not offer that: tools(), resources() and prompts() list what it offers"
            assert str(caught.value) == f"bad refused {what}. {offers}"
        assert server({"how": "refusal"}, "work").errmsg == "bad refused the tool work: the key is "


def test_a_server_that_does_not_start_says_what_to_do():
    refused = {"jsonrpc": "2.0", "error": {"code": -32601, "message": "Method not found"}}
    answer = f"print(json.dumps({refused} | {{'id': json.loads(each).get('id')}}), flush=True)"
    code = f"import json, sys\nfor each in sys.stdin: {answer}"
    run = "run its command in a terminal"
    for server, said in (
        ([sys.executable, "-c", "raise SystemExit(2)"], f"bad cannot be used: it ended before it was ready; {run}"),
        ([sys.executable, "-c", code], "with the error Method not found; run its command in a terminal"),
        ("http://127.0.0.1:9/mcp", r"bad cannot be used: .*; check that it runs at http://127.0.0.1:9/mcp"),
    ):
        with pytest.raises(MCPConnectionError, match=said):
            MCPServer(server, name="bad").open()


def test_an_answer_that_cannot_be_read_is_told_with_the_time_that_it_took():
    with MCPServer(BAD, env={"API_KEY": KEY}, name="bad", timeout=1) as server:
        told = str(server({"how": "deep"}, "work").errmsg)
        assert told.startswith(
            "bad took longer than 1 seconds for the tool work; give it more with timeout=. It has sent"
        )
        assert "recursion limit exceeded" in told
        assert KEY not in told


def test_of_the_progress_of_a_server_only_what_grows_is_told(caplog: pytest.LogCaptureFixture):
    with MCPServer(BAD, name="bad") as server:
        agent = Agent(ScriptedModel([call_tool("bad.work", how="counting"), "Counted."]), tools=[server])
        with agent.stream("Count.") as call:
            told = [event.data for event in call if event.kind == "tool_progress"]
    assert [data[:2] for data in told] == [(1, 4), (2, None), (3, None), (4, 4)]
    assert "left out" not in caplog.text  # what a result calls its tools is no list of the server's


def test_a_list_that_the_protocol_does_not_have_is_told_by_the_place_that_is_wrong():
    with pytest.raises(MCPProtocolError, match=r"list of tools .* protocol says: tools\.1\.name: Field required$"):
        MCPServer([*BAD, "unnamed"], name="bad").open()


@pytest.mark.parametrize(
    ("how", "said"),
    [("nonsense", "content: Input should be a valid list"), ("unknown", "content.0: it is of no kind that the")],
)
def test_a_result_that_the_protocol_does_not_have_is_told_in_a_line(how: str, said: str):
    with MCPServer(BAD, env={"API_KEY": KEY}, name="bad") as server:
        told = str(server({"how": how}, "work").errmsg)
    assert f"bad gave no proper answer to the request for the tool work: {said}" in told
    assert "\n" not in told
    assert KEY not in told


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("untyped", ["bad: the tool 'untyped' is left out", "bad: the tool 'listed' is left out"]),
        ("doubled", ["bad: a second tool of the name 'work' is left out"]),
    ],
)
def test_of_a_list_a_tool_that_cannot_be_is_left_out(how: str, said: list[str], caplog: pytest.LogCaptureFixture):
    with MCPServer([*BAD, how], name="bad") as server:
        assert [(tool.name, tool.spec.description) for tool in server.tools()] == [("bad.work", "")]
    told = [record.getMessage() for record in caplog.records]
    assert [each.partition(": its")[0] for each in told] == said


def test_log_messages_of_a_server_cost_no_task_each(monkeypatch: pytest.MonkeyPatch):
    noted = list[object]()

    async def note(_: object, message: object) -> None:
        noted.append(message)

    monkeypatch.setattr(_link._Connection, "note_change", note)
    with MCPServer(BAD, name="bad") as server:
        assert server({"how": "chatty"}, "work").format_result() == "the key is "
    assert noted == []


@pytest.mark.parametrize(
    ("hints", "effect"),
    [
        ({}, None), ({"readOnlyHint": True, "destructiveHint": True}, "read"), ({"idempotentHint": True}, "idempotent"),
        ({"destructiveHint": True}, "once"), ({"destructiveHint": False}, None),
    ],
)  # fmt: skip
def test_hints_say_what_a_tool_does_to_the_world(hints: dict[str, bool], effect: str | None):
    with MCPServer(BAD, env={"HINTS": json.dumps(hints)}, name="bad") as server:
        assert [tool.effect for tool in server.tools()] == [effect]


@pytest.mark.parametrize("value", ["\ud800", float("nan"), object()], ids=["half", "nan", "object"])
def test_what_cannot_be_sent_is_refused_and_the_connection_stays(value: Any, workshop: MCPServer):
    before = workshop({}, "pid").format_result()
    assert "cannot be sent" in str(workshop({"text": value}, "echo").errmsg)
    for ask in (lambda: workshop.read_resource(value), lambda: workshop.get_prompt("ask", x=value)):
        with pytest.raises(ToolArgumentsError, match="cannot be sent"):
            ask()
    assert workshop({}, "pid").format_result() == before


def test_each_who_waits_gets_an_error_of_his_own():
    server, errors = MCPServer([*BAD, "die"], name="bad"), list[Exception]()

    def ask() -> None:
        try:
            server({}, "work")
        except MCPConnectionError as error:
            errors.append(error)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len({id(each) for each in errors}) == 8
    assert all(len(traceback.extract_tb(each.__traceback__)) < 40 for each in errors)


@pytest.mark.parametrize(
    ("server", "options"),
    [
        ("http://[::1", {}), ("http://", {}),
        ("http://a/", {"headers": {"X": "é"}}), ("http://a/", {"headers": {"X": "a\nb"}}),
        ("http://a/", {"headers": {"X": 1}}), (BAD, {"env": {"A": 1}}), (BAD, {"timeout": 0}),
    ],
    ids=str,
)  # fmt: skip
def test_what_no_server_can_have_is_refused_at_once(server: Any, options: dict[str, Any]):
    with pytest.raises(ConfigurationError):
        MCPServer(server, **options)


ENDLESS = {
    "a result": "import asyncio\nasyncio.run(MCPServer(sys.argv[1:], name='bad').tools()[0].call(how='endless'))",
    "a list of tools": "MCPServer([*sys.argv[1:], 'many'], name='bad').tools()",
}


@pytest.mark.parametrize("body", ENDLESS.values(), ids=ENDLESS)
def test_what_a_server_sends_without_end_costs_no_more_than_its_limit(body: str):
    cost = cost_of(f"from trivium.mcp import MCPServer\n{body}", *BAD)
    assert (cost.error, cost.limit) == ("MCPTooLargeError", "max_bytes"), cost
    assert "raise max_bytes=…" in cost.text
    assert cost.seconds < 20
    assert cost.megabytes < 256


@pytest.mark.parametrize("entry", [5, {"pin": 5}, {"pin": "x", "tools": [5]}, {"pin": "x", "tools": 5}], ids=str)
def test_pins_of_another_form_are_refused(entry: Any, tmp_path: Path):
    path = tmp_path / "pins.json"
    path.write_text(json.dumps({"bad": entry}))
    with pytest.raises(ConfigurationError, match="no pins: remove it"):
        MCPServer(BAD, name="bad", pins=path).open()
