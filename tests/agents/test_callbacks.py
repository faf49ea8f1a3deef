"""Callbacks: who is told what an agent and a task do, in which order, and in which words."""

# Callbacks stand here as users write them: lambdas, whose parameters have no types.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llms._servers import ChatServer, event_stream
from trivium import Agent, ChatAgent, Message, Task, this_call
from trivium.agents._callbacks import AgentCallbacks, TaskCallbacks
from trivium.caches import SQLiteCache
from trivium.commander.lowlevel import scope_of
from trivium.exceptions import ConfigurationError, ModelError, RunKilledError
from trivium.llms import CachedModel, OpenAIModel, Reasoning, ToolCallPart
from trivium.testing import ScriptedModel, call_tool

from ._recording import SHOWN, Seen, called, given_to, names, recorded


def add(a: int, b: int) -> int:
    return a + b


def fail() -> str:
    raise ValueError("no luck")


# ---- the model
@pytest.mark.shows(
    "callbacks.start_llm_stream", "callbacks.finish_llm_stream(content)", "callbacks.finish_llm_stream(is_tool)",
    "callbacks.finish_llm_stream(tools_content)", "callbacks.finish_llm_stream(reasoning)",
)  # fmt: skip
@pytest.mark.parametrize("is_async_callback", [False, True])
@pytest.mark.parametrize("is_async_run", [False, True])
def test_an_answer_in_pieces_is_a_stream(is_async_run: bool, is_async_callback: bool):
    agent = Agent(ScriptedModel([[Reasoning("hm"), "Hel", "lo"]]))
    seen = recorded(agent, is_async=is_async_callback)
    assert called(agent, "hi", is_async_run).content == "Hello"
    assert seen == [
        ("show_start_response", {"entity": "llm"}),
        ("start_llm_stream", None),
        ("token", ("hm", "REASONING")),
        ("token", ("Hel", "TEXT")),
        ("token", ("lo", "TEXT")),
        ("finish_llm_stream", {"content": "Hello", "tools_content": "", "is_tool": False, "reasoning": "hm"}),
    ]


@pytest.mark.shows(
    "callbacks.cancel_llm_stream", "callbacks.show_llm_response(content)", "callbacks.show_llm_response(is_tool)",
    "callbacks.show_llm_response(cached)", "callbacks.show_llm_response(language)",
)  # fmt: skip
def test_an_answer_that_comes_whole_is_no_stream():
    agent = Agent(ScriptedModel(["Hello"]))
    seen = recorded(agent)
    agent("hi")
    assert names(seen) == ["show_start_response", "start_llm_stream", "cancel_llm_stream", "show_llm_response"]
    assert seen[-1][1] == {
        "content": "Hello", "tools_content": "", "is_tool": False, "cached": False, "language": None, "reasoning": "",
    }  # fmt: skip


def test_an_answer_of_a_cache_is_cancelled_and_shown_as_cached(tmp_path: Path):
    model = CachedModel(ScriptedModel([["Hel", "lo"]]), SQLiteCache(tmp_path / "answers.db"))
    first = Agent(model)
    seen = recorded(first)
    first("hi")
    assert names(seen)[-1] == "finish_llm_stream"
    agent = Agent(model)
    seen = recorded(agent)
    agent("hi")
    assert names(seen)[-4:] == ["token", "token", "cancel_llm_stream", "show_llm_response"]
    assert seen[-1][1]["cached"] is True


def test_without_a_stream_each_answer_is_shown_once():
    agent = Agent(ScriptedModel([["Hel", "lo"]]))
    seen = recorded(agent, streams=False)
    agent("hi")
    assert names(seen) == ["show_start_response", "show_llm_response"]


def test_without_show_llm_response_whole_answers_are_streams_too():
    agent = Agent(ScriptedModel(["Hello"]))
    seen = recorded(agent, only=["finish_llm_stream", "cancel_llm_stream"])
    agent("hi")
    assert names(seen) == ["start_llm_stream", "token", "finish_llm_stream"]


