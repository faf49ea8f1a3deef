"""Providers refuse a history in which a tool call has no result, so none leaves us."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from time import process_time
from typing import Any

import pytest

from trivium import Agent, ChatAgent, ChatAgentConfig, Message, Task, ToolMessage
from trivium.agents.aggregator import DefaultAggregator
from trivium.llms import Request, ToolCallPart
from trivium.memory import Memory
from trivium.schema import LLMMessage, Role, ToolCall
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


def refused(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """What a provider refuses in a history: results without an open call before them, and calls without results."""
    found, waiting = list[str](), list[str]()
    for each in messages:
        if each["role"] == "tool":
            if each["tool_call_id"] in waiting:
                waiting.remove(each["tool_call_id"])
            else:
                found.append(f"a result without an open call: {each['content']}")
            continue
        found += [f"a call without a result: {call_id}" for call_id in waiting]
        waiting = [call["id"] for call in each.get("tool_calls") or ()]
    return found + [f"a call without a result: {call_id}" for call_id in waiting]


class Latest(Memory):
    """A memory of a program's own, which shows the latest messages, wherever that cuts."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most

    def get_memory(self, recent_n: int | None = None, filter_func: Any = None) -> list[Message]:
        return self.messages[-self.most :]


TWO_CALLS = [call_tool("add", 0, a=1, b=2), call_tool("add", 1, a=3, b=4)]


@pytest.mark.parametrize("kind", [Memory, Latest])
@pytest.mark.parametrize("most", range(1, 8))
def test_results_are_sent_together_with_their_call_or_as_text(kind: Callable[[int], Memory], most: int):
    model = ScriptedModel([TWO_CALLS, call_tool("add", a=5, b=6), "eleven"] * 3)
    agent = Agent(model, "Be kind.", tools=[add], memory=lambda: kind(most))
    for _ in range(3):
        agent("go on")
    assert [fault for request in model.requests for fault in refused(request.messages)] == []


@pytest.mark.parametrize("most", range(1, 6))
def test_a_task_goes_on_where_its_agents_memory_shows_the_latest_messages(most: int):
    model = ScriptedModel([call_tool("note", x=1), call_tool("note", x=2), "DONE"])
    agent = ChatAgent(ChatAgentConfig(llm=model), memory=lambda: Memory(most))
    agent.enable_message(Note)
    Task(agent, interactive=False).run("go")
    assert [fault for request in model.requests for fault in refused(request.messages)] == []
    assert [request.messages[-1]["content"] for request in model.requests] == ["go", "noted", "noted"]


def test_a_result_whose_call_was_taken_out_of_the_history_is_text():
    model = ScriptedModel([call_tool("note", x=1), "DONE", "DONE"])
    agent = ChatAgent(model)
    agent.enable_message(Note)
    task = Task(agent, interactive=False, restart=False)
    task.run("go")
    del agent.message_history[2]
    task.run("and now?")
    assert [each["role"] for each in model.requests[-1].messages] == ["system", "user", "assistant", "user"]
    assert model.requests[-1].messages[1]["content"] == "go\n\nnoted"


def test_results_that_are_given_to_an_agent_which_made_no_call_are_in_each_request():
    model = ScriptedModel(["note 1", "note 2", "note 3"])
    agent = Agent(model, "Be kind.")
    for city in ("Ulm", "Bonn"):
        agent("context", Message(content=f"fog in {city}", sender="weather", tool_call_id=f"call_{city}"))
    assert [(each["role"], each["content"]) for each in model.requests[-1].messages[1:]] == [
        ("user", "context\n\nfog in Ulm"), ("assistant", "note 1"), ("user", "context\n\nfog in Bonn")
    ]  # fmt: skip


def test_what_a_memory_hides_is_not_sent():
    class Hiding(Memory):
        def get_memory(self, recent_n: int | None = None, filter_func: Any = None) -> list[Message]:
            return [each for each in self.messages if not each.tool_call_id]

    model = ScriptedModel([call_tool("add", a=1, b=2), "done", "well"])
    agent = Agent(model, memory=Hiding)
    agent("go")
    agent(Message(content="SECRET", sender="add", tool_call_id="call_0"))
    assert "SECRET" not in str([request.messages for request in model.requests])


