"""The streams of the package `openai`, asked for at a real server: through the adapter, and taken apart."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Iterable, Iterator
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI, OpenAI
from openai.types.chat import ChatCompletionChunk

from llms._servers import ChatServer, event_stream
from trivium.llms import Delta, Finish, OpenAIModel, Request, ToolCallPart
from trivium.utils.dispatcher import async_dispatcher_tools_call_for_openai
from trivium.utils.llm_async_converters import LLMAsyncAdapter

from ._answers import Call, as_dict, deltas, expected

GUARD = 20.0
CALLS = [
    Call("weather", json.dumps({"to_user": 'Let\'s "see"…\n\U0001f600', "city": "Paris"})),
    Call("weather", json.dumps({"city": "Zürich", "to_user": "And there."})),
]
ANSWER = list(deltas("One moment. ", CALLS, [3, 1, 4]))
USAGE = {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}
MESSAGES: Any = [{"role": "user", "content": "What is the weather like?"}]


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer() as server:
        yield server


def events(answer: Iterable[Delta]) -> bytes:
    """An answer as the server sends it: the usage comes behind the reason why the model stopped."""
    last: dict[str, Any] = {**as_dict(""), "choices": [], "usage": USAGE}
    chunks = [*map(as_dict, answer), last]
    return b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks) + b"data: [DONE]\n\n"


def in_pieces(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


def run(main: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    return asyncio.run(asyncio.wait_for(main(), GUARD))


async def take_apart(response: Any, adapter: LLMAsyncAdapter) -> Any:
    make = await async_dispatcher_tools_call_for_openai(source=adapter.llm_to_async_iterable(response=response))
    texts, function_calls = make("to_user"), make("function_call")

    async def said() -> str:
        return "".join([text async for text in texts])

    async def called() -> list[Any]:
        return [json.loads(call) async for call in function_calls]

    return await asyncio.gather(said(), called(), return_exceptions=True)


async def ask_sync(server: ChatServer, adapter: LLMAsyncAdapter) -> Any:
    with OpenAI(base_url=server.url, api_key="k", max_retries=0) as client:
        stream = client.chat.completions.create(model="m", messages=MESSAGES, stream=True)
        found = await take_apart(stream, adapter)
        assert stream.response.is_closed
        return found


async def ask_async(server: ChatServer, adapter: LLMAsyncAdapter) -> Any:
    async with AsyncOpenAI(base_url=server.url, api_key="k", max_retries=0) as client:
        stream = await client.chat.completions.create(model="m", messages=MESSAGES, stream=True)
        found = await take_apart(stream, adapter)
        assert stream.response.is_closed
        return found


both_clients = pytest.mark.parametrize("ask", [ask_sync, ask_async])
Ask = Callable[[ChatServer, LLMAsyncAdapter], Coroutine[Any, Any, Any]]


@both_clients
@pytest.mark.parametrize("size", [7, 1_000_000])
def test_an_answer_of_the_client(server: ChatServer, ask: Ask, size: int):
    server.scripts = [event_stream(*in_pieces(events(ANSWER), size))]
    adapter = LLMAsyncAdapter()
    assert run(lambda: ask(server, adapter)) == [*expected("One moment. ", CALLS)]
    assert {type(chunk) for chunk in adapter.received_message} == {ChatCompletionChunk}
    assert adapter.received_message[-1].usage.model_dump(exclude_none=True) == USAGE


@both_clients
def test_an_error_in_the_middle_reaches_both(server: ChatServer, ask: Ask):
    broken = events(ANSWER[:2]).partition(b"data: [DONE]")[0] + b'data: {"error": {"message": "overloaded"}}\n\n'
    server.scripts = [event_stream(broken)]
    said, called = run(lambda: ask(server, LLMAsyncAdapter()))
    assert isinstance(said, openai.APIError)
    assert said.message == "overloaded"
    assert called is said


@both_clients
def test_a_broken_connection_reaches_both(server: ChatServer, ask: Ask):
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    server.scripts = [[head, b"fff\r\n" + events(ANSWER)[:100]]]
    said, called = run(lambda: ask(server, LLMAsyncAdapter()))
    assert isinstance(said, openai.APIConnectionError)
    assert called is said


@both_clients
def test_a_server_that_is_careless_with_types(server: ChatServer, ask: Ask):
    careless = {**as_dict("Hi"), "created": "today", "system_fingerprint": 1}
    server.scripts = [event_stream(b"data: " + json.dumps(careless).encode() + b"\n\ndata: [DONE]\n\n")]
    assert run(lambda: ask(server, LLMAsyncAdapter())) == ["Hi", []]


def test_who_leaves_early_hangs_up(server: ChatServer):
    server.scripts = [event_stream(events(["a"] * 9))]

    async def main() -> None:
        async with AsyncOpenAI(base_url=server.url, api_key="k", max_retries=0) as client:
            stream = await client.chat.completions.create(model="m", messages=MESSAGES, stream=True)
            make = await async_dispatcher_tools_call_for_openai(source=stream)
            assert await anext(make("to_user")) == "a"
            await make("to_user").aclose()
            assert not stream.response.is_closed
            await make("function_call").aclose()
            assert stream.response.is_closed

    run(main)


def test_the_same_answer_by_our_own_client(server: ChatServer):
    server.scripts = [event_stream(*in_pieces(events(ANSWER), 50))]
    model = OpenAIModel("m", base_url=server.url, api_key="k")

    async def main() -> Any:
        return await take_apart(model.stream(Request(MESSAGES)), LLMAsyncAdapter())

    assert run(main) == [*expected("One moment. ", CALLS)]


def test_an_answer_in_a_list():
    call = ToolCallPart(0, "c", "add", '{"a": 1, "to_user": "Now."}')
    assert run(lambda: take_apart([as_dict(call), as_dict(Finish("stop"))], LLMAsyncAdapter()))[0] == "Now."