def test_a_model_that_is_told_not_to_stream_begins_none():
    class Whole(ScriptedModel):
        def get_stream(self) -> bool:
            return False

    agent = Agent(Whole([["Hel", "lo"]]))
    seen = recorded(agent)
    agent("hi")
    assert names(seen) == ["show_start_response", "show_llm_response"]


@pytest.mark.shows("StreamEventType.TOOL_NAME", "StreamEventType.TOOL_ARGS", "callbacks.show_agent_response")
def test_tools_that_the_agent_runs_are_shown():
    call = [ToolCallPart(0, "c1", "add", '{"a": 1,'), ToolCallPart(0, arguments=' "b": 2}')]
    agent = Agent(ScriptedModel([call, call_tool("fail"), ["do", "ne"]]), tools=[add, fail])
    seen = recorded(agent)
    agent("1 + 2?")
    assert given_to(seen, "token")[:3] == [("add", "TOOL_NAME"), ('{"a": 1,', "TOOL_ARGS"), (' "b": 2}', "TOOL_ARGS")]
    assert given_to(seen, "finish_llm_stream")[0] == {
        "content": "", "tools_content": 'add({"a": 1, "b": 2})', "is_tool": True, "reasoning": "",
    }  # fmt: skip
    assert [each["content"] for each in given_to(seen, "show_agent_response")] == ["3", "error: no luck"]
    assert given_to(seen, "show_start_response") == [
        {"entity": entity} for entity in ("llm", "agent", "llm", "agent", "llm")
    ]


def test_real_streams_over_http_are_told_as_they_come():
    def chunk(text: str) -> bytes:
        return b"data: " + json.dumps({"choices": [{"index": 0, "delta": {"content": text}}]}).encode() + b"\n\n"

    for is_async in (False, True):
        with ChatServer() as server:
            server.scripts.append(event_stream(*map(chunk, ["One ", "two ", "three"]), b"data: [DONE]\n\n"))
            agent = Agent(OpenAIModel("tiny", api_key="k", base_url=server.url))
            seen = recorded(agent, is_async=is_async)
            called(agent, "count", is_async)
        assert given_to(seen, "token") == [("One ", "TEXT"), ("two ", "TEXT"), ("three", "TEXT")]
        assert names(seen)[-1] == "finish_llm_stream"


# ---- call shapes
@pytest.mark.shows("callbacks.finish_llm_stream(content)", "callbacks.start_llm_stream")
def test_the_older_call_shapes_still_fit():
    agent, seen = Agent(ScriptedModel([["Hel", "lo"], "whole"])), list[Any]()
    agent.callbacks.start_llm_stream = lambda: seen.append  # one argument: the text alone
    agent.callbacks.finish_llm_stream = lambda content, is_tool: seen.append((content, is_tool))
    agent.callbacks.show_llm_response = lambda content: seen.append(content)
    agent("hi")
    agent("hi")
    assert seen == ["Hel", "lo", ("Hello", False), "whole"]


def test_in_async_code_the_async_form_is_used_if_both_are_set():
    agent, seen = Agent(ScriptedModel([["a", "b"]])), list[str]()

    def start() -> Callable[..., None]:
        return lambda token: seen.append(f"sync {token}")

    async def start_async() -> Callable[..., Any]:
        async def give(token: str) -> None:
            seen.append(f"async {token}")

        return give

    agent.callbacks.start_llm_stream, agent.callbacks.start_llm_stream_async = start, start_async
    agent("hi")
    asyncio.run(agent.acall("hi"))
    assert seen == ["sync a", "sync b", "async a", "async b"]


