"""Chainlit as a set of callbacks: what a page is told of an agent and of tasks."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import Any

import pytest

from trivium import Agent, ChatAgent, Message, Task
from trivium.agent.callbacks.chainlit import ChainlitAgentCallbacks, ChainlitCallbackConfig, ChainlitTaskCallbacks
from trivium.exceptions import MissingExtraError, ModelError
from trivium.llms import Reasoning
from trivium.testing import ScriptedModel, call_tool

from ._chainlit_standin import Chainlit

Put = Callable[..., Chainlit]


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> Put:
    """Puts a page there, whose user gives these answers."""

    def put(*answers: str | None) -> Chainlit:
        made = Chainlit(*answers)
        monkeypatch.setitem(sys.modules, "chainlit", made)
        return made

    return put


def add(a: int, b: int) -> int:
    return a + b


def called(agent: Agent, is_async: bool) -> Message:
    return asyncio.run(agent.acall("hi")) if is_async else agent("hi")


def told(page: Chainlit, *names: str) -> list[tuple[Any, ...]]:
    return [(event, *(given.get(name) for name in names)) for event, given in page.seen]


@pytest.mark.shows("ChainlitAgentCallbacks(agent)", "ChainlitAgentCallbacks")
@pytest.mark.parametrize("is_async", [False, True])
def test_an_answer_and_a_tool_on_the_page(page: Put, is_async: bool):
    chainlit = page()
    agent = Agent(ScriptedModel([call_tool("add", a=1, b=2), [Reasoning("hm"), "th", "ree"]]), tools=[add], name="Ada")
    callbacks = ChainlitAgentCallbacks(agent)
    called(agent, is_async)
    assert told(chainlit, "id", "author", "content") == [
        ("send", "1", "Ada (🧠 LLM scripted)", None),  # something is under way
        ("token", "1", "Ada (🧠 LLM scripted)", "add"),  # and becomes the message
        ("token", "1", "Ada (🧠 LLM scripted)", 'add{"a": 1, "b": 2}'),
        ("update", "1", "Ada (🧠 LLM scripted → 🛠)", 'add({"a": 1, "b": 2})'),
        ("send", "2", "Ada (⚙ Agent)", None),
        ("send", "2", "Ada (⚙ Agent)", "3"),
        ("send", "3", "Ada (🧠 LLM scripted)", None),
        ("token", "3", "Ada (🧠 LLM scripted)", "hm"),
        ("token", "3", "Ada (🧠 LLM scripted)", "hmth"),
        ("token", "3", "Ada (🧠 LLM scripted)", "hmthree"),
        ("update", "3", "Ada (🧠 LLM scripted)", "three"),
        ("send", "4", "Ada (🧠 LLM scripted) 💭", "hm"),
    ]
    assert chainlit.seen[-1][1]["parent_id"] == "3"
    assert callbacks.get_last_step().id == "3"


def test_an_answer_that_comes_whole_takes_the_place_of_the_stream(page: Put):
    chainlit = page()
    agent = Agent(ScriptedModel(["whole"]), name="Ada")
    ChainlitAgentCallbacks(agent)
    agent("hi")
    assert told(chainlit, "id", "content") == [("send", "1", None), ("remove", "1", None), ("send", "2", "whole")]


def test_one_set_of_callbacks_serves_one_conversation(page: Put):
    chainlit = page()
    callbacks = ChainlitAgentCallbacks(Agent(None))
    first, second = callbacks.start_llm_stream(), callbacks.start_llm_stream()
    first("for one")
    second("; for another")
    assert told(chainlit, "id", "content") == [("token", "2", "for one"), ("token", "2", "for one; for another")]


def test_an_error_on_the_page(page: Put):
    chainlit = page()
    agent = Agent(ScriptedModel([ModelError("the line is dead")]), name="Ada")
    ChainlitAgentCallbacks(agent)
    with pytest.raises(ModelError):
        agent("hi")
    assert told(chainlit, "author", "content")[-2:] == [
        ("remove", "Ada (🧠 LLM scripted)", None),
        ("send", "Ada (⚠ Error)", "the line is dead"),
    ]


@pytest.mark.parametrize("is_async", [False, True])
def test_the_user_answers_on_the_page(page: Put, is_async: bool):
    page("I am Bob", "c", "q")
    agent = ChatAgent(ScriptedModel(["Who are you?", "Hello Bob"]), name="Ada")
    ChainlitAgentCallbacks(agent)
    task = Task(agent, interactive=True)
    result = asyncio.run(task.run_async("hi")) if is_async else task.run("hi")
    assert result is not None
    assert result.content == "q"
    assert [message.content for message in agent.memory.get_memory()][:4] == [
        "hi", "Who are you?", "I am Bob", "Hello Bob",
    ]  # fmt: skip


def test_a_user_who_does_not_answer_in_time_leaves(page: Put):
    page(None)
    callbacks = ChainlitAgentCallbacks(Agent(None))
    assert callbacks.get_user_response("Well?") == "x"


@pytest.mark.shows("ChainlitTaskCallbacks(task)", "ChainlitCallbackConfig.show_subtask_response=True")
@pytest.mark.parametrize("shows", [True, False])
def test_sub_tasks_stand_below_the_step_that_called_them(page: Put, shows: bool):
    chainlit = page()
    below = Task(ChatAgent(ScriptedModel([["DO", "NE 42"]]), name="Bob"), name="Bob", interactive=False)
    top = Task(ChatAgent(ScriptedModel([["__SEND__:Bob ", "go"], "DONE 42"]), name="Ada"), interactive=False)
    top.add_sub_task(below)
    config = ChainlitCallbackConfig(show_subtask_response=shows)
    assert ChainlitCallbackConfig().show_subtask_response
    ChainlitTaskCallbacks(top, config)
    top.run("hi")
    (asked,) = [given["id"] for event, given in chainlit.seen if event == "update" and given["content"].endswith("go")]
    of_bob = [given for _, given in chainlit.seen if given["author"].startswith("Bob")]
    assert of_bob
    assert all(given["parent_id"] == asked for given in of_bob)
    answers = [given["content"] for _, given in chainlit.seen if given["author"] == "Ada (⏎ from Bob)"]
    assert answers == (["42"] if shows else [])


@pytest.mark.shows("ChainlitCallbackConfig.user_has_agent_name=True")
@pytest.mark.parametrize(("has_name", "author"), [(True, "Ada (🙂 You)"), (False, "🙂 You")])
def test_how_the_user_is_called(page: Put, has_name: bool, author: str):
    chainlit = page()
    agent = Agent(None, name="Ada")
    config = ChainlitCallbackConfig(user_has_agent_name=has_name)
    assert ChainlitCallbackConfig().user_has_agent_name
    ChainlitAgentCallbacks(agent, config).show_start_response("user")
    assert chainlit.seen[-1][1]["author"] == author


def test_a_step_without_content_goes_when_another_begins(page: Put):
    chainlit = page()
    callbacks = ChainlitAgentCallbacks(Agent(None, name="Ada"))
    callbacks.show_start_response("llm")
    callbacks.show_start_response("agent")
    assert told(chainlit, "id") == [("send", "1"), ("remove", "1"), ("send", "2")]


def test_nothing_that_was_begun_is_finished_or_cancelled_without_fault(page: Put):
    chainlit = page()
    callbacks = ChainlitAgentCallbacks(Agent(None, name="Ada"))
    callbacks.finish_llm_stream("x")
    callbacks.cancel_llm_stream()
    assert chainlit.seen == []


def test_without_chainlit_there_is_an_install_line(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "chainlit", None)
    with pytest.raises(MissingExtraError, match=r"chainlit is not installed.*pip install chainlit"):
        ChainlitAgentCallbacks(Agent(None))
