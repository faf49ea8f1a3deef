"""Names of well-known models, and how much they take. What they cost is what genai-prices knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from types import MappingProxyType
from typing import Final

from trivium._older_names import OlderNames
from trivium.llms import PublishedPrice
from trivium.schema import Usage

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
    """Who serves a model."""

    OPENAI = "openai"
    ANTHROPIC = "anthropic"
    DEEPSEEK = "deepseek"
    GOOGLE = "google"
    UNKNOWN = "unknown"


class ModelName(str, Enum):
    """A model's name as a member; it is the text that is sent."""


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
    """Models of OpenAI's older completion interface; trivium asks chat models."""

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
    """Models of DeepSeek, with who serves them."""

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
    """What is known about a model.

    Args:
        name: its name.
        provider: who serves it.
        context_length: tokens that it takes, with those that it writes.
        max_output_tokens: tokens that it writes at most.
        input_cost_per_million: US dollars for a million tokens read; 0.0 is unknown or free, as below.
        cached_cost_per_million: the same for tokens that the provider had kept.
        output_cost_per_million: the same for tokens written.
        has_tools: it has an interface for tools.
        has_structured_output: its answers can be held to a JSON schema.
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
    """What is known about a model; of one that is not known, the defaults.

    Prices are there where the package genai-prices is installed, which comes with the extra `prices`.

    Args:
        model: its name.
        fallback_models: names under which it may be known instead, the best first.

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
    """The same without prices, which take a while to look up."""
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
