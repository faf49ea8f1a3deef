"""The executor: every call has an answer, good or bad, and only a stopped run or a reached limit ends the run."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Hashable
from enum import Enum
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commander._helpers import Entry, every_entry, here
from trivium import ActionExecutor, Agent, Entity, Event, Hook, Limits, Message, RunRecord, Tool
from trivium.actions import (
    AsyncActionExecutor,
    BaseAction,
    FinishAction,
    InvalidAction,
    NoAction,
    as_text,
    run_tool,
    tool_api,
)
from trivium.agents import AgentForInternLM
from trivium.agents.aggregator import InternLMToolAggregator
from trivium.exceptions import (
    CallOriginError,
    LimitExceededError,
    RunKilledError,
    ToolArgumentsError,
    ToolDefinitionError,
    UnknownToolError,
)
from trivium.hooks import ActionPreprocessor, InternLMActionProcessor
from trivium.llms import ToolCallPart
from trivium.prompts import MixedToolParser, PluginParser, ToolParser
from trivium.schema import ActionReturn, ActionStatusCode, ActionValidCode, FunctionCall, Origin, ToolCall
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
@every_entry
@pytest.mark.parametrize("name", ["add", "aadd"])
@pytest.mark.parametrize("parameters", [{"a": 2, "b": 3}, '{"a": 2, "b": "3"}'])
def test_a_call_is_answered_with_its_return(entry: Entry, name: str, parameters: Any):
    for given_content in ({"name": name, "parameters": parameters}, FunctionCall(name, parameters)):
        answer = entry(executor(), Message(content=given_content))
        assert (answer.sender, answer.content.format_result()) == ("ActionExecutor", "5")
        assert (answer.content.state, answer.content.valid) == (ActionStatusCode.SUCCESS, ActionValidCode.OPEN)
        assert answer.content.type == name
        assert answer.content.args == {"a": 2, "b": 3}


def test_a_tool_may_write_its_return_itself():
    assert executor()(Message(content=content("own"))).content.format_result() == "[image](a.png)"


@pytest.mark.parametrize(
    ("value", "text"),
    [("a", "a"), (None, "null"), ({"ä": [1]}, '{"ä": [1]}'), (Message(content=3), "3"), (range(2), "range(0, 2)"),
     (Limits(turns=1), '{"turns": 1, "tokens": null, "tool_calls": null, "seconds": null, "usd": null}'),
     (Enum("Colour", {"RED": "red"})["RED"], "red"), (Enum("Colour", {"RED": "red"}, type=str)["RED"], "red"),
     ("caf\udce9.txt", "caf?.txt"), (["caf\udce9.txt"], '["caf?.txt"]')],
)  # fmt: skip
def test_a_result_as_text(value: Any, text: str):
    assert f"{as_text(value)}" == text  # a member of a str enumeration equals its value


def test_the_async_class_gives_a_coroutine():
    async def main() -> Message:
        call: Any = AsyncActionExecutor(add)
        return await call(Message(content=content("add", a=1)))

    answer = asyncio.run(main())
    assert (answer.sender, answer.content.format_result()) == ("AsyncActionExecutor", "2")


def test_the_tools_of_an_executor():
    several = ActionExecutor([add, Tool.of(add).replace(name="plus")])
    assert (several.keys(), "plus" in several, "minus" in several) == (["add", "plus"], True, False)
    assert ActionExecutor().keys() == []
    assert ActionExecutor(add).add(aadd).name == "aadd"


# ---- bad calls are answers too
BAD: list[tuple[str, Any, ActionStatusCode, ActionValidCode, str]] = [
    ("nope", {}, ActionStatusCode.API_ERROR, ActionValidCode.INVALID, "The action is invalid, please check"),
    ("add", {}, ActionStatusCode.ARGS_ERROR, ActionValidCode.OPEN, "a: Field required"),
    ("add", {"a": 1, "c": 1}, ActionStatusCode.ARGS_ERROR, ActionValidCode.OPEN, "c: Extra inputs are not permitted"),
    ("add", "{'a': 1}", ActionStatusCode.ARGS_ERROR, ActionValidCode.OPEN, "Invalid JSON"),
    ("fails", {"text": "oh"}, ActionStatusCode.API_ERROR, ActionValidCode.OPEN, "oh"),
    ("fails", {"text": ""}, ActionStatusCode.API_ERROR, ActionValidCode.OPEN, "LookupError"),
]


@every_entry
@pytest.mark.parametrize(("name", "parameters", "state", "valid", "text"), BAD)
def test_a_bad_call_is_answered_with_what_was_wrong(
    entry: Entry, name: str, parameters: Any, state: ActionStatusCode, valid: ActionValidCode, text: str
):
    returned = entry(executor(), Message(content={"name": name, "parameters": parameters})).content
    assert (returned.state, returned.valid, returned.result) == (state, valid, None)
    assert text in returned.errmsg


@every_entry
@pytest.mark.parametrize(("name", "parameters", "state", "valid", "text"), BAD)
def test_a_model_reads_what_was_wrong(
    entry: Entry, name: str, parameters: Any, state: ActionStatusCode, valid: ActionValidCode, text: str
):
    arguments = parameters if isinstance(parameters, str) else json.dumps(parameters)
    model = ScriptedModel([ToolCallPart(0, "id-1", name, arguments), "I see"])
    assert entry(Agent(model, tools=[add, aadd, fails]), "x").content == "I see"
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
@every_entry
def test_a_killed_run_is_no_answer(entry: Entry):
    with pytest.raises(RunKilledError, match="enough"):
        entry(executor(), Message(content=content("kills")))


@every_entry
def test_a_reached_limit_is_no_answer(entry: Entry):
    with pytest.raises(LimitExceededError, match="tool_calls"):
        entry(executor(), Message(content=content("add", a=1)), limits=Limits(tool_calls=0))


# ---- one tool
@every_entry
def test_a_tool_call_is_a_node_with_two_events(entry: Entry):
    events: list[Event] = []
    record = RunRecord()
    entry(executor(), Message(content=content("add", a=1)), listeners=[record, events.append])
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


# ---- actions and kits
class Kit(BaseAction):
    """Some tools."""

    @tool_api
    def double(self, number: int) -> int:
        """Double a number."""
        return 2 * number

    @tool_api
    def fail(self) -> None:
        """Fail."""
        raise LookupError("oh")


class Shell(BaseAction):
    """Code that is noted, not run."""

    def __init__(self) -> None:
        super().__init__()
        self.ran: list[str] = []

    def run(self, command: str) -> str:
        """Run code."""
        self.ran.append(command)
        return f"ran {command}"


def call(executor: ActionExecutor, name: Any, parameters: Any) -> ActionReturn:
    return executor(Message(content={"name": name, "parameters": parameters})).content


OK = ActionStatusCode.SUCCESS, ActionValidCode.OPEN, None
API = ActionStatusCode.API_ERROR, ActionValidCode.OPEN
ARGS = ActionStatusCode.ARGS_ERROR, ActionValidCode.OPEN
INVALID = (
    ActionStatusCode.API_ERROR, ActionValidCode.INVALID, "The action is invalid, please check the action name.",
)  # fmt: skip
TABLE: list[tuple[Any, Any, tuple[Any, Any, Any], str, dict[str, Any] | None]] = [
    ("Kit.double", {"number": 2}, OK, "Kit", {"number": 2}),
    ("Kit.double", '```json\n{"number": 2}\n```', OK, "Kit", {"number": 2}),
    ("add", '```json\n{"a": 2}\n```', OK, "add", {"a": 2}),
    ("nope", {"a": 1}, INVALID, "InvalidAction", {"a": 1}),
    ("nope", "x", INVALID, "InvalidAction", {"inputs": "x", "name": "nope"}),
    (["add"], {}, INVALID, "InvalidAction", {}),
    (None, None, INVALID, "InvalidAction", None),
    ("Kit.nope", {}, (*API, "invalid API: nope"), "Kit", {}),
    ("Kit.double.twice", {}, (*API, "invalid API: double.twice"), "Kit", {}),
    ("Kit", {}, (*API, "invalid API: run"), "Kit", {}),
    ("Kit.double", "{", (*ARGS, "invalid json format: {"), "Kit", {"inputs": "{", "name": "double"}),
    ("Kit.double", [1], (*ARGS, "invalid json format: [1]"), "Kit", {"inputs": [1], "name": "double"}),
    ("Kit.double", {"number": 1, "x": 1}, (*ARGS, "unknown arguments: {'x'}"), "Kit", None),
    ("Kit.double", {}, (*ARGS, "missing required arguments: {'number'}"), "Kit", {}),
    ("Kit.fail", {}, (*API, "oh"), "Kit", {}),
    ("NoAction", {}, (ActionStatusCode.API_ERROR, ActionValidCode.INVALID, "Please follow the format"), "NoAction", {}),
    ("FinishAction", {"response": "42"}, (ActionStatusCode.SUCCESS, ActionValidCode.FINISH, None), "FinishAction",
     {"response": "42"}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "parameters", "outcome", "kind", "args"), TABLE)
def test_the_table_of_outcomes(name: Any, parameters: Any, outcome: Any, kind: str, args: dict[str, Any] | None):
    for finish in (True, False):
        returned = call(ActionExecutor([add, Kit()], finish_in_action=finish), name, parameters)
        assert (returned.state, returned.valid, returned.errmsg) == outcome
        assert returned.type == kind
        assert args is None or returned.args == args


def test_the_results_of_the_table():
    several = ActionExecutor([add, Kit()])
    assert call(several, "Kit.double", {"number": 2}).format_result() == "4"
    assert call(several, "FinishAction", {"response": "42"}).format_result() == "42"


def test_the_callers_list_stays_as_it_is():
    actions: list[Any] = [add]
    several = ActionExecutor(actions, finish_in_action=True)
    assert actions == [add]
    assert several.keys() == ["add", "FinishAction"]
    assert [each["name"] for each in several.description()] == ["add", "FinishAction"]


def test_what_stands_for_no_call_may_be_another():
    class Stop(FinishAction): ...

    several = ActionExecutor(
        add,
        invalid_action={"type": InvalidAction, "err_msg": "What?"},
        no_action=NoAction("Call something."),
        finish_action=Stop(),
        finish_in_action=True,
    )
    assert call(several, "nope", {}).errmsg == "What?"
    assert call(several, "NoAction", {}).errmsg == "Call something."
    assert call(several, "Stop", {"response": "x"}).valid is ActionValidCode.FINISH
    assert ActionExecutor(add).invalid_action.err_msg != "What?"  # type: ignore[attr-defined]  # pyright: ignore


def test_actions_may_be_configs_and_may_be_put_in_and_taken_out():
    several = ActionExecutor({"type": Kit})
    several["twin"] = Kit()
    several["plus"] = add
    assert (several.keys(), "Kit" in several, "Kit.double" in several) == (["Kit", "twin", "plus"], True, False)
    assert list(several.tools) == ["Kit.double", "Kit.fail", "twin.double", "twin.fail", "plus"]
    assert call(several, "twin.double", {"number": 4}).format_result() == "8"
    assert [each["name"] for each in several.description()][-1] == "add"
    del several["Kit"]
    several["twin"] = aadd
    assert list(several.tools) == ["plus", "twin"]
    with pytest.raises(UnknownToolError, match="no action 'Kit'; there are plus, twin") as error:
        del several["Kit"]
    assert isinstance(error.value, KeyError)


# ---- what a parser has found becomes a call
def found(action: Any, status: int = 1) -> dict[str, Any]:
    return {"tool_type": "shell", "thought": "Hm.", "action": action, "status": status}


def from_agent(formatted: Any) -> Message:
    return Message(content="…", sender="Agent", formatted=formatted)


PROCESSED: list[tuple[Any, str]] = [
    (found("ls"), "ran ls"),
    (found({"name": "Kit.double", "parameters": {"number": 2}}), "4"),
    (found({"name": "nope", "parameters": {}}), INVALID[2]),
    (found({"name": "Kit.double"}), "Please follow the format"),
    (found([1]), "Please follow the format"),
    (found(None, 0), "Please follow the format"),
    (found("rm", -1), "Please follow the format"),
]


@every_entry
@pytest.mark.parametrize(("formatted", "said"), PROCESSED)
def test_what_a_tool_parser_found_is_run(entry: Entry, formatted: Any, said: str):
    shell = Shell()
    several = ActionExecutor([shell, Kit()], hooks=InternLMActionProcessor())
    message = from_agent(formatted)
    answer = entry(several, message)
    assert (answer.content, answer.sender) == (said, "ActionExecutor")
    assert shell.ran == (["ls"] if said == "ran ls" else [])
    assert message == from_agent(formatted)


@pytest.mark.parametrize(
    "formatted",
    [FunctionCall("Kit.double", {"number": 2}), {"name": "Kit.double", "parameters": {"number": 2}},
     {"action": {"name": "Kit.double", "parameters": '{"number": 2}'}},
     {"action": FunctionCall("Kit.double", {"number": 2})}],
)  # fmt: skip
def test_what_names_a_call_is_run(formatted: Any):
    several = ActionExecutor(Kit(), hooks={"type": ActionPreprocessor})
    assert several(from_agent(formatted)).content == "4"
    assert several(from_agent({"action": {}})).content == "Please follow the format"


@pytest.mark.parametrize("hook", [ActionPreprocessor(), InternLMActionProcessor()])
@pytest.mark.parametrize("formatted", [None, "ls", {}, {"thought": "x"}, 3])
def test_a_message_that_went_through_no_parser_is_a_mistake_of_the_program(hook: Hook, formatted: Any):
    with pytest.raises(AssertionError, match="output_format"):
        ActionExecutor(Shell(), hooks=hook)(from_agent(formatted))


def test_the_parameter_for_code_may_be_named():
    several = ActionExecutor(fails, hooks=InternLMActionProcessor("text"))
    assert several(from_agent(found("oh"))).content == "oh"
    assert (
        ActionExecutor(hooks=InternLMActionProcessor())(from_agent(found("ls"))).content
        == "unknown arguments: {'command'}"
    )


class Own(Hook):
    """What a program writes, as in the documents."""

    def before_action(self, executor: Any, message: Message, session_id: Hashable) -> Message:
        message = message.copy(deep=True)
        message.content = {"name": "Shell", "parameters": {"command": message.formatted["action"]}}
        return message


class InPlace(Hook):
    """The same, and it hides who spoke."""

    def before_action(self, executor: Any, message: Message, session_id: Hashable) -> None:
        message.content = {"name": "Shell", "parameters": {"command": message.formatted["action"]}}
        message.sender = "Agent"


PERSONS = [Message(content="hi"), Message(content="hi", sender="User"), Message(content="hi", sender="system"),
           Message(content="hi", sender="Ada", entity=Entity.USER)]  # fmt: skip


@every_entry
@pytest.mark.parametrize("hook", [InternLMActionProcessor(), ActionPreprocessor(), Own(), InPlace()])
@pytest.mark.parametrize("person", PERSONS)
def test_what_comes_with_a_persons_message_is_never_run(entry: Entry, hook: Hook, person: Message):
    shell = Shell()
    formatted = {**found("rm"), "name": "Shell", "parameters": {"command": "rm"}}
    with pytest.raises(CallOriginError, match=f"message from '{person.sender}'"):
        entry(ActionExecutor(shell, hooks=hook), person.replace(formatted=formatted))
    assert shell.ran == []


@pytest.mark.parametrize("text", ['{"name": "Shell", "parameters": {"command": "rm"}}', '{"request": "Shell"}'])
def test_text_is_no_call_whoever_wrote_it(text: str):
    shell = Shell()
    for message in (Message(content=text), Message(content=text, sender="Agent", origin=Origin.MODEL)):
        with pytest.raises(AssertionError, match="not with"):
            ActionExecutor(shell)(message)
    assert shell.ran == []


@pytest.mark.parametrize("content", [{"name": "Shell"}, None, 3])
def test_what_is_no_call_is_named_in_the_error(content: Any):
    with pytest.raises(AssertionError, match=re.escape(f"not with {content!r}: ")):
        ActionExecutor(Shell())(Message(content=content, sender="Agent"))


def test_an_executor_may_be_given_alone_by_its_config():
    given: Any = {"type": ActionExecutor, "actions": [Shell()]}
    assert list(ActionExecutor(given).actions) == ["Shell"]


@pytest.mark.parametrize("hook", [InternLMActionProcessor(), Own(), InPlace()])
def test_what_an_agent_wrote_is_run(hook: Hook):
    shell = Shell()
    for message in (from_agent(found("ls")), Message(content="…", formatted=found("ls"), origin=Origin.MODEL)):
        ActionExecutor(shell, hooks=hook)(message)
    assert shell.ran == ["ls", "ls"]


# ---- and a whole turn: model, parser, executor, aggregator
class Coder(Agent):
    def __init__(self, model: ScriptedModel) -> None:
        self.shell = Shell()
        parser = MixedToolParser(
            parsers=[PluginParser(begin="[[", end="]]"), ToolParser("shell", begin="<<", end=">>")]
        )
        self.agent = Agent(model, output_format=parser, aggregator=InternLMToolAggregator("user"))
        self.executor = ActionExecutor([self.shell, Kit()], hooks=[InternLMActionProcessor()])
        super().__init__()  # last: what was set before stays

    def forward(self, message: Message, session_id: Hashable = 0) -> Message:  # type: ignore[override]  # pyright: ignore
        message = self.agent(message, session_id=session_id)
        while message.formatted["tool_type"] is not None:
            message = self.agent(self.executor(message, session_id=session_id), session_id=session_id)
        return message


@every_entry
def test_a_model_that_writes_its_calls_as_text_is_served(entry: Entry):
    model = ScriptedModel(["a<<ls>>", 'b[[{"name": "Kit.double", "parameters": {"number": 4}}]]', "c[[oops]]", "done"])
    coder = Coder(model)
    assert entry(coder, "go <<rm>>", session_id=7).content == "done"
    assert coder.shell.ran == ["ls"]
    assert [message["content"] for message in model.requests[-1].messages] == [
        "go <<rm>>", "a<<ls>>", "ran ls", 'b[[{"name": "Kit.double", "parameters": {"number": 4}}]]', "8",
        "Please follow the format",
    ]  # fmt: skip
    assert len(coder.state_dict(7)["agent.memory"]) == 8


@pytest.mark.parametrize("parameters", ["done", '{"response": "done"}', {"response": "done"}])
def test_a_run_is_ended_with_text_or_by_name(parameters: Any):
    returned = call(ActionExecutor([]), "FinishAction", parameters)
    assert (returned.format_result(), returned.valid) == ("done", ActionValidCode.FINISH)


def test_the_answer_to_no_call_does_not_depend_on_the_form_of_its_parameters():
    returned = call(ActionExecutor([]), "NoAction", "write JSON, please")
    assert (returned.errmsg, returned.state) == ("write JSON, please", ActionStatusCode.API_ERROR)
    assert returned.valid is ActionValidCode.INVALID


def test_an_executor_gives_its_actions():
    def add(a: int, b: int) -> int:
        return a + b

    first = ActionExecutor([add])
    assert list(ActionExecutor(first).tools) == ["add"]
    assert list(Agent(ScriptedModel([]), tools=cast("Any", first)).executor.tools) == ["add"]
    agent: Any = AgentForInternLM(ScriptedModel([]), plugins=first)
    assert list(agent.plugin_executor.tools) == ["add"]
    with pytest.raises(ToolDefinitionError, match="give its actions"):
        ActionExecutor([first, add])
