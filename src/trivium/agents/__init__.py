"""Agents: modules with a model, a memory and tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trivium.agents._agent import Agent, AsyncAgent
from trivium.agents._chat_agent import AsyncChatAgent, ChatAgent
from trivium.agents._config import AgentConfig, ChatAgentConfig
from trivium.agents._user import UserInputEvent
from trivium.lazy import lazy_names

if TYPE_CHECKING:
    from trivium.agents._containers import AgentDict, AgentList, AsyncSequential, Sequential
    from trivium.agents._streaming import (
        AsyncStreamingAgent,
        AsyncStreamingSequential,
        StreamingAgent,
        StreamingSequential,
    )
    from trivium.agents.react import AsyncReAct, ReAct
    from trivium.agents.stream import AgentForInternLM, AsyncAgentForInternLM, AsyncMathCoder, MathCoder

__all__ = [
    "Agent", "AgentConfig", "AgentDict", "AgentForInternLM", "AgentList", "AsyncAgent", "AsyncAgentForInternLM",
    "AsyncChatAgent", "AsyncMathCoder", "AsyncReAct", "AsyncSequential", "AsyncStreamingAgent",
    "AsyncStreamingSequential", "ChatAgent", "ChatAgentConfig", "MathCoder", "ReAct", "Sequential",
    "StreamingAgent", "StreamingSequential", "UserInputEvent",
]  # fmt: skip

# Where the names live that stand on the core; they are imported when used.
_STREAMING = ("AsyncStreamingAgent", "AsyncStreamingSequential", "StreamingAgent", "StreamingSequential")
_HOMES = {
    **dict.fromkeys(("AgentDict", "AgentList", "AsyncSequential", "Sequential"), "_containers"),
    **dict.fromkeys(("AsyncReAct", "ReAct"), "react"),
    **dict.fromkeys(_STREAMING, "_streaming"),
}

lazy_names(__name__, _HOMES, __all__, rest="stream")
