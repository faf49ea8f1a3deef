"""Models as in the Lagent documents: whichever method a class writes, every way to ask ends there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest

from trivium import Agent, AsyncAgent
from trivium.exceptions import ConfigurationError, MalformedAnswerError, ModelError, RunKilledError
from trivium.llms import (
    AsyncBaseAPILLM,
    AsyncBaseLLM,
    BaseAPILLM,
    BaseLLM,
    Delta,
    DeltaEvent,
    Reasoning,
    Request,
)
from trivium.schema import ModelStatusCode, Usage
from trivium.testing import ScriptedModel

ASK = [{"role": "user", "content": "hi"}]
ASK_TOO = [{"role": "user", "content": "ho"}]
ING, END = ModelStatusCode.STREAM_ING, ModelStatusCode.END
Seen = list[Mapping[str, Any]]


def said(inputs: Any) -> str:
    return inputs if isinstance(inputs, str) else str(inputs[-1]["content"])


class Generates(BaseLLM):
    def generate(self, inputs: Any, session_ids: Any = None, **gen_params: Any) -> Any:
        return f"<{inputs}>"


class Chats(BaseLLM):
    def chat(self, inputs: Any, session_ids: Any = None, **gen_params: Any) -> Any:
        return f"<{said(inputs)}>"


class Streams(BaseLLM):
    def stream_chat(self, inputs: Any, session_id: Any = None, **gen_params: Any) -> Any:
        yield ING, "<", None
        yield ING, f"<{said(inputs)}>", None
        yield END, f"<{said(inputs)}>", None


class Completes(BaseLLM):
    def complete(self, prompt: Any, parameters: Mapping[str, Any]) -> Iterator[Delta]:
        yield "<"
        yield Reasoning("hm")
        yield f"{prompt}>"
        yield Usage(3, 4)


class CompletesLater(BaseLLM):
    async def complete(self, prompt: Any, parameters: Mapping[str, Any]) -> AsyncIterator[Delta]:  # pyright: ignore
        await asyncio.sleep(0)
        yield "<"
        yield f"{prompt}>"


class AsyncGenerates(AsyncBaseLLM):
    async def generate(self, inputs: Any, session_ids: Any = None, **gen_params: Any) -> Any:
        await asyncio.sleep(0)
        return f"<{inputs}>"


class AsyncChats(AsyncBaseLLM):
    async def chat(self, inputs: Any, session_ids: Any = None, **gen_params: Any) -> Any:
        await asyncio.sleep(0)
        return f"<{said(inputs)}>"


class AsyncStreams(AsyncBaseLLM):
    async def stream_chat(self, inputs: Any, session_id: Any = None, **gen_params: Any) -> Any:
        yield ING, "<", None
        await asyncio.sleep(0)
        yield END, f"<{said(inputs)}>", None


class AsyncCompletes(AsyncBaseLLM):
    async def complete(self, prompt: Any, parameters: Mapping[str, Any]) -> AsyncIterator[Delta]:  # pyright: ignore
        yield "<"
        yield f"{prompt}>"


class OverTheBuiltIn(Generates):
    """Its own chat and stream_chat call the built-in ones."""

    def chat(self, inputs: Any, session_ids: Any = None, **gen_params: Any) -> Any:
        return super().chat(inputs, session_ids, **gen_params)

    def stream_chat(self, inputs: Any, session_id: Any = None, **gen_params: Any) -> Any:
        yield from super().stream_chat(inputs, session_id, **gen_params)


class AsyncOverTheBuiltIn(AsyncGenerates):
    async def chat(self, inputs: Any, session_ids: Any = None, **gen_params: Any) -> Any:
        return await super().chat(inputs, session_ids, **gen_params)

    async def stream_chat(self, inputs: Any, session_id: Any = None, **gen_params: Any) -> Any:
        async for growing in super().stream_chat(inputs, session_id, **gen_params):
            yield growing


class PassesOn(AsyncGenerates):
    """A plain method that gives the coroutine of another."""

    def chat(self, inputs: Any, session_ids: Any = None, **gen_params: Any) -> Any:
        return super().chat(inputs, session_ids, **gen_params)


SYNC = [Generates, Chats, Streams, Completes, CompletesLater, OverTheBuiltIn]
ASYNC = [AsyncGenerates, AsyncChats, AsyncStreams, AsyncCompletes, AsyncOverTheBuiltIn, PassesOn]


@pytest.mark.parametrize("kind", SYNC)
def test_every_sync_way_ends_in_the_one_method_that_was_written(kind: Callable[[str], BaseLLM]) -> None:
    model = kind("some/model/")
    assert model.name == "model"
    assert model.chat(ASK) == "<hi>"
    *growing, last = model.stream_chat(ASK)
    assert last == (END, "<hi>", None)
    assert growing[-1][1] == "<hi>"
    assert Agent(model)("hi").content == "<hi>"
    deltas = [event.data for event in Agent(model).stream("hi") if isinstance(event, DeltaEvent)]
    assert "".join(delta for delta in deltas if isinstance(delta, str)) == "<hi>"
    assert asyncio.run(AsyncAgent(model).acall("hi")).content == "<hi>"


@pytest.mark.parametrize("kind", ASYNC)
def test_every_async_way_ends_in_the_one_method_that_was_written(kind: Callable[[str], AsyncBaseLLM]) -> None:
    model = kind("model")

    async def ways() -> tuple[str, list[Any], str, str]:
        growing = [item async for item in model.stream_chat(ASK)]
        agent = AsyncAgent(model)
        async with agent.open("hi") as events:
            deltas = [event.data async for event in events if isinstance(event, DeltaEvent)]
        received = (await agent.acall("ho")).content
        return await model.chat(ASK), growing, str(received), "".join(each for each in deltas if isinstance(each, str))

    chatted, growing, received, streamed = asyncio.run(ways())
    assert chatted == "<hi>"
    assert streamed == "<hi>"
    assert growing[-1][:2] == (END, "<hi>")
    assert "ho>" in received
    assert Agent(model)("hi").content == "<hi>"


@pytest.mark.parametrize("kind", [Generates, Streams, Completes, CompletesLater])
def test_several_conversations_are_answered_in_their_order(kind: Callable[[str], BaseLLM]) -> None:
    assert kind("model").chat([ASK, ASK_TOO]) == ["<hi>", "<ho>"]
    assert kind("model").chat([ASK]) == ["<hi>"]


@pytest.mark.parametrize("kind", [AsyncGenerates, AsyncStreams, AsyncCompletes])
def test_several_conversations_are_awaited_at_once(kind: Callable[[str], AsyncBaseLLM]) -> None:
    assert asyncio.run(kind("model").chat([ASK, ASK_TOO])) == ["<hi>", "<ho>"]


def test_generate_takes_one_prompt_or_several() -> None:
    assert Completes("model").generate("a") == "<a>"
    assert Completes("model").generate(["a", "b"]) == ["<a>", "<b>"]
    assert asyncio.run(AsyncCompletes("model").generate(["a", "b"])) == ["<a>", "<b>"]


@pytest.mark.parametrize("kind", [BaseLLM, BaseAPILLM])
def test_a_model_that_writes_nothing_says_what_to_write(kind: Callable[[str], BaseLLM]) -> None:
    with pytest.raises(NotImplementedError, match="def generate"):
        kind("model").chat(ASK)


class CallsItselfOnly(BaseLLM):
    def chat(self, inputs: Any, session_ids: Any = None, **gen_params: Any) -> Any:
        return super().chat(inputs, session_ids, **gen_params)


def test_a_chat_that_stands_on_nothing_does_not_turn_in_a_circle() -> None:
    with pytest.raises(NotImplementedError, match="def generate"):
        CallsItselfOnly("model").chat(ASK)


@pytest.mark.parametrize("answer", [None, ["text"], 3])
def test_an_answer_that_is_no_text_is_a_typed_error(answer: Any) -> None:
    class Bad(BaseLLM):
        def generate(self, inputs: Any, session_ids: Any = None, **gen_params: Any) -> Any:
            return answer

    class AsyncBad(AsyncBaseLLM):
        async def generate(self, inputs: Any, session_ids: Any = None, **gen_params: Any) -> Any:
            return answer

    with pytest.raises(MalformedAnswerError, match="return text"):
        Bad("model").chat(ASK)
    with pytest.raises(MalformedAnswerError, match="return text"):
        asyncio.run(AsyncBad("model").chat(ASK))


class Records(BaseAPILLM):
    """Keeps the parameters of each request."""

    def __init__(self, **gen_params: Any) -> None:
        super().__init__("model", **gen_params)
        self.seen: Seen = []

    def complete(self, prompt: Any, parameters: Mapping[str, Any]) -> Iterator[Delta]:
        self.seen.append(parameters)
        yield "ok"


class AsyncRecords(AsyncBaseAPILLM):
    def __init__(self, **gen_params: Any) -> None:
        super().__init__("model", **gen_params)
        self.seen: Seen = []

    def complete(self, prompt: Any, parameters: Mapping[str, Any]) -> Iterator[Delta]:
        self.seen.append(parameters)
        yield "ok"


def test_the_defaults_are_those_of_the_documents() -> None:
    common = {"max_new_tokens": 512, "top_p": 0.8, "top_k": 40, "temperature": 0.8}
    assert BaseLLM("model").gen_params == {**common, "repetition_penalty": 1.0, "stop_words": []}
    more = {"repetition_penalty": 0.0, "stop_words": ["x"], "skip_special_tokens": False}
    assert BaseAPILLM("model", stop_words="x").gen_params == {**common, **more}


def test_a_parameter_of_a_call_is_for_that_call_only() -> None:
    model = Records(stop_words=["a"], temperature=0.5)
    model.chat(ASK, temperature=0.9, stop_words=None)
    list(model.stream_chat(ASK, top_p=0.1))
    model.generate("x", seed=1)
    Agent(model, parameters={"temperature": 0.7})("hi")
    model.chat(ASK)
    given = [(each["temperature"], each["top_p"], each["stop_words"], each.get("seed")) for each in model.seen]
    assert given == [
        (0.9, 0.8, None, None),
        (0.5, 0.1, ["a"], None),
        (0.5, 0.8, ["a"], 1),
        (0.7, 0.8, ["a"], None),
        (0.5, 0.8, ["a"], None),
    ]


def test_a_parameter_of_an_awaited_call_is_for_that_call_only() -> None:
    model = AsyncRecords(temperature=0.5)

    async def calls() -> None:
        await model.chat([ASK, ASK], temperature=0.9)
        _ = [item async for item in model.stream_chat(ASK, temperature=0.8)]
        await model.generate("x", temperature=0.7)
        await model.chat(ASK)

    asyncio.run(calls())
    assert [each["temperature"] for each in model.seen] == [0.9, 0.9, 0.8, 0.7, 0.5]


def test_a_stop_word_put_into_the_live_list_counts_from_the_next_call_on() -> None:
    given = ["a"]
    model = Records(stop_words=given)
    model.gen_params["stop_words"].append("b")
    model.chat(ASK)
    assert model.seen[0]["stop_words"] == ["a", "b"]
    assert given == ["a"]
    assert model.update_gen_params(top_k=1) == {**model.gen_params, "top_k": 1}
    assert model.gen_params["top_k"] == 40


def test_a_model_of_text_refuses_tools_with_what_to_do() -> None:
    def add(a: int, b: int) -> int:
        return a + b

    with pytest.raises(ConfigurationError, match=r"cannot be given tools.*output_format"):
        Agent(Generates("model"), tools=[add])("hi")
    with pytest.raises(ConfigurationError, match="an output schema"):
        list(Generates("model").stream(Request(ASK, output_schema={})))


class Endless(BaseLLM):
    def __init__(self) -> None:
        super().__init__("model")
        self.closed = 0

    def complete(self, prompt: Any, parameters: Mapping[str, Any]) -> Iterator[Delta]:
        try:
            while True:
                yield "a"
        finally:
            self.closed += 1


class AsyncEndless(AsyncBaseLLM):
    def __init__(self) -> None:
        super().__init__("model")
        self.closed = 0

    async def complete(self, prompt: Any, parameters: Mapping[str, Any]) -> AsyncIterator[Delta]:  # pyright: ignore
        try:
            while True:
                await asyncio.sleep(0)
                yield "a"
        finally:
            self.closed += 1


def test_closing_a_growing_answer_stops_the_model() -> None:
    model = Endless()
    growing = model.stream_chat(ASK)
    assert next(growing) == (ING, "a", None)
    growing.close()
    assert model.closed == 1


def test_closing_an_awaited_growing_answer_stops_the_model() -> None:
    model = AsyncEndless()

    async def first() -> Any:
        growing = model.stream_chat(ASK)
        item = await anext(growing)
        await growing.aclose()
        return item

    assert asyncio.run(first()) == (ING, "a", None)
    assert model.closed == 1


@pytest.mark.parametrize("kind", [Endless, AsyncEndless])
def test_killing_the_run_stops_the_model(kind: Callable[[], Endless | AsyncEndless]) -> None:
    model = kind()

    def listen() -> None:
        with Agent(model).stream("hi") as events:
            for count, event in enumerate(events):
                if count == 5:
                    event.node.kill()

    with pytest.raises(RunKilledError):
        listen()
    assert model.closed == 1


def test_a_model_that_fails_in_the_middle_says_so_by_every_entry_point() -> None:
    class Broken(BaseLLM):
        def complete(self, prompt: Any, parameters: Mapping[str, Any]) -> Iterator[Delta]:
            yield "a"
            raise ModelError("broken")

    model = Broken("model")
    seen: Sequence[Any] = []
    with pytest.raises(ModelError, match="broken"):
        model.chat(ASK)
    with pytest.raises(ModelError, match="broken"):
        seen = [item for item in model.stream_chat(ASK) if item]
    assert seen == []
    with pytest.raises(ModelError, match="broken"):
        Agent(model)("hi")


def test_every_model_can_be_asked_without_an_agent() -> None:
    model = ScriptedModel(lambda request: f"<{request.messages[-1]['content']}>")
    assert model.chat(ASK) == "<hi>"
    assert model.chat([ASK, ASK_TOO]) == ["<hi>", "<ho>"]
    assert [*model.stream_chat(ASK)] == [(ING, "<hi>", None), (END, "<hi>", None)]
    assert asyncio.run(model.chat_async([ASK, ASK_TOO])) == ["<hi>", "<ho>"]


def test_no_messages_are_one_empty_question() -> None:
    assert ScriptedModel(["ok"]).chat([]) == "ok"


class Named(BaseLLM):
    async def chat(self, messages: Any, *, session_id: Any = 0, **gen_params: Any) -> Any:  # pyright: ignore
        return f"{session_id} {gen_params}"


class Unnamed(BaseLLM):
    async def chat(self, messages: Any, temperature: float = 1.0, **gen_params: Any) -> Any:  # pyright: ignore
        return f"{temperature} {gen_params}"


class Bare(BaseLLM):
    async def chat(self, messages: Any, **gen_params: Any) -> Any:  # pyright: ignore
        return f"{gen_params}"


class Several(BaseLLM):
    async def chat(self, inputs: Any, session_ids: Any = None, **gen_params: Any) -> Any:
        return f"{session_ids} {gen_params}"


class Plain(BaseLLM):
    def chat(self, inputs: Any, session_ids: Any = None, **gen_params: Any) -> Any:
        return f"{session_ids} {gen_params}"


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [(Named, "ada {}"), (Unnamed, "1.0 {}"), (Bare, "{}"), (Several, "ada {}"), (Plain, "None {}")],
)
def test_an_awaited_chat_gets_the_session_where_it_names_it(kind: Callable[[str], BaseLLM], wanted: str):
    model = kind("m")
    assert Agent(model)("q", session_id="ada").content == wanted
    assert asyncio.run(AsyncAgent(model)("q", session_id="ada")).content == wanted
