"""Faults at will: each becomes what the real one becomes, they are counted, and the same at each run."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from docs._server import ScriptedServer
from trivium import Agent
from trivium.actions.web._fetcher import Fetcher
from trivium.exceptions import (
    ConfigurationError,
    DeadlineExceededError,
    FetchConnectionError,
    MalformedAnswerError,
    ModelError,
    ProviderConnectionError,
    ProviderStatusError,
)
from trivium.llms import OpenAIModel, RetryPolicy
from trivium.testing import (
    BrokenGzip,
    ConnectionRefused,
    DNSFailure,
    Duplicated,
    Fault,
    FaultyTransport,
    Garbage,
    Reset,
    Slow,
    Stall,
    Status,
    TLSFailure,
    Truncated,
    WrongContentType,
    cassette,
)

ONCE = RetryPolicy(max_tries=1)
TWICE = RetryPolicy(max_tries=2, first_delay=0)


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(lambda question: f"you said {question['messages'][-1]['content']}") as server:
        yield server


def ask(server: ScriptedServer, text: str = "hi", retry: RetryPolicy = ONCE, timeout: float = 5.0) -> str:
    return OpenAIModel("m", base_url=server.url, retry=retry, timeout=timeout).chat(text)


@pytest.mark.parametrize(
    ("fault", "error", "said"),
    [
        (Status(429, retry_after=7), ProviderStatusError, "answered 429"),
        (Status(500, {"error": {"message": "on fire"}}), ProviderStatusError, "on fire"),
        (ConnectionRefused(), ProviderConnectionError, "Connection refused"),
        (DNSFailure(), ProviderConnectionError, "Name or service not known"),
        (TLSFailure(), ProviderConnectionError, "CERTIFICATE_VERIFY_FAILED"),
        (Reset(), ProviderConnectionError, "reset by peer"),
        (Reset(after=0), ProviderConnectionError, "reset by peer"),
        (Reset(after=150), ProviderConnectionError, "reset by peer"),
        (Stall(), ProviderConnectionError, "sent nothing"),
        (Stall(after=150), ProviderConnectionError, "sent nothing"),
        (Truncated(after=30), ProviderConnectionError, "broke off"),
        (Garbage(), ProviderConnectionError, "sent no answer"),
        (Garbage(b"<html>log in</html>"), MalformedAnswerError, "sent a web page"),
        (BrokenGzip(), MalformedAnswerError, "cannot be unpacked"),
        (WrongContentType(), None, "you said hi"),
        (Slow(seconds=0, size=7), None, "you said hi"),
        (Duplicated(), None, "you you said said hihi"),
        (Status(200, {"choices": [{"message": {"content": "canned"}}]}), None, "canned"),
        (Status(200, 'data: {"choices": [{"delta": {"content": "streamed"}}]}\n\ndata: [DONE]\n\n'), None, "streamed"),
    ],
    ids=repr,
)
def test_a_fault_becomes_what_the_real_one_becomes(
    server: ScriptedServer, fault: Fault, error: type[ModelError] | None, said: str
):
    expected = pytest.raises(error, match=said) if error else contextlib.nullcontext()
    with FaultyTransport([fault]) as faults:
        with expected as caught:
            answer = ask(server, timeout=0.2 if isinstance(fault, Stall) else 5)
            assert " ".join(answer.split()) == said
        assert ask(server) == "you said hi"  # after the last, nothing goes wrong any more
    assert (faults.requests, faults.injected, faults.counts) == (2, [fault], Counter([type(fault).__name__]))
    if isinstance(caught, pytest.ExceptionInfo) and isinstance(caught.value, ProviderStatusError):
        assert caught.value.retry_after in (0, 7)


def test_a_script_is_followed_in_order_and_none_lets_a_request_pass(server: ScriptedServer):
    with FaultyTransport([Status(503), None, Reset(), Status(429, retry_after=0)]) as faults:
        assert ask(server, "a", TWICE) == "you said a"
        with pytest.raises(ProviderStatusError):
            ask(server, "b", TWICE)
    assert [type(each).__name__ for each in faults.injected] == ["Status", "Reset", "Status"]
    assert (faults.requests, len(server.asked)) == (4, 1)
    assert ask(server, "c") == "you said c"


def test_chance_depends_on_the_seed_and_the_content_and_on_no_order(server: ScriptedServer, tmp_path: Path):
    texts = [f"text {n}" for n in range(12)]

    async def one(text: str) -> str:
        try:
            return await OpenAIModel("m", base_url="http://one.invalid/v1", retry=ONCE).chat_async(text)
        except ProviderStatusError as error:
            return str(error.status)

    async def together(texts: list[str]) -> dict[str, str]:
        return dict(zip(texts, await asyncio.gather(*map(one, texts)), strict=True))

    def run(seed: int, texts: list[str]) -> dict[str, str]:
        answer = Status(200, {"choices": [{"message": {"content": "fine"}}]})
        with (
            FaultyTransport([answer], rate=1),
            FaultyTransport([Status(500), Status(503)], rate=0.5, seed=seed) as faults,
        ):
            found = asyncio.run(together(texts))
        assert faults.requests == len(texts)
        assert len(faults.injected) == sum(each != "fine" for each in found.values())
        return found

    first = run(1, texts)
    assert run(1, texts[::-1]) == first
    assert run(2, texts) != first
    assert set(first.values()) == {"fine", "500", "503"}


def test_a_stall_ends_with_the_run(server: ScriptedServer):
    agent = Agent(OpenAIModel("m", base_url=server.url))
    with FaultyTransport([Stall(after=150)]), pytest.raises(DeadlineExceededError):
        agent("hi", timeout=0.2)


def test_pages_of_the_web_fail_too():
    with FaultyTransport([Reset()]) as faults, pytest.raises(FetchConnectionError, match="reset by peer"):
        Fetcher().fetch("http://page.invalid/")
    assert faults.requests == 1


def test_within_a_cassette_faults_disturb_what_is_replayed(server: ScriptedServer, tmp_path: Path):
    file = tmp_path / "tape.json"
    with cassette(file):
        ask(server)
    with cassette(file), FaultyTransport([Status(500)]) as faults:
        assert ask(server, retry=TWICE) == "you said hi"
    assert faults.counts == {"Status": 1}
    assert len(server.asked) == 1


def test_a_fault_of_your_own(server: ScriptedServer):
    class Shouted(Fault):
        async def pieces(self, request: Any, response: Any) -> AsyncGenerator[bytes]:
            async for piece in response.pieces:
                yield piece.replace(b"said", b"SAID")

    with FaultyTransport([Shouted()]):
        assert ask(server) == "you SAID hi"


@pytest.mark.parametrize("bad", [{"faults": [500]}, {"faults": [], "rate": 0.5}, {"faults": [Reset()], "rate": 1.5}])
def test_what_is_no_fault_is_refused(bad: dict[str, Any]):
    with pytest.raises(ConfigurationError):
        FaultyTransport(**bad)


@pytest.mark.parametrize(
    "fault",
    [lambda: Status("x"), lambda: Status(99), lambda: Slow(size=0), lambda: Garbage("text")],  # pyright: ignore
)
def test_a_fault_that_cannot_be_is_refused_where_it_is_written(fault: Callable[[], Fault]):
    with pytest.raises(ConfigurationError):
        fault()


@pytest.mark.parametrize("body", [[1, 2], 5, None, "\ud800"], ids=str)
def test_a_body_may_be_any_value(body: Any):
    model = OpenAIModel("any", base_url="http://127.0.0.1:9/v1", retry=RetryPolicy(max_tries=1))
    with FaultyTransport([Status(200, body)]), pytest.raises(ModelError):
        model.chat("hi")
