"""Shipped agents, at the documented path; each is imported when it is used."""

from typing import TYPE_CHECKING

from trivium.lazy import lazy_names

if TYPE_CHECKING:
    from trivium.agent.special import doc_chat_agent as doc_chat_agent
    from trivium.agent.special import neo4j as neo4j
    from trivium.agent.special import retriever_agent as retriever_agent
    from trivium.agent.special import sql as sql
    from trivium.agent.special import table_chat_agent as table_chat_agent
    from trivium.agents.special import (
        DocChatAgent,
        DocChatAgentConfig,
        Neo4jChatAgent,
        Neo4jChatAgentConfig,
        Neo4jSettings,
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
    "Neo4jChatAgent",
    "Neo4jChatAgentConfig",
    "Neo4jSettings",
    "RetrieverAgent",
    "RetrieverAgentConfig",
    "SQLChatAgent",
    "SQLChatAgentConfig",
    "TableChatAgent",
    "TableChatAgentConfig",
]

_ROOMS = ("doc_chat_agent", "neo4j", "retriever_agent", "sql", "table_chat_agent")
_HOMES = {**dict.fromkeys(__all__, "agents.special"), **{name: f"agent.special.{name}" for name in _ROOMS}}
lazy_names(__name__, _HOMES, __all__, below="trivium")
