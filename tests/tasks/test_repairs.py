"""The limit of repairs: a model whose answers and calls never fit costs three requests, in an agent and in a task."""

from __future__ import annotations

from typing import Any

import pytest

from trivium import Agent, ChatAgent, ChatAgentConfig, Task, ToolMessage
from trivium.commander import Limits
from trivium.exceptions import AnswerFormatError
from trivium.llms import ToolCallPart
from trivium.schema import Entity
from trivium.testing import ScriptedModel, call_tool


class Square(ToolMessage):
    request: str = "square"
    purpose: str = "To square a <number>."
    number: int

    def handle(self) -> str:
        return str(self.number**2)


def square(number: int) -> int:
    """Square a number."""
    return number**2


def cube(number: int) -> int:
    """Cube a number."""
    return number**3


BAD: dict[str, Any] = {
    "no JSON": ToolCallPart(0, "1", "square", "{'number': 3}"),
    "a name twice": ToolCallPart(0, "1", "square", '{"number": 3, "number": 4}'),
    "a value of another type": call_tool("square", number="three"),
    "an unknown tool": call_tool("cube", number=3),
    "an unknown tool and no arguments": ToolCallPart(0, "1", "cube", ""),
}
BAD_TEXTS: dict[str, str] = {
    "an end too few": '{"request": "square", "number": 3',
    "an end too few, in a fence": '```json\n{"request": "square", "number": 3\n```',
    "an end too few, in a frame": '<tool_call>{"request": "square", "number": 3</tool_call>',
    "no value": '{"request": "square", "number": }',
    "the name last": '{"number": 3, "request": "square",}',
    "text behind it": '{"request": "square", "number": 3} is what I call',
    "a call and a half": '{"request": "square", "number": 3}\n{"request": "square"',
    "a good call and a bad one": '{"request": "square", "number": 3}{"request": "square", "number": "x"}',
    "no JSON": "{'request': 'square', 'number': 3}",
    "a name twice": '{"request": "square", "number": 3, "number": 4}',
    "a value of another type": '{"request": "square", "number": "three"}',
    "an argument too few": '{"request": "square"}',
}


def in_task(model: ScriptedModel, **config: Any) -> Task[Any]:
    agent = ChatAgent(ChatAgentConfig(name="A", llm=model, **config))
    agent.enable_message(Square)
    return Task(agent, interactive=False)


@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("kind", ["agent", "task"])
def test_calls_that_never_fit_end_after_two_repairs(kind: str, case: str):
    model = ScriptedModel([BAD[case]])
    run = Agent(model, tools=[square]) if kind == "agent" else in_task(model)
    with pytest.raises(
        AnswerFormatError, match=r"Use a stronger model, simpler tools, or Agent\(repairs=…\)"
    ) as caught:
        run("3 * 3?")
    assert len(model.requests) == 3
    assert "cube" in caught.value.raw or "square" in caught.value.raw


@pytest.mark.parametrize("case", BAD_TEXTS)
def test_calls_as_text_that_never_fit_end_after_two_repairs(case: str):
    model = ScriptedModel([BAD_TEXTS[case]])
    with pytest.raises(AnswerFormatError, match="do not fit") as caught:
        in_task(model, use_tools=True)("3 * 3?")
    assert len(model.requests) == 3
    assert "square" in caught.value.raw


@pytest.mark.parametrize("kind", ["agent", "task"])
def test_a_call_that_fits_begins_the_count_anew(kind: str):
    bad, good = BAD["no JSON"], call_tool("square", number=3)
    model = ScriptedModel([bad, bad, good, bad, bad, good, "DONE 9"])
    run = Agent(model, tools=[square]) if kind == "agent" else in_task(model)
    assert run("3 * 3?").content.endswith("9")
    assert len(model.requests) == 7


@pytest.mark.parametrize("kind", ["agent", "task"])
def test_a_good_call_beside_a_bad_one_begins_nothing_anew(kind: str):
    model = ScriptedModel([[call_tool("square", number=3), ToolCallPart(1, "2", "square", "{")]])
    run = Agent(model, tools=[square]) if kind == "agent" else in_task(model)
    with pytest.raises(AnswerFormatError, match="do not fit"):
        run("3 * 3?")
    assert len(model.requests) == 3


GOOD_AND_BAD: dict[str, Any] = {
    "as text": '{"request": "square", "number": 3}\n{"request": "square", "number": "x"}',
    "as text, an unknown tool": '{"request": "square", "number": 3}\n{"request": "cube"}',
}


