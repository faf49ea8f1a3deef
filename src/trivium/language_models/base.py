"""Models made from a config, with the documented methods: `chat`, `generate`, and the counts of usage and cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, TypeAlias, cast

from pydantic import ConfigDict, Field

from trivium.commander import driver_neutral, sync_method
from trivium.commander.lowlevel import invoke, lock, pair_forms
from trivium.exceptions import ConfigurationError
from trivium.language_models.model_info import ModelInfo, ModelProvider, get_model_info, sizes_of
from trivium.llms import ChatModel, ModelProtocol, Pricing, PublishedPrice, Request
from trivium.llms.lowlevel import call_model, priced
from trivium.schema import (
    ConfigModel,
    LLMFunctionCall,
    LLMFunctionSpec,
    LLMMessage,
    LLMResponse,
    LLMTokenUsage,
    NoEffect,
    OpenAIJsonSchemaSpec,
    OpenAIToolCall,
    OpenAIToolSpec,
    Role,
    StreamEventType,
    Usage,
)
from trivium.schema.lowlevel import OlderNames, checked, keywords_of
from trivium.settings import settings

__all__ = [
    "FunctionCallTypes",
    "LLMConfig",
    "LLMFunctionCall",
    "LLMFunctionSpec",
    "LLMMessage",
    "LLMResponse",
    "LLMTokenUsage",
    "LanguageModel",
    "OpenAIJsonSchemaSpec",
    "OpenAIToolCall",
    "OpenAIToolSpec",
    "RetryParams",
    "Role",
    "StreamEventType",
    "ToolChoiceTypes",
]

FunctionCallTypes: TypeAlias = Literal["none", "auto"]
ToolChoiceTypes: TypeAlias = Literal["none", "auto", "required"]
Choice: TypeAlias = ToolChoiceTypes | Mapping[str, Any] | str


class RetryParams(ConfigModel, OlderNames):
    """The most attempts for a failed request; trivium's client chooses the delays.

    Args:
        max_retries: the most attempts.
        initial_delay: no effect.
        exponential_base: no effect.
        jitter: no effect.
    """

    max_retries: int = Field(default=5, ge=0)
    initial_delay: Annotated[float, NoEffect("the client chooses its waits; `RetryPolicy` changes them")] = 1.0
    exponential_base: Annotated[float, NoEffect("the client chooses its waits; `RetryPolicy` changes them")] = 1.3
    jitter: Annotated[bool, NoEffect("the client always varies its waits")] = True


class LLMConfig(ConfigModel, OlderNames):
    """The base of configs of models; use the class of a kind of model, such as `OpenAIGPTConfig`.

    Nothing is read from the environment. An agent's config takes it as `llm`.

    Args:
        type: the kind of model; None: no model.
        streamer: a sync or async function, called with each piece of an answer and its `StreamEventType`.
        streamer_async: a second such function.
        api_base: address of the server.
        formatter: no effect.
        max_output_tokens: the most tokens of an answer; None: the server decides.
        timeout: seconds without a byte from the server after which a request fails.
        chat_model: the model's name; "": the configured model, looked up at the first call.
        completion_model: no effect on requests: chat models complete too.
        temperature: randomness of the answer; 0 always takes the most likely token.
        chat_context_length: the model's context window in tokens; None: that of the table of models.
        async_stream_quiet: no effect.
        completion_context_length: as `chat_context_length`.
        min_output_tokens: no effect.
        use_completion_for_chat: no effect.
        use_chat_for_completion: no effect.
        stream: pass the pieces of answers to `streamer`. Servers are asked to stream in any case: an answer is read as
            it grows, whoever listens.
        cache_config: no effect.
        thought_delimiters: the marks around reasoning in an answer's text.
        retry_params: the most attempts for a failed request; None: the default policy.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, hide_input_in_errors=True)

    type: str | None = "openai"
    streamer: Callable[..., Any] | None = None
    streamer_async: Callable[..., Any] | None = None
    api_base: str | None = Field(default=None, repr=False)  # it may hold a password
    formatter: Annotated[str | None, NoEffect("the server formats")] = None
    max_output_tokens: int | None = Field(default=None, ge=1)
    timeout: float = Field(default=120.0, gt=0)
    chat_model: str = ""
    completion_model: str = ""
    temperature: float | None = Field(default=0.0, ge=0)
    chat_context_length: int | None = Field(default=None, ge=1)
    async_stream_quiet: Annotated[bool, NoEffect("nothing is printed")] = False
    completion_context_length: int | None = Field(default=None, ge=1)
    min_output_tokens: Annotated[int, NoEffect("requests are not cut to fit")] = 64
    use_completion_for_chat: Annotated[bool, NoEffect("only chat interfaces are requested")] = False
    use_chat_for_completion: Annotated[bool, NoEffect("a text is always completed by the chat interface")] = True
    stream: bool = True
    cache_config: Annotated[Any, NoEffect("wrap the model in a `CachedModel`")] = None
    thought_delimiters: tuple[str, str] = ("<think>", "</think>")
    retry_params: RetryParams | None = None

    @property
    def model_max_output_tokens(self) -> int:
        """The most tokens of an answer: by the config, or else by the table of models."""
        return self.max_output_tokens or _sizes(self.chat_model).max_output_tokens

    def create_model(self) -> LanguageModel:
        """Make the model that this describes; agents call this.

        Raises:
            ConfigurationError: the config describes no kind of model.
        """
        raise ConfigurationError(
            f"{type(self).__name__} describes no kind of model: take OpenAIGPTConfig, AzureConfig or MockLMConfig"
        )


