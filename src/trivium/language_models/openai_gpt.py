"""Models behind the OpenAI chat interface, named as in the documents: "gpt-4o", "ollama/mistral", "groq/…"."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterable, Mapping
from contextlib import aclosing
from functools import partial
from itertools import product
from types import MappingProxyType
from typing import Annotated, Any, Final, NamedTuple

from pydantic import ConfigDict, Field

from trivium.commander import iterate
from trivium.commander.lowlevel import settle
from trivium.exceptions import ConfigurationError
from trivium.language_models.base import LanguageModel, LLMConfig
from trivium.language_models.model_info import OpenAIChatModel, OpenAICompletionModel
from trivium.llms import PROFILES, Delta, Profile, Reasoning, Request, ToolCallPart, capabilities_of, resolve
from trivium.llms.http import Keys, Transport, bearer, with_path
from trivium.llms.lowlevel import OPENAI_PATH, OwnLock, common_names, keys_for, request_openai
from trivium.llms.providers import COMPATIBLE
from trivium.schema import ConfigModel, NoEffect, StreamEventType, Usage
from trivium.schema.lowlevel import OlderNames
from trivium.settings import settings

__all__ = [
    "LiteLLMProxyConfig",
    "OpenAICallParams",
    "OpenAIChatModel",
    "OpenAICompletionModel",
    "OpenAIGPT",
    "OpenAIGPTConfig",
]


_GEMINI: Final = PROFILES["gemini"]._replace(
    url="https://generativelanguage.googleapis.com/v1beta/openai", form="openai", key_header=""
)
"""Google's server of OpenAI's chat interface."""
_PROVIDERS: Final[Mapping[str, Profile]] = MappingProxyType(
    {each.name: each for each in (*PROFILES.values(), _GEMINI) if each.form == "openai" and each.url}
)
_AT_ADDRESS: Final = ("local", "llamacpp")
"""After these prefixes a model's name holds an address."""
_KINDS: Final[Mapping[type, StreamEventType]] = MappingProxyType(
    {str: StreamEventType.TEXT, Reasoning: StreamEventType.REASONING}
)


class OpenAICallParams(ConfigModel, OlderNames):
    """Parameters of a request; each that is not None overrides the one of the config."""

    max_tokens: int | None = Field(default=None, ge=1)
    temperature: float | None = Field(default=None, ge=0)
    frequency_penalty: float | None = Field(default=None, ge=-2, le=2)
    presence_penalty: float | None = Field(default=None, ge=-2, le=2)
    response_format: dict[str, Any] | None = None
    logit_bias: dict[int, float] | None = None
    logprobs: bool | None = None
    top_p: float | None = Field(default=None, ge=0, le=1)
    reasoning_effort: str | None = None
    top_logprobs: int | None = Field(default=None, ge=0)
    n: int | None = Field(default=None, ge=1)
    stop: str | list[str] | None = None
    seed: int | None = None
    user: str | None = None
    extra_body: dict[str, Any] | None = None

    def to_dict_exclude_none(self) -> dict[str, Any]:
        """Return the parameters that are set, and those in `extra_body`."""
        given = self.model_dump(exclude_none=True)
        return given | given.pop("extra_body", {})


class LiteLLMProxyConfig(ConfigModel, OlderNames):
    """A LiteLLM proxy, for models named "litellm-proxy/…".

    Args:
        api_key: its key.
        api_base: where it is.
    """

    model_config = ConfigDict(hide_input_in_errors=True)

    api_key: str = Field(default="", repr=False)
    api_base: str = Field(default="", repr=False)


