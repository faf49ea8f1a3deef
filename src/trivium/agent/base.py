"""The agent, at the documented path."""

from trivium.agents import Agent, AgentConfig

__all__ = ["Agent", "AgentConfig"]
