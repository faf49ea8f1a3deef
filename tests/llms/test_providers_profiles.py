"""Providers by name: where each is asked, with which key and in which form; what a model's family decides."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from trivium import Agent
from trivium.exceptions import ConfigurationError, MalformedAnswerError, ProviderStatusError
from trivium.language_models import OpenAIGPT, OpenAIGPTConfig
from trivium.llms import (
    GPTAPI,
    PROFILES,
    Capabilities,
    ClaudeModel,
    Delta,
    Finish,
    GoogleModel,
    OpenAIModel,
    Request,
    ToolCallPart,
    capabilities_of,
    resolve,
)
from trivium.schema import NoEffectWarning, ToolSpec

from ._provider_answers import gpt_text
from ._servers import ChatServer, event_stream, http_answer
from ._wire_answers import call_item, calls_in, chat_chunk, message_item, reasoning_item, sent_events, streamed

ASK = Request([{"role": "user", "content": "hi"}])
COMPATIBLE = [name for name, each in PROFILES.items() if each.form == "openai"]
SCHEMA = {"type": "object", "properties": {"n": {"type": "number"}}, "required": ["n"], "additionalProperties": False}
NOTHING: frozenset[str] = frozenset()
KEYS = [
    *("TRIVIUM_MODEL", "TRIVIUM_API_KEY", "AZURE_OPENAI_ENDPOINT", "OPENAI_BASE_URL"),
    *(each.key for each in PROFILES.values() if each.key),
]  # fmt: skip


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in (*KEYS, "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TRIVIUM_CACHE", str(tmp_path))


def deltas_of(model: Any, request: Request = ASK) -> list[Delta]:
    async def collect() -> list[Delta]:
        return [delta async for delta in model.stream(request)]

    return asyncio.run(collect())


# ---- names
@pytest.mark.parametrize("name", COMPATIBLE)
def test_every_provider_of_the_form_is_named_and_has_its_address(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://mine.openai.azure.com/")
    model = resolve(f"{name}:family:size")
    where = PROFILES[name].url or "https://mine.openai.azure.com/openai/v1"
    assert repr(model) == f"OpenAIModel('family:size', base_url={where!r})"


def test_the_other_forms_are_made_by_their_own_classes() -> None:
    assert isinstance(resolve("anthropic:claude-x"), ClaudeModel)
    assert isinstance(resolve("gemini:gemini-x"), GoogleModel)


@pytest.mark.parametrize(
    "name", ["ollama:m", "vllm:m", "llamacpp:m", "lmdeploy:m", "groq:m", "openai:m", "m", "mistral:7b"]
)
def test_a_base_url_goes_before_the_address_of_the_provider(name: str) -> None:
    model = resolve(name, "http://localhost:1/v1")
    own = name if name == "mistral:7b" else name.rpartition(":")[2]  # there it is one of the server's models
    assert repr(model) == f"OpenAIModel({own!r}, base_url='http://localhost:1/v1')"


def test_an_unknown_provider_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(ConfigurationError, match="groq"):
        OpenAIModel("m", provider="grok")
    with pytest.raises(ConfigurationError, match="groq"):
        OpenAIModel("m", provider="anthropic")
    with pytest.raises(ConfigurationError, match=r"openrouter.*installed packages"):
        resolve("nobody:m")


# ---- keys
@pytest.mark.parametrize("name", [name for name in COMPATIBLE if PROFILES[name].key])
def test_a_providers_key_is_needed_at_home_and_never_sent_elsewhere(
    name: str, chat: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    profile = PROFILES[name]
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "http://127.0.0.1:1")
    with pytest.raises(ConfigurationError, match=profile.key):
        deltas_of(resolve(f"{name}:m"))
    monkeypatch.setenv(profile.key, "sk-own")
    chat.scripts = [gpt_text("a")] * 3
    deltas_of(OpenAIModel("m", base_url=chat.url, provider=profile._replace(url=chat.url)))
    header = profile.key_header or "authorization"
    assert chat.received[0].headers[header] == ("sk-own" if profile.key_header else "Bearer sk-own")
    if profile.url:  # Azure has no home: its key goes where its customer is
        deltas_of(OpenAIModel("m", base_url=chat.url, provider=name))
        deltas_of(OpenAIModel("m", base_url=chat.url))
        assert [header in request.headers for request in chat.received] == [True, False, False]


@pytest.mark.parametrize(
    "url", ["http://api.openai.com/v1", "https://api.openai.com:81/v1", "https://api.openai.com.x/"]
)
def test_a_providers_key_is_sent_to_the_same_origin_only(url: str) -> None:
    assert not PROFILES["openai"].is_home(url)
    assert PROFILES["openai"].is_home("https://api.openai.com/v1/chat/completions")


@pytest.mark.parametrize("key", ["sk-own", ""])
def test_openai_is_asked_at_the_address_of_the_environment_with_its_key(
    chat: ChatServer, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", chat.url)
    monkeypatch.setenv("OPENAI_API_KEY", key)
    models: list[Any] = [
        OpenAIModel("gpt-4o"),
        resolve("openai:gpt-5"),
        GPTAPI("gpt-4o"),
        OpenAIGPT(OpenAIGPTConfig(chat_model="gpt-4o")),
    ]
    chat.scripts = [gpt_text("a")] * len(models)
    for model in models:
        model.chat("hi")
    sent = [(request.path, request.headers.get("authorization")) for request in chat.received]
    assert sent == [("/v1/chat/completions", f"Bearer {key}" if key else None)] * len(models)
    elsewhere = OpenAIModel("gpt-4o", base_url="https://api.openai.com/v1")
    assert repr(elsewhere) == "OpenAIModel('gpt-4o', base_url='https://api.openai.com/v1')"


def ask_openai_gpt(name: str) -> object:
    return OpenAIGPT(OpenAIGPTConfig(chat_model=name)).chat("hi")


@pytest.mark.parametrize("make", [OpenAIModel, GPTAPI, ask_openai_gpt])
def test_an_address_of_the_environment_that_is_none_is_named(
    monkeypatch: pytest.MonkeyPatch, make: Callable[[str], object]
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "gw.corp/v1")
    with pytest.raises(ConfigurationError, match="OPENAI_BASE_URL begins with http:// or https://"):
        make("gpt-4o")


@pytest.mark.parametrize("name", ["ollama", "vllm", "lmdeploy", "llamacpp"])
def test_a_server_of_your_own_needs_no_key(name: str, chat: ChatServer) -> None:
    chat.scripts = [gpt_text("a")]
    assert "a" in deltas_of(resolve(f"{name}:m", chat.url))
    assert "authorization" not in chat.received[0].headers


@pytest.mark.parametrize("variable", [each.key for each in PROFILES.values() if each.default])
def test_with_nothing_said_the_provider_with_a_key_is_taken(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, "sk-x")
    (profile,) = [each for each in PROFILES.values() if each.key == variable]
    assert resolve().name == profile.default


def test_where_several_keys_are_set_the_first_of_the_table_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("groq", "anthropic", "xai"):
        monkeypatch.setenv(PROFILES[name].key, "sk-x")
    assert isinstance(resolve(), ClaudeModel)


# ---- Azure
@pytest.mark.parametrize(
    ("endpoint", "path"),
    [
        ("", "/openai/v1/chat/completions"),
        ("/openai/v1/", "/openai/v1/chat/completions"),
        ("?api-version=2024-10-21", "/openai/deployments/my%20model/chat/completions?api-version=2024-10-21"),
        ("/openai/deployments/d?api-version=1", "/openai/deployments/d/chat/completions?api-version=1"),
    ],
)
def test_azure_is_asked_at_its_customers_address(
    endpoint: str, path: str, chat: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", chat.url.removesuffix("/v1") + endpoint)
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "sk-azure")
    chat.scripts = [gpt_text("a")]
    assert "a" in deltas_of(resolve("azure:my model"))
    assert chat.received[0].path == path
    assert chat.received[0].headers["api-key"] == "sk-azure"
    assert "authorization" not in chat.received[0].headers


@pytest.mark.parametrize("provider", ["azure", "vllm"])
def test_a_function_gives_the_token_of_each_request_and_of_each_try(provider: str, chat: ChatServer) -> None:
    tokens = iter(["t1", "t2", "t3"])
    model = OpenAIModel("m", provider=provider, base_url=chat.url, api_key=lambda: next(tokens))
    chat.scripts = [gpt_text("a"), http_answer(b"{}", status="503 Busy"), gpt_text("b")]
    assert "a" in deltas_of(model)
    assert "b" in deltas_of(model)
    assert [each.headers["authorization"] for each in chat.received] == ["Bearer t1", "Bearer t2", "Bearer t3"]
    assert not any("api-key" in each.headers for each in chat.received)


def test_a_function_gives_the_key_for_the_header_of_a_profile(chat: ChatServer) -> None:
    profile = PROFILES["openai"]._replace(name="gateway", key_header="x-gateway-key")
    chat.scripts = [gpt_text("a")]
    assert "a" in deltas_of(OpenAIModel("m", provider=profile, base_url=chat.url, api_key=lambda: "t1"))
    assert chat.received[0].headers["x-gateway-key"] == "t1"
    assert "authorization" not in chat.received[0].headers


@pytest.mark.parametrize("returned", [None, b"sk-secret", {"token": "sk-secret"}])
def test_a_function_that_returns_no_key_is_told_without_what_it_returned(returned: Any, chat: ChatServer) -> None:
    model = OpenAIModel("m", base_url=chat.url, api_key=lambda: returned)
    with pytest.raises(ConfigurationError, match=f"returned a {type(returned).__name__}: let it") as raised:
        deltas_of(model)
    assert "sk-secret" not in str(raised.value)


def test_azure_without_an_address_says_what_to_set() -> None:
    with pytest.raises(ConfigurationError, match="AZURE_OPENAI_ENDPOINT"):
        resolve("azure:m")


# ---- dialects
def test_each_dialect_asks_as_its_server_wants(chat: ChatServer) -> None:
    chat.scripts = [gpt_text("{}")] * 2
    message = {"role": "assistant", "content": "a", "reasoning": "Hm."}
    request = Request([message, *ASK.messages], output_schema=SCHEMA, parameters={"max_tokens": 9})
    for name in ("deepseek", "mistral"):
        deltas_of(OpenAIModel("m", base_url=chat.url, provider=name), request)
    deepseek, mistral = (request.body for request in chat.received)
    assert deepseek["response_format"] == {"type": "json_object"}
    assert deepseek["messages"][1]["reasoning_content"] == "Hm."
    assert "stream_options" not in mistral
    assert "reasoning_content" not in mistral["messages"][0]


# ---- two interfaces
def test_models_that_think_are_asked_by_responses_at_openai_and_by_chat_elsewhere() -> None:
    assert [OpenAIModel(name).interface for name in ("gpt-5-mini", "o3", "gpt-4o")] == [
        "responses",
        "responses",
        "chat",
    ]
    assert OpenAIModel("gpt-5-mini", base_url="http://localhost:1/v1").interface == "chat"
    assert OpenAIModel("openai/gpt-oss-120b", provider="groq").interface == "chat"
    assert OpenAIModel("gpt-5-mini", interface="chat").interface == "chat"
    assert OpenAIModel("m", base_url="http://localhost:1/v1/responses").interface == "responses"
    assert repr(OpenAIModel("o3")) == "OpenAIModel('o3', base_url='https://api.openai.com/v1')"


def test_an_agent_keeps_the_thoughts_of_a_model_between_its_calls(chat: ChatServer) -> None:
    thought = reasoning_item("Add.", encrypted="sealed")
    chat.scripts = [
        event_stream(sent_events(streamed(thought, call_item("add", '{"a": 1, "b": 2}', "c1")))),
        event_stream(sent_events(streamed(message_item("Three.")))),
    ]

    def add(a: int, b: int) -> int:
        """A sum."""
        return a + b

    agent = Agent(OpenAIModel("gpt-5-mini", base_url=chat.url, interface="responses"), tools=[add])
    assert agent("1 + 2?").content == "Three."
    assert chat.received[0].path == "/v1/responses"
    kinds = [item.get("type", item.get("role")) for item in chat.received[1].body["input"]]
    assert kinds == ["user", "reasoning", "function_call", "function_call_output"]
    assert chat.received[1].body["input"][1]["encrypted_content"] == "sealed"


def test_a_whole_answer_of_responses_is_read_too(chat: ChatServer) -> None:
    whole = streamed(message_item("a"))[-1]["response"]
    chat.scripts = [http_answer(json.dumps(whole).encode())]
    deltas = deltas_of(OpenAIModel("m", base_url=chat.url, interface="responses"))
    assert (deltas[0], deltas[-1]) == ("a", Finish("stop"))


# ---- capabilities
@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("gpt-5-mini", {"reasoning": True, "context": 400_000, "max_tokens": "max_completion_tokens"}),
        ("openai/gpt-6-sol", {"reasoning": True, "context": 1_000_000}),
        ("gpt-5-chat-latest", {"reasoning": False, "refused": NOTHING}),
        ("o4-mini-2025-04-16", {"reasoning": True, "context": 200_000}),
        ("gpt-4o-mini", {"images": True, "context": 128_000, "refused": {"reasoning_effort", "verbosity"}}),
        ("gpt-3.5-turbo", {"strict_schema": False}),
        ("openai/gpt-oss-120b", {"reasoning": True, "refused": NOTHING, "max_tokens": "max_tokens"}),
        ("deepseek-ai/DeepSeek-R1", {"tools": False, "reasoning": True}),
        ("gemma3:12b", {"tools": False}),
        ("gemma-4-31b-it", {"tools": True}),
        ("oracle-9", {"reasoning": False}),
        ("never-heard-of", Capabilities()._asdict()),
    ],
)
def test_a_family_is_known_by_the_beginning_of_its_name(model: str, expected: dict[str, Any]) -> None:
    found = capabilities_of(model)._asdict()
    assert {name: found[name] for name in expected} == expected


def test_what_a_family_refuses_is_not_sent_unless_it_does_not_think(chat: ChatServer) -> None:
    chat.scripts = [gpt_text("a")] * 3
    asked = {"temperature": 0.5, "max_tokens": 9, "stop": ["x"], "logprobs": True}
    model = OpenAIModel("gpt-5.2", base_url=chat.url)
    own = OpenAIModel("gpt-5.2", base_url=chat.url, capabilities=Capabilities())
    for each, more in ((model, {}), (model, {"reasoning_effort": "none"}), (own, {})):
        deltas_of(each, ASK._replace(parameters=asked | more))
    sent = [{"temperature", "stop", "logprobs"} & set(request.body) for request in chat.received]
    assert sent == [set(), *[{"temperature", "stop", "logprobs"}] * 2]
    assert [request.body.get("max_completion_tokens") for request in chat.received] == [9, 9, None]


def test_effort_at_a_model_that_does_not_reason_is_left_out_with_a_warning(chat: ChatServer) -> None:
    chat.scripts = [gpt_text("a")] * 2
    asked = ASK._replace(parameters={"reasoning_effort": "low", "verbosity": "low"})
    with pytest.warns(NoEffectWarning) as told:
        deltas_of(OpenAIModel("gpt-4o", base_url=chat.url), asked)
    assert {str(each.message) for each in told} == {
        f"gpt-4o takes no {name}='low': it is not sent" for name in asked.parameters
    }
    deltas_of(OpenAIModel("gpt-4o", base_url=chat.url, capabilities=Capabilities()), asked)
    assert [asked.parameters.items() <= request.body.items() for request in chat.received] == [False, True]


ADD = ToolSpec("add", "A sum.", SCHEMA)


def schema_answer(*pieces: str) -> Any:
    return event_stream(sent_events([*(chat_chunk({"content": piece}) for piece in pieces), chat_chunk({}, "stop")]))


def test_a_family_without_tools_gets_them_in_words_and_answers_by_a_schema(chat: ChatServer) -> None:
    chat.scripts = [
        schema_answer('{"tool": "add", "argu', 'ments": {"n": 1', "}}"),
        schema_answer('{"tool": "reply", "arguments": {"text": "Th', 'ree."}}'),
        schema_answer("No form at all."),
    ]
    model = OpenAIModel("gemma3", base_url=chat.url)
    called, answered, plain = (deltas_of(model, ASK._replace(tools=[ADD])) for _ in range(3))
    assert calls_in(called) == [("add", '{"n": 1}')]
    assert called[-1] == Finish("tool_calls")
    assert answered == ["Th", "ree.", Finish("stop")]
    assert plain == ["No form at all.", Finish("stop")]
    body = chat.received[0].body
    assert "tools" not in body
    assert "add(n: number): A sum." in body["messages"][0]["content"]
    assert "x-guidance" not in json.dumps(body["response_format"])


def test_a_family_without_tools_sees_the_files_of_messages_and_of_results(chat: ChatServer) -> None:
    shown = [{"type": "text", "text": "What?"}, {"type": "image_url", "image_url": {"url": "https://a.org/cat.png"}}]
    looks = [{"id": "1", "function": {"name": "look", "arguments": ""}}]
    asks = {"role": "assistant", "content": "", "tool_calls": looks}
    messages = [{"role": "user", "content": shown}, asks, {"role": "tool", "tool_call_id": "1", "content": shown}]
    chat.scripts = [schema_answer('{"tool": "reply", "arguments": {"text": "A cat."}}')]
    deltas_of(OpenAIModel("gemma3", base_url=chat.url), Request(messages, tools=[ADD]))
    _, asked, _, result = chat.received[0].body["messages"]
    assert (asked["content"], result["content"][1:]) == (shown, shown[1:])
    assert result["content"][0]["text"].startswith("Result of look(): What?\n")


def test_a_call_by_a_schema_that_was_cut_short_says_so(chat: ChatServer) -> None:
    chunks = [chat_chunk({"content": '{"tool": "add", "arguments": {"n"'}), chat_chunk({}, "length")]
    chat.scripts = [event_stream(sent_events(chunks))]
    assert deltas_of(OpenAIModel("gemma3", base_url=chat.url), ASK._replace(tools=[ADD]))[-1] == Finish("length")


def test_a_schema_answer_that_says_nothing_is_no_answer(chat: ChatServer) -> None:
    chat.scripts = [event_stream(sent_events([chat_chunk({}, "stop")]))]
    with pytest.raises(MalformedAnswerError, match="no answer"):
        deltas_of(OpenAIModel("gemma3", base_url=chat.url), ASK._replace(tools=[ADD]))


def test_whether_calls_may_come_at_once_is_said_where_they_can(chat: ChatServer) -> None:
    chat.scripts = [gpt_text("a")] * 3
    parameters = {"parallel_tool_calls": False}
    for name, tools in (("gpt-4o", [ADD]), ("gpt-oss-20b", [ADD]), ("gpt-4o", [])):
        deltas_of(OpenAIModel(name, base_url=chat.url), ASK._replace(tools=tools, parameters=parameters))
    assert ["parallel_tool_calls" in request.body for request in chat.received] == [True, False, False]


def test_a_family_with_tools_gets_them_as_they_are(chat: ChatServer) -> None:
    chat.scripts = [gpt_text("a")]
    deltas = deltas_of(OpenAIModel("gemma4", base_url=chat.url), ASK._replace(tools=[ADD]))
    assert not [delta for delta in deltas if isinstance(delta, ToolCallPart)]
    assert chat.received[0].body["tools"][0]["function"]["name"] == "add"


@pytest.mark.parametrize(
    ("model", "options", "built_in"),
    [
        (OpenAIModel, {"interface": "chat"}, {"type": "web_search"}),
        (OpenAIModel, {"interface": "responses"}, {"type": "web_search"}),
        (ClaudeModel, {}, {"type": "web_search_20250305", "name": "web_search"}),
        (GoogleModel, {}, {"google_search": {}}),
    ],
)
def test_tools_that_the_server_runs_are_sent_beside_those_of_the_agent(
    chat: ChatServer, model: Any, options: dict[str, Any], built_in: dict[str, Any]
) -> None:
    chat.scripts = [http_answer(b"{}", "400 Bad")]
    asked = model("m", base_url=chat.url, parameters={"tools": [built_in]}, **options)
    with pytest.raises(ProviderStatusError):
        deltas_of(asked, ASK._replace(tools=[ToolSpec("add", "A sum.", SCHEMA)]))
    first, own = chat.received[0].body["tools"]
    assert first == built_in
    assert "add" in json.dumps(own)
    with pytest.raises(ConfigurationError, match="takes a list of tools"):
        deltas_of(model("m", base_url=chat.url, parameters={"tools": built_in}, **options), ASK)


@pytest.mark.parametrize(
    ("model", "options", "given"),
    [
        (OpenAIModel, {"interface": "chat"}, {"type": "function", "function": {"name": "add", "description": "mine"}}),
        (OpenAIModel, {"interface": "responses"}, {"type": "function", "name": "add", "description": "mine"}),
        (ClaudeModel, {}, {"name": "add", "description": "mine", "input_schema": {"type": "object"}}),
    ],
)
def test_of_two_tools_with_one_name_that_of_the_agent_is_sent(
    chat: ChatServer, model: Any, options: dict[str, Any], given: dict[str, Any]
) -> None:
    chat.scripts = [http_answer(b"{}", "400 Bad")]
    with pytest.raises(ProviderStatusError):
        deltas_of(
            model("m", base_url=chat.url, parameters={"tools": [given]}, **options),
            ASK._replace(tools=[ToolSpec("add", "A sum.", SCHEMA)]),
        )
    (own,) = chat.received[0].body["tools"]
    assert "A sum." in json.dumps(own)