@pytest.mark.shows("Agent.callbacks", "callbacks.get_last_step", "callbacks.get_user_response", "Task.callbacks")
def test_what_nobody_has_set_does_nothing():
    callbacks = Agent(None).callbacks
    assert callbacks.start_llm_stream()("token") is None
    assert asyncio.run(callbacks.start_llm_stream_async()) is not None
    asyncio.run(asyncio.run(callbacks.start_llm_stream_async())("token"))
    for name in [*SHOWN, "get_last_step", "set_parent_agent"]:
        assert getattr(callbacks, name)(content="x") is None
    assert (callbacks.get_user_response, callbacks.get_user_response_async) == (None, None)
    task = Task(ChatAgent(ScriptedModel(["DONE"])), interactive=False)
    assert task.callbacks.show_subtask_response(task=task, content="x", is_tool=False) is None
    assert task.callbacks.set_parent_agent(None) is None


def test_a_callback_that_is_unset_or_misspelt():
    agent, seen = Agent(ScriptedModel(["a"])), list[str]()
    agent.callbacks.show_llm_response = seen.append
    agent.callbacks.show_llm_response = None  # type: ignore[assignment] - as users unset it
    agent("hi")
    assert seen == []
    with pytest.raises(ConfigurationError, match="did you mean show_llm_response"):
        agent.callbacks.show_llm_respons = print  # type: ignore[attr-defined]
    with pytest.raises(ConfigurationError, match="function or None, not str"):
        agent.callbacks.show_llm_response = "print"  # type: ignore[assignment]


def test_nothing_is_paid_while_nothing_is_set():
    heard: list[tuple[int, int]] = []

    def look() -> str:
        scope = scope_of(this_call())
        heard.append((len(scope.listeners), len(scope.pipes)))
        return "ok"

    agent = Agent(ScriptedModel([call_tool("look"), "done"] * 2), tools=[look])
    agent.callbacks.get_user_response = lambda prompt: "q"  # a port is no listener
    agent.callbacks.get_last_step = lambda: None
    agent("hi")
    agent.callbacks.show_agent_response = lambda content: None
    agent("hi")
    assert heard == [(0, 0), (1, 1)]


# ---- errors
@pytest.mark.shows("callbacks.show_error_message", "callbacks.cancel_llm_stream")
@pytest.mark.parametrize("is_async", [False, True])
def test_a_model_that_fails_amid_its_answer(is_async: bool):
    def broken(request: Any) -> Any:
        yield "Hel"
        yield "lo"
        raise ModelError("the line is dead")

    agent = Agent(ScriptedModel(broken))
    seen = recorded(agent, is_async=is_async)
    with pytest.raises(ModelError, match="the line is dead"):
        called(agent, "hi", is_async)
    assert names(seen)[1:] == ["start_llm_stream", "token", "token", "cancel_llm_stream", "show_error_message"]
    told = seen[-1][1]
    assert (told["error"], told["message"]) == ("the line is dead", "the line is dead")
    assert isinstance(told["exception"], ModelError)


@pytest.mark.parametrize("is_async", [False, True])
def test_a_run_that_is_killed_amid_an_answer_cancels_its_stream(is_async: bool):
    def endless(request: Any) -> Any:
        yield "a"
        yield "b"
        this_call().ancestor_chain[-1].kill("enough")
        yield from ["c"] * 100

    agent = Agent(ScriptedModel(endless))
    seen = recorded(agent, is_async=is_async)
    with pytest.raises(RunKilledError, match="enough"):
        called(agent, "hi", is_async)
    assert names(seen)[-1] == "show_error_message"
    assert "cancel_llm_stream" in names(seen)
    assert len(given_to(seen, "token")) < 5


@pytest.mark.parametrize("is_async", [False, True])
def test_a_kill_from_above_cancels_the_streams_below(is_async: bool):
    def endless(request: Any) -> Any:
        yield from "ab"
        this_call().ancestor_chain[-1].kill("enough")
        yield from "cd"

    inner = Agent(ScriptedModel(endless), name="inner")

    class Outer(Agent):
        async def forward(self, *message: Message, **kwargs: Any) -> Any:
            return await inner.acall(*message)

    outer, seen = Outer(None), recorded(inner)
    with pytest.raises(RunKilledError, match="enough"):
        called(outer, "hi", is_async)
    assert names(seen)[-1] == "cancel_llm_stream"


