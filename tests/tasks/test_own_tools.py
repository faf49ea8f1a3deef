"""A `ToolMessage` class in `tools=[…]` runs within the agent's call, and else behaves as one that is enabled."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from trivium import Agent, AgentDoneTool, ChatAgent, ChatAgentConfig, FinalResultTool, Message, Task, ToolMessage
from trivium.actions import SendTool
from trivium.exceptions import AnswerFormatError, ToolDefinitionError
from trivium.testing import ScriptedModel, call_tool


class Square(ToolMessage):
    request: str = "square"
    purpose: str = "To square a <number>."
    number: int

    def handle(self) -> Any:
        return str(self.number**2)


class Ending(Square):
    def handle(self) -> AgentDoneTool:
        return AgentDoneTool(content=f"the end: {self.number}")


class EndingAll(Square):
    def handle(self) -> FinalResultTool:
        return FinalResultTool(content="the end of all")


class Sending(Square):
    def handle(self) -> SendTool:
        return SendTool(to="User", content="for the user")


class Long(Square):
    _max_result_tokens = 5

    def handle(self) -> str:
        return "word " * 100


class Silent(Square):
    def handle(self) -> None:
        return None


class Explaining(ChatAgent):
    def tool_validation_error(self, ve: Exception, tool_class: Any = None) -> str:
        return "a whole number, please"


class Handling(ChatAgent):
    def square(self, message: Square) -> str:
        return "by the agent"


CALL = call_tool("square", number=3)
TEXT = json.dumps({"request": "square", "number": 3})
AS_TEXT = {"use_tools": True, "use_functions_api": False}

Case = tuple[type[Agent[Any]], type[ToolMessage], list[Any], dict[str, Any], str]
CASES: dict[str, Case] = {
    "a result": (ChatAgent, Square, [CALL, "DONE 9"], {}, "9"),
    "a result of the agent's method": (Handling, Square, [CALL, "DONE 9"], {}, "by the agent"),
    "a done tool ends the task": (ChatAgent, Ending, [CALL, "DONE later"], {}, ""),
    "it does so of any agent": (Agent, Ending, [CALL, "DONE later"], {}, ""),
    "a final result ends the task": (ChatAgent, EndingAll, [CALL, "DONE later"], {}, ""),
    "a result is cut": (ChatAgent, Long, [CALL, "DONE"], {}, "left out"),
    "a method words the error": (Explaining, Square, [call_tool("square", number="x"), "DONE"], {}, "a whole number"),
    "calls are written as text": (ChatAgent, Square, [TEXT, "DONE 9"], AS_TEXT, "9"),
    "by any agent": (Agent, Square, [TEXT, "DONE 9"], AS_TEXT, "9"),
}


def made(kind: type[Agent[Any]], tool: type[ToolMessage], script: list[Any], how: str, **config: Any) -> Any:
    given = ChatAgentConfig(llm=ScriptedModel(list(script)), **config)
    agent = kind(given, memory=True, tools=[tool] if how == "tools" else ())
    if how == "enabled":
        agent.enable_message(tool)
    return agent


def seen(agent: Any) -> list[str]:
    return [str(each["content"]) for each in agent.llm.requests[-1].messages if each["role"] != "system"]


@pytest.mark.parametrize("case", CASES)
def test_both_ways_give_the_same_task(case: str):
    kind, tool, script, config, read = CASES[case]
    outcomes: list[Any] = []
    for how in ("tools", "enabled"):
        agent = made(kind, tool, script, how, **config)
        result = Task(agent, interactive=False)("go")
        offered = [[each.name for each in request.tools] for request in agent.llm.requests]
        described = "To square a <number>." in str(agent.llm.requests[0].messages[0])
        outcomes.append((result.content, result.status, len(result.tool_messages), offered, described, seen(agent)))
        assert read in seen(agent)[-1] or not read
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("case", ["a result", "a done tool ends the task", "calls are written as text"])
def test_the_agents_own_call_runs_it(case: str):
    kind, tool, script, config, _ = CASES[case]
    agent = made(kind, tool, script, "tools", **config)
    answer = agent("go")
    assert answer.content == ("the end: 3" if tool is Ending else "DONE 9")
    assert not answer.tool_calls
    assert answer.sender == agent.name
    assert agent("and now?").content == script[-1]  # the history is in order
    assert made(kind, tool, script, "enabled", **config)("go").tool_calls, "an enabled one is left to a task"


def test_a_tool_that_addresses_somebody_ends_the_call():
    answer = made(ChatAgent, Sending, [CALL], "tools")("go")
    assert (answer.content, answer.receiver) == ("for the user", "User")


def test_one_name_is_sent_once():
    agent = made(ChatAgent, Square, [CALL, "DONE 9"], "tools")
    agent.enable_message(Square)
    assert agent("go").content == "DONE 9"
    assert [[each.name for each in request.tools] for request in agent.llm.requests] == [["square"]] * 2


def test_a_function_and_a_tool_message_of_one_name_are_refused():
    def square(number: int) -> int:
        """Square a number."""
        return number**2

    agent = ChatAgent(ScriptedModel(["x"]), tools=[square])
    agent.enable_message(Square)
    with pytest.raises(ToolDefinitionError, match="two tools have the name square"):
        agent("go")
    with pytest.raises(ToolDefinitionError, match="two tools have the name square"):
        ChatAgent(ScriptedModel(["x"]), tools=[Square, Ending])


def twin_square(message: Square) -> str:
    return "by the twin"


def test_a_copy_runs_its_own_method():
    agent = made(Handling, Square, [CALL, "DONE"], "tools")
    twin = copy.copy(agent)
    twin.square = twin_square
    twin("go", session_id="twin")
    assert seen(agent)[-1] == "by the twin"


def test_a_result_of_nothing_is_an_answer_too():
    agent = made(ChatAgent, Silent, [CALL, "DONE"], "tools")
    assert agent("go").content == "DONE"
    assert agent.llm.requests[-1].messages[-1]["tool_call_id"]


def test_calls_that_never_fit_are_an_error():
    agent = made(ChatAgent, Square, [call_tool("square", number="x")] * 9, "tools")
    with pytest.raises(AnswerFormatError, match="still do not fit"):
        agent("go")
    assert len(agent.llm.requests) == 3


def test_a_typed_agent_has_its_value_after_its_own_tools():
    agent = ChatAgent[int](ScriptedModel([CALL, '{"value": 9}']), tools=[Square])
    assert agent("3 * 3?").output == 9
    assert isinstance(agent("3 * 3?"), Message)
