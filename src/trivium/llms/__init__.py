"""Language models: the contract of a provider, the embedded model and its store, and OpenAI's interface."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trivium.llms._base import AsyncBaseAPILLM, AsyncBaseLLM, BaseAPILLM, BaseLLM
    from trivium.llms._call import DeltaEvent, UsageEvent
    from trivium.llms._chat_model import ChatModel
    from trivium.llms._local import LocalModel
    from trivium.llms._meta_template import INTERNLM2_META, APITemplateParser, LMTemplateParser
    from trivium.llms._openai import OpenAIModel
    from trivium.llms._protocol import Delta, Finish, LanguageModel, Reasoning, Reply, Request, ToolCallPart
    from trivium.llms._resolve import resolve
    from trivium.llms._store import ModelFile, ModelStore, Progress

__all__ = [
    "INTERNLM2_META",
    "APITemplateParser",
    "AsyncBaseAPILLM",
    "AsyncBaseLLM",
    "BaseAPILLM",
    "BaseLLM",
    "ChatModel",
    "Delta",
    "DeltaEvent",
    "Finish",
    "LMTemplateParser",
    "LanguageModel",
    "LocalModel",
    "ModelFile",
    "ModelStore",
    "OpenAIModel",
    "Progress",
    "Reasoning",
    "Reply",
    "Request",
    "ToolCallPart",
    "UsageEvent",
    "resolve",
]

# Where the names live that cost something to import; the others are in `_protocol`.
_HOMES = {
    "APITemplateParser": "_meta_template",
    "AsyncBaseAPILLM": "_base",
    "AsyncBaseLLM": "_base",
    "BaseAPILLM": "_base",
    "BaseLLM": "_base",
    "ChatModel": "_chat_model",
    "DeltaEvent": "_call",
    "INTERNLM2_META": "_meta_template",
    "LMTemplateParser": "_meta_template",
    "LocalModel": "_local",
    "ModelFile": "_store",
    "ModelStore": "_store",
    "OpenAIModel": "_openai",
    "Progress": "_store",
    "UsageEvent": "_call",
    "resolve": "_resolve",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES.get(name, '_protocol')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
