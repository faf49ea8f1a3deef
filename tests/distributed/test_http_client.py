"""The client: a served agent as a module like any other, and servers that are none."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import threading
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import date
from typing import Any

import pytest
from pydantic import BaseModel

from trivium import Agent, Limits, Message, Module
from trivium.agents import Sequential
from trivium.commander import Event
from trivium.distributed import AsyncHTTPAgentClient, HTTPAgentClient
from trivium.exceptions import (
    AnswerFormatError,
    ConfigurationError,
    DeadlineExceededError,
    LimitExceededError,
    RemoteAgentError,
    RemoteConnectionError,
    RunKilledError,
)
from trivium.llms import Reasoning
from trivium.schema import Origin, Usage
from trivium.testing import ScriptedModel, call_tool

from ._helpers import GUARD, TOKEN, Ask, AsyncSleeper, Echo, served

from commander._helpers import Entry, every_entry  # isort: skip


def client_of(ask: Ask, **options: Any) -> HTTPAgentClient:
    return HTTPAgentClient(port=int(ask.url.rsplit(":", 1)[1]), token=options.pop("token", TOKEN), **options)


@every_entry
def test_a_served_agent_is_called_like_any_other(entry: Entry):
    with served(Agent(ScriptedModel(["hello"]), name="far")) as ask:
        answer = entry(client_of(ask), "hi", session_id="ada")
        assert (answer.content, answer.sender, answer.origin) == ("hello", "far", Origin.USER)
        assert len(client_of(ask).state_dict("ada")["memory"]) == 2


class Order(BaseModel):
    item: str
    due: date


ORDER = Order(item="chair", due=date(2026, 5, 4))


class OrderClient(HTTPAgentClient[Order]):
    """A client whose class says the type of its answers."""


@pytest.mark.parametrize("kind", [HTTPAgentClient[Order], OrderClient])
def test_a_typed_answer_comes_as_a_value_of_its_type(kind: type[HTTPAgentClient[Order]]):
    with served(Agent[Order](ScriptedModel([ORDER.model_dump_json()]), name="far")) as ask:
        client = kind(port=int(ask.url.rsplit(":", 1)[1]), token=TOKEN)
        assert client("a chair").output == ORDER
        assert client.stream("a chair").result.output == ORDER
        assert ask.chat("a chair").json()["output"] == {"item": "chair", "due": "2026-05-04"}


def test_an_answer_that_does_not_fit_the_type_is_an_error():
    with served(Agent[date](ScriptedModel(['{"value": "2026-05-04"}']), name="far")) as ask:
        port = int(ask.url.rsplit(":", 1)[1])
        assert HTTPAgentClient[date](port=port, token=TOKEN)("when?").output == date(2026, 5, 4)
        assert asyncio.run(AsyncHTTPAgentClient[date](port=port, token=TOKEN)("when?")).output == date(2026, 5, 4)
        assert HTTPAgentClient[str](port=port, token=TOKEN)("when?").output == '{"value": "2026-05-04"}'
        with pytest.raises(AnswerFormatError, match="does not fit"):
            HTTPAgentClient[Order](port=port, token=TOKEN)("when?")


def test_what_a_remote_agent_spends_is_no_part_of_its_callers_limits():
    def spend(request: object) -> list[Any]:
        return ["hello", Usage(900, 100, usd=5.0)]

    last = Agent(ScriptedModel(["bye"]), name="last")
    with pytest.raises(LimitExceededError):
        Sequential(Agent(ScriptedModel(spend), name="near"), last)("hi", limits=Limits(tokens=500))
    with served(Agent(ScriptedModel(spend), name="far")) as ask:
        assert Sequential(client_of(ask), last)("hi", limits=Limits(tokens=500)).content == "bye"


def test_a_server_speaks_no_tls():
    with served(Echo()) as ask:
        port = int(ask.url.rsplit(":", 1)[1])
        with socket.create_connection(("127.0.0.1", port), timeout=10) as plain, pytest.raises(ssl.SSLError):
            ssl.create_default_context().wrap_socket(plain, server_hostname="localhost")


def test_the_async_client_is_awaited():
    async def main() -> list[str]:
        answers: list[Message] = await asyncio.gather(*(client(f"hi {n}", session_id=n) for n in range(50)))
        return [answer.content for answer in answers]

    with served(Echo()) as ask:
        client: Any = AsyncHTTPAgentClient(port=int(ask.url.rsplit(":", 1)[1]), token=TOKEN)
        assert asyncio.run(main()) == [f'[1, "user", "hi {n}", {{}}]' for n in range(50)]
        assert client.is_alive
        assert len(client.state_dict(3)["memory"]) == 2


def test_state_is_seen_and_forgotten_at_the_server():
    with served(Echo()) as ask:
        client = client_of(ask)
        client("hi", session_id="a/b ü?")
        assert client.state_dict("a/b ü?")["memory"][0]["content"] == "hi"
        client.reset("a/b ü?")
        client.reset("a/b ü?")
        with pytest.raises(RemoteAgentError) as refused:
            client.state_dict("a/b ü?")
        assert (refused.value.status, refused.value.kind) == (404, "UnknownSession")
    assert not client.is_alive


@every_entry
def test_its_events_are_those_of_the_server(entry: Entry):
    def add(a: int, b: int) -> int:
        return a + b

    events: list[Event] = []
    model = ScriptedModel([[Reasoning("hm"), call_tool("add", a=1, b=2)], ["thr", "ee"]])
    with served(Agent(model, tools=[add])) as ask:
        entry(client_of(ask, name="far"), "1 + 2?", listeners=[events.append])
    received = [(event.kind, event.data) for event in events if event.kind not in ("started", "ended")]
    assert received == [
        ("delta", Reasoning("hm")),
        ("tool_call", ("add", '{"a": 1, "b": 2}')),
        ("tool_result", 3),
        ("delta", "thr"),
        ("delta", "ee"),
    ]
    assert {event.name for event in events} == {"far"}


def test_it_stands_among_local_agents_with_the_session_of_the_caller():
    with served(Echo(), keywords=["temperature"]) as ask:
        both = Sequential(Agent(ScriptedModel(["draft"]), name="near"), client_of(ask))
        assert both("write", session_id=5).content == '[1, "near", "draft", {}]'
        assert len(client_of(ask).state_dict(5)["memory"]) == 2
        assert client_of(ask)("hi", temperature=1).content.endswith('{"temperature": 1}]')


# ---- the end of a call
@every_entry
def test_a_deadline_here_ends_the_run_there(entry: Entry):
    sleeper = AsyncSleeper()
    with served(sleeper) as ask:
        for seconds in (0.2, 2, 20):  # on a busy machine it may be over before the run has begun
            with pytest.raises(DeadlineExceededError):
                entry(client_of(ask), "hi", timeout=seconds)
            if sleeper.began.acquire(timeout=seconds):
                break
        assert sleeper.ended.acquire(timeout=GUARD)


def test_a_kill_here_ends_the_run_there():
    sleeper = AsyncSleeper()
    nodes: list[Event] = []
    with served(sleeper) as ask, ThreadPoolExecutor(1) as pool:
        call = pool.submit(lambda: client_of(ask)("hi", listeners=[nodes.append]))
        assert sleeper.began.acquire(timeout=GUARD)
        nodes[0].node.kill("enough")
        assert sleeper.ended.acquire(timeout=GUARD)
        with pytest.raises(RunKilledError, match="enough"):
            call.result(GUARD)


# ---- what goes wrong
def test_refusals_are_typed_and_say_what_to_do():
    with served(Echo(), max_bytes=1000) as ask:
        keywords: dict[str, Any]
        for client, keywords, status, kind, text in (
            (client_of(ask, token="wrong"), {}, 401, "Unauthorized", "token="),
            (client_of(ask), {"hooks": 1}, 422, "InvalidRequest", "hooks"),
            (client_of(ask), {"temperature": "x" * 1000}, 413, "TooLarge", "1000 bytes"),
        ):
            with pytest.raises(RemoteAgentError, match=text) as refused:
                client("hi", **keywords)
            assert (refused.value.status, refused.value.kind) == (status, kind)
            assert "wrong" not in str(refused.value)


@pytest.mark.parametrize("content", [{"a": 1}, 3, None, ["x"]])
def test_contents_that_are_no_text_need_a_server_made_for_them(content: Any):
    class Same(Module):
        def forward(self, message: Message) -> Any:
            return [message.content]

    with served(Same()) as ask, pytest.raises(RemoteAgentError, match="is a text"):
        client_of(ask)(Message(content=content))
    with served(Same(), structured=True) as ask:
        assert client_of(ask)(Message(content=content)).content == [content]


def test_an_error_in_the_middle_is_the_servers_words():
    with served(AsyncSleeper(), timeout=0.05) as ask:
        with pytest.raises(RemoteAgentError, match="longer than the server allows") as failed:
            client_of(ask)("hi")
        assert (failed.value.status, failed.value.kind) == (504, "DeadlineExceededError")


def test_a_server_that_is_not_there_is_reported():
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    client = HTTPAgentClient(port=port)
    assert not client.is_alive
    for ask in (lambda: client("hi"), client.state_dict, client.reset):
        with pytest.raises(RemoteConnectionError, match=f"no answer from http://127.0.0.1:{port}"):
            ask()


@contextmanager
def answering(answer: bytes) -> Generator[int]:
    """A server that sends these bytes to whoever asks, and hangs up."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection, connection.makefile("rb") as asked:
                    length = 0
                    while line := asked.readline().strip().lower():
                        if line.startswith(b"content-length:"):
                            length = int(line.partition(b":")[2])
                    asked.read(length)  # all of it: what is left unread would break the answer off
                    connection.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join(GUARD)


