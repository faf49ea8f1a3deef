"""The agent that answers from documents, at its documented path."""

from trivium.agents.special import DocChatAgent, DocChatAgentConfig

__all__ = ["DocChatAgent", "DocChatAgentConfig"]
