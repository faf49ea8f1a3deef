"""Providers refuse a history in which a tool call has no result, so none leaves us."""

from __future__ import annotations

import pytest

from trivium import ChatAgent, Task, ToolMessage
from trivium.llms import ToolCallPart
from trivium.testing import ScriptedModel, call_tool


class Note(ToolMessage):
    request: str = "note"
    purpose: str = "To note an <x>."
    x: int

    def handle(self) -> str:
        return "noted"


@pytest.mark.parametrize(
    ("calls", "results"),
    [
        ([call_tool("zzz", x=1)], {"call_0": "error: there is no tool zzz; there are note"}),
        (
            [call_tool("note", x=1), call_tool("zzz", 1, x=1)],
            {"call_0": "noted", "call_1": "error: nothing does this"},
        ),
        (
            [call_tool("zzz", x=1), call_tool("note", 1, x=1)],
            {"call_0": "error: nothing does this", "call_1": "noted"},
        ),
    ],
)
def test_no_call_stays_open_in_a_history(calls: list[ToolCallPart], results: dict[str, str]):
    model = ScriptedModel([calls, "DONE"])
    agent = ChatAgent(model)
    agent.enable_message(Note)
    Task(agent, interactive=False).run("go")
    told = {each["tool_call_id"]: each["content"] for each in model.requests[-1].messages if each["role"] == "tool"}
    assert told == results
