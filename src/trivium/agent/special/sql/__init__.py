"""The agent that asks databases, at the documented path."""

from trivium.agents.special import SQLChatAgent, SQLChatAgentConfig

__all__ = ["SQLChatAgent", "SQLChatAgentConfig"]