SSE = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
HTML = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n<html>"
DELTA = b'data: {"type": "delta", "text": "half"}\n\n'


@pytest.mark.parametrize(
    "answer",
    [
        b"", b"nonsense\r\n\r\n", HTML, SSE, SSE + DELTA, SSE + b"data: [DONE]\n\n", SSE + b"data: {\n\n",
        SSE + b"data: 3\n\n", SSE + b'data: {"type": "message", "message": "hi"}\n\n',
        SSE + b"data: " + b"[" * 50_000 + b"\n\n",
        b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 6\r\n\r\n<html>",
        b"HTTP/1.1 500 No\r\nContent-Length: 2\r\n\r\n{}",
        SSE + b'data: {"type": "error", "status": "x"}\n\n',
        b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
    ],
)  # fmt: skip
def test_a_server_that_is_none_is_reported(answer: bytes):
    with answering(answer) as port:
        client = HTTPAgentClient(port=port, token="my-token")
        with pytest.raises(RemoteAgentError) as failed:
            client("hi")
        assert "my-token" not in str(failed.value)
        with pytest.raises(RemoteAgentError):
            client.state_dict()


def test_events_that_are_not_known_are_passed_over():
    message = (
        b'data: {"type": "message", "message": {"content": "hi", "sender": 3, "usage": {"input_tokens": "x"}}}\n\n'
    )
    with answering(SSE + b'data: {"type": "new"}\n\n' + DELTA + message) as port:
        answer = HTTPAgentClient(port=port)("hi")
    assert (answer.content, answer.sender) == ("hi", "3")


