"""The agent that finds passages, at its documented path."""

from trivium.agents.special import RetrieverAgent, RetrieverAgentConfig

__all__ = ["RetrieverAgent", "RetrieverAgentConfig"]