class OpenAIGPTConfig(LLMConfig):
    """A model behind the OpenAI chat interface. Making one, or an agent of it, needs neither key nor network.

    The name says who serves the model: "gpt-4o" (OpenAI, or the server at `api_base`), "ollama/NAME", "vllm/NAME",
    "local/HOST:PORT/v1", "llamacpp/HOST:PORT/v1", "groq/NAME", "deepseek/NAME", "gemini/NAME", "mistral/NAME",
    "openrouter/NAME", "litellm-proxy/NAME"; "litellm/" before one of them changes nothing. A key that is not given is
    read at the first call under the provider's own name, as GROQ_API_KEY, and sent to that provider only.

    Args:
        api_key: the key.
        api_key_provider: returns the key at each request; overrides `api_key`.
        organization: organization that is sent with each request.
        litellm: no effect.
        litellm_proxy: for "litellm-proxy/…".
        ollama: the model is one of Ollama's, with or without the prefix "ollama/".
        seed: for reproducible answers, if the server supports it; not sent to "local/…".
        params: more parameters.
        use_cached_client: no effect.
        chat_model_orig: the name for prices and lengths, if it is not the model's.
        run_on_first_use: function that is called before the first request.
        parallel_tool_calls: allow several tool calls at once; None: the server's default.
        supports_json_schema: the server constrains answers to a schema; None: by the model's family.
        supports_strict_tools: no effect.
        headers: more headers of each request.

    Example::

        ChatAgent(ChatAgentConfig(llm=OpenAIGPTConfig(chat_model="ollama/qwen3:8b")))
    """

    api_key: str = Field(default="", repr=False)
    api_key_provider: Callable[[], str] | None = None
    organization: str = ""
    litellm: Annotated[bool, NoEffect("one client serves all providers")] = False
    litellm_proxy: LiteLLMProxyConfig = Field(default_factory=LiteLLMProxyConfig)
    ollama: bool = False
    min_output_tokens: Annotated[int, NoEffect("requests are not cut to fit")] = 1
    temperature: float | None = Field(default=0.2, ge=0)
    seed: int | None = 42
    params: OpenAICallParams | None = None
    use_cached_client: Annotated[bool, NoEffect("connections are kept for each model and event loop")] = True
    chat_model_orig: str | None = None
    run_on_first_use: Callable[[], Any] | None = None
    parallel_tool_calls: bool | None = None
    supports_json_schema: bool | None = None
    supports_strict_tools: Annotated[bool | None, NoEffect("arguments are checked here, whatever the server does")] = (
        None
    )
    headers: dict[str, str] = Field(default_factory=dict[str, str], repr=False)

    def create_model(self) -> OpenAIGPT:
        """Make the model that this describes."""
        return OpenAIGPT(self)


class Endpoint(NamedTuple):
    """An address, the model's name there, and the profile of the server."""

    url: str
    name: str
    profile: Profile = COMPATIBLE