def test_a_task_that_goes_on_after_a_failure_runs_no_call_again():
    ran: list[int] = []

    class Once(ChatAgent):
        def note(self, message: Note) -> str:
            ran.append(message.x)
            return "noted"

    def answer(request: Request) -> Any:
        if request.messages[-1]["role"] == "tool":
            raise ConnectionError("the provider is away")
        return call_tool("note", x=1)

    agent = Once(ScriptedModel(answer))
    agent.enable_message(Note)
    task = Task(agent, interactive=False, restart=False)
    with pytest.raises(ConnectionError):
        task.run("go")
    assert task.run() is None
    assert ran == [1]


@pytest.mark.parametrize("memory", [False, True])
def test_a_result_that_is_all_an_agent_is_asked_is_read_as_text(memory: bool):
    model = ScriptedModel(["thanks"])
    Agent(model, "Be kind.", memory=memory)(Message(content="9", sender="add", tool_call_id="call_7"))
    assert [(each["role"], each["content"]) for each in model.requests[0].messages[1:]] == [("user", "9")]


class Sum(ToolMessage):
    request: str = "sum"
    purpose: str = "To sum up an <x>."
    x: int

    def handle(self, agent: Any) -> str:
        return f"sum: {agent.llm_response('Summarise it.').content}"


class Mark(ToolMessage):
    request: str = "mark"
    purpose: str = "To mark an <x>."
    x: int

    def handle(self, agent: Any) -> str:
        agent.message_history.append(LLMMessage(role=Role.USER, content="marked"))
        return "done"


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize(
    ("calls", "told"),
    [
        ([call_tool("sum", x=1)], [("tool", "Summarise it."), ("assistant", "short"), ("user", "sum: short")]),
        ([call_tool("mark", x=1)], [("tool", "marked"), ("user", "done")]),
        (
            [call_tool("mark", 0, x=1), call_tool("note", 1, x=1)],
            [("tool", "marked"), ("tool", "see above"), ("user", "done\n\nnoted")],
        ),
    ],
)
def test_a_call_that_was_answered_by_what_its_handler_said_has_no_second_result(
    calls: list[ToolCallPart], told: list[tuple[str, str]], is_async: bool
):
    model = ScriptedModel([calls, *(["short"] if len(told) == 3 and told[1][1] == "short" else []), "DONE"])
    agent = ChatAgent(model)
    agent.enable_message([Note, Sum, Mark])
    task = Task(agent, interactive=False)
    asyncio.run(task.run_async("go")) if is_async else task.run("go")
    assert [fault for request in model.requests for fault in refused(request.messages)] == []
    assert [(each["role"], each["content"]) for each in model.requests[-1].messages[3:]] == told


@pytest.mark.parametrize(
    "text", ['{"request": "add", "a": 1, "b": 2}', '{"request": "note", "x": 1} {"request": "zzz"}']
)
def test_the_result_of_a_call_in_the_text_is_text(text: str):
    model = ScriptedModel([text, "three"])
    agent = ChatAgent(ChatAgentConfig(llm=model, use_tools=True), tools=[add, Note])
    agent.llm_response("go")
    told = model.requests[-1].messages[3:]
    assert [each["role"] for each in told] == ["user"]
    assert told[0]["content"].startswith(("3", "error: not run"))


def test_many_calls_in_one_answer_are_no_cubic_work():
    calls = tuple(ToolCall(f"call_{at}", "note", "{}") for at in range(1600))
    told = [Message(content="go", sender="user"), Message(content="", sender="asked", tool_calls=calls)]
    told += [Message(content="noted", sender="tool", tool_call_id=each.id) for each in calls]
    began = process_time()
    assert len(DefaultAggregator().aggregate(Memory.of(told), "asked")) == len(told)
    assert process_time() - began < 3  # of some 0.2; with the ids in a list it took 7
