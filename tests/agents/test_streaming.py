"""Agents whose call yields the answer as it grows."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Generator, Iterator
from itertools import pairwise
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from trivium.agents import (
    Agent,
    AsyncStreamingAgent,
    AsyncStreamingSequential,
    StreamingAgent,
    StreamingSequential,
)
from trivium.hooks import Hook
from trivium.llms import BaseLLM, Delta, Request
from trivium.module import Module
from trivium.prompts.parsers import JSONParser, ToolParser
from trivium.schema import AgentStatusCode, Message, ModelStatusCode
from trivium.testing import ScriptedModel, call_tool

ING, END = "STREAM_ING", "END"


def shown(messages: Any) -> list[tuple[str, str, str]]:
    return [(each.sender, each.content, each.stream_state.name) for each in messages]


async def collected(messages: AsyncIterator[Message]) -> list[Message]:
    return [each async for each in messages]


def called(agent: Any, text: str = "hi", **kwargs: Any) -> list[Message]:
    if isinstance(agent, AsyncStreamingAgent | AsyncStreamingSequential):
        return asyncio.run(collected(cast("Any", agent(text, **kwargs))))
    return list(agent(text, **kwargs))


def hello() -> ScriptedModel:
    return ScriptedModel([["Hel", "", "lo"]])


@pytest.mark.parametrize("kind", [StreamingAgent, AsyncStreamingAgent])
def test_the_text_grows_and_its_end_comes_twice(kind: Any) -> None:
    agent = kind(hello(), name="a")
    assert shown(called(agent)) == [("a", "Hel", ING), ("a", "Hello", ING), ("a", "Hello", END), ("a", "Hello", END)]
    assert [each["content"] for each in agent.state_dict()["memory"]] == ["hi", "Hello"]


class Shout(Hook):
    def after_agent(self, agent: Any, message: Message, session_id: Any) -> None:
        message.content = message.content.upper()


@pytest.mark.parametrize("kind", [StreamingAgent, AsyncStreamingAgent])
def test_only_the_last_message_has_gone_through_the_hooks(kind: Any) -> None:
    agent = kind(hello(), hooks=[Shout()])
    assert [each.content for each in called(agent)] == ["Hel", "Hello", "Hello", "HELLO"]
    assert agent.memory.get_memory()[-1].content == "Hello"


def test_each_part_is_parsed() -> None:
    parser = ToolParser("code", begin="<", end=">")
    agent = StreamingAgent(ScriptedModel([["a <", "b", "> c"]]), output_format=parser)
    messages = called(agent)
    assert [each.formatted["action"] for each in messages] == ["", "b", "b", "b", "b"]
    assert all(each.formatted == parser.parse_response(each.content) for each in messages)


class Person(BaseModel):
    name: str


def test_a_part_that_has_no_form_yet_is_not_parsed() -> None:
    parser = JSONParser("{person}", person=Person)
    agent = StreamingAgent(ScriptedModel([['{"name"', ': "Ada"}']]), output_format=parser)
    assert [each.formatted for each in called(agent)] == [None] + 3 * [{"name": "Ada"}]


@pytest.mark.parametrize("kind", [StreamingSequential, AsyncStreamingSequential])
def test_a_chain_yields_what_each_of_its_agents_says(kind: Any) -> None:
    one = Agent(ScriptedModel([["1", "2"]]), name="one", output_format=ToolParser("x", begin="2", end=""))
    two = StreamingAgent(ScriptedModel([["3"]]), name="two")
    messages = called(kind(("a", one), ("b", two), memory=None))
    assert shown(messages) == [
        ("one", "1", ING), ("one", "12", ING), ("one", "12", END), ("two", "3", ING), ("two", "3", END),
        ("two", "3", END),
    ]  # fmt: skip
    assert [each.formatted and each.formatted["status"] for each in messages] == [0, 1, 1, None, None, None]


@pytest.mark.parametrize("kind", [StreamingSequential, AsyncStreamingSequential])
def test_agents_of_one_name_have_each_its_own_parser(kind: Any) -> None:
    parser = ToolParser("x", begin="2", end="")
    first, second = Agent(ScriptedModel([["1", "2"]])), Agent(ScriptedModel([["1", "2"]]), output_format=parser)
    messages = called(kind(first, second, memory=None))
    assert [each.formatted is not None for each in messages] == 3 * [False] + 4 * [True]
    messages = called(kind(second, first, memory=None))
    assert [each.formatted is not None for each in messages] == 3 * [True] + 4 * [False]


class Yields(StreamingAgent):
    """A forward that yields as models do."""

    def forward(self, *message: Message, session_id: Any = 0, **kwargs: Any) -> Generator[Any]:
        model: Any = self.llm
        yield from model.stream_chat([{"role": "user", "content": message[0].content}], session_id=session_id)


class YieldsAsync(AsyncStreamingAgent):
    async def forward(self, *message: Message, session_id: Any = 0, **kwargs: Any) -> AsyncIterator[Any]:
        model: Any = self.llm
        async for each in model.stream_chat_async([{"role": "user", "content": message[0].content}]):
            yield each


@pytest.mark.parametrize("kind", [Yields, YieldsAsync])
def test_a_forward_may_yield_states_and_texts(kind: Any) -> None:
    agent = kind(hello(), name="a")
    assert shown(called(agent)) == [("a", "Hel", ING), ("a", "Hello", ING), ("a", "Hello", END), ("a", "Hello", END)]
    assert [each["content"] for each in agent.state_dict()["memory"]] == ["hi", "Hello"]


@pytest.mark.parametrize("kind", [Yields, YieldsAsync])
def test_the_plain_call_of_a_forward_that_yields_gives_the_last(kind: Any) -> None:
    assert asyncio.run(kind(hello()).acall("hi")).content == "Hello"
    assert Module.__call__(kind(hello()), "hi").content == "Hello"


class Relay(StreamingAgent):
    def __init__(self) -> None:
        super().__init__(name="relay")
        self.one = Yields(ScriptedModel([["1", "2"]]), name="one")
        self.two = StreamingAgent(ScriptedModel([["3"]]), name="two")

    def forward(self, *message: Message, session_id: Any = 0, **kwargs: Any) -> Generator[Message]:
        last = message[0]
        for agent in (self.one, self.two):
            for part in agent(last, session_id=session_id):
                last = part
                yield part


def test_streaming_agents_nest_and_nothing_is_said_twice() -> None:
    relay = Relay()
    assert shown(relay("hi", session_id="s"))[:4] == [
        ("one", "1", ING), ("one", "12", ING), ("one", "12", END), ("one", "12", END)
    ]  # fmt: skip
    assert {key: [each["content"] for each in value] for key, value in relay.state_dict("s").items()} == {
        "memory": ["hi", "3"], "one.memory": ["hi", "12"], "two.memory": ["12", "3"]
    }  # fmt: skip


def test_a_forward_that_yields_is_heard_inside_a_chain() -> None:
    chain = StreamingSequential(("a", Yields(hello(), name="a")), memory=None)
    assert shown(chain("hi"))[:3] == [("a", "Hel", ING), ("a", "Hello", ING), ("a", "Hello", END)]


def test_tools_run_between_the_texts() -> None:
    def add(a: int, b: int) -> int:
        return a + b

    agent = StreamingAgent(ScriptedModel([["let me see", call_tool("add", a=1, b=2)], ["thr", "ee"]]), tools=[add])
    texts = [each.content for each in called(agent)]
    assert texts == ["let me see", "let me see", "thr", "three", "three", "three"]


@pytest.mark.parametrize("kind", [StreamingAgent, AsyncStreamingAgent])
def test_an_error_of_the_model_comes_after_what_there_was(kind: Any) -> None:
    def broken() -> Iterator[Delta]:
        yield "a"
        raise ValueError("broken")

    agent, seen = kind(ScriptedModel(lambda _: broken())), list[str]()

    async def read() -> None:
        async for message in agent("hi"):
            seen.append(f"{message.content} {message.stream_state.name}")

    def read_plainly() -> None:
        seen.extend(f"{message.content} {message.stream_state.name}" for message in agent("hi"))

    with pytest.raises(ValueError, match="broken"):
        read_plainly() if kind is StreamingAgent else asyncio.run(read())
    assert seen == ["a STREAM_ING"]  # and no message that would be taken for the whole answer


class Endless(ScriptedModel):
    closed = False

    def __init__(self) -> None:
        super().__init__([])

    def stream(self, request: Request) -> Iterator[Delta]:
        try:
            while True:
                yield "x"
        finally:
            self.closed = True


def test_leaving_early_ends_the_call_in_sync_code() -> None:
    model = Endless()
    messages = StreamingAgent(model)("hi")
    next(messages)
    messages.close()
    assert model.closed


def test_leaving_early_ends_the_call_in_async_code() -> None:
    model = Endless()

    async def main() -> None:
        messages = AsyncStreamingAgent(model)("hi")
        await anext(messages)
        await messages.aclose()

    asyncio.run(main())
    assert model.closed


class Counting(BaseLLM):
    """A model as the documents write one that streams."""

    def stream_chat(self, inputs: Any, session_id: Any = None, **gen_params: Any) -> Iterator[Any]:  # pyright: ignore[reportIncompatibleMethodOverride] # fmt: skip
        for count in (1, 2):
            yield ModelStatusCode.STREAM_ING, count * "ab", None
        yield ModelStatusCode.END, "abab", None


def test_a_model_that_streams_the_documented_way_is_heard() -> None:
    texts = [each.content for each in called(StreamingAgent(Counting("count")))]
    assert texts == ["ab", "abab", "abab", "abab"]


def test_a_part_is_no_end() -> None:
    states = [each.stream_state for each in called(StreamingAgent(hello()))]
    assert states == [ModelStatusCode.STREAM_ING, ModelStatusCode.STREAM_ING, AgentStatusCode.END, AgentStatusCode.END]


@given(st.lists(st.text(min_size=1), min_size=1, max_size=8).filter(lambda pieces: bool("".join(pieces).strip())))
def test_the_parts_grow_to_the_whole(pieces: list[str]) -> None:
    texts = [each.content for each in called(StreamingAgent(ScriptedModel([pieces])))]
    assert texts[-1] == "".join(pieces)
    assert all(after.startswith(before) for before, after in pairwise(texts))


class Growing:
    name = "growing"

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        for _ in range(5):
            await asyncio.sleep(0.01)
            yield "x"


def test_an_answer_that_is_left_at_the_end_of_the_program_is_no_error(caplog: pytest.LogCaptureFixture) -> None:
    async def first(agent: AsyncStreamingAgent[Any]) -> str:
        async for message in agent("hi"):
            if message.content == "xx":
                return message.content
        return ""

    async def main() -> None:
        agent = AsyncStreamingAgent(Growing())
        assert await first(agent) == "xx"
        assert await asyncio.wait_for(first(agent), 30) == "xx"

    asyncio.run(main())
    assert caplog.messages == []
