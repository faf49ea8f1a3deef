"""Approval: who is asked, what is shown, and that nothing runs without a yes."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pydantic import BaseModel

from commander._helpers import Entry, every_entry
from trivium import Agent, AsyncAgent, ChatAgent, Task, ToolMessage
from trivium.actions import (
    ActionExecutor,
    ApprovalEvent,
    ApprovalRequest,
    BaseAction,
    Denied,
    ToolCallEvent,
    tool,
)
from trivium.commander import Event
from trivium.commander.lowlevel import time_left
from trivium.exceptions import ArgumentTypeError
from trivium.llms import Request
from trivium.schema import ActionStatusCode, Message, ToolCall
from trivium.testing import ScriptedModel, call_tool


class Shelf:
    """A tool that must be approved, and what it did."""

    def __init__(self) -> None:
        self.gone: list[str] = []
        self.asked: list[ApprovalRequest] = []

    @tool(needs_approval=True)
    def delete(self, path: str, times: int = 1) -> str:
        """Delete it."""
        self.gone.append(path)
        return f"deleted {path}"

    def yes(self, request: ApprovalRequest) -> bool:
        self.asked.append(request)
        return True


def model(**arguments: Any) -> ScriptedModel:
    def answer(request: Request) -> Any:
        last = request.messages[-1]
        return last["content"] if last["role"] == "tool" else call_tool("delete", **arguments)

    return ScriptedModel(answer)


# ---- who is asked
@every_entry
def test_without_anybody_to_ask_the_call_is_refused_and_reported(entry: Entry):
    shelf, events = Shelf(), list[Event[Any]]()
    out = entry(Agent(model(path="a"), tools=[shelf.delete]), "x", listeners=[events.append])
    assert out.content == "error: not approved: nobody to ask; go on without it, and say what you could not do"
    assert shelf.gone == []
    [event] = [each for each in events if isinstance(each, ApprovalEvent)]
    assert (event.data.is_approved, str(event.data.request)) == (False, "delete(path='a')")


@every_entry
def test_who_approves_is_given_to_the_agent_or_the_call_and_the_call_wins(entry: Entry):
    shelf = Shelf()
    agent = Agent(model(path="a"), tools=[shelf.delete], approve=lambda request: False)
    assert entry(agent, "x").content == "error: not approved: it was refused; go on without it"
    assert entry(agent, "x", approve=shelf.yes).content == "deleted a"
    assert (shelf.gone, len(shelf.asked)) == (["a"], 1)


@every_entry
@pytest.mark.parametrize("is_async", [False, True])
def test_sub_agents_inherit_who_is_asked(entry: Entry, is_async: bool):
    shelf = Shelf()

    async def yes(request: ApprovalRequest) -> bool:
        await asyncio.sleep(0)
        return shelf.yes(request)

    inner = Agent(model(path="a"), tools=[shelf.delete], name="inner")

    def ask_inner() -> str:
        return str(inner("x").content)

    outer = Agent(ScriptedModel([call_tool("ask_inner"), "ok"]), tools=[ask_inner], name="outer")
    entry(outer, "x", approve=yes if is_async else shelf.yes, session_id="ada")
    assert shelf.gone == ["a"]
    [request] = shelf.asked
    assert request.node.path.startswith("outer#0/tool:ask_inner#0/inner#0/")
    assert (request.node.session_id, request.name) == ("ada", "delete")


def test_a_task_hands_on_who_is_asked():
    shelf = Shelf()
    task = Task(ChatAgent(model(path="a"), tools=[shelf.delete]), interactive=False, single_round=True)
    task.run("x", approve=shelf.yes)
    assert shelf.gone == ["a"]


def test_an_executor_alone_is_given_it_by_the_call():
    shelf, call = Shelf(), {"name": "delete", "parameters": {"path": "a"}}
    executor = ActionExecutor(shelf.delete)
    assert executor(Message(content=call)).content.errmsg.startswith("not approved: nobody to ask")
    assert executor(Message(content=call), approve=shelf.yes).content.format_result() == "deleted a"
    executor.approve = shelf.yes
    assert executor(Message(content=call)).content.format_result() == "deleted a"


def test_what_is_no_function_cannot_approve():
    with pytest.raises(ArgumentTypeError, match="approve"):
        Agent(model(path="a"))("x", approve=True)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]


# ---- what counts as a yes
@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (False, "it was refused; go on without it"),
        (Denied(), "it was refused; go on without it"),
        (Denied("ask me on Monday"), "ask me on Monday"),
        (None, "the answer was neither True, False nor Denied, but NoneType"),
        ("yes", "the answer was neither True, False nor Denied, but str"),
        (1, "the answer was neither True, False nor Denied, but int"),
    ],
)
def test_only_true_is_a_yes_and_the_model_reads_why(answer: Any, said: str):
    shelf = Shelf()
    agent = Agent(model(path="a"), tools=[shelf.delete])
    assert agent("x", approve=lambda request: answer).content == f"error: not approved: {said}"
    assert shelf.gone == []


def test_an_approver_that_fails_approves_nothing():
    shelf = Shelf()

    def fail(request: ApprovalRequest) -> bool:
        raise OSError("no terminal")

    out = Agent(model(path="a"), tools=[shelf.delete])("x", approve=fail)
    assert out.content == "error: not approved: the approver failed: no terminal"
    assert shelf.gone == []


def test_a_refusal_is_an_outcome_with_the_arguments():
    returned = ActionExecutor(Shelf().delete)(Message(content={"name": "delete", "parameters": {"path": "a"}})).content
    assert (returned.state, returned.args) == (ActionStatusCode.API_ERROR, {"path": "a"})


# ---- what is shown
class Place(BaseModel):
    city: str


def test_what_is_shown_is_what_runs_whatever_the_approver_does_to_it():
    ran: list[Any] = []

    def book(places: list[Place], nights: int) -> str:
        ran.append((places, nights))
        return "booked"

    def meddle(request: ApprovalRequest) -> bool:
        shown = dict(request.arguments)
        assert shown == {"places": [Place(city="Ulm")], "nights": 2}
        shown["places"][0].city = "Rome"
        shown["places"].clear()
        request.arguments.update(nights=9)  # type: ignore[attr-defined] # pyright: ignore
        return True

    script = [call_tool("book", places=[{"city": "Ulm"}], nights="2"), "ok"]
    Agent(ScriptedModel(script), tools=[tool(needs_approval=True)(book)])("x", approve=meddle)
    assert ran == [([Place(city="Ulm")], 2)]


def test_wrong_arguments_are_nobodys_to_approve():
    shelf = Shelf()
    out = Agent(model(way="a"), tools=[shelf.delete])("x", approve=shelf.yes)
    assert "do not fit" in out.content
    assert shelf.asked == []


# ---- whether it is asked
@pytest.mark.parametrize("is_async", [False, True])
def test_a_function_of_the_arguments_says_whether_it_is_asked(is_async: bool):
    asked: list[Any] = []

    def is_dear(amount: int) -> bool:
        return amount > 100

    async def is_dear_async(amount: int) -> bool:
        return is_dear(amount)

    def pay(amount: int) -> str:
        return f"paid {amount}"

    def no(request: ApprovalRequest) -> bool:
        asked.append(dict(request.arguments))
        return False

    needed = is_dear_async if is_async else is_dear
    agent = Agent(
        ScriptedModel([[call_tool("pay", 0, amount=5), call_tool("pay", 1, amount=500)], "ok"]),
        tools=[tool(needs_approval=needed)(pay)],
    )
    agent("x", approve=no)
    memory = agent.memory.get_memory()
    assert asked == [{"amount": 500}]
    assert [each.content for each in memory if each.tool_call_id] == [
        "paid 5",
        "error: not approved: it was refused; go on without it",
    ]


def test_a_function_that_fails_lets_nothing_run():
    shelf = Shelf()

    def fail(**arguments: Any) -> bool:
        raise KeyError("what")

    from trivium import Tool

    agent = Agent(model(path="a"), tools=[Tool.of(shelf.delete).replace(needs_approval=fail)])
    assert agent("x", approve=shelf.yes).content == "error: KeyError: 'what'"
    assert shelf.gone == []


def test_the_time_of_asking_is_not_the_tools():
    shelf = Shelf()

    def slow(request: ApprovalRequest) -> bool:
        assert time_left(request.node) is None
        return True

    from trivium import Tool

    agent = Agent(model(path="a"), tools=[Tool.of(shelf.delete).replace(timeout=20)])
    assert agent("x", approve=slow).content == "deleted a"


# ---- actions and tool messages
def test_an_action_is_approved_like_a_function():
    class Wipe(BaseAction):
        @tool(needs_approval=True)
        def run(self, disk: str) -> str:
            return f"wiped {disk}"

    agent = Agent(ScriptedModel([call_tool("Wipe", disk="a"), "ok"]), tools=[Wipe()])
    agent("x")
    agent("x", approve=lambda request: str(request) == "Wipe(disk='a')", session_id=1)
    said = [agent.memory.get_memory(session)[-2].content for session in (0, 1)]
    assert said[0].startswith("error: not approved: nobody")


class Pay(ToolMessage):
    request: str = "pay"
    purpose: str = "To pay an <amount>."
    amount: int

    def _needs_approval(self) -> bool:  # type: ignore[override]
        return self.amount > 100

    def handle(self) -> str:
        return f"paid {self.amount}"


@pytest.mark.parametrize(("amount", "said"), [(5, "paid 5"), (500, "error: not approved: too much")])
def test_a_tool_message_is_approved_like_a_function(amount: int, said: str):
    asked: list[str] = []

    def no(request: ApprovalRequest) -> Denied:
        asked.append(str(request))
        return Denied("too much")

    agent = ChatAgent(ScriptedModel([call_tool("pay", amount=amount), "ok"]))
    agent.enable_message(Pay)
    task = Task(agent, interactive=False)
    events: list[Event[Any]] = []
    task.run("x", turns=2, approve=no, listeners=[events.append])
    assert asked == ([] if amount == 5 else ["pay(amount=500)"])
    assert any(isinstance(each, ToolCallEvent) for each in events)
    assert said in [str(each.content) for each in agent.memory.get_memory()] or _answered(events, said)


def _answered(events: list[Event[Any]], said: str) -> bool:
    return any(each.kind == "response" and each.data.message and each.data.message.content == said for each in events)


def test_an_async_agent_asks_beside_the_loop():
    shelf = Shelf()
    agent = AsyncAgent(model(path="a"), tools=[shelf.delete], approve=shelf.yes)
    assert asyncio.run(agent("x")).content == "deleted a"
    assert asyncio.run(agent.executor.answer(ToolCall("1", "delete", '{"path": "b"}'))).content.startswith("error: not")
