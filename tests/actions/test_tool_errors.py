"""Errors of tools that nobody expects: they are logged, stand on their node, and go to the model or end the run."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from trivium import Agent, ChatAgent, Hook, Message, Task, ToolMessage
from trivium.actions import ActionExecutor, attempt_tool, run_tool, tool
from trivium.actions._tool import Tool
from trivium.commander import EndedEvent, NodeState
from trivium.exceptions import (
    ConfigurationError,
    FetchError,
    ToolArgumentsError,
    ToolEndedError,
    ToolError,
    ToolFailedError,
    ToolNotApprovedError,
)
from trivium.journal import Journal
from trivium.testing import ScriptedModel, call_tool

Ended: TypeAlias = list[tuple[str, NodeState, BaseException | None]]


def broken(number: int) -> int:
    """Fail as a program fails that has a mistake."""
    return dict[int, int]()[number]


async def broken_async(number: int) -> int:
    """The same, awaited."""
    return dict[int, int]()[number]


def one() -> int:
    return 1


class Mute:
    def __str__(self) -> str:
        raise RuntimeError("no words")


class Broken(ToolMessage):
    request: str = "broken"
    purpose: str = "To fail on <number>."
    number: int

    def handle(self) -> int:
        return dict[int, int]()[self.number]


class Passing(ToolMessage):
    request: str = "passing"
    purpose: str = "To leave the work to another tool."

    def handle(self) -> Broken:
        return Broken(number=1)


def agent_of(*answers: Any, **options: Any) -> Agent:
    return Agent(ScriptedModel(list(answers)), tools=[broken, broken_async], **options)


def chat_agent_of(*answers: Any) -> ChatAgent:
    agent = ChatAgent(ScriptedModel(list(answers)))
    agent.enable_message([Broken, Passing])
    return agent


def ended_tools(call: Callable[[Any], Any]) -> Ended:
    """The nodes of tools that ended during a call, which gets the listener."""
    found: Ended = []

    def listen(event: Any) -> None:
        if isinstance(event, EndedEvent) and event.name.startswith("tool:"):
            found.append((event.name, event.node.state, event.node.exception))

    call(listen)
    return found


@pytest.mark.parametrize("name", ["broken", "broken_async"])
def test_an_unexpected_error_goes_to_the_model_is_logged_and_stands_on_its_node(
    name: str, caplog: pytest.LogCaptureFixture
):
    agent = agent_of(call_tool(name, number=7), "I see")
    nodes = ended_tools(lambda listen: agent("go", listeners=[listen]))
    (record,) = [each for each in caplog.records if each.name == "trivium.tools"]
    assert record.levelno == logging.WARNING
    assert record.getMessage() == f"the tool {name} raised KeyError: 7"
    assert record.exc_info is not None
    assert "return dict[int, int]()[number]" in caplog.text, "the traceback says where"
    ((_, state, error),) = nodes
    assert (state, type(error)) == (NodeState.EXCEPTION, KeyError)
    received = agent.memory.get(0).get_memory()[2]  # pyright: ignore[reportOptionalMemberAccess]
    assert received.content == "error: KeyError: 7"


@pytest.mark.parametrize("kind", ["started", "tool_call", "tool_result", "ended"])
def test_a_listener_that_fails_at_a_tool_changes_neither_its_result_nor_its_record(kind: str, tmp_path: Path):
    paid = list[int]()

    @tool(effect="once")
    def pay(euros: int) -> str:
        paid.append(euros)
        return "paid"

    def listen(event: Any) -> None:
        if event.kind == kind and event.name == "tool:pay":
            raise LookupError("the log is full")

    for _ in range(2):  # the second repeats what is recorded
        agent = Agent(ScriptedModel([call_tool("pay", euros=5), "done"]), tools=[pay])
        with Journal(tmp_path / "runs.db") as journal:
            assert agent("go", listeners=[listen], run_id="r", journal=journal).content == "done"
        received = agent.memory.get(0).get_memory()[2]  # pyright: ignore[reportOptionalMemberAccess]
        assert (paid, received.content) == ([5], "paid")


class Late(Hook):
    def after_action(self, executor: Any, message: Message, session_id: Any) -> Message:
        raise ValueError("the hook is broken")


def test_the_call_before_a_hook_that_fails_after_it_stays_in_the_memory():
    agent = Agent(ScriptedModel([call_tool("one"), "I see"]), tools=[one])
    agent.executor.register_hook(Late())
    with pytest.raises(ValueError, match="the hook is broken") as raised:
        agent("go")
    assert raised.value.__notes__[0] == "the tool one has run"
    _, call, result = agent.memory.get_memory(0)
    assert [each.name for each in call.tool_calls] == ["one"]
    assert result.content.startswith("error: the tool one has run")
    assert agent("again").content == "I see"


def test_an_error_that_a_tool_raises_for_the_model_is_not_logged(caplog: pytest.LogCaptureFixture):
    def closed(day: str) -> str:
        raise ToolError("closed on Sundays")

    def fetch(day: str) -> str:
        raise FetchError("no such page")

    agent = Agent(
        ScriptedModel([call_tool("closed", day="Sunday"), call_tool("fetch", day="x"), call_tool("fetch"), "ok"]),
        tools=[closed, fetch],
    )
    agent.executor.on_tool_error = "raise"
    assert agent("open?").content == "ok"
    assert not caplog.records


def test_a_mistake_in_the_program_is_unexpected_though_trivium_names_it(caplog: pytest.LogCaptureFixture):
    def misused() -> str:
        raise ConfigurationError("no such setting")

    with pytest.raises(ToolFailedError, match="the tool misused raised ConfigurationError: no such setting"):
        asyncio.run(attempt_tool(Tool.of(misused), {}, on_error="raise"))
    assert "Traceback" in caplog.text


def test_a_result_that_cannot_be_rendered_is_logged_with_its_cause(caplog: pytest.LogCaptureFixture):
    def mute() -> Mute:
        return Mute()

    executor = ActionExecutor(mute)
    answer = executor(Message(content={"name": "mute", "parameters": {}})).content
    assert "cannot be" in answer.errmsg
    assert "no words" in caplog.text
    assert "Traceback" in caplog.text


def exits() -> None:
    raise SystemExit(3)


class Exits(ToolMessage):
    request: str = "exits"
    purpose: str = "To end the program."

    def handle(self) -> None:
        exits()


def exiting_agent(**options: Any) -> Agent:
    return Agent(ScriptedModel([call_tool("exits"), "ok"]), tools=[exits], **options)


def exiting_task(**options: Any) -> Task[Any]:
    agent = ChatAgent(ScriptedModel([call_tool("exits"), "DONE"]), **options)
    agent.enable_message(Exits)
    return Task(agent, interactive=False)


def unapproved(error: BaseException, **options: Any) -> Agent:
    def approve(request: Any) -> bool:
        raise error

    tools = [Tool.of(exits).replace(needs_approval=True)]
    return Agent(ScriptedModel([call_tool("exits"), "ok"]), tools=tools, approve=approve, **options)


EXIT = "the tool exits tried to end the program (exit status 3)"
NO_TERMINAL, EXITS = (
    "not approved: the approver failed: no terminal",
    "not approved: the approver failed: SystemExit(3)",
)
OUTSIDE: dict[str, tuple[Callable[..., Agent | Task[Any]], str, type[BaseException]]] = {
    "a tool that ends the program": (exiting_agent, EXIT, SystemExit),
    "a handler that does": (exiting_task, EXIT, SystemExit),
    "an approver that fails": (partial(unapproved, OSError("no terminal")), NO_TERMINAL, ToolNotApprovedError),
    "an approver that ends the program": (partial(unapproved, SystemExit(3)), EXITS, ToolNotApprovedError),
}


@pytest.mark.parametrize("case", OUTSIDE)
def test_an_exit_and_a_failing_approver_are_unexpected_errors_of_the_tool(case: str, caplog: pytest.LogCaptureFixture):
    make, told, kind = OUTSIDE[case]
    logged = f"the tool exits raised {kind.__name__}: {3 if kind is SystemExit else told}"
    module = make()
    nodes = ended_tools(lambda listen: module("go", listeners=[listen]))
    model = (module.agent if isinstance(module, Task) else module).llm
    assert model.requests[-1].messages[-1]["content"] == f"error: {told}"
    (record,) = [each for each in caplog.records if each.name == "trivium.tools"]
    assert (record.levelno, record.getMessage()) == (logging.WARNING, logged)
    assert "raise error" in caplog.text or "raise SystemExit(3)" in caplog.text, "the traceback says where"
    of_node = ToolEndedError if kind is SystemExit else kind
    assert [(state, type(error)) for _, state, error in nodes] == [(NodeState.EXCEPTION, of_node)]
    with pytest.raises(ToolFailedError, match=re.escape(logged)) as caught:
        make(on_tool_error="raise")("go")
    cause = caught.value.__cause__
    assert isinstance(cause, of_node)
    assert isinstance(cause.__cause__ if of_node is ToolEndedError else cause, kind)


@pytest.mark.parametrize("parallel", [False, True])
def test_raise_ends_the_run_with_the_error_chained_and_no_call_without_an_answer(parallel: bool):
    def fine(number: int) -> int:
        return number

    calls = [call_tool("fine", 0, number=1), call_tool("broken", 1, number=7), call_tool("fine", 2, number=2)]
    agent = Agent(ScriptedModel([calls, "again"]), tools=[fine, broken], parallel=parallel)
    agent.executor.on_tool_error = "raise"
    with pytest.raises(ToolFailedError, match="the tool broken raised KeyError: 7") as caught:
        agent("go")
    assert isinstance(caught.value.__cause__, KeyError)
    assert caught.value.tool == "broken"
    remembered = agent.memory.get(0).get_memory()  # pyright: ignore[reportOptionalMemberAccess]
    ids = [call.id for each in remembered for call in each.tool_calls]
    assert ids == [each.tool_call_id for each in remembered if each.tool_call_id], "every call has its answer"
    agent.executor.on_tool_error = "answer"
    assert agent("go on").content == "again", "and the session can go on"


def test_raise_ends_the_run_of_a_caller_too(caplog: pytest.LogCaptureFixture):
    inner = agent_of(call_tool("broken", number=7))
    inner.executor.on_tool_error = "raise"

    @tool
    def ask(question: str) -> str:
        return str(inner(question).content)

    outer = Agent(ScriptedModel([call_tool("ask", question="?"), "never"]), tools=[ask])
    with pytest.raises(ToolFailedError) as caught:
        outer("go")
    assert isinstance(caught.value.__cause__, KeyError)
    assert len(caplog.records) == 1, "logged once, where it was raised"


@pytest.mark.parametrize("request_name", ["broken", "passing"])
def test_the_handler_of_a_tool_message_runs_as_a_tool_does(request_name: str, caplog: pytest.LogCaptureFixture):
    arguments = {"number": 7} if request_name == "broken" else {}
    agent = chat_agent_of(call_tool(request_name, **arguments), "DONE sorry")
    seen: list[str] = []

    def listen(event: Any) -> None:
        if isinstance(event, EndedEvent) and event.name == "tool:broken":
            seen.append(f"{event.node.state.value} {type(event.node.exception).__name__}")

    result = Task(agent, interactive=False).run("go", listeners=[listen])
    assert result is not None
    assert seen == ["EXCEPTION KeyError"]
    assert [each.getMessage() for each in caplog.records] == [
        f"the tool broken raised KeyError: {7 if request_name == 'broken' else 1}"
    ]


@pytest.mark.parametrize("request_name", ["broken", "passing"])
def test_raise_ends_a_task_whose_handler_fails(request_name: str):
    arguments = {"number": 7} if request_name == "broken" else {}
    agent = chat_agent_of(call_tool(request_name, **arguments), "never")
    agent.executor.on_tool_error = "raise"
    with pytest.raises(ToolFailedError, match="the tool broken raised KeyError"):
        Task(agent, interactive=False).run("go")


def test_arguments_that_do_not_fit_never_end_a_run():
    with pytest.raises(ToolArgumentsError):
        asyncio.run(run_tool(Tool.of(broken), {"number": "x"}, on_error="raise"))


def test_another_word_for_what_errors_do_is_refused():
    with pytest.raises(ConfigurationError, match='"answer" or "raise", not \'ignore\''):
        ActionExecutor(on_tool_error="ignore")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
