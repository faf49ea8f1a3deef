"""The values that travel between modules: messages, documents, tool calls, usage, status codes. No I/O, no logic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trivium.events import JSONObject, JSONValue
from trivium.lazy import lazy_names
from trivium.schema._conversions import ChatDocLoggerFields
from trivium.schema._documents import ChatDocMetaData, DocMetaData, Document
from trivium.schema._message import Answer, Message, MessageExtra
from trivium.schema._no_effect import ConfigModel, NoEffect, NoEffectWarning
from trivium.schema._registry import ObjectRegistry
from trivium.schema._status import (
    ActionStatusCode,
    ActionValidCode,
    AgentStatusCode,
    Entity,
    ModelStatusCode,
    NonToolAction,
    Origin,
    StatusCode,
    ToolStatusCode,
)
from trivium.schema._values import ActionReturn, FunctionCall, ToolCall, ToolSpec, Usage

if TYPE_CHECKING:
    from trivium.schema._files import FileAttachment
    from trivium.schema._model_messages import (
        LLMFunctionCall,
        LLMFunctionSpec,
        LLMMessage,
        LLMMessages,
        LLMResponse,
        LLMTokenUsage,
        OpenAIJsonSchemaSpec,
        OpenAIToolCall,
        OpenAIToolSpec,
        Role,
        StreamEventType,
    )

AgentMessage = Message
ChatDocument = Message  # two statements: mypy makes no alias of a chained one

__all__ = [
    "ActionReturn", "ActionStatusCode", "ActionValidCode", "AgentMessage", "AgentStatusCode", "Answer",
    "ChatDocLoggerFields", "ChatDocMetaData", "ChatDocument", "ConfigModel", "DocMetaData", "Document", "Entity",
    "FileAttachment", "FunctionCall", "JSONObject", "JSONValue", "LLMFunctionCall", "LLMFunctionSpec", "LLMMessage",
    "LLMMessages", "LLMResponse", "LLMTokenUsage", "Message", "MessageExtra", "ModelStatusCode", "NoEffect",
    "NoEffectWarning", "NonToolAction", "ObjectRegistry", "OpenAIJsonSchemaSpec", "OpenAIToolCall",
    "OpenAIToolSpec", "Origin", "Role", "StatusCode", "StreamEventType", "ToolCall", "ToolSpec", "ToolStatusCode",
    "Usage",
]  # fmt: skip

# Where the names live that a conversation needs only beside a model.
lazy_names(__name__, {"FileAttachment": "_files"}, __all__, rest="_model_messages")