@pytest.mark.parametrize("kind", ["task", "agent"])
@pytest.mark.parametrize("case", GOOD_AND_BAD)
def test_a_good_call_in_a_text_does_not_run_until_all_calls_of_it_fit(case: str, kind: str):
    """The model is told that it did not run, so that it neither runs twice nor is lost."""
    ran: list[int] = []

    class Squares(Square):
        def handle(self) -> str:
            ran.append(self.number)
            return str(self.number**2)

    model = ScriptedModel([*[GOOD_AND_BAD[case]] * 2, '{"request": "square", "number": 3}', "DONE 9"])
    config = ChatAgentConfig(name="A", llm=model, use_tools=True)
    agent = ChatAgent(config, tools=[Squares] if kind == "agent" else ())
    if kind == "task":
        agent.enable_message(Squares)
    if kind == "task" and "unknown" in case:  # as in Langroid, it is ignored beside a good one
        return
    Task(agent, interactive=False)("3 * 3?")
    assert ran == [3]
    assert "not run" in str(model.requests[1].messages)


def test_a_bad_call_of_a_function_beside_a_good_tool_message_is_a_repair():
    model = ScriptedModel([[call_tool("square", number=3), ToolCallPart(1, "2", "cube", '{"number": "x"}')]])
    agent = ChatAgent(ChatAgentConfig(name="A", llm=model), tools=[cube])
    agent.enable_message(Square)
    with pytest.raises(AnswerFormatError, match="cube"):
        Task(agent, interactive=False)("3 * 3?")
    assert len(model.requests) == 3


def typed(model: ScriptedModel, kind: str) -> Any:
    """An agent that squares and answers with a number: by itself, or in a task with a function or a tool message."""
    if kind == "agent":
        return Agent[int](model, tools=[square])
    agent = ChatAgent[int](ChatAgentConfig(name="A", llm=model), tools=[square] if kind == "function" else ())
    if kind == "function":
        return Task(agent, interactive=False, done_if_response=[Entity.LLM])
    agent.enable_message(Square)
    return Task(agent, interactive=False)


KINDS = ["agent", "function", "tool message"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "answers",
    [
        [BAD["no JSON"], BAD["an unknown tool"], "no number"],
        [BAD["no JSON"], "no number", "no number"],
        ["no number", BAD["no JSON"], "no number"],
        ["no number", "no number", BAD["no JSON"]],
        ["no number", BAD["no JSON"], BAD["no JSON"]],
    ],
)
def test_answers_and_calls_have_one_limit(kind: str, answers: list[Any]):
    model = ScriptedModel([*answers, "42"])
    with pytest.raises(AnswerFormatError, match=r"Agent\(repairs=…\)"):
        typed(model, kind)("3 * 3?")
    assert len(model.requests) == 3


@pytest.mark.parametrize("kind", KINDS[:2])
def test_a_good_call_between_bad_answers_begins_anew(kind: str):
    good, bad = call_tool("square", number=3), "no number"
    model = ScriptedModel([bad, bad, good, bad, BAD["no JSON"], good, bad, '{"value": 9}'])
    assert "9" in typed(model, kind)("3 * 3?").content
    assert len(model.requests) == 8


def test_repairs_of_answers_are_no_rounds():
    model = ScriptedModel(["no number", "no number", '{"value": 9}'])
    assert Agent[int](model, max_rounds=1)("3 * 3?").output == 9


def test_one_tool_at_a_time_is_a_repair():
    model = ScriptedModel([[call_tool("square", number=3), ToolCallPart(1, "2", "square", '{"number": 4}')]])
    agent = ChatAgent(ChatAgentConfig(name="A", llm=model, allow_multiple_tools=False))
    agent.enable_message(Square)
    with pytest.raises(AnswerFormatError, match="one tool at a time"):
        Task(agent, interactive=False)("3 * 3?")
    assert len(model.requests) == 3


@pytest.mark.parametrize("repairs", [0, 5])
def test_the_limit_is_an_option(repairs: int):
    model = ScriptedModel([BAD["no JSON"]])
    with pytest.raises(AnswerFormatError):
        Agent(model, tools=[square], repairs=repairs)("3 * 3?")
    assert len(model.requests) == repairs + 1
    model = ScriptedModel(["no number"])
    with pytest.raises(AnswerFormatError):
        Agent[int](model, repairs=repairs)("3 * 3?")
    assert len(model.requests) == repairs + 1


def test_the_history_is_whole_after_the_error_and_the_session_goes_on():
    bad = BAD["a value of another type"]
    agent = Agent(ScriptedModel([bad, bad, bad, "9"]), tools=[square])
    with pytest.raises(AnswerFormatError):
        agent("3 * 3?")
    assert agent("and now?").content == "9"


def test_repairs_count_through_a_sub_task():
    model = ScriptedModel(lambda request: call_tool("square", number="x" * len(request.messages)))
    boss = ChatAgent(ChatAgentConfig(name="Boss", llm=model))
    boss.enable_message(Square, handle=False)
    worker = ChatAgent(ChatAgentConfig(name="Worker", llm=None))
    worker.enable_message(Square, use=False)
    task = Task(boss, interactive=False)
    task.add_sub_task(Task(worker, interactive=False, single_round=True))
    with pytest.raises(AnswerFormatError):
        task("3 * 3?", limits=Limits(turns=20))
    assert len(model.requests) == 3