class LanguageModel(ChatModel):
    """A model made from a config. It works wherever trivium takes a model.

    A subclass writes `stream`; or the documents' `chat` or `achat`, which agents then call.

    Each model object counts the usage of its own calls, also if several have the same config. `Limits` bound what a
    run may spend.

    Args:
        config: the config.

    Attributes:
        config: a copy of the config.
        chat_model_orig: the name in the config.
        usage_cost_dict: the counts, by the names of models.

    Example:
        >>> from trivium.language_models import MockLMConfig
        >>> model = LanguageModel.create(MockLMConfig(response_dict={"hi": "hello"}))
        >>> model.chat("hi").message
        'hello'
    """

    takes_tools: ClassVar[bool] = True
    """The model has an interface for tools. False for a class whose `chat` names no `tools`, unless it says so."""

    _below: ClassVar[Callable[[Any, Request], Any] | None] = None
    """The `stream` under the `chat` that a subclass writes, for the built-in `chat`."""

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        writes = vars(cls).keys() & {"chat", "achat", "stream"}
        pair_forms(cls, {})
        if writes and "stream" not in writes:
            from trivium.language_models._own_chat import stream_by_chat  # few classes write it

            hands_on = any("tools" in (keywords_of(vars(cls)[name]) or ()) for name in writes)
            if cls.stream is ChatModel.stream and "takes_tools" not in vars(cls) and not hands_on:
                cls.takes_tools = False
            cls._below = cls._below or cls.stream
            cls.stream = stream_by_chat  # type: ignore[method-assign]  # pyright: ignore[reportAttributeAccessIssue]

    @checked
    def __init__(self, config: LLMConfig | None = None) -> None:
        self.config = LLMConfig() if config is None else config.model_copy()
        self.chat_model_orig = self.name = self.config.chat_model
        self.gen_params: dict[str, Any] = {}
        self.usage_cost_dict: dict[str, LLMTokenUsage] = {}

    @staticmethod
    def create(config: LLMConfig | None) -> LanguageModel | None:
        """Make the model that a config describes; None for no config, or one without a type.

        Raises:
            ConfigurationError: the config describes no kind of model.
        """
        return None if config is None or config.type is None else config.create_model()

    # ---- asking
    @driver_neutral
    async def achat(
        self,
        messages: str | Sequence[LLMMessage],
        max_tokens: int | None = 200,
        tools: Sequence[OpenAIToolSpec] | None = None,
        tool_choice: Choice = "auto",
        functions: Sequence[LLMFunctionSpec] | None = None,
        function_call: Choice = "auto",
        response_format: OpenAIJsonSchemaSpec | None = None,
    ) -> LLMResponse:
        """Call the model.

        Args:
            messages: a user's text, or the history.
            max_tokens: the most tokens of the answer; None: those of the config.
            tools: the tools that the model may call.
            tool_choice: "auto", "none", "required", the name of a tool, or a dict that has it.
            functions: the functions that the model may call, by the older interface.
            function_call: as `tool_choice`, for functions.
            response_format: the schema that the answer's text must satisfy.

        Raises:
            ModelError: the model could not answer.
        """
        history = [LLMMessage(role=Role.USER, content=messages)] if isinstance(messages, str) else messages
        offered = [each.to_tool_spec() for each in (*(tools or ()), *(functions or ()))]
        request = Request(
            messages=[each.api_dict(self.name) for each in history],
            tools=offered,
            tool_choice=_choice(tool_choice if tools else function_call),
            output_schema=None if response_format is None else response_format.function.parameters,
            parameters={} if max_tokens is None else {"max_tokens": max_tokens},
        )
        model: ModelProtocol = self
        if (stream := type(self)._below) is not None:
            from trivium.language_models._own_chat import Below

            model = Below(self, stream)
        reply, by_functions = await call_model(model, request), bool(functions) and not tools
        calls = [OpenAIToolCall.from_call(call) for call in reply.tool_calls]
        reasoning, text = (reply.reasoning, reply.text) if reply.reasoning else self.get_reasoning_final(reply.text)
        return LLMResponse(
            message=None if calls and not text else text,
            reasoning=reasoning,
            message_with_reasoning=reply.text if text != reply.text else None,
            oai_tool_calls=None if by_functions or not calls else calls,
            function_call=calls[0].function if by_functions and calls else None,
            usage=LLMTokenUsage.from_usage(reply.usage or Usage()),
        )

    chat = sync_method(achat, is_late=False)  # pyright: ignore[reportAssignmentType] - the documents' `chat`, which gives more than text

    @driver_neutral
    async def agenerate(self, prompt: str, max_tokens: int | None = 200) -> LLMResponse:
        """Call the model with a text; see `achat`."""
        response: LLMResponse = await invoke(self.chat, prompt, max_tokens)
        return response

    generate = sync_method(agenerate, is_late=False)

    def __call__(self, prompt: str, max_tokens: int | None = 200) -> LLMResponse:
        """The same as `generate`."""
        return self.generate(prompt, max_tokens)

    def get_reasoning_final(self, message: str) -> tuple[str, str]:
        """Split an answer's text into its reasoning and the rest.

        Example:
            >>> LanguageModel().get_reasoning_final("<think>3 + 4</think>7")
            ('3 + 4', '7')
        """
        start, end = self.config.thought_delimiters
        before, found, rest = message.partition(start)
        thoughts, closed, after = rest.partition(end)
        return (thoughts, before + after) if found and closed else ("", message)

    # ---- streaming
    def set_stream(self, stream: bool) -> bool:
        """Set whether `streamer` gets the pieces, and return the value before."""
        before, self.config.stream = self.config.stream, stream
        return before

    def get_stream(self) -> bool:
        """Tell whether `streamer` gets the pieces: if the config and the settings both allow it."""
        return self.config.stream and bool(settings.stream)

    # ---- what is known of the model
    def info(self) -> ModelInfo:
        """Return the entry of the model in the table of models."""
        return get_model_info(*_names(self.chat_model_orig))

    def chat_context_length(self) -> int:
        """Return the model's context window in tokens, input and output together."""
        return self.config.chat_context_length or _sizes(self.chat_model_orig).context_length

    def completion_context_length(self) -> int:
        """Return the context window for the completion of a text."""
        return self.config.completion_context_length or _sizes(self.chat_model_orig).context_length

    def supports_functions_or_tools(self) -> bool:
        """Tell whether the model has an interface for tools."""
        return _sizes(self.chat_model_orig).has_tools

    # ---- what it has cost
    def chat_cost(self) -> tuple[float, float, float]:
        """Return US dollars for 1,000 tokens of input, cached input and output; zeros if unknown."""
        info = self.info()
        prices = info.input_cost_per_million, info.cached_cost_per_million, info.output_cost_per_million
        return cast("tuple[float, float, float]", tuple(price / 1000 for price in prices))

    def update_usage_cost(self, chat: bool, prompts: int, completions: int, cost: float) -> None:
        """Count a call that was made outside of `chat` and `stream`, which count their own.

        Args:
            chat: True for the chat model, False for the completion model.
            prompts: input tokens.
            completions: output tokens.
            cost: cost in US dollars.
        """
        name = self.config.chat_model if chat else self.config.completion_model
        with lock:
            counter = self.usage_cost_dict.setdefault(name, LLMTokenUsage())
            counter.prompt_tokens += prompts
            counter.completion_tokens += completions
            counter.cost += cost
            counter.calls += 1

    def reset_usage_cost(self) -> None:
        """Set all counts to zero."""
        with lock:
            for counter in self.usage_cost_dict.values():
                counter.reset()

    def usage_cost_summary(self) -> str:
        """Return the counts, one line for each model."""
        return "".join(f"{name}: {counter}\n" for name, counter in self.usage_cost_dict.items())

    def tot_tokens_cost(self) -> tuple[int, float]:
        """Return the sums of tokens and US dollars."""
        counts = list(self.usage_cost_dict.values())
        return sum(each.total_tokens for each in counts), sum(each.cost for each in counts)

    def _identity(self) -> dict[str, object]:
        given = self.config.model_dump(exclude={"api_key", "headers", "litellm_proxy"})
        plain = (str, int, float, dict, type(None))  # no functions: they have no JSON form
        config: dict[str, object] = {name: each for name, each in given.items() if isinstance(each, plain)}
        return {**super()._identity(), "config": config}

    def _counted(self, usage: Usage) -> Usage:
        """Count the usage of a call, and return it with its price."""
        usage = priced(self, usage)
        self.update_usage_cost(True, usage.input_tokens, usage.output_tokens, usage.usd)
        return usage

    def published_price(self) -> Pricing | None:
        """Return the published price of the model."""
        info = _sizes(self.chat_model_orig)
        known = info.provider is not ModelProvider.UNKNOWN
        return PublishedPrice(info.name, info.provider.value) if known else None


def _names(name: str) -> tuple[str, list[str]]:
    """Return a model's name, and its alternatives without the prefixes of providers."""
    parts = name.split("/")
    return name, ["/".join(parts[n:]) for n in range(1, len(parts))]


def _sizes(name: str) -> ModelInfo:
    return sizes_of(*_names(name))


def _choice(given: Choice) -> str:
    """Return the choice in the form of a request: a word, or a tool's name."""
    if isinstance(given, str):
        return given
    function = cast("Mapping[str, Any]", given.get("function") or given)
    return str(function.get("name", "auto"))
