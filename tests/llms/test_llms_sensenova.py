"""SensenovaAPI against a real socket: tokens that are signed, both forms of answers."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
from typing import Any

import pytest

from trivium import Agent
from trivium.exceptions import ConfigurationError, ProviderStatusError
from trivium.llms import AsyncSensenovaAPI, SensenovaAPI
from trivium.llms._sensenova import signed_token
from trivium.schema import ModelStatusCode

from ._provider_answers import gpt_call, gpt_text, refused, sent
from ._servers import ChatServer, event_stream, http_answer

ASK = [{"role": "user", "content": "hi"}]


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trivium.llms.http._transport.FIRST_DELAY", 0.0)
    monkeypatch.delenv("SENSENOVA_API_KEY", raising=False)


def nova(chat: ChatServer, **options: Any) -> SensenovaAPI:
    return SensenovaAPI("SenseChat-5", sensenova_api_base=chat.url, **options)


def decoded(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def test_a_token_is_signed_as_the_standard_says() -> None:
    head, claims, signature = signed_token("ak", "sk", 1000).split(".")
    assert json.loads(decoded(head)) == {"alg": "HS256", "typ": "JWT"}
    assert json.loads(decoded(claims)) == {"iss": "ak", "exp": 2800, "nbf": 995}
    assert decoded(signature) == hmac.new(b"sk", f"{head}.{claims}".encode(), hashlib.sha256).digest()


@pytest.mark.parametrize("options", [{"key": "ak, sk"}, {"key": "ak", "secret_key": "sk"}])
def test_two_keys_make_a_token(chat: ChatServer, options: dict[str, str]) -> None:
    chat.scripts = [gpt_text("a", "b")]
    assert nova(chat, **options).chat(ASK) == "ab"
    assert chat.received[0].path == "/v1/chat/completions"
    head, claims, signature = chat.received[0].headers["authorization"].removeprefix("Bearer ").split(".")
    assert json.loads(decoded(claims))["iss"] == "ak"
    assert decoded(signature) == hmac.new(b"sk", f"{head}.{claims}".encode(), hashlib.sha256).digest()


def test_one_key_is_sent_as_it_is(chat: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    chat.scripts = [gpt_text("a")] * 2
    nova(chat, key="k1").chat(ASK)
    monkeypatch.setenv("SENSENOVA_API_KEY", "k2")
    asyncio.run(AsyncSensenovaAPI("SenseChat-5", sensenova_api_base=chat.url).chat(ASK))
    assert [each.headers["authorization"] for each in chat.received] == ["Bearer k1", "Bearer k2"]


def test_neither_key_nor_token_is_shown(chat: ChatServer) -> None:
    class Echo(ChatServer):
        """Sends the token of each request back."""

        def _serve(self, connection: Any, readline: Any, read: Any) -> bool:
            lines = [readline().decode()]
            while lines[-1].strip():
                lines.append(readline().decode())
            token = next(line for line in lines if line.lower().startswith("authorization")).split()[-1]
            connection.sendall(b"".join(refused("400 Bad", f"token {token} of ak-123 by sk-456")))
            return False

    with Echo() as echo, pytest.raises(ProviderStatusError, match="answered 400") as caught:
        nova(echo, key="ak-123,sk-456").chat(ASK)
    shown = f"{caught.value}{caught.value.raw}{vars(caught.value)}{nova(chat, key='ak-123,sk-456')!r}"
    assert "token *** of *** by ***" in shown
    assert not any(secret in shown for secret in ("ak-123", "sk-456", "eyJ"))


def test_the_older_interface_is_understood(chat: ChatServer) -> None:
    pieces = [{"data": {"choices": [{"index": 0, "delta": piece, "finish_reason": ""}]}} for piece in ("a", "b")]
    end = {"data": {"choices": [{"delta": "", "finish_reason": "stop"}], "usage": {"prompt_tokens": 1}}}
    whole = {"data": {"choices": [{"message": "ab", "finish_reason": "stop"}]}}
    chat.scripts = [
        event_stream(*map(sent, [*pieces, end]), b"data:[DONE]\n\n"),
        http_answer(json.dumps(whole).encode()),
    ]
    url = chat.url + "/llm/chat-completions"
    model = SensenovaAPI("SenseChat-5", key="k", sensenova_api_base=url)
    status = ModelStatusCode
    assert list(model.stream_chat(ASK)) == [
        (status.STREAM_ING, "a", None),
        (status.STREAM_ING, "ab", None),
        (status.END, "ab", None),
    ]
    assert model.chat(ASK) == "ab"
    assert [each.path for each in chat.received] == ["/v1/llm/chat-completions"] * 2


def test_an_agent_calls_its_tools_through_it(chat: ChatServer) -> None:
    def twice(number: int) -> int:
        return 2 * number

    chat.scripts = [gpt_call("twice", '{"number": 2}'), gpt_text("4")]
    assert Agent(nova(chat, key="k"), tools=[twice])("2 * 2?").content == "4"
    assert chat.received[1].body["messages"][-1]["content"] == "4"


def test_what_cannot_be_meant_is_refused(chat: ChatServer) -> None:
    with pytest.raises(ConfigurationError, match="SENSENOVA_API_KEY"):
        SensenovaAPI().chat(ASK)
    with pytest.raises(ConfigurationError, match="access key"):
        nova(chat, secret_key="sk")
    with pytest.raises(NotImplementedError, match="max_new_tokens"):
        nova(chat, max_tokens=3)
