"""Several calls of one answer: their order, those that run alone, limits, and the order in which tools are offered."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commander._helpers import Entry, every_entry
from trivium import Agent, ChatAgent, Limits, Tool, ToolMessage
from trivium.actions import ActionExecutor, tool
from trivium.exceptions import LimitExceededError
from trivium.llms import ToolCallPart
from trivium.schema import ToolCall
from trivium.testing import ScriptedModel, call_tool

GUARD = 20.0
THREE: list[tuple[str, Any]] = [("work", {}), ("nothing", {}), ("work", {})]


def results(agent: Agent) -> list[Any]:
    return [(each.tool_call_id, each.content) for each in agent.memory.get_memory() if each.tool_call_id]


def asked(*calls: tuple[str, Any]) -> list[ToolCallPart]:
    made = [call_tool(name, index, **given) for index, (name, given) in enumerate(calls)]
    return [ToolCallPart(each.index, f"id-{each.index}", each.name, each.arguments) for each in made]


class Meeting:
    """Tools that wait for each other: they end only if they run at once, the first last."""

    def __init__(self, size: int) -> None:
        self.ended = [threading.Event() for _ in range(size)]

    def meet(self, place: int) -> str:
        if place + 1 < len(self.ended):
            assert self.ended[place + 1].wait(GUARD)
        self.ended[place].set()
        if place == 1:
            raise ValueError("one fails")
        return str(place)


@every_entry
def test_results_come_in_the_order_of_the_calls_and_a_failing_one_loses_no_other(entry: Entry):
    meeting = Meeting(4)
    model = ScriptedModel([asked(*[("meet", {"place": place}) for place in range(4)]), "ok"])
    agent = Agent(model, tools=[meeting.meet], parallel=True)
    assert entry(agent, "x").content == "ok"
    assert results(agent) == [("id-0", "0"), ("id-1", "error: one fails"), ("id-2", "2"), ("id-3", "3")]


# ---- alone
@given(st.lists(st.sampled_from(["many", "once", "approved", "ordered", "unknown"]), min_size=2, max_size=7))
@settings(max_examples=40, deadline=None)
def test_a_tool_that_runs_alone_runs_in_its_place(names: list[str]):
    running, ends, together = list[int](), list[int](), list[tuple[int, ...]]()

    async def work(place: int) -> int:
        running.append(place)
        together.append(tuple(running))
        for _ in range(3):
            await asyncio.sleep(0)
        running.remove(place)
        ends.append(place)
        return place

    many = Tool.of(work)
    tools = [
        many.replace(name="many"),
        many.replace(name="once", effect="once"),
        many.replace(name="approved", needs_approval=True),
        many.replace(name="ordered", sequential=True),
    ]
    agent = Agent(
        ScriptedModel([asked(*[(name, {"place": place}) for place, name in enumerate(names)]), "ok"]),
        tools=tools, parallel=True, approve=lambda request: True,
    )  # fmt: skip
    asyncio.run(agent.acall("x"))
    alone = [place for place, name in enumerate(names) if name not in ("many", "unknown")]
    for group in together:
        assert len(group) == 1 or not set(group) & set(alone)
    for place in alone:
        at = ends.index(place)
        assert all(other < place for other in ends[:at])
        assert all(other > place for other in ends[at + 1 :])
    assert [key for key, _ in results(agent)] == [f"id-{place}" for place in range(len(names))]
    groups = "".join("m" if name in ("many", "unknown") else "." for name in names).split(".")
    most = max(names[: len(names)].count("many") and max(map(len, groups)), 1)
    assert max(map(len, together), default=1) <= most


# ---- limits
@every_entry
def test_calls_that_run_at_once_are_counted_before_the_first_begins(entry: Entry):
    ran: list[int] = []

    def work(number: int) -> int:
        ran.append(number)
        return number

    def agent(parallel: bool) -> Agent:
        model = ScriptedModel([asked(*[("work", {"number": each}) for each in range(3)]), "ok"])
        return Agent(model, tools=[work], parallel=parallel)

    with pytest.raises(LimitExceededError) as reached:
        entry(agent(True), "x", limits=Limits(tool_calls=2))
    assert (ran, reached.value.limit) == ([], "tool_calls")
    assert entry(agent(True), "x", limits=Limits(tool_calls=3)).content == "ok"
    ran.clear()
    with pytest.raises(LimitExceededError):
        entry(agent(False), "x", limits=Limits(tool_calls=2))
    assert ran == [0, 1]


def test_calls_that_run_at_once_are_counted_once():
    model = ScriptedModel([asked(*THREE), "ok"])
    agent = Agent(model, tools=[Tool.of(lambda: 1).replace(name="work")], parallel=True)
    for maximum, fits in ((3, True), (2, False)):
        try:
            agent("x", limits=Limits(tool_calls=maximum))
        except LimitExceededError:
            assert not fits
        else:
            assert fits
        agent.llm = ScriptedModel([asked(*THREE), "ok"])


# ---- the order in which tools are offered
def named(name: str) -> Tool:
    return Tool.of(lambda: 1).replace(name=name)


def offered(agent: Agent[Any]) -> list[str]:
    """The names of the tools in an agent's request, in order."""
    assert isinstance(agent.llm, ScriptedModel)
    agent("x")
    return [spec.name for spec in agent.llm.requests[-1].tools]


@given(st.lists(st.text(alphabet="abc", min_size=1, max_size=3), unique=True))
def test_tools_are_offered_in_the_order_in_which_they_came(names: list[str]):
    assert list(ActionExecutor([named(name) for name in names]).tools) == names
    assert list(ActionExecutor(named(name) for name in names).tools) == names
    agent = Agent(ScriptedModel(["ok"]), tools=(named(name) for name in names))
    assert offered(agent) == names


def test_a_set_of_tools_is_offered_by_name():
    @tool
    def beta() -> int:
        return 1

    @tool
    def alpha() -> int:
        return 1

    classes = [
        type(name.title(), (ToolMessage,), {"__annotations__": {"request": str, "purpose": str}, "request": name,
                                            "purpose": "To do it."})
        for name in ("delta", "gamma", "alpha", "beta")
    ]  # fmt: skip
    for _ in range(3):
        assert list(ActionExecutor({beta, alpha}).tools) == ["alpha", "beta"]
        assert list(Agent(ScriptedModel(["x"]), tools=frozenset({beta, alpha})).executor.tools) == ["alpha", "beta"]
    agent = ChatAgent(ScriptedModel(["x"]))
    agent.enable_message(set(classes))
    assert offered(agent) == ["alpha", "beta", "delta", "gamma"]
    agent = ChatAgent(ScriptedModel(["x"]))
    agent.enable_message(classes)
    assert offered(agent) == ["delta", "gamma", "alpha", "beta"]


def test_one_call_alone_needs_no_group():
    executor = ActionExecutor(named("one"))
    [message] = asyncio.run(executor.answer_all([ToolCall("1", "one", "{}")], parallel=True))
    assert message.content == "1"
