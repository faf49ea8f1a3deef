"""Models made from configs, with Langroid's names, such as OpenAIGPT and MockLM."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trivium.lazy import lazy_names

if TYPE_CHECKING:
    from trivium.language_models import azure_openai as azure_openai
    from trivium.language_models import base as base
    from trivium.language_models import mock_lm as mock_lm
    from trivium.language_models import model_info as model_info
    from trivium.language_models import openai_gpt as openai_gpt
    from trivium.language_models.azure_openai import AzureConfig, AzureGPT
    from trivium.language_models.base import LanguageModel, LLMConfig, RetryParams
    from trivium.language_models.mock_lm import MockLM, MockLMConfig
    from trivium.language_models.model_info import (
        AnthropicModel,
        DeepSeekModel,
        GeminiModel,
        ModelInfo,
        OpenAIChatModel,
        OpenAICompletionModel,
    )
    from trivium.language_models.openai_gpt import LiteLLMProxyConfig, OpenAICallParams, OpenAIGPT, OpenAIGPTConfig
    from trivium.schema import (
        LLMFunctionCall,
        LLMFunctionSpec,
        LLMMessage,
        LLMResponse,
        LLMTokenUsage,
        OpenAIJsonSchemaSpec,
        OpenAIToolCall,
        OpenAIToolSpec,
        Role,
        StreamEventType,
    )

__all__ = [
    "AnthropicModel",
    "AzureConfig",
    "AzureGPT",
    "DeepSeekModel",
    "GeminiModel",
    "LLMConfig",
    "LLMFunctionCall",
    "LLMFunctionSpec",
    "LLMMessage",
    "LLMResponse",
    "LLMTokenUsage",
    "LanguageModel",
    "LiteLLMProxyConfig",
    "MockLM",
    "MockLMConfig",
    "ModelInfo",
    "OpenAICallParams",
    "OpenAIChatModel",
    "OpenAICompletionModel",
    "OpenAIGPT",
    "OpenAIGPTConfig",
    "OpenAIJsonSchemaSpec",
    "OpenAIToolCall",
    "OpenAIToolSpec",
    "RetryParams",
    "Role",
    "StreamEventType",
]

# Where the names live; each is imported when it is used.
_HOMES = {
    "AnthropicModel": "model_info",
    "AzureConfig": "azure_openai",
    "AzureGPT": "azure_openai",
    "DeepSeekModel": "model_info",
    "GeminiModel": "model_info",
    "LiteLLMProxyConfig": "openai_gpt",
    "MockLM": "mock_lm",
    "MockLMConfig": "mock_lm",
    "ModelInfo": "model_info",
    "OpenAICallParams": "openai_gpt",
    "OpenAIChatModel": "model_info",
    "OpenAICompletionModel": "model_info",
    "OpenAIGPT": "openai_gpt",
    "OpenAIGPTConfig": "openai_gpt",
    "azure_openai": "azure_openai",
    "base": "base",
    "mock_lm": "mock_lm",
    "model_info": "model_info",
    "openai_gpt": "openai_gpt",
}
lazy_names(__name__, _HOMES, __all__, rest="base")
