"""The agent that asks Neo4j, at the documented path."""

from trivium.agents.special import Neo4jChatAgent, Neo4jChatAgentConfig, Neo4jSettings

__all__ = ["Neo4jChatAgent", "Neo4jChatAgentConfig", "Neo4jSettings"]
