"""Agents that answer from documents, databases, tables and graphs, and a long-term memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trivium.lazy import lazy_names

if TYPE_CHECKING:
    from trivium.agents.special._citations import Citation, DocAnswer
    from trivium.agents.special._doc_chat import DocChatAgent
    from trivium.agents.special._doc_config import DocChatAgentConfig
    from trivium.agents.special._remembering import LongTermMemory, Remembered
    from trivium.agents.special._retriever import RetrieverAgent, RetrieverAgentConfig
    from trivium.agents.special.graph import (
        GraphChatAgent,
        GraphChatAgentConfig,
        Neo4jChatAgent,
        Neo4jChatAgentConfig,
        Neo4jSettings,
    )
    from trivium.agents.special.sql import SQLChatAgent, SQLChatAgentConfig
    from trivium.agents.special.table import TableChatAgent, TableChatAgentConfig

__all__ = [
    "Citation",
    "DocAnswer",
    "DocChatAgent",
    "DocChatAgentConfig",
    "GraphChatAgent",
    "GraphChatAgentConfig",
    "LongTermMemory",
    "Neo4jChatAgent",
    "Neo4jChatAgentConfig",
    "Neo4jSettings",
    "Remembered",
    "RetrieverAgent",
    "RetrieverAgentConfig",
    "SQLChatAgent",
    "SQLChatAgentConfig",
    "TableChatAgent",
    "TableChatAgentConfig",
]

_HOMES = {
    "Citation": "_citations",
    "DocAnswer": "_citations",
    "DocChatAgent": "_doc_chat",
    "DocChatAgentConfig": "_doc_config",
    "GraphChatAgent": "graph",
    "GraphChatAgentConfig": "graph",
    "LongTermMemory": "_remembering",
    "Neo4jChatAgent": "graph",
    "Neo4jChatAgentConfig": "graph",
    "Neo4jSettings": "graph",
    "Remembered": "_remembering",
    "RetrieverAgent": "_retriever",
    "RetrieverAgentConfig": "_retriever",
    "SQLChatAgent": "sql",
    "SQLChatAgentConfig": "sql",
    "TableChatAgent": "table",
    "TableChatAgentConfig": "table",
}
lazy_names(__name__, _HOMES, __all__)
