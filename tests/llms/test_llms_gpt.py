"""GPTAPI against a real socket that speaks OpenAI's interface."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import socket
import threading
import warnings
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from trivium import Agent, AsyncAgent
from trivium.exceptions import (
    ArgumentTypeError,
    ConfigurationError,
    MalformedAnswerError,
    ModelError,
    ProviderConnectionError,
    ProviderError,
    ProviderStatusError,
)
from trivium.llms import GPTAPI, AsyncGPTAPI, Request
from trivium.llms.http._keys import Keys
from trivium.llms.http._policy import RetryPolicy
from trivium.schema import ModelStatusCode

from ._provider_answers import gpt_call, gpt_text, refused
from ._servers import ChatServer, event_stream, http_answer
from .test_llms_openai import MALFORMED

ASK = [{"role": "user", "content": "hi"}]
ING, END = ModelStatusCode.STREAM_ING, ModelStatusCode.END
Kind = type[GPTAPI]


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trivium.llms.http._transport.FIRST_DELAY", 0.0)
    for name in ("TRIVIUM_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def gpt(chat: ChatServer, model: str = "gpt-4o-mini", kind: Kind = GPTAPI, **options: Any) -> Any:
    return kind(model, api_base=chat.url, **options)


def keys_seen(chat: ChatServer) -> list[str]:
    return [each.headers.get("authorization", "").removeprefix("Bearer ") for each in chat.received]


def test_a_chat_sends_what_the_documents_say(chat: ChatServer) -> None:
    chat.scripts = [gpt_text("Hel", "lo ")]
    model = gpt(chat, key="k", json_mode=True, stop_words="x", repetition_penalty=0.5)
    assert model.chat(ASK) == "Hello "
    body = chat.received[0].body
    assert chat.received[0].path == "/v1/chat/completions"
    assert {name: value for name, value in body.items() if name not in ("messages", "stream", "stream_options")} == {
        "model": "gpt-4o-mini",
        "max_tokens": 512,
        "top_p": 0.8,
        "temperature": 0.8,
        "frequency_penalty": 0.5,
        "stop": ["x"],
        "response_format": {"type": "json_object"},
    }
    assert body["messages"] == ASK


@pytest.mark.parametrize("path", ["/v1", "/v1/", "/v1/chat/completions", "/v1/chat/completions/"])
def test_the_address_is_taken_with_and_without_its_last_part(chat: ChatServer, path: str) -> None:
    chat.scripts = [gpt_text("a")]
    GPTAPI("gpt-4o", api_base=chat.url.removesuffix("/v1") + path).chat(ASK)
    assert chat.received[0].path == "/v1/chat/completions"


def test_stream_chat_gives_the_growing_text(chat: ChatServer) -> None:
    chat.scripts = [gpt_text("a", "b")] * 2
    growing = [(ING, "a", None), (ING, "ab", None), (END, "ab", None)]
    assert list(gpt(chat).stream_chat(ASK)) == growing

    async def listen() -> list[Any]:
        return [item async for item in gpt(chat, kind=AsyncGPTAPI).stream_chat(ASK)]

    assert asyncio.run(listen()) == growing


def test_several_conversations_are_asked_at_once(chat: ChatServer) -> None:
    chat.scripts = [gpt_text("a")] * 4
    assert gpt(chat).chat([ASK, ASK]) == ["a", "a"]
    assert asyncio.run(gpt(chat, kind=AsyncGPTAPI).chat([ASK, ASK])) == ["a", "a"]
    assert len(chat.received) == 4


def test_stop_words_of_a_call_go_before_and_none_switches_them_off(chat: ChatServer) -> None:
    chat.scripts = [gpt_text("a")] * 4
    model = gpt(chat, stop_words=["x"])
    model.chat(ASK, stop_words=["y"])
    model.chat(ASK, stop_words=None)
    model.gen_params["stop_words"].append("z")
    model.chat(ASK)
    Agent(model, parameters={"max_tokens": 7, "stop": None})("hi")
    assert [each.body.get("stop") for each in chat.received] == [["y"], None, ["x", "z"], None]
    assert chat.received[3].body["max_tokens"] == 7


@pytest.mark.parametrize(
    ("model", "absent", "present"),
    [
        ("gpt-4o", {"top_k", "skip_special_tokens", "repetition_penalty"}, {"max_tokens", "frequency_penalty"}),
        ("qwen-max", {"top_k", "skip_special_tokens"}, {"max_tokens", "temperature"}),
        ("gemini-2.5-pro", {"top_k", "skip_special_tokens"}, {"max_tokens", "temperature"}),
        ("internlm2.5-latest", {"top_k"}, {"skip_special_tokens", "frequency_penalty"}),
        ("o1-mini", {"max_tokens", "temperature", "top_p", "stop", "frequency_penalty"}, {"max_completion_tokens"}),
        ("gpt-5-mini", {"max_tokens", "temperature", "top_p", "stop"}, {"max_completion_tokens"}),
    ],
)
def test_each_family_gets_the_parameters_that_it_takes(
    chat: ChatServer, model: str, absent: set[str], present: set[str]
) -> None:
    chat.scripts = [gpt_text("a")]
    gpt(chat, model, stop_words=["x"]).chat(ASK)
    sent = set(chat.received[0].body)
    assert not absent & sent
    assert present <= sent


@pytest.mark.parametrize("kind", [GPTAPI, AsyncGPTAPI])
def test_max_tokens_is_refused_with_the_name_that_is_meant(kind: Kind) -> None:
    with pytest.raises(NotImplementedError, match="max_new_tokens"):
        kind("gpt-4o", max_tokens=3)
    model = GPTAPI("gpt-4o", key="k")
    with pytest.raises(ConfigurationError, match="max_new_tokens"):
        model.chat(ASK, max_tokens=3)
    with pytest.raises(ConfigurationError, match="max_new_tokens"):
        list(model.stream_chat(ASK, max_tokens=3))


def test_top_k_is_deprecated_and_not_sent(chat: ChatServer) -> None:
    before = list(warnings.filters)
    with pytest.warns(DeprecationWarning, match="top_k"):
        model = gpt(chat, top_k=5)
    chat.scripts = [gpt_text("a")]
    with pytest.warns(DeprecationWarning, match="top_k"):
        model.chat(ASK, top_k=3)
    assert "top_k" not in model.gen_params
    assert "top_k" not in chat.received[0].body
    assert list(warnings.filters) == before


def test_an_environment_message_is_the_systems_and_equal_roles_are_joined(chat: ChatServer) -> None:
    chat.scripts = [gpt_text("a")] * 2
    messages = [*ASK, {"role": "environment", "content": "4"}, {"role": "environment", "content": "5"}]
    gpt(chat).chat(messages)
    gpt(chat, meta_template=None).chat(messages)
    assert chat.received[0].body["messages"] == [*ASK, {"role": "system", "content": "4\n5"}]
    environment = {"role": "user", "name": "environment"}
    assert chat.received[1].body["messages"] == [
        *ASK,
        {**environment, "content": "4"},
        {**environment, "content": "5"},
    ]


def test_keys_and_organizations_are_used_in_turn(chat: ChatServer) -> None:
    chat.scripts = [gpt_text("a")] * 6
    model = gpt(chat, key=["k1", "k2", "k3"], org=["o1", "o2"])
    for _ in range(6):
        model.chat(ASK)
    assert Counter(keys_seen(chat)) == {"k1": 2, "k2": 2, "k3": 2}
    assert Counter(each.headers["openai-organization"] for each in chat.received) == {"o1": 3, "o2": 3}


@pytest.mark.parametrize(
    "refusal",
    [
        refused("401 Unauthorized", "wrong key k1"),
        refused("429 Too Many", "You exceeded your quota", "insufficient_quota", retry_after="0"),
    ],
)
def test_a_refused_key_is_left_out_from_then_on(chat: ChatServer, refusal: Any) -> None:
    chat.scripts = [refusal, *[gpt_text("a")] * 4]
    model = gpt(chat, key=["k1", "k2", "k3"], retry=1)
    assert [model.chat(ASK) for _ in range(4)] == ["a"] * 4
    assert Counter(keys_seen(chat)) == {"k1": 1, "k2": 2, "k3": 2}


def test_when_all_keys_are_refused_the_servers_words_are_the_error(chat: ChatServer) -> None:
    chat.scripts = [refused("401 No", f"bad k{key}") for key in (1, 2, 2)]
    model = gpt(chat, key=["k1", "k2"], retry=9)
    for _ in range(2):
        with pytest.raises(ProviderStatusError, match=r"bad \*\*\*; check the API key"):
            model.chat(ASK)
    assert keys_seen(chat) == ["k1", "k2", "k2"]


def test_a_key_without_quota_is_not_tried_again(chat: ChatServer) -> None:
    chat.scripts = [refused("429 Too Many", "no quota", "insufficient_quota")]
    with pytest.raises(ProviderStatusError, match="billing"):
        gpt(chat, key="k1", retry=9).chat(ASK)
    assert len(chat.received) == 1


def test_keys_are_taken_and_refused_from_many_threads() -> None:
    keys = Keys([f"k{number}" for number in range(64)])
    start = threading.Barrier(8)

    def use(thread: int) -> None:
        start.wait()
        for number in range(8 * thread, 8 * thread + 8):
            keys.next_key()
            keys.refuse(f"k{number}")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(use, range(8)))
    left = {keys.next_key() for _ in range(200)}
    assert len(left) == 1
    assert not keys.refuse(left.pop())


def test_the_key_comes_from_the_environment_at_each_request(chat: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    chat.scripts = [gpt_text("a")] * 3
    model = gpt(chat)
    for key in ("", "k1", "k2"):
        monkeypatch.setenv("OPENAI_API_KEY", key)
        model.chat(ASK)
    assert keys_seen(chat) == ["", "k1", "k2"]


def test_the_public_server_is_not_asked_without_a_key() -> None:
    with pytest.raises(ConfigurationError, match="OPENAI_API_KEY"):
        GPTAPI("gpt-4o").chat(ASK)
    with pytest.raises(ConfigurationError, match="needs an API key: set TRIVIUM_API_KEY or OPENAI_API_KEY"):
        GPTAPI("gpt-4o", key="").chat(ASK)


def test_a_key_is_never_shown(chat: ChatServer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    chat.scripts = [refused("400 No", "bad sk-secret1"), gpt_text("a")]
    base = chat.url.replace("//", "//user:sk-secret3@")
    model = GPTAPI("gpt-4o", key=["sk-secret1", "sk-secret2"], api_base=base)
    with pytest.raises(ProviderStatusError, match=r"bad \*\*\*") as caught:
        model.chat(ASK)
    assert model.chat(ASK) == "a"
    shown = f"{model!r}{vars(model)}{caught.value!r}{vars(caught.value)}{caplog.text}{gc.get_referents(caught.value)}"
    assert "sk-secret" not in shown
    assert chat.received[0].headers["authorization"].startswith("Basic ")


@pytest.mark.parametrize("retry", [0, 1, 2, 4])
def test_a_busy_server_is_asked_as_often_as_retry_says(chat: ChatServer, retry: int) -> None:
    chat.scripts = [refused("503 Busy")] * 9
    with pytest.raises(ProviderStatusError, match="503"):
        gpt(chat, retry=retry).chat(ASK)
    assert len(chat.received) == max(1, retry)


@pytest.mark.parametrize("kind", [GPTAPI, AsyncGPTAPI])
def test_a_server_that_is_not_there_ends_after_the_tries(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[int] = []

    def delay(self: RetryPolicy, error: ProviderError, attempt: int) -> float | None:
        waits.append(attempt)
        return 0.0 if attempt < self.max_tries else None

    monkeypatch.setattr(RetryPolicy, "delay", delay)
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    model = kind("gpt-4o", retry=3, api_base=url)
    with pytest.raises(ProviderConnectionError, match="api_base"):
        model.chat(ASK) if kind is GPTAPI else asyncio.run(model.chat(ASK))
    assert waits == [1, 2, 3]


def test_a_server_says_how_long_to_wait(chat: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []

    async def wait(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr("trivium.llms.http._transport.wait", wait)
    chat.scripts = [refused("429 Slow", retry_after="7"), gpt_text("a")]
    assert gpt(chat).chat(ASK) == "a"
    assert slept == [7.0]


@pytest.mark.parametrize("case", MALFORMED)
@pytest.mark.parametrize("kind", [GPTAPI, AsyncGPTAPI])
def test_what_is_no_answer_is_a_typed_error(chat: ChatServer, case: str, kind: Kind) -> None:
    script, text = MALFORMED[case]
    chat.scripts = [script] * 2
    model = gpt(chat, kind=kind)
    with pytest.raises(MalformedAnswerError, match=text):
        model.chat(ASK) if kind is GPTAPI else asyncio.run(model.chat(ASK))
    with pytest.raises(ModelError):
        Agent(model)("hi")


def route(start: str) -> str:
    """Find a way.

    Args:
        start: where.
    """
    return f"from {start}"


def test_an_agent_calls_its_tools_through_it(chat: ChatServer) -> None:
    chat.scripts = [gpt_call("route", '{"start": "A"}'), gpt_text("done")] * 2
    assert Agent(gpt(chat), tools=[route])("go").content == "done"
    assert asyncio.run(AsyncAgent(gpt(chat, kind=AsyncGPTAPI), tools=[route]).acall("go")).content == "done"
    for number in (1, 3):
        body = chat.received[number].body
        assert body["tools"][0]["function"]["name"] == "route"
        assert body["max_tokens"] == 512
        *_, called, result = body["messages"]
        assert called["tool_calls"][0]["function"] == {"name": "route", "arguments": '{"start": "A"}'}
        assert result == {"role": "tool", "tool_call_id": "call_1", "content": "from A"}


def test_a_schema_goes_to_the_server_and_before_the_json_mode(chat: ChatServer) -> None:
    chat.scripts = [gpt_text('{"a": 1}')]
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}

    async def ask() -> None:
        async for _ in gpt(chat, json_mode=True).stream(Request(ASK, output_schema=schema)):
            pass

    asyncio.run(ask())
    assert chat.received[0].body["response_format"]["type"] == "json_schema"


def test_a_subclass_may_write_its_own_chat(chat: ChatServer) -> None:
    class Loud(GPTAPI):
        def chat(self, inputs: Any, session_ids: Any = None, **gen_params: Any) -> Any:
            return str(super().chat(inputs, session_ids, **gen_params)).upper()

    chat.scripts = [gpt_text("a")] * 2
    model = Loud("gpt-4o", api_base=chat.url)
    assert model.chat(ASK) == "A"
    assert Agent(model)("hi").content == "A"


def test_proxies_are_those_that_are_given(chat: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.setenv("NO_PROXY", "")
    chat.scripts = [gpt_text("a"), gpt_text("b")]
    assert gpt(chat).chat(ASK) == "a"
    proxy = chat.url.removesuffix("/v1")
    assert GPTAPI("gpt-4o", api_base="http://nowhere.invalid/v1", proxies={"http": proxy}).chat(ASK) == "b"
    assert chat.received[1].path == "http://nowhere.invalid/v1/chat/completions"


@pytest.mark.parametrize("url", ["localhost", "http://h:port/v1", "ftp://h"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError, match="api_base begins with http"):
        GPTAPI("gpt-4o", api_base=url)


def test_what_cannot_be_sent_is_a_typed_error(chat: ChatServer) -> None:
    with pytest.raises(ConfigurationError, match="JSON"):
        gpt(chat).chat(ASK, logit_bias={object()})
    assert chat.received == []


def test_a_whole_answer_to_a_question_for_a_stream_is_read(chat: ChatServer) -> None:
    whole = {"choices": [{"message": {"role": "assistant", "content": " a "}, "finish_reason": "stop"}]}
    chat.scripts = [http_answer(json.dumps(whole).encode())]
    assert gpt(chat).chat(ASK) == " a "


def test_closing_a_growing_answer_ends_the_request(chat: ChatServer) -> None:
    script = event_stream(b'data: {"choices": [{"delta": {"content": "a"}}]}\n\n')
    chat.scripts = [[script[0].replace(b"connection: close", b"x-keep: content-length"), script[1]]]
    growing = gpt(chat).stream_chat(ASK)
    assert next(growing) == (ING, "a", None)
    growing.close()
    assert chat.closed.wait(60)


def test_one_object_may_be_asked_from_many_threads(chat: ChatServer) -> None:
    chat.scripts = [gpt_text("a")] * 16
    model = gpt(chat, key=["k1", "k2"])
    ask: Callable[[int], Any] = lambda _: model.chat(ASK)  # noqa: E731
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(ask, range(16))) == ["a"] * 16
    assert Counter(keys_seen(chat)) == {"k1": 8, "k2": 8}


@pytest.mark.parametrize(("wrong", "right"), [("kye", "key"), ("api_bse", "api_base"), ("model", "model_type")])
def test_a_mistyped_option_is_compared_with_all_options(wrong: str, right: str):
    with pytest.raises(ArgumentTypeError, match=f"GPTAPI takes no {wrong}: did you mean {right}"):
        GPTAPI("gpt-4o", key="k", **{wrong: "x"})  # pyright: ignore[reportArgumentType]
