"""Agents: modules with a model, a memory and tools."""

from trivium.agents._agent import Agent, AgentConfig, AsyncAgent
from trivium.agents._chat_agent import AsyncChatAgent, ChatAgent, ChatAgentConfig

__all__ = ["Agent", "AgentConfig", "AsyncAgent", "AsyncChatAgent", "ChatAgent", "ChatAgentConfig"]