def test_the_usage_of_a_served_agent_is_whole():
    usage = {"input_tokens": 9, "output_tokens": -1, "usd": 0.5, "cached_tokens": 3, "reasoning_tokens": "x"}
    received = json.dumps({"type": "message", "message": {"content": "hi", "sender": "a", "usage": usage}})
    with answering(SSE + b"data: " + received.encode() + b"\n\n") as port:
        answer = HTTPAgentClient(port=port)("hi")
    assert answer.usage == Usage(9, 0, 0.5, 3)


def test_what_cannot_be_sent_is_reported():
    with pytest.raises(ConfigurationError, match="by a number or a text"):
        HTTPAgentClient()("hi", session_id=("ada", 3))
    with pytest.raises(ConfigurationError, match="the token has characters"):
        HTTPAgentClient(token="a\nb")


def test_a_token_is_never_shown():
    client = HTTPAgentClient(token="my-token", name="far")
    assert repr(client) == "HTTPAgentClient(name='far', url='http://127.0.0.1:8090')"


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:8090"),
        ("::1", "http://[::1]:8090"),
        ("https://agents.example/", "https://agents.example"),
    ],
)
def test_where_the_server_is(host: str, url: str):
    assert HTTPAgentClient(host).url == url


def test_makes_of_clients_are_modules():
    kinds: list[Callable[..., Module]] = [HTTPAgentClient, AsyncHTTPAgentClient]
    assert [kind().name for kind in kinds] == ["HTTPAgentClient", "AsyncHTTPAgentClient"]
