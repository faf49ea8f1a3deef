"""Names of well-known models and their context windows. Their prices come from genai-prices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from types import MappingProxyType
from typing import Final

from trivium.llms import PublishedPrice
from trivium.schema import Usage
from trivium.schema.lowlevel import OlderNames

__all__ = [
    "AnthropicModel",
    "DeepSeekModel",
    "GeminiModel",
    "ModelInfo",
    "ModelName",
    "ModelProvider",
    "OpenAIChatModel",
    "OpenAICompletionModel",
    "get_model_info",
]


class ModelProvider(str, Enum):
    """The provider of a model."""

    OPENAI = "openai"
    ANTHROPIC = "anthropic"
    DEEPSEEK = "deepseek"
    GOOGLE = "google"
    UNKNOWN = "unknown"


class ModelName(str, Enum):
    """A model's name as a member, which is the text that is sent."""


class OpenAIChatModel(ModelName):
    """Models of OpenAI's chat interface."""

    GPT3_5_TURBO = "gpt-3.5-turbo"
    GPT4 = "gpt-4o"
    GPT4_TURBO = "gpt-4-turbo"
    GPT4o = "gpt-4o"
    GPT4o_MINI = "gpt-4o-mini"
    O1 = "o1"
    O1_MINI = "o1-mini"
    O3_MINI = "o3-mini"
    O3 = "o3"
    O4_MINI = "o4-mini"
    GPT4_1 = "gpt-4.1"
    GPT4_1_MINI = "gpt-4.1-mini"
    GPT4_1_NANO = "gpt-4.1-nano"
    GPT5 = "gpt-5"
    GPT5_MINI = "gpt-5-mini"
    GPT5_NANO = "gpt-5-nano"
    GPT5_PRO = "gpt-5-pro"
    GPT5_1 = "gpt-5.1"
    GPT5_2 = "gpt-5.2"


class OpenAICompletionModel(str, Enum):
    """Models of OpenAI's older completion interface; trivium calls chat models."""

    DAVINCI = "davinci-002"
    BABBAGE = "babbage-002"


class AnthropicModel(ModelName):
    """Models of Anthropic."""

    CLAUDE_4_OPUS = "claude-opus-4"
    CLAUDE_4_SONNET = "claude-sonnet-4"
    CLAUDE_4_5_OPUS = "claude-opus-4-5"
    CLAUDE_4_5_SONNET = "claude-sonnet-4-5"
    CLAUDE_4_5_HAIKU = "claude-haiku-4-5"


class DeepSeekModel(ModelName):
    """Models of DeepSeek, with the prefixes of their providers."""

    DEEPSEEK = "deepseek/deepseek-chat"
    DEEPSEEK_R1 = "deepseek/deepseek-reasoner"
    OPENROUTER_DEEPSEEK_R1 = "openrouter/deepseek/deepseek-r1"


class GeminiModel(ModelName):
    """Models of Google."""

    GEMINI_2_FLASH = "gemini-2.0-flash"
    GEMINI_2_5_FLASH = "gemini-2.5-flash"
    GEMINI_2_5_FLASH_LITE = "gemini-2.5-flash-lite"
    GEMINI_2_5_PRO = "gemini-2.5-pro"


class ModelInfo(OlderNames):
    """The entry of a model in the table of models.

    Args:
        name: its name.
        provider: its provider.
        context_length: context window in tokens, input and output together.
        max_output_tokens: the most output tokens.
        input_cost_per_million: US dollars for a million input tokens; 0.0 is unknown or free, as below.
        cached_cost_per_million: the same for cached input tokens.
        output_cost_per_million: the same for output tokens.
        has_tools: the model has an interface for tools.
        has_structured_output: its answers can be constrained to a JSON schema.
    """

    name: str = "unknown"
    provider: ModelProvider = ModelProvider.UNKNOWN
    context_length: int = 16_000
    max_output_tokens: int = 8192
    input_cost_per_million: float = 0.0
    cached_cost_per_million: float = 0.0
    output_cost_per_million: float = 0.0
    has_tools: bool = True
    has_structured_output: bool = False


# Context and output in tokens.
_OPENAI: Final[Mapping[str, tuple[int, int]]] = MappingProxyType(
    {
        "gpt-3.5-turbo": (16_385, 4096),
        "gpt-4-turbo": (128_000, 4096),
        "gpt-4o": (128_000, 16_384),
        "gpt-4o-mini": (128_000, 16_384),
        "gpt-4.1": (1_047_576, 32_768),
        "gpt-4.1-mini": (1_047_576, 32_768),
        "gpt-4.1-nano": (1_047_576, 32_768),
        "o1": (200_000, 100_000),
        "o1-mini": (128_000, 65_536),
        "o3": (200_000, 100_000),
        "o3-mini": (200_000, 100_000),
        "o4-mini": (200_000, 100_000),
        "gpt-5": (400_000, 128_000),
        "gpt-5-mini": (400_000, 128_000),
        "gpt-5-nano": (400_000, 128_000),
        "gpt-5-pro": (400_000, 272_000),
        "gpt-5.1": (400_000, 128_000),
        "gpt-5.2": (400_000, 128_000),
    }
)
_NO_SCHEMA: Final = ("gpt-3.5", "gpt-4-turbo", "o1-mini")


def get_model_info(model: str, fallback_models: Sequence[str] = ()) -> ModelInfo:
    """Return the entry of a model; for an unknown model, the defaults.

    Prices are there where the package genai-prices is installed, which comes with the extra `prices`.

    Args:
        model: its name.
        fallback_models: alternative names, in order of preference.

    Example:
        >>> get_model_info("gpt-4o-mini").context_length
        128000
    """
    info = sizes_of(model, fallback_models)
    if info.provider is ModelProvider.UNKNOWN:
        return info
    price = PublishedPrice(info.name, info.provider.value)
    each = Usage(1000), Usage(1000, cached_tokens=1000), Usage(0, 1000)
    read, cached, written = (round((price.usd(usage) or 0.0) * 1000, 9) for usage in each)
    prices = {"input_cost_per_million": read, "cached_cost_per_million": cached, "output_cost_per_million": written}
    return info.model_copy(update=prices)


def sizes_of(model: str, fallback_models: Sequence[str] = ()) -> ModelInfo:
    """Return the same entry without prices, which are slow to look up."""
    name = next((each for each in (model, *fallback_models) if each in _OPENAI), None)
    if name is None:
        return ModelInfo()
    context, output = _OPENAI[name]
    return ModelInfo(
        name=name,
        provider=ModelProvider.OPENAI,
        context_length=context,
        max_output_tokens=output,
        has_structured_output=not name.startswith(_NO_SCHEMA),
    )
