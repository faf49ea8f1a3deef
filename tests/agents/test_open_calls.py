"""Providers refuse a history in which a tool call has no result, so none leaves us."""

from __future__ import annotations

from typing import Any

import pytest

from trivium import ChatAgent, ChatAgentConfig, Task, ToolMessage
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
        ([call_tool("zzz", x=1)], {"call_0": "error: there is no tool 'zzz'; there are note"}),
        (
            [call_tool("note", x=1), call_tool("zzz", 1, x=1)],
            {"call_0": "noted", "call_1": "error: not run; call it alone, or another tool"},
        ),
        (
            [call_tool("zzz", x=1), call_tool("note", 1, x=1)],
            {"call_0": "error: not run; call it alone, or another tool", "call_1": "noted"},
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


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@pytest.mark.parametrize("first", [0, 1])
def test_functions_and_tool_messages_of_one_answer_all_run(first: int):
    calls = [call_tool("note", first, x=1), call_tool("add", 1 - first, a=1, b=2)]
    model = ScriptedModel([sorted(calls, key=lambda call: call.index), "DONE"])
    agent = ChatAgent(model, tools=[add])
    agent.enable_message(Note)
    Task(agent, interactive=False).run("go")
    told = [each["content"] for each in model.requests[-1].messages if each["role"] == "tool"]
    assert told == (["noted", "3"] if first == 0 else ["3", "noted"])


def test_a_sub_tasks_model_reads_a_result_without_a_call_as_text():
    """The call stands in the history of the task above; a provider refuses a result without its call."""
    boss = ChatAgent(ScriptedModel([call_tool("note", x=1), "DONE"]), name="Boss")
    boss.enable_message(Note, handle=False)
    model = ScriptedModel(["DONE it is noted"])
    below = ChatAgent(model, name="Below")
    below.enable_message(Note, use=False)
    task = Task(boss, interactive=False)
    task.add_sub_task(Task(below, interactive=False))
    task.run("go")
    assert [(each["role"], each["content"]) for each in model.requests[0].messages[1:]] == [("user", "noted")]
    told = boss.llm.requests[-1].messages[-1]
    assert (told["role"], told["content"]) == ("tool", "it is noted")


def test_a_handler_knows_the_id_of_its_call():
    seen: list[str] = []

    class Keeping(Note):
        request: str = "keep"

        def handle(self) -> str:
            seen.append(self.id)
            return "kept"

    agent = ChatAgent(ScriptedModel([call_tool("keep", x=1), "DONE"]))
    agent.enable_message(Keeping)
    Task(agent, interactive=False).run("go")
    assert seen == ["call_0"]


def test_nobody_is_called_system():
    agent = ChatAgent(ScriptedModel(["__SEND__:System go", "DONE"]))
    result = Task(agent, interactive=False).run("go")
    assert result is not None
    assert "Invalid recipient: System" in str([each.content for each in agent.message_history])


class Pay(ToolMessage):
    request: str = "pay"
    purpose: str = "To pay somebody."
    to: str


class Worker(ChatAgent):
    """It pays, and has no model."""

    def __init__(self) -> None:
        super().__init__(ChatAgentConfig(name="Worker", llm=None))
        self.paid: list[str] = []
        self.enable_message(Pay, use=False)

    def pay(self, message: Pay) -> str:
        self.paid.append(message.to)
        return "paid"


PAY = [call_tool("pay", to="Ada"), '{"request": "pay", "to": "Ada"}']


@pytest.mark.parametrize("single_round", [False, True])
@pytest.mark.parametrize("call", PAY)
def test_a_sub_task_without_a_model_gives_the_result_of_its_tool(call: Any, single_round: bool):
    """It has done its work: the call must not be made again because nobody there says that it is done."""
    config = ChatAgentConfig(name="Boss", llm=ScriptedModel([call, "DONE"]), use_tools=isinstance(call, str))
    boss, worker = ChatAgent(config), Worker()
    boss.enable_message(Pay, handle=False)
    helper = ChatAgent(ScriptedModel(["no idea"]), name="Helper")
    task = Task(boss, interactive=False)
    task.add_sub_task([Task(helper, interactive=False, single_round=True)])
    task.add_sub_task(Task(worker, interactive=False, single_round=single_round))
    result = task.run("Pay Ada.")
    assert result is not None
    assert worker.paid == ["Ada"]
    assert boss.message_history[-2].content == "paid"


def test_a_sub_tasks_result_is_that_of_the_call_which_it_handles():
    model = ScriptedModel([[call_tool("note", 0, x=1), call_tool("pay", 1, to="Ada")], "DONE"])
    boss, worker = ChatAgent(model, name="Boss"), Worker()
    boss.enable_message([Note, Pay], handle=False)
    task = Task(boss, interactive=False)
    task.add_sub_task(Task(worker, interactive=False, single_round=True))
    task.run("go")
    told = {each["tool_call_id"]: each["content"] for each in model.requests[-1].messages if each["role"] == "tool"}
    assert told == {"call_0": "error: not run; call it alone, or another tool", "call_1": "paid"}
