"""The agent that answers from a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trivium.lazy import lazy_names

if TYPE_CHECKING:
    from trivium.agents.special.graph._graph_chat import GraphChatAgent, GraphChatAgentConfig
    from trivium.agents.special.graph._neo4j_chat import Neo4jChatAgent, Neo4jChatAgentConfig, Neo4jSettings

__all__ = ["GraphChatAgent", "GraphChatAgentConfig", "Neo4jChatAgent", "Neo4jChatAgentConfig", "Neo4jSettings"]

_HOMES = {
    "GraphChatAgent": "_graph_chat",
    "GraphChatAgentConfig": "_graph_chat",
    "Neo4jChatAgent": "_neo4j_chat",
    "Neo4jChatAgentConfig": "_neo4j_chat",
    "Neo4jSettings": "_neo4j_chat",
}
lazy_names(__name__, _HOMES, __all__)
