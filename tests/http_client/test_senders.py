"""Models and embeddings send through the client that they are given."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncGenerator, Callable, Collection, Iterator
from typing import Any

import pytest

from trivium.http import HTTPClient, HTTPRequest, HTTPResponse, Layer, Send, Sender, add_layer, exchange
from trivium.knowledge.embeddings import OpenAIEmbedding
from trivium.llms import ClaudeModel, GoogleModel, OpenAIModel

from ._raw_server import RawServer, answering
from .test_client import CERTIFICATE, serving, trusted

ANSWERS: dict[str, Any] = {
    "chat": {"choices": [{"message": {"role": "assistant", "content": "hot"}, "finish_reason": "stop"}]},
    "messages": {"content": [{"type": "text", "text": "hot"}], "stop_reason": "end_turn", "type": "message"},
    "generateContent": {"candidates": [{"content": {"parts": [{"text": "hot"}]}, "finishReason": "STOP"}]},
    "embeddings": {"data": [{"index": 0, "embedding": [1.0, 0.0]}], "model": "m"},
}
CASES: dict[str, tuple[Callable[..., Any], str]] = {
    "chat": (OpenAIModel, "chat"),
    "messages": (ClaudeModel, "chat"),
    "generateContent": (GoogleModel, "chat"),
    "embeddings": (OpenAIEmbedding, "embed"),
}


class Canned:
    """A sender that is no HTTP client: it answers at once, and notes what it was asked."""

    def __init__(self, body: bytes) -> None:
        self.body = body
        self.requests: list[HTTPRequest] = []

    async def send(self, request: HTTPRequest) -> HTTPResponse:
        self.requests.append(request)

        async def pieces() -> AsyncGenerator[bytes]:
            yield self.body

        return HTTPResponse(200, {"content-type": "application/json"}, pieces())


def call(case: str, client: Sender, url: str) -> Any:
    make, method = CASES[case]
    model = make("m", base_url=url, api_key="k", client=client)
    return model.chat("hi") if method == "chat" else model.embed(["hi"])


@pytest.mark.parametrize("case", CASES)
def test_a_client_of_the_users_own_sends_the_requests(case: str) -> None:
    client = Canned(json.dumps(ANSWERS[case]).encode())
    answer = call(case, client, "http://far.example/v1")
    assert "hot" in str(answer) or case == "embeddings"
    assert client.requests[0].url.startswith("http://far.example/v1/")


@pytest.mark.parametrize("case", CASES)
def test_a_client_with_a_certificate_reaches_a_server_that_asks_for_one(case: str) -> None:
    body = json.dumps(ANSWERS[case]).encode()
    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    context, mine = serving(), trusted()
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(CERTIFICATE)
    mine.load_cert_chain(CERTIFICATE)

    async def run() -> None:
        async with RawServer(answering(head.encode() + body), context) as server:
            await asyncio.to_thread(call, case, HTTPClient(proxies={}, certificates=mine), f"{server.url}/v1")
            assert len(server.heads) == 1

    asyncio.run(run())


class Noting(Layer):
    """A layer that sends what it is given, and notes the secrets that it must not store."""

    def __init__(self) -> None:
        self.told: list[Collection[str]] = []

    async def respond(self, request: HTTPRequest, send: Send, secrets: Collection[str]) -> HTTPResponse:
        self.told.append(secrets)
        return await send(request)


@pytest.mark.parametrize("layers", [0, 1, 2])
def test_secrets_of_a_request_are_looked_for_once_and_only_where_it_may_be_stored(layers: int) -> None:
    looked: list[str] = []

    def secrets() -> Iterator[str]:
        looked.append("once")
        yield "a-secret"

    async def run() -> list[Noting]:
        async with RawServer(answering(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi")) as server:
            made = [Noting() for _ in range(layers)]
            removals = [add_layer(each) for each in made]
            request = HTTPRequest("GET", server.url, {})
            async with exchange(request, HTTPClient(proxies={}).send, secrets()) as response:
                assert b"".join([piece async for piece in response.pieces]) == b"hi"
            for remove in removals:
                remove()
        return made

    noting = asyncio.run(run())
    assert [each.told for each in noting] == [[("a-secret",)]] * layers
    assert looked == ["once"] * bool(layers)
