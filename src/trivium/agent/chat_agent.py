"""The chat agent, at the documented path."""

from trivium.agents import ChatAgent, ChatAgentConfig

__all__ = ["ChatAgent", "ChatAgentConfig"]
