"""Shipped agents, at the documented path; each is imported when it is used."""

from typing import TYPE_CHECKING

from trivium.lazy import lazy_names

if TYPE_CHECKING:
    from trivium.agents.special import (
        DocChatAgent,
        DocChatAgentConfig,
        RetrieverAgent,
        RetrieverAgentConfig,
        SQLChatAgent,
        SQLChatAgentConfig,
        TableChatAgent,
        TableChatAgentConfig,
    )

__all__ = [
    "DocChatAgent",
    "DocChatAgentConfig",
    "RetrieverAgent",
    "RetrieverAgentConfig",
    "SQLChatAgent",
    "SQLChatAgentConfig",
    "TableChatAgent",
    "TableChatAgentConfig",
]

lazy_names(__name__, dict.fromkeys(__all__, "agents.special"), __all__, below="trivium")
