"""Agents: modules with a model, a memory and tools."""

from trivium.agents._agent import Agent, AgentConfig, AsyncAgent
from trivium.agents._chat_agent import AsyncChatAgent, ChatAgent, ChatAgentConfig
from trivium.agents._containers import AgentDict, AgentList, AsyncSequential, Sequential

__all__ = [
    "Agent",
    "AgentConfig",
    "AgentDict",
    "AgentList",
    "AsyncAgent",
    "AsyncChatAgent",
    "AsyncSequential",
    "ChatAgent",
    "ChatAgentConfig",
    "Sequential",
]
