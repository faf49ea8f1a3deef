"""The wire formats of providers, without I/O: request bodies from requests, deltas from response bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trivium.lazy import lazy_names

if TYPE_CHECKING:
    from trivium.llms.wire._answers import AnswerReader, MessageReader, dict_or_empty, error_text
    from trivium.llms.wire._events import EventDecoder
    from trivium.llms.wire._fields import numbered_ids
    from trivium.llms.wire._openai_chat import OPENAI, Dialect, OpenAIMessageReader, chat_tool
    from trivium.llms.wire._sent_errors import sent_error

__all__ = [
    "OPENAI",
    "AnswerReader",
    "Dialect",
    "EventDecoder",
    "MessageReader",
    "OpenAIMessageReader",
    "chat_tool",
    "dict_or_empty",
    "error_text",
    "numbered_ids",
    "sent_error",
]

_HOMES = {
    "OPENAI": "_openai_chat",
    "AnswerReader": "_answers",
    "Dialect": "_openai_chat",
    "EventDecoder": "_events",
    "MessageReader": "_answers",
    "OpenAIMessageReader": "_openai_chat",
    "chat_tool": "_openai_chat",
    "dict_or_empty": "_answers",
    "error_text": "_answers",
    "numbered_ids": "_fields",
    "sent_error": "_sent_errors",
}
lazy_names(__name__, _HOMES, __all__)
