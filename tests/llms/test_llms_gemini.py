"""GoogleModel against a real socket that speaks Gemini's interface."""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import Any

import pytest

from trivium import Agent, AsyncAgent
from trivium.exceptions import (
    ConfigurationError,
    ProviderAuthenticationError,
    ProviderConnectionError,
    ProviderStatusError,
)
from trivium.llms import GoogleModel, ModelProtocol
from trivium.llms.wire._gemini_request import MADE_UP
from trivium.schema import NoEffectWarning

from ._provider_answers import gemini_answer, gemini_call, gemini_piece, gemini_stream, sent
from ._servers import ChatServer, Script, event_stream, http_answer

NAME, SIGN = "gemini-3-flash", "c2lnbmVk"
RESET: Script = []


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trivium.llms.http._transport.FIRST_DELAY", 0.0)
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY", "TRIVIUM_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def gemini(chat: ChatServer, **options: Any) -> GoogleModel:
    return GoogleModel(NAME, base_url=chat.url, **options)


def text(*pieces: str) -> Script:
    return gemini_stream(*({"text": piece} for piece in pieces))


def test_a_chat_sends_what_the_interface_wants(chat: ChatServer) -> None:
    chat.scripts = [text("Hel", "lo")]
    model: ModelProtocol = gemini(chat, api_key="k1", parameters={"temperature": 1, "stop_words": ["x"]})
    assert isinstance(model, GoogleModel)
    assert model.chat("hi", temperature=0) == "Hello"
    asked = chat.received[0]
    assert asked.path == f"/v1/models/{NAME}:streamGenerateContent?alt=sse"
    assert asked.headers["x-goog-api-key"] == "k1"
    assert "authorization" not in asked.headers
    assert asked.body == {
        "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
        "generationConfig": {"temperature": 0, "stopSequences": ["x"]},
    }
    assert repr(model) == f"GoogleModel('{NAME}', base_url='{chat.url}')"


@pytest.mark.parametrize(
    ("name", "end", "path"),
    [
        ("a b", "", "/v1/models/a%20b:streamGenerateContent?alt=sse"),
        ("tunedModels/mine", "/", "/v1/tunedModels/mine:streamGenerateContent?alt=sse"),
        ("models/x", "?v=1", "/v1/models/x:streamGenerateContent?v=1&alt=sse"),
    ],
)
def test_the_name_stands_in_the_address(chat: ChatServer, name: str, end: str, path: str) -> None:
    chat.scripts = [text("a")]
    GoogleModel(name, base_url=chat.url + end).chat("hi")
    assert chat.received[0].path == path


def test_the_provider_s_own_keys_go_to_the_provider_alone(chat: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigurationError, match="TRIVIUM_API_KEY or GEMINI_API_KEY or GOOGLE_API_KEY"):
        GoogleModel(NAME).chat("hi")
    monkeypatch.setenv("GEMINI_API_KEY", "own")
    chat.scripts = [text("a")] * 2
    gemini(chat).chat("hi")
    monkeypatch.setenv("TRIVIUM_API_KEY", "ours")
    gemini(chat).chat("hi")
    assert [each.headers.get("x-goog-api-key") for each in chat.received] == [None, "ours"]
    assert "ours" not in repr(gemini(chat))


@pytest.mark.parametrize(
    ("model", "effort", "sent"),
    [
        ("gemini-2.5-flash", "none", {"thinkingBudget": 0}),
        ("gemini-2.5-flash", "medium", {"thinkingBudget": 8192}),
        ("gemini-2.5-flash", "max", {"thinkingBudget": 24_576}),
        ("gemini-2.5-pro", "none", {"thinkingBudget": 128}),
        ("gemini-3-flash", "none", {"thinkingLevel": "minimal"}),
        ("gemini-3-flash", "max", {"thinkingLevel": "xhigh"}),
        ("tunedModels/mine", "low", {"thinkingLevel": "low"}),
    ],
)
def test_an_effort_is_a_budget_before_gemini_3_and_a_level_since(
    chat: ChatServer, model: str, effort: str, sent: dict[str, Any]
) -> None:
    chat.scripts = [text("a")]
    GoogleModel(model, base_url=chat.url, parameters={"reasoning_effort": effort}).chat("hi")
    assert chat.received[0].body["generationConfig"] == {"thinkingConfig": sent}


@pytest.mark.parametrize(("tier", "sent"), [("default", "standard"), ("flex", "flex"), ("auto", None), ("scale", None)])
def test_a_tier_of_openai_is_one_of_gemini_or_left_out(chat: ChatServer, tier: str, sent: str | None) -> None:
    chat.scripts = [text("a")]
    with pytest.warns(NoEffectWarning, match="service_tier='scale'") if tier == "scale" else contextlib.nullcontext():
        gemini(chat, parameters={"service_tier": tier}).chat("hi")
    assert chat.received[0].body.get("serviceTier") == sent


