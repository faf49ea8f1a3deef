"""The executor: every call has an answer, good or bad, and only a stopped run or a reached limit ends the run."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commander._helpers import Door, every_door, here
from trivium import ActionExecutor, Agent, Event, Limits, Message, RunRecord, Tool
from trivium.actions import AsyncActionExecutor, as_text, run_tool
from trivium.exceptions import LimitExceededError, RunKilledError, ToolArgumentsError
from trivium.llms import ToolCallPart
from trivium.schema import ActionReturn, ActionStatusCode, ActionValidCode, FunctionCall, ToolCall
from trivium.testing import ScriptedModel


def add(a: int, b: int = 1) -> int:
    return a + b


async def aadd(a: int, b: int = 1) -> int:
    await asyncio.sleep(0)
    return a + b


def fails(text: str) -> None:
    raise LookupError(text)


def kills() -> None:
    here().ancestor_chain[-1].kill("enough")


def own() -> ActionReturn:
    return ActionReturn(type="mine", result=[{"type": "image", "content": "a.png"}])


def executor() -> ActionExecutor:
    return ActionExecutor([add, aadd, fails, kills, own])


def content(name: str, **parameters: Any) -> dict[str, Any]:
    return {"name": name, "parameters": parameters}


# ---- good calls
@every_door
@pytest.mark.parametrize("name", ["add", "aadd"])
@pytest.mark.parametrize("parameters", [{"a": 2, "b": 3}, '{"a": 2, "b": "3"}'])
def test_a_call_is_answered_with_its_return(door: Door, name: str, parameters: Any):
    for given_content in ({"name": name, "parameters": parameters}, FunctionCall(name, parameters)):
        answer = door(executor(), Message(content=given_content))
        assert (answer.sender, answer.content.format_result()) == ("ActionExecutor", "5")
        assert (answer.content.state, answer.content.valid) == (ActionStatusCode.SUCCESS, ActionValidCode.OPEN)
        assert answer.content.type == name
        assert answer.content.args == (parameters if isinstance(parameters, dict) else None)


def test_a_tool_may_write_its_return_itself():
    assert executor()(Message(content=content("own"))).content.format_result() == "[image](a.png)"


@pytest.mark.parametrize(
    ("value", "text"),
    [("a", "a"), (None, "null"), ({"ä": [1]}, '{"ä": [1]}'), (Message(content=3), "3"), ({1j}, "{1j}"),
     (Limits(turns=1), "Limits(turns=1, tokens=None, tool_calls=None, seconds=None)")],
)  # fmt: skip
def test_a_result_as_text(value: Any, text: str):
    assert as_text(value) == text


def test_the_async_class_gives_a_coroutine():
    async def main() -> Message:
        call: Any = AsyncActionExecutor(add)
        return await call(Message(content=content("add", a=1)))

    answer = asyncio.run(main())
    assert (answer.sender, answer.content.format_result()) == ("AsyncActionExecutor", "2")


def test_the_tools_of_an_executor():
    several = ActionExecutor([add, Tool.of(add).but(name="plus")])
    assert (several.keys(), "plus" in several, "minus" in several) == (["add", "plus"], True, False)
    assert ActionExecutor().keys() == []
    assert ActionExecutor(add).add(aadd).name == "aadd"


# ---- bad calls are answers too
BAD: list[tuple[str, Any, ActionStatusCode, ActionValidCode, str]] = [
    ("nope", {}, ActionStatusCode.API_ERROR, ActionValidCode.INVALID, "no tool 'nope'; there are add, aadd, fails"),
    ("add", {}, ActionStatusCode.ARGS_ERROR, ActionValidCode.OPEN, "a: Field required"),
    ("add", {"a": 1, "c": 1}, ActionStatusCode.ARGS_ERROR, ActionValidCode.OPEN, "c: Extra inputs are not permitted"),
    ("add", "{'a': 1}", ActionStatusCode.ARGS_ERROR, ActionValidCode.OPEN, "Invalid JSON"),
    ("fails", {"text": "oh"}, ActionStatusCode.API_ERROR, ActionValidCode.OPEN, "oh"),
    ("fails", {"text": ""}, ActionStatusCode.API_ERROR, ActionValidCode.OPEN, "LookupError"),
]


@every_door
@pytest.mark.parametrize(("name", "parameters", "state", "valid", "text"), BAD)
def test_a_bad_call_is_answered_with_what_was_wrong(
    door: Door, name: str, parameters: Any, state: ActionStatusCode, valid: ActionValidCode, text: str
):
    returned = door(executor(), Message(content={"name": name, "parameters": parameters})).content
    assert (returned.state, returned.valid, returned.result) == (state, valid, None)
    assert text in returned.errmsg


@every_door
@pytest.mark.parametrize(("name", "parameters", "state", "valid", "text"), BAD)
def test_a_model_reads_what_was_wrong(
    door: Door, name: str, parameters: Any, state: ActionStatusCode, valid: ActionValidCode, text: str
):
    arguments = parameters if isinstance(parameters, str) else json.dumps(parameters)
    model = ScriptedModel([ToolCallPart(0, "id-1", name, arguments), "I see"])
    assert door(Agent(model, tools=[add, aadd, fails]), "x").content == "I see"
    answer = model.requests[-1].messages[-1]
    assert (answer["role"], answer["tool_call_id"]) == ("tool", "id-1")
    assert answer["content"].startswith("error: ")
    assert text in answer["content"]


names = st.sampled_from(["add", "aadd", "fails", "nope", "", "add ", "__init__"])
arguments = st.text(max_size=20) | st.dictionaries(st.sampled_from(["a", "b", "text"]), st.integers()).map(str)


@given(names, arguments)
def test_every_call_has_one_answer(name: str, text: str):
    async def answer() -> Message:
        return await executor().answer(ToolCall("id-1", name, text))

    message = asyncio.run(answer())
    assert (message.tool_call_id, message.sender) == ("id-1", name)
    assert isinstance(message.content, str)
    assert message.content


def test_content_that_names_no_tool_is_a_mistake_of_the_program():
    for wrong in ("add", None, {"name": "add"}, ["add"]):
        with pytest.raises(AssertionError, match="name"):
            executor()(Message(content=wrong))


# ---- what ends the run
@every_door
def test_a_killed_run_is_no_answer(door: Door):
    with pytest.raises(RunKilledError, match="enough"):
        door(executor(), Message(content=content("kills")))


@every_door
def test_a_reached_limit_is_no_answer(door: Door):
    with pytest.raises(LimitExceededError, match="tool_calls"):
        door(executor(), Message(content=content("add", a=1)), limits=Limits(tool_calls=0))


# ---- one tool
@every_door
def test_a_tool_call_is_a_node_with_two_events(door: Door):
    events: list[Event] = []
    record = RunRecord()
    door(executor(), Message(content=content("add", a=1)), listeners=[record, events.append])
    seen = [(event.kind, event.data) for event in events if event.kind.startswith("tool_")]
    assert [node.name for node in record.roots[0].walk()] == ["ActionExecutor", "tool:add"]
    assert seen == [("tool_call", ("add", {"a": 1})), ("tool_result", 2)]


def test_a_tool_with_bad_arguments_does_not_run():
    ran: list[int] = []

    def note(a: int) -> None:
        ran.append(a)

    with pytest.raises(ToolArgumentsError):
        asyncio.run(run_tool(Tool.of(note), '{"a": "x"}'))
    assert ran == []
    asyncio.run(run_tool(Tool.of(note), '{"a": 3}'))
    assert ran == [3]