@pytest.mark.parametrize("is_async", [False, True])
def test_an_error_in_a_callback_is_an_error_of_the_call(is_async: bool):
    agent = Agent(ScriptedModel(["a"]))

    def broken(content: str) -> None:
        raise OSError("no screen")

    agent.callbacks.show_llm_response = broken
    with pytest.raises(OSError, match="no screen"):
        called(agent, "hi", is_async)


def test_an_error_in_a_callback_does_not_hide_another():
    agent = Agent(ScriptedModel([ModelError("the first")]))

    def broken(error: str) -> None:
        raise OSError("no screen")

    agent.callbacks.show_error_message = broken
    with pytest.raises(ModelError, match="the first") as caught:
        agent("hi")
    assert caught.value.__notes__ == ["and a callback failed: OSError: no screen"]


# ---- whatever happens
def test_tools_that_run_at_once_are_all_told():
    calls = [call_tool("add", index, a=index, b=0) for index in range(20)]
    agent = Agent(ScriptedModel([calls, "done"]), tools=[add], parallel=True)
    for is_async in (False, True):
        seen = recorded(agent, streams=False, is_async=is_async, only=["show_agent_response"])
        called(agent, "hi", is_async)
        assert sorted(int(each["content"]) for each in given_to(seen, "show_agent_response")) == list(range(20))
        agent.llm.requests.clear()


def test_callbacks_never_overlap_while_tools_with_models_of_their_own_run_at_once():
    below = Agent(ScriptedModel([["a", "b", "c", "d"]]), memory=False)
    inside, most = 0, 0

    async def ask(n: int) -> str:
        return (await below.acall(str(n))).content

    async def slow(**given: Any) -> None:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        inside -= 1

    calls = [call_tool("ask", index, n=index) for index in range(8)]
    agent = Agent(ScriptedModel([calls, "done"]), tools=[ask], parallel=True)
    agent.callbacks.show_start_response = agent.callbacks.show_agent_response = slow
    assert asyncio.run(agent.acall("hi")).content == "done"
    assert (inside, most) == (0, 1)


def test_agents_below_are_told_of_by_their_own_callbacks():
    inner = Agent(ScriptedModel([["in", "ner"]]), name="inner")

    class Outer(Agent):
        def forward(self, *message: Message, **kwargs: Any) -> Any:
            return inner(*message)

    outer = Outer(None)
    mine, theirs = recorded(outer), recorded(inner)
    outer("hi")
    assert mine == []
    assert names(theirs)[-1] == "finish_llm_stream"


answers = st.lists(
    st.one_of(
        st.text("ab{}", min_size=1, max_size=3),
        st.lists(st.text("ab", min_size=1, max_size=2), min_size=1, max_size=4),
        st.just("CALL"),
    ),
    min_size=1,
    max_size=5,
)


@settings(max_examples=25, deadline=None)
@given(answers)
def test_all_four_ways_tell_the_same(script: list[Any]):
    def told(is_async_run: bool, is_async_callback: bool) -> Seen:
        model = ScriptedModel([call_tool("add", a=1, b=2) if each == "CALL" else each for each in [*script, "end"]])
        agent = Agent(model, tools=[add])
        seen = recorded(agent, is_async=is_async_callback)
        for _ in script:
            called(agent, "go on", is_async_run)
        return seen

    first = told(False, False)
    assert names(first).count("start_llm_stream") == names(first).count("finish_llm_stream") + names(first).count(
        "cancel_llm_stream"
    )
    for is_async_run, is_async_callback in ((False, True), (True, False), (True, True)):
        assert told(is_async_run, is_async_callback) == first


def test_the_namespaces_hold_what_the_documents_name():
    assert {each for each in dir(AgentCallbacks) if not each.startswith("_")} == {
        *SHOWN, "start_llm_stream", "start_llm_stream_async", "get_user_response", "get_user_response_async",
        "get_last_step", "set_parent_agent",
    }  # fmt: skip
    assert {each for each in dir(TaskCallbacks) if not each.startswith("_")} == {
        "show_subtask_response",
        "set_parent_agent",
    }
