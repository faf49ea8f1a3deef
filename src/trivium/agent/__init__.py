"""Agents and tasks at Langroid's import paths."""

from typing import TYPE_CHECKING

from trivium.lazy import lazy_names

if TYPE_CHECKING:
    from trivium.agent.chat_document import ChatDocument

__all__ = ["ChatDocument"]

_HOMES = {
    name: name
    for name in (
        "base", "batch", "callbacks", "chat_agent", "chat_document", "done_sequence_parser", "special", "task",
        "tool_message", "tools", "xml_tool_message",
    )
}  # fmt: skip
lazy_names(__name__, {**_HOMES, "ChatDocument": "chat_document"}, __all__)
