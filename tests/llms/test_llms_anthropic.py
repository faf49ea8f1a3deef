"""ClaudeModel against a real socket that speaks Anthropic's Messages interface."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from trivium import Agent
from trivium.exceptions import ConfigurationError, MalformedAnswerError, ProviderBusyError, ProviderStatusError
from trivium.llms import (
    ClaudeAPI,
    ClaudeModel,
    FallbackModel,
    GoogleModel,
    ModelProtocol,
    OpenAIModel,
    RateLimiter,
    RetryPolicy,
)
from trivium.llms._anthropic import MOST_TURNS
from trivium.schema import Usage
from trivium.testing import ScriptedModel

from ._provider_answers import HIDDEN, SIGNED, claude_events, claude_text, refused
from ._provider_answers import claude_said as said
from ._provider_answers import claude_thought as thought
from ._provider_answers import claude_use as use
from ._servers import ChatServer, event_stream, http_answer

NEW = "claude-opus-4-8"


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "TRIVIUM_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def route(start: str) -> str:
    """Find a way.

    Args:
        start: where.
    """
    return f"from {start}"


@pytest.mark.parametrize("kind", [ClaudeModel, ClaudeAPI])
def test_an_agent_sends_the_thoughts_back_with_its_results(chat: ChatServer, kind: type[Any]) -> None:
    asks = event_stream(*claude_events([thought("h", "m"), use("route", '{"start": "A"}')], "tool_use"))
    again = event_stream(*claude_events([(HIDDEN, []), use("route", '{"start": "B"}', call_id="toolu_2")], "tool_use"))
    chat.scripts = [asks, again, claude_text("done"), claude_text("bye")]
    agent = Agent(kind(NEW, base_url=chat.url), tools=[route])
    assert agent("go").content == "done"
    assert agent("and now?").content == "bye"
    _, first, result, second, *rest = chat.received[3].body["messages"]
    assert first["content"] == [SIGNED, {"type": "tool_use", "id": "toolu_1", "name": "route", "input": {"start": "A"}}]
    assert result["content"][0]["tool_use_id"] == "toolu_1"
    assert second["content"][:1] == [HIDDEN]
    assert [each["role"] for each in rest] == ["user", "assistant", "user"]


SEARCH = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}}
FOUND: dict[str, Any] = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}


@pytest.mark.parametrize("kind", [ClaudeModel, ClaudeAPI])
def test_a_server_that_pauses_is_asked_to_go_on(chat: ChatServer, kind: type[Any]) -> None:
    paused = claude_events([thought("h", "m"), said("Let me see."), (SEARCH, [])], "pause_turn")
    ended = claude_events([(FOUND, []), said(" It", " rains.")], "end_turn")
    chat.scripts = [event_stream(*paused), event_stream(*ended), claude_text("bye")]
    agent = Agent(kind(NEW, base_url=chat.url))
    answer = agent("go")
    assert answer.content == "Let me see. It rains."
    assert answer.usage == Usage(60, 30, cached_tokens=10)
    agent("and now?")
    so_far = [SIGNED, {"type": "text", "text": "Let me see."}, SEARCH]
    assert chat.received[1].body["messages"][1:] == [{"role": "assistant", "content": so_far}]
    whole = [*so_far, FOUND, {"type": "text", "text": " It rains."}]
    assert chat.received[2].body["messages"][1] == {"role": "assistant", "content": whole}


def test_a_server_that_always_pauses_is_a_typed_error_that_says_what_to_do(chat: ChatServer) -> None:
    chat.scripts = [event_stream(*claude_events([said("a"), (SEARCH, [])], "pause_turn"))] * MOST_TURNS
    with pytest.raises(MalformedAnswerError, match="max_uses") as caught:
        Agent(ClaudeModel(NEW, base_url=chat.url))("go")
    assert caught.value.raw == "a" * MOST_TURNS
    assert len(chat.received) == MOST_TURNS


def test_each_request_of_an_answer_that_pauses_counts_at_a_limiter(chat: ChatServer) -> None:
    paused = event_stream(*claude_events([said("a"), (SEARCH, [])], "pause_turn"))
    chat.scripts = [paused, paused, claude_text("b")]
    limiter = RateLimiter(10)
    assert limiter.of(ClaudeModel(NEW, base_url=chat.url)).chat("go") == "aab"
    assert len(limiter._store._minute) == 3  # type: ignore[attr-defined] - of memory


@pytest.mark.parametrize(("begins", "answers"), [([], True), ([said("a")], False)])
def test_a_pause_without_a_text_is_no_beginning_of_an_answer(chat: ChatServer, begins: Any, answers: bool) -> None:
    chat.scripts = [event_stream(*claude_events([*begins, (SEARCH, [])], "pause_turn")), refused("503 Busy")]
    model = ClaudeModel(NEW, base_url=chat.url, retry=RetryPolicy(max_tries=1))
    agent = Agent(FallbackModel([model, ScriptedModel(["other"])]))
    if answers:
        reply = agent("go")
        assert (reply.content, reply.usage and reply.usage.input_tokens) == ("other", 30)
    else:
        with pytest.raises(ProviderBusyError):
            agent("go")


def test_the_model_sends_what_it_is_reported(chat: ChatServer) -> None:
    chat.scripts = [claude_text("Hel", "lo")] * 2
    model: ModelProtocol = ClaudeModel(NEW, base_url=chat.url, api_key="sk-1", parameters={"max_tokens": 9})
    assert isinstance(model, ModelProtocol)
    assert ClaudeModel(NEW, base_url=f"{chat.url}/messages", api_key="sk-1").chat("hi") == "Hello"
    assert Agent(model)("hi").content == "Hello"
    assert [each.path for each in chat.received] == ["/v1/messages"] * 2
    headers = chat.received[1].headers
    assert (headers["x-api-key"], headers["anthropic-version"]) == ("sk-1", "2023-06-01")
    assert chat.received[1].body["max_tokens"] == 9
    assert repr(model) == f"ClaudeModel({NEW!r}, base_url={chat.url.removesuffix('/v1')!r})"


def test_the_provider_s_own_key_goes_to_the_provider_alone(chat: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigurationError, match="TRIVIUM_API_KEY or ANTHROPIC_API_KEY"):
        ClaudeModel(NEW).chat("hi")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-own")
    chat.scripts = [claude_text("a")] * 2
    model = ClaudeModel(NEW, base_url=chat.url)
    model.chat("hi")
    monkeypatch.setenv("TRIVIUM_API_KEY", "sk-ours")
    model.chat("hi")
    assert [each.headers.get("x-api-key") for each in chat.received] == [None, "sk-ours"]


def test_parameters_of_a_call_go_before_those_of_the_model(chat: ChatServer) -> None:
    chat.scripts = [claude_text("a")]
    given: Mapping[str, Any] = {"temperature": 1, "max_new_tokens": 5, "stop_words": ["x"]}
    ClaudeModel("kimi", base_url=chat.url, parameters=given).chat("hi", temperature=0)
    body = chat.received[0].body
    assert (body["temperature"], body["max_tokens"], body["stop_sequences"]) == (0, 5, ["x"])


@pytest.mark.parametrize("kind", [ClaudeModel, GoogleModel, OpenAIModel])
def test_a_key_that_is_refused_is_left_out_where_there_are_several(chat: ChatServer, kind: type[Any]) -> None:
    chat.scripts = [http_answer(b"{}", status="401 No")] + [http_answer(b"{}")] * 2
    model = kind("x", base_url=chat.url, api_key=["first", "second"])
    for _ in range(2):
        with pytest.raises(MalformedAnswerError):
            model.chat("hi")
    names = ("x-api-key", "x-goog-api-key", "authorization")
    sent = [next(each.headers[name] for name in names if name in each.headers) for each in chat.received]
    assert [each.removeprefix("Bearer ") for each in sent] == ["first", "second", "second"]


@pytest.mark.parametrize("kind", [ClaudeModel, GoogleModel])
def test_at_home_the_provider_s_own_key_is_taken(
    chat: ChatServer, kind: type[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kind, "profile", kind.profile._replace(url=chat.url))
    monkeypatch.setenv(kind.profile.other_key or kind.profile.key, "own")
    chat.scripts = [http_answer(b"{}")] * 3
    for url in (None, f"{chat.url}/", chat.url.replace("127.0.0.1", "localhost")):
        with pytest.raises(MalformedAnswerError):
            kind("x", base_url=url).chat("hi")
    keys = [each.headers.get("x-api-key") or each.headers.get("x-goog-api-key") for each in chat.received]
    assert keys == ["own", "own", None]


@pytest.mark.parametrize("kind", [ClaudeModel, GoogleModel, OpenAIModel])
def test_further_headers_are_sent_override_its_own_and_show_no_secret(chat: ChatServer, kind: type[Any]) -> None:
    chat.scripts = [http_answer(b'{"error": {"message": "gate-secret is wrong, session-1 too"}}', "400 Bad")]
    headers = {"Anthropic-Beta": "files", "Accept": "text/plain", "X-Gateway-Key": "gate-secret"}
    headers["Cookie"] = "sid=session-1; theme=dark"
    model = kind("m", base_url=chat.url, api_key="k", headers=headers)
    with pytest.raises(ProviderStatusError, match=r"\*\*\* is wrong, \*\*\* too"):
        model.chat("hi")
    sent = chat.received[0].headers
    assert {name.lower(): sent[name.lower()] for name in headers} == {key.lower(): headers[key] for key in headers}
    assert "files" in str(model.cache_identity)
    assert "gate-secret" not in str(model.cache_identity)


@pytest.mark.parametrize("kind", [ClaudeModel, GoogleModel, OpenAIModel])
@pytest.mark.parametrize(
    ("name", "value"), [("X", "a\r\nB: c"), ("X Y", "a"), ("", "a"), ("X", 5), ("X", None), ("X", "日"), (5, "a")]
)
def test_a_header_that_cannot_be_sent_is_refused_at_once(kind: type[Any], name: Any, value: Any) -> None:
    with pytest.raises(ConfigurationError, match="headers= has"):
        kind("m", headers={name: value})
