"""The agent that asks tables, at the documented path."""

from trivium.agents.special import TableChatAgent, TableChatAgentConfig

__all__ = ["TableChatAgent", "TableChatAgentConfig"]
