"""Language models: the contract of a provider, the embedded model and its store, and models behind HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trivium.lazy import lazy_names
from trivium.llms._protocol import (
    Delta,
    Finish,
    Logprobs,
    ModelProtocol,
    Reasoning,
    ReasoningState,
    Reply,
    Request,
    TokenLogprob,
    ToolCallPart,
)

if TYPE_CHECKING:
    from trivium.llms._anthropic import ClaudeModel
    from trivium.llms._base import AsyncBaseAPILLM, AsyncBaseLLM, BaseAPILLM, BaseLLM
    from trivium.llms._cached import CachedModel, CacheEvent, Lookup
    from trivium.llms._call import DeltaEvent, UsageEvent
    from trivium.llms._chat_model import ChatModel
    from trivium.llms._claude import AsyncClaudeAPI, ClaudeAPI
    from trivium.llms._cost_limits import CostLimitedModel, CostLimiter
    from trivium.llms._fallback import Fallback, FallbackEvent, FallbackModel
    from trivium.llms._gemini import GoogleModel
    from trivium.llms._gpt import GPTAPI, AsyncGPTAPI
    from trivium.llms._meta_template import INTERNLM2_META, APITemplateParser, LMTemplateParser
    from trivium.llms._openai import OpenAIModel
    from trivium.llms._overflow import Overflow, OverflowEvent, OverflowModel
    from trivium.llms._prices import Price, Pricing, PublishedPrice
    from trivium.llms._rate_limits import LimitedModel, RateLimiter, RateLimitEvent
    from trivium.llms._resolve import resolve
    from trivium.llms._sensenova import AsyncSensenovaAPI, SensenovaAPI
    from trivium.llms._stops import filter_suffix
    from trivium.llms.engines import (
        AsyncLMDeployClient,
        AsyncLMDeployPipeline,
        AsyncLMDeployServer,
        AsyncVllmModel,
        HFTransformer,
        HFTransformerCasualLM,
        HFTransformerChat,
        LMDeployClient,
        LMDeployPipeline,
        LMDeployServer,
        VllmModel,
    )
    from trivium.llms.http._policy import Retry, RetryEvent, RetryPolicy
    from trivium.llms.local._local import LocalModel
    from trivium.llms.local._store import ModelFile, ModelStore, Progress
    from trivium.llms.providers import PROFILES, Capabilities, Profile, capabilities_of
    from trivium.llms.wire._openai_chat import Dialect

__all__ = [
    "GPTAPI",
    "INTERNLM2_META",
    "PROFILES",
    "APITemplateParser",
    "AsyncBaseAPILLM",
    "AsyncBaseLLM",
    "AsyncClaudeAPI",
    "AsyncGPTAPI",
    "AsyncLMDeployClient",
    "AsyncLMDeployPipeline",
    "AsyncLMDeployServer",
    "AsyncSensenovaAPI",
    "AsyncVllmModel",
    "BaseAPILLM",
    "BaseLLM",
    "CacheEvent",
    "CachedModel",
    "Capabilities",
    "ChatModel",
    "ClaudeAPI",
    "ClaudeModel",
    "CostLimitedModel",
    "CostLimiter",
    "Delta",
    "DeltaEvent",
    "Dialect",
    "Fallback",
    "FallbackEvent",
    "FallbackModel",
    "Finish",
    "GoogleModel",
    "HFTransformer",
    "HFTransformerCasualLM",
    "HFTransformerChat",
    "LMDeployClient",
    "LMDeployPipeline",
    "LMDeployServer",
    "LMTemplateParser",
    "LimitedModel",
    "LocalModel",
    "Logprobs",
    "Lookup",
    "ModelFile",
    "ModelProtocol",
    "ModelStore",
    "OpenAIModel",
    "Overflow",
    "OverflowEvent",
    "OverflowModel",
    "Price",
    "Pricing",
    "Profile",
    "Progress",
    "PublishedPrice",
    "RateLimitEvent",
    "RateLimiter",
    "Reasoning",
    "ReasoningState",
    "Reply",
    "Request",
    "Retry",
    "RetryEvent",
    "RetryPolicy",
    "SensenovaAPI",
    "TokenLogprob",
    "ToolCallPart",
    "UsageEvent",
    "VllmModel",
    "capabilities_of",
    "filter_suffix",
    "resolve",
]

# The modules of the names that cost something to import.
_HOMES = {
    "APITemplateParser": "_meta_template",
    "AsyncBaseAPILLM": "_base",
    "AsyncBaseLLM": "_base",
    "AsyncClaudeAPI": "_claude",
    "AsyncGPTAPI": "_gpt",
    "AsyncSensenovaAPI": "_sensenova",
    "BaseAPILLM": "_base",
    "BaseLLM": "_base",
    "CacheEvent": "_cached",
    "CachedModel": "_cached",
    "Capabilities": "providers",
    "ChatModel": "_chat_model",
    "ClaudeAPI": "_claude",
    "ClaudeModel": "_anthropic",
    "DeltaEvent": "_call",
    "Dialect": "wire._openai_chat",
    "Fallback": "_fallback",
    "FallbackEvent": "_fallback",
    "FallbackModel": "_fallback",
    "GPTAPI": "_gpt",
    "GoogleModel": "_gemini",
    "INTERNLM2_META": "_meta_template",
    "LMTemplateParser": "_meta_template",
    "LimitedModel": "_rate_limits",
    "LocalModel": "local._local",
    "Lookup": "_cached",
    "ModelFile": "local._store",
    "ModelStore": "local._store",
    "OpenAIModel": "_openai",
    "Overflow": "_overflow",
    "OverflowEvent": "_overflow",
    "OverflowModel": "_overflow",
    "PROFILES": "providers",
    "Price": "_prices",
    "Pricing": "_prices",
    "Profile": "providers",
    "Progress": "local._store",
    "PublishedPrice": "_prices",
    "RateLimitEvent": "_rate_limits",
    "RateLimiter": "_rate_limits",
    "CostLimitedModel": "_cost_limits",
    "CostLimiter": "_cost_limits",
    "Retry": "http._policy",
    "RetryEvent": "http._policy",
    "RetryPolicy": "http._policy",
    "SensenovaAPI": "_sensenova",
    "UsageEvent": "_call",
    "capabilities_of": "providers",
    "filter_suffix": "_stops",
    "resolve": "_resolve",
}

_RENAMED = {"AnthropicModel": "ClaudeModel", "GeminiModel": "GoogleModel", "LanguageModel": "ModelProtocol"}

lazy_names(__name__, _HOMES, __all__, rest="engines", renamed=_RENAMED)