class OpenAIGPT(LanguageModel):
    """A model behind the OpenAI chat interface; see `OpenAIGPTConfig`.

    Example::

        OpenAIGPT(OpenAIGPTConfig(chat_model="gpt-4o")).chat("How old is the moon?").message
    """

    config: OpenAIGPTConfig

    def __init__(self, config: OpenAIGPTConfig | None = None) -> None:
        super().__init__(config or OpenAIGPTConfig())
        if settings.chat_model:
            self.config.chat_model = settings.chat_model
        name = self.config.chat_model.removeprefix("litellm/").partition("//")[0]
        self.config.chat_model = self.name = name or "configured"
        self.chat_model_orig = self.config.chat_model_orig or name
        self._named = bool(name or self.config.api_base)
        self._ask: Callable[[Request], Iterable[Delta] | AsyncIterable[Delta]] | None = None
        self._first = OwnLock()

    def __getstate__(self) -> dict[str, Any]:
        """Return all but what the first use makes: a copy, or the model in another process, makes its own."""
        return {**vars(self), "_ask": None}

    def is_openai_chat_model(self) -> bool:
        """Tell whether the model is one of `OpenAIChatModel`."""
        return self.config.chat_model in {each.value for each in OpenAIChatModel}

    def is_openai_completion_model(self) -> bool:
        """Tell whether the config's completion model is one of `OpenAICompletionModel`."""
        return self.config.completion_model in {each.value for each in OpenAICompletionModel}

    def is_gemini_model(self) -> bool:
        """Tell whether requests go to Google's interface."""
        return self.name.startswith("gemini/")

    def is_deepseek_model(self) -> bool:
        """Tell whether requests go to DeepSeek's interface."""
        return self.name.startswith("deepseek/")

    async def stream(self, request: Request) -> AsyncGenerator[Delta]:
        """Send the request and yield the deltas of the answer.

        Raises:
            ConfigurationError: the provider needs a key, and there is none.
            NoModelError: no model is named, and none is configured.
            ProviderError: the server cannot be reached, refused, or sent no valid answer.
        """
        with self._first:
            if self._ask is None:
                if self.config.run_on_first_use is not None:
                    self.config.run_on_first_use()
                self._ask = self._connect()
        streamers = [each for each in (self.config.streamer, self.config.streamer_async) if each and self.get_stream()]
        async with aclosing(iterate(partial(self._ask, self._completed(request)))) as deltas:
            async for delta in deltas:
                for (text, kind), streamer in product(_pieces(delta), streamers):
                    await settle(streamer(text, kind))
                yield self._counted(delta) if isinstance(delta, Usage) else delta

    def _completed(self, request: Request) -> Request:
        """Return the request with all parameters: its own override those of the config's params, and of the config."""
        config = self.config
        usual = {"temperature": config.temperature, "max_tokens": config.max_output_tokens}
        seed = None if config.chat_model.partition("/")[0] in _AT_ADDRESS else config.seed
        more = {"seed": seed, "parallel_tool_calls": config.parallel_tool_calls if request.tools else None}
        given = config.params.to_dict_exclude_none() if config.params is not None else {}
        return request._replace(parameters=common_names(usual, more, given, self.gen_params, request.parameters))

    def _connect(self) -> Callable[[Request], Iterable[Delta] | AsyncIterable[Delta]]:
        if not self._named:  # without a name: the model that the environment or the store has
            model = resolve()
            self.name = model.name
            return model.stream
        config, endpoint = self.config, self._endpoint()
        transport = self._transport(endpoint)
        tries = None if config.retry_params is None else config.retry_params.max_retries
        known, dialect = capabilities_of(endpoint.name), endpoint.profile.dialect
        if (schema := config.supports_json_schema) is not None:
            known, dialect = known._replace(strict_schema=schema), dialect._replace(schema=schema)
        return lambda request: request_openai(
            transport, endpoint.name, request, request.parameters, tries, known, dialect
        )

    def _endpoint(self) -> Endpoint:
        config = self.config
        kind, _, name = config.chat_model.partition("/")
        if kind in _AT_ADDRESS and name:
            return Endpoint(_with_scheme(name), kind)
        if kind == "litellm-proxy":
            if not (base := config.litellm_proxy.api_base or config.api_base):
                raise ConfigurationError("a model of a LiteLLM proxy needs its address: set litellm_proxy.api_base")
            return Endpoint(base, name)
        if name and (found := _PROVIDERS.get(kind)) is not None:
            return Endpoint(_with_scheme(config.api_base or found.url), name, found)
        if config.api_base:
            return Endpoint(_with_scheme(config.api_base), config.chat_model)
        if config.ollama:
            return Endpoint(_PROVIDERS["ollama"].url, config.chat_model)
        profile = PROFILES["openai"]
        return Endpoint(profile.address(None, config.chat_model), config.chat_model, profile)

    def _transport(self, endpoint: Endpoint) -> Transport:
        config = self.config
        more = {**config.headers, **({"openai-organization": config.organization} if config.organization else {})}
        url = with_path(endpoint.url, OPENAI_PATH, "api_base")
        keys = config_keys(config, endpoint)
        return Transport(url, keys, lambda key: {**bearer(key), **more}, setting="api_base", timeout=config.timeout)


def config_keys(config: OpenAIGPTConfig, endpoint: Endpoint) -> Keys:
    """Return the keys of a config: its provider function, or else its key, by the rule of `Profile.key_for`."""
    if config.api_key_provider is not None:
        return Keys((), config.api_key_provider)
    proxy = config.litellm_proxy.api_key if config.chat_model.startswith("litellm-proxy/") else ""
    return keys_for(endpoint.profile, endpoint.url, config.api_key or proxy)


def _with_scheme(address: str) -> str:
    return address if address.startswith(("http://", "https://")) else f"http://{address}"


def _pieces(delta: Delta) -> list[tuple[str, StreamEventType]]:
    """Return the pieces of a delta for a streamer."""
    if isinstance(delta, ToolCallPart):
        parts = ((delta.name, StreamEventType.TOOL_NAME), (delta.arguments, StreamEventType.TOOL_ARGS))
        return [(text, kind) for text, kind in parts if text]
    kind = _KINDS.get(type(delta))
    text = delta.text if isinstance(delta, Reasoning) else delta
    return [(text, kind)] if kind is not None and isinstance(text, str) and text else []
