"""OpenAIGPT and AzureGPT against a real server, and what their configs mean."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from llms._servers import ChatServer, Script, event_stream, http_answer
from trivium import ChatAgent, ChatAgentConfig, ToolMessage
from trivium.exceptions import ArgumentTypeError, ConfigurationError, ProviderStatusError
from trivium.language_models import (
    AzureConfig,
    AzureGPT,
    LanguageModel,
    LiteLLMProxyConfig,
    LLMConfig,
    LLMFunctionSpec,
    LLMMessage,
    LLMTokenUsage,
    OpenAICallParams,
    OpenAIChatModel,
    OpenAICompletionModel,
    OpenAIGPT,
    OpenAIGPTConfig,
    OpenAIJsonSchemaSpec,
    OpenAIToolSpec,
    RetryParams,
    Role,
    StreamEventType,
)
from trivium.llms import PROFILES
from trivium.utils.configuration import Settings, temporary_settings

KEYS = ("TRIVIUM_API_KEY", "OPENAI_API_KEY", "GROQ_API_KEY", "AZURE_OPENAI_API_KEY", "TRIVIUM_MODEL")
SPEC = LLMFunctionSpec(name="square", description="Square it.", parameters={"type": "object", "properties": {}})


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trivium.llms.http._transport.FIRST_DELAY", 0.0)
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def chat() -> Iterator[ChatServer]:
    with ChatServer() as server:
        yield server


def event(reason: str | None = None, usage: dict[str, int] | None = None, **delta: Any) -> bytes:
    chunk = {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}], "usage": usage}
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


def says(*texts: str, tokens: tuple[int, int] = (5, 2), **delta: Any) -> Script:
    usage = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1]}
    pieces = [event(content=text) for text in texts] + ([event(**delta)] if delta else [])
    return event_stream(*pieces, event("stop", usage))


def calls(name: str, arguments: str) -> Script:
    return says(tool_calls=[{"index": 0, "id": "c1", "function": {"name": name, "arguments": arguments}}])


def model_at(chat: ChatServer, *scripts: Script, **config: Any) -> OpenAIGPT:
    chat.scripts = list(scripts)
    return OpenAIGPT(OpenAIGPTConfig.model_validate({"chat_model": "m", "api_base": chat.url, **config}))


# ---- asking
@pytest.mark.shows("OpenAIGPT", "LanguageModel.chat", "LanguageModel.achat", "LanguageModel.generate")
def test_sync_and_async_code_get_the_same_answers(chat: ChatServer):
    model = model_at(chat, *[says("Hel", "lo")] * 5)
    history = [LLMMessage(role=Role.SYSTEM, content="Be kind."), LLMMessage(role=Role.USER, content="hi")]

    async def from_async() -> list[str | None]:
        return [(await model.achat(history)).message, (await model.agenerate("hi")).message]

    found = [model.chat(history).message, model.generate("hi").message, model("hi").message, *asyncio.run(from_async())]
    assert found == ["Hello"] * 5
    assert chat.received[0].body["messages"] == [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "hi"},
    ]
    assert chat.received[1].body["messages"] == [{"role": "user", "content": "hi"}]


@pytest.mark.shows("LanguageModel.chat(tools)", "LanguageModel.chat(tool_choice)", "OpenAIToolSpec")
@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ("auto", "auto"),
        ("required", "required"),
        ({"type": "function", "function": {"name": "square"}}, {"type": "function", "function": {"name": "square"}}),
    ],
)
def test_tools_are_offered_and_called(chat: ChatServer, choice: Any, sent: Any):
    model = model_at(chat, calls("square", '{"x": 3}'))
    answer = model.chat("3²?", tools=[OpenAIToolSpec(type="function", function=SPEC)], tool_choice=choice)
    assert answer.message is None
    assert [(each.id, each.function) for each in answer.oai_tool_calls or ()] == [
        ("c1", type(answer.oai_tool_calls[0].function)(name="square", arguments={"x": 3}))  # type: ignore[index]
    ]
    body = chat.received[0].body
    assert (body["tools"][0]["function"]["name"], body["tool_choice"]) == ("square", sent)


@pytest.mark.shows("LanguageModel.chat(functions)", "LanguageModel.chat(function_call)")
def test_functions_of_the_older_interface_are_called_too(chat: ChatServer):
    answer = model_at(chat, calls("square", '{"x": 3}')).chat("3²?", functions=[SPEC], function_call={"name": "square"})
    assert answer.oai_tool_calls is None
    assert answer.function_call is not None
    assert answer.function_call.arguments == {"x": 3}
    assert chat.received[0].body["tool_choice"]["function"] == {"name": "square"}


@pytest.mark.shows("LanguageModel.chat(response_format)", "LanguageModel.chat(max_tokens)")
def test_an_answer_is_held_to_a_schema_and_a_length(chat: ChatServer):
    model = model_at(chat, says("{}"), says("{}"), max_output_tokens=77)
    model.chat("hi", response_format=OpenAIJsonSchemaSpec(function=SPEC))
    model.chat("hi", max_tokens=None)
    sent = chat.received[0].body
    assert (sent["response_format"]["json_schema"]["schema"], sent["max_tokens"]) == (SPEC.parameters, 200)
    assert chat.received[1].body["max_tokens"] == 77


@pytest.mark.shows("LanguageModel.get_reasoning_final", "LLMConfig.thought_delimiters")
def test_thoughts_are_what_stands_between_the_delimiters():
    model = LanguageModel(LLMConfig(thought_delimiters=("[", "]")))
    assert model.get_reasoning_final("a [3 + 4] b") == ("3 + 4", "a  b")
    assert model.get_reasoning_final("[3 + 4") == ("", "[3 + 4")


def test_thoughts_are_reported_from_the_answer(chat: ChatServer):
    model = model_at(chat, says("<think>3 + 4</think>7"), says("7", reasoning_content="3 + 4"), says("<think>7"))
    inline, apart, open_ended = (model.chat("3 + 4?") for _ in range(3))
    assert (inline.message, inline.reasoning, inline.message_with_reasoning) == ("7", "3 + 4", "<think>3 + 4</think>7")
    assert (apart.message, apart.reasoning, apart.message_with_reasoning) == ("7", "3 + 4", None)
    assert (open_ended.message, open_ended.reasoning) == ("<think>7", "")


# ---- what the config sends
@pytest.mark.shows(
    "OpenAIGPTConfig.temperature",
    "OpenAIGPTConfig.seed",
    "OpenAIGPTConfig.params",
    "OpenAICallParams",
    "OpenAICallParams.to_dict_exclude_none",
    "OpenAIGPTConfig.parallel_tool_calls",
)
def test_parameters_of_a_call_go_before_those_of_the_config(chat: ChatServer):
    params = OpenAICallParams(temperature=0.7, top_p=0.5, max_tokens=9, extra_body={"top_k": 3})
    model = model_at(chat, *[says("a")] * 3, parallel_tool_calls=False)
    model.chat("hi", max_tokens=None)
    model.config.params = params
    model.chat("hi", max_tokens=4, tools=[OpenAIToolSpec(function=SPEC)])
    assert params.to_dict_exclude_none() == {"temperature": 0.7, "top_p": 0.5, "max_tokens": 9, "top_k": 3}
    plain, full = (each.body for each in chat.received)
    assert (plain["temperature"], plain["seed"], "max_tokens" in plain) == (0.2, 42, False)
    assert [full[name] for name in ("temperature", "seed", "top_p", "max_tokens", "top_k")] == [0.7, 42, 0.5, 4, 3]
    assert ("parallel_tool_calls" in plain, full["parallel_tool_calls"]) == (False, False)


def test_models_that_think_first_get_no_sampling_parameters(chat: ChatServer):
    model_at(chat, says("a"), chat_model="o3-mini").chat("hi")
    assert "temperature" not in chat.received[0].body
    assert chat.received[0].body["max_completion_tokens"] == 200


@pytest.mark.shows("OpenAIGPTConfig.headers", "OpenAIGPTConfig.organization", "OpenAIGPTConfig.api_key")
def test_key_headers_and_organization_are_sent(chat: ChatServer):
    model_at(chat, says("a"), api_key="k1", organization="o", headers={"x-team": "t"}).chat("hi")
    sent = chat.received[0].headers
    assert (sent["authorization"], sent["openai-organization"], sent["x-team"]) == ("Bearer k1", "o", "t")


@pytest.mark.shows("OpenAIGPTConfig.api_key_provider", "OpenAIGPTConfig.run_on_first_use")
def test_a_key_that_changes_is_asked_for_at_each_request(chat: ChatServer):
    keys, uses = iter(["k1", "k2"]), list[str]()
    model = model_at(
        chat,
        says("a"),
        says("a"),
        api_key="old",
        api_key_provider=lambda: next(keys),
        run_on_first_use=lambda: uses.append("x"),
    )
    assert uses == []
    model.chat("hi")
    model.chat("hi")
    assert [each.headers["authorization"] for each in chat.received] == ["Bearer k1", "Bearer k2"]
    assert uses == ["x"]


@pytest.mark.shows("LLMConfig.retry_params", "RetryParams.max_retries")
def test_a_failed_request_is_tried_as_often_as_the_config_says(chat: ChatServer):
    busy = http_answer(b'{"error": {"message": "busy"}}', "503 Service Unavailable")
    model = model_at(chat, busy, busy, says("a"), retry_params=RetryParams(max_retries=2))
    with pytest.raises(ProviderStatusError):
        model.chat("hi")
    assert len(chat.received) == 2
    assert RetryParams().model_dump() == {
        "max_retries": 5, "initial_delay": 1.0, "exponential_base": 1.3, "jitter": True,
    }  # fmt: skip


# ---- names
@pytest.mark.shows("OpenAIGPTConfig.chat_model", "OpenAIGPTConfig.litellm")
@pytest.mark.parametrize("prefix", ["local/", "llamacpp/", "litellm/local/"])
def test_a_name_may_be_an_address(chat: ChatServer, prefix: str):
    chat.scripts = [says("a")]
    address = chat.url.removeprefix("http://")
    model = OpenAIGPT(OpenAIGPTConfig(chat_model=prefix + address))
    assert model.chat("hi").message == "a"
    assert chat.received[0].path == "/v1/chat/completions"
    assert "seed" not in chat.received[0].body


@pytest.mark.shows("OpenAIGPTConfig.chat_model", "OpenAIGPTConfig.api_base", "OpenAIGPTConfig.ollama")
@pytest.mark.parametrize(
    ("name", "sent"),
    [
        ("ollama/qwen3:8b", "qwen3:8b"),
        ("vllm/a/b", "a/b"),
        ("groq/llama", "llama"),
        ("openrouter/deepseek/deepseek-r1", "deepseek/deepseek-r1"),
        ("litellm/gemini/gemini-2.5-pro", "gemini-2.5-pro"),
        ("own/model", "own/model"),
    ],
)
def test_a_name_says_who_serves_it_and_api_base_where(chat: ChatServer, name: str, sent: str):
    model = model_at(chat, says("a"), chat_model=name)
    assert model.chat("hi").message == "a"
    assert chat.received[0].body["model"] == sent
    assert "authorization" not in chat.received[0].headers


@pytest.mark.shows("OpenAIGPTConfig.ollama", "OpenAIGPTConfig.litellm")
def test_ollama_needs_no_prefix_and_litellm_changes_nothing(chat: ChatServer):
    assert model_at(chat, says("a"), chat_model="qwen3:8b", ollama=True).chat("hi").message == "a"
    assert chat.received[0].body["model"] == "qwen3:8b"
    assert "authorization" not in chat.received[0].headers
    with pytest.warns(UserWarning, match="litellm"):
        assert OpenAIGPTConfig(litellm=True).litellm


@pytest.mark.parametrize(
    ("name", "url", "variable"),
    [
        ("gpt-4o", "https://api.openai.com/v1", "OPENAI_API_KEY"),
        ("openai/gpt-4o", "https://api.openai.com/v1", "OPENAI_API_KEY"),
        ("groq/llama", "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
        ("deepseek/deepseek-chat", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
        ("gemini/gemini-2.5-pro", "https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"),
        ("openrouter/a/b", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
        ("mistral/m", "https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    ],
)
def test_a_public_provider_needs_its_own_key_at_the_first_call(
    name: str, url: str, variable: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv(variable, raising=False)
    model = OpenAIGPT(OpenAIGPTConfig(chat_model=name))
    with pytest.raises(ConfigurationError, match=variable) as caught:
        model.chat("hi")
    assert url in str(caught.value)


def test_a_providers_key_goes_to_that_provider_only(chat: ChatServer, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GROQ_API_KEY", "secret")
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    for name in ("groq/llama", "gpt-4o", "ollama/m"):
        model_at(chat, says("a"), chat_model=name).chat("hi")
    assert not any("secret" in str(each.headers) for each in chat.received)


@pytest.mark.shows("LiteLLMProxyConfig", "OpenAIGPTConfig.litellm_proxy")
def test_a_litellm_proxy_is_asked_with_its_own_key(chat: ChatServer):
    chat.scripts = [says("a")]
    proxy = LiteLLMProxyConfig(api_base=chat.url, api_key="k")
    OpenAIGPT(OpenAIGPTConfig(chat_model="litellm-proxy/x/y", litellm_proxy=proxy)).chat("hi")
    assert (chat.received[0].body["model"], chat.received[0].headers["authorization"]) == ("x/y", "Bearer k")
    with pytest.raises(ConfigurationError, match="litellm_proxy"):
        OpenAIGPT(OpenAIGPTConfig(chat_model="litellm-proxy/x")).chat("hi")


@pytest.mark.shows("OpenAIGPTConfig")
def test_with_nothing_said_the_configured_model_is_asked(chat: ChatServer, monkeypatch: pytest.MonkeyPatch):
    agent = ChatAgent(ChatAgentConfig(llm=OpenAIGPTConfig()))  # needs neither key nor network
    monkeypatch.setenv("TRIVIUM_MODEL", "openai:named")
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    here = PROFILES["openai"]._replace(url=chat.url)
    monkeypatch.setattr("trivium.llms._resolve.PROFILES", {"openai": here})
    chat.scripts = [says("a")]
    assert agent.llm_response("hi").content == "a"  # type: ignore[union-attr]
    assert chat.received[0].body["model"] == "named"


@pytest.mark.shows("Settings.chat_model")
def test_the_settings_name_another_model_for_a_while(chat: ChatServer):
    with temporary_settings(Settings(chat_model="groq/other")):
        model = model_at(chat, says("a"))
    model.chat("hi")
    assert chat.received[0].body["model"] == "other"


# ---- pieces
@pytest.mark.shows("LLMConfig.streamer", "LLMConfig.streamer_async", "LanguageModel.set_stream", "Settings.stream")
def test_streamers_get_the_pieces_while_streaming_is_on(chat: ChatServer):
    pieces: list[Any] = []

    def now(text: str, kind: StreamEventType) -> None:
        pieces.append((text, kind))

    async def later(text: str, kind: StreamEventType) -> None:
        pieces.append((text, kind, "async"))

    tool_call = {"index": 0, "id": "c", "function": {"name": "f", "arguments": "{}"}}
    script = says("a", reasoning_content="hm", tool_calls=[tool_call])
    model = model_at(chat, *[script] * 3, streamer=now, streamer_async=later)
    model.chat("hi")
    kinds = StreamEventType
    each = [("a", kinds.TEXT), ("hm", kinds.REASONING), ("f", kinds.TOOL_NAME), ("{}", kinds.TOOL_ARGS)]
    assert pieces == [piece for one in each for piece in (one, (*one, "async"))]
    pieces.clear()
    assert (model.get_stream(), model.set_stream(False), model.get_stream()) == (True, True, False)
    model.chat("hi")
    model.set_stream(True)
    with temporary_settings(Settings(stream=False)):
        model.chat("hi")
    assert pieces == []


# ---- counts
@pytest.mark.shows(
    "weak point 4",
    "LanguageModel.tot_tokens_cost",
    "LanguageModel.usage_cost_summary",
    "LanguageModel.update_usage_cost",
    "LanguageModel.reset_usage_cost",
    "LanguageModel.chat_cost",
)
def test_what_models_cost_is_counted_by_each_object_alone(chat: ChatServer):
    config = OpenAIGPTConfig(chat_model="gpt-4o", api_base=chat.url)
    one, other = OpenAIGPT(config), OpenAIGPT(config)
    chat.scripts = [says("a", tokens=(1000, 100))] * 3
    answer = one.chat("hi")
    price = (1000 * 2.5 + 100 * 10) / 1_000_000
    assert answer.usage is not None
    assert (answer.usage.total_tokens, answer.usage.cost) == (1100, pytest.approx(price))
    assert one.tot_tokens_cost() == (1100, pytest.approx(price))
    assert other.tot_tokens_cost() == (0, 0.0)
    one.update_usage_cost(True, 10, 5, 0.5)
    assert one.usage_cost_dict["gpt-4o"].calls == 2
    assert one.usage_cost_summary() == f"gpt-4o: {one.usage_cost_dict['gpt-4o']}\n"
    one.reset_usage_cost()
    assert one.usage_cost_dict == {"gpt-4o": LLMTokenUsage()}
    assert one.chat_cost() == (0.0025, 0.00125, 0.01)
    assert model_at(chat).chat_cost() == (0.0, 0.0, 0.0)


def test_an_agents_message_says_what_it_cost(chat: ChatServer):
    chat.scripts = [says("a", tokens=(1000, 100))]
    agent = ChatAgent(ChatAgentConfig(llm=OpenAIGPTConfig(chat_model="gpt-4o", api_base=chat.url)))
    answer = agent.llm_response("hi")
    assert answer is not None
    assert answer.metadata.usage.cost == pytest.approx(0.0035)


def test_an_agent_calls_tools_through_it(chat: ChatServer):
    class Square(ToolMessage):
        request: str = "square"
        purpose: str = "To square a number."
        x: int

        def handle(self) -> str:
            return str(self.x**2)

    chat.scripts = [calls("square", '{"x": 3}'), says("nine")]
    agent = ChatAgent(ChatAgentConfig(llm=OpenAIGPTConfig(chat_model="m", api_base=chat.url)))
    agent.enable_message(Square)
    result = agent.agent_response(agent.llm_response("3²?"))
    assert result is not None
    assert result.content == "9"


# ---- what is known
@pytest.mark.shows(
    "LanguageModel.chat_context_length",
    "LanguageModel.completion_context_length",
    "LanguageModel.supports_functions_or_tools",
    "LLMConfig.chat_context_length",
    "LLMConfig.completion_context_length",
)
def test_lengths_are_those_of_the_config_or_what_is_known():
    known = OpenAIGPT(OpenAIGPTConfig(chat_model="openrouter/openai/gpt-4o"))
    told = OpenAIGPT(OpenAIGPTConfig(chat_model="x", chat_context_length=7, completion_context_length=8))
    assert (known.chat_context_length(), told.chat_context_length(), told.completion_context_length()) == (
        128_000,
        7,
        8,
    )
    assert OpenAIGPT(OpenAIGPTConfig(chat_model="x")).completion_context_length() == 16_000
    assert (known.supports_functions_or_tools(), known.config.model_max_output_tokens) == (True, 16_384)


@pytest.mark.shows("OpenAIChatModel", "OpenAICompletionModel", "OpenAIGPT.is_openai_chat_model")
def test_names_of_models_are_members():
    model = OpenAIGPT(OpenAIGPTConfig(chat_model=OpenAIChatModel.GPT4o, completion_model=OpenAICompletionModel.DAVINCI))
    assert (model.name, model.is_openai_chat_model(), model.is_openai_completion_model()) == ("gpt-4o", True, True)
    assert OpenAIChatModel.GPT4 is OpenAIChatModel.GPT4o
    other = OpenAIGPT(OpenAIGPTConfig(chat_model="gemini/gemini-2.5-pro"))
    assert (other.is_openai_chat_model(), other.is_gemini_model(), other.is_deepseek_model()) == (False, True, False)


@pytest.mark.shows("weak point 2", "OpenAIGPTConfig", "LLMConfig")
def test_nothing_of_a_config_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch):
    before = OpenAIGPTConfig().model_dump(), AzureConfig().model_dump()
    for name in (*OpenAIGPTConfig.model_fields, *AzureConfig.model_fields):
        for prefix in ("", "OPENAI_", "AZURE_OPENAI_"):
            monkeypatch.setenv(f"{prefix}{name}".upper(), "abc")
    assert (OpenAIGPTConfig().model_dump(), AzureConfig().model_dump()) == before
    with pytest.raises(ArgumentTypeError, match="did you mean"):
        OpenAIGPTConfig(temprature=0.3)  # type: ignore[call-arg]


# ---- Azure
@pytest.mark.shows(
    "AzureConfig",
    "AzureGPT",
    "AzureConfig.api_version",
    "AzureConfig.deployment_name",
    "AzureConfig.model_name",
)
def test_azure_is_asked_at_its_own_address_with_its_own_key(chat: ChatServer, monkeypatch: pytest.MonkeyPatch):
    base = chat.url.removesuffix("/v1")
    config = AzureConfig(api_base=base, deployment_name="my lease", model_name="gpt-4o", api_version="v1")
    model = AzureGPT(config)
    with pytest.raises(ConfigurationError, match="AZURE_OPENAI_API_KEY"):
        model.chat("hi")
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "k")
    chat.scripts = [
        says("a", tokens=(1000, 0)),
        http_answer(b'{"error": {"message": "k is wrong"}}', "401 Unauthorized"),
    ]
    assert model.chat("hi").message == "a"
    request = chat.received[0]
    assert request.path == "/openai/deployments/my%20lease/chat/completions?api-version=v1"
    assert (request.headers["api-key"], "authorization" in request.headers) == ("k", False)
    assert model.tot_tokens_cost()[1] == pytest.approx(0.0025)
    with pytest.raises(ProviderStatusError):
        model.chat("hi")
    with pytest.raises(ConfigurationError, match="api_base"):
        AzureGPT(AzureConfig(chat_model="gpt-4o")).chat("hi")