def test_whole_answers_are_taken_too(chat: ChatServer) -> None:
    chat.scripts = [http_answer(str(gemini_answer("a", "b")).replace("'", '"').encode())]
    assert gemini(chat).chat("hi") == "ab"


def route(start: str) -> str:
    """Find a way.

    Args:
        start: where.
    """
    return f"from {start}"


def test_an_agent_sends_signatures_and_ids_back_as_they_came(chat: ChatServer) -> None:
    first = gemini_stream(
        {"text": "hm", "thought": True},
        gemini_call("route", {"start": "A"}, "c1", SIGN),
        gemini_call("route", {"start": "B"}, "c2"),
    )
    second = gemini_stream(gemini_call("route", {"start": "C"}, None, "c2Vjb25k"))
    last = gemini_stream({"text": "do"}, {"text": "ne"}, {"text": "", "thoughtSignature": "bGFzdA=="})
    chat.scripts = [first, second, last, text("bye")] * 2
    agent = Agent(gemini(chat), tools=[route])
    assert (agent("go").content, agent("and now?").content) == ("done", "bye")

    async def talk() -> list[Any]:
        agent = AsyncAgent(gemini(chat), tools=[route])
        return [(await agent.acall("go")).content, (await agent.acall("and now?")).content]

    assert asyncio.run(talk()) == ["done", "bye"]
    for asked in (chat.received[3], chat.received[7]):
        parts = [content["parts"] for content in asked.body["contents"]]
        roles = [content["role"] for content in asked.body["contents"]]
        assert roles == ["user", "model", "user", "model", "user", "model", "user"]
        assert parts[1] == [
            {"functionCall": {"name": "route", "args": {"start": "A"}, "id": "c1"}, "thoughtSignature": SIGN},
            {"functionCall": {"name": "route", "args": {"start": "B"}, "id": "c2"}},
        ]
        found = {"name": "route", "response": {"output": "from A"}, "id": "c1"}
        assert parts[2][0] == {"functionResponse": found}
        assert parts[3] == [{"functionCall": {"name": "route", "args": {"start": "C"}}, "thoughtSignature": "c2Vjb25k"}]
        assert parts[4] == [{"functionResponse": {"name": "route", "response": {"output": "from C"}}}]
        assert parts[5] == [{"text": "done"}, {"text": "", "thoughtSignature": "bGFzdA=="}]
        assert MADE_UP not in str(asked.body)


def test_a_refused_key_is_left_out_from_then_on(chat: ChatServer) -> None:
    error = {"code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT"}
    refused = http_answer(json.dumps({"error": error}).encode(), "400 Bad Request")
    chat.scripts = [refused, text("a"), text("b"), refused]
    model = gemini(chat, api_key=["bad", "good"])
    assert [model.chat("hi") for _ in range(2)] == ["a", "b"]
    with pytest.raises(ProviderAuthenticationError, match=r"; check the API key$"):
        model.chat("hi")
    assert [each.headers["x-goog-api-key"] for each in chat.received] == ["bad", "good", "good", "good"]


@pytest.mark.parametrize(
    ("error", "status"),
    [
        ({"code": 400, "message": "API key not valid", "status": "INVALID_ARGUMENT"}, "400 Bad Request"),
        ({"code": 403, "message": "no", "status": "PERMISSION_DENIED"}, "403 Forbidden"),
    ],
)
def test_a_refusal_is_a_typed_error(chat: ChatServer, error: dict[str, Any], status: str) -> None:
    body = str({"error": error}).replace("'", '"').encode()
    chat.scripts = [http_answer(body, status), http_answer(b"[" + body + b"]", status)]
    for _ in range(2):
        with pytest.raises(ProviderStatusError, match=error["message"]) as caught:
            gemini(chat, api_key="secret").chat("hi")
        assert caught.value.status == error["code"]
        assert "secret" not in f"{caught.value!r}{caught.value.raw}"


def test_what_passes_is_tried_again_and_what_stays_is_a_typed_error(chat: ChatServer) -> None:
    busy = event_stream(sent({"error": {"code": 503, "message": "busy", "status": "UNAVAILABLE"}}))
    chat.scripts = [busy, RESET, text("a")]
    assert gemini(chat).chat("hi") == "a"
    chat.scripts = [event_stream(sent(gemini_piece({"text": "a"})))]
    with pytest.raises(ProviderConnectionError, match="broke off"):
        gemini(chat).chat("hi")
    with pytest.raises(ProviderConnectionError, match="base_url"):
        GoogleModel(NAME, base_url="http://127.0.0.1:1/v1beta").chat("hi")
