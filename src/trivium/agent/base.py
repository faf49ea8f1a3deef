"""The agent, at the documented path."""

from trivium.agents import Agent, AgentConfig
from trivium.schema.signals import NO_ANSWER

__all__ = ["NO_ANSWER", "Agent", "AgentConfig"]
