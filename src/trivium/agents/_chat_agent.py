"""The chat agent: an agent that keeps its history, made from a config."""

from __future__ import annotations

from typing import Any

from trivium.agents._agent import Agent, AgentConfig, Model
from trivium.module import AsyncModule


class ChatAgentConfig(AgentConfig):
    """What a chat agent is made of.

    Args:
        llm: its model or its model's name; by default the one that the environment names, looked up at the
            first call.
        system_message: what the agent is told to be.
    """

    llm: Any = ""
    system_message: str = "You are a helpful assistant."


class ChatAgent(Agent):
    """An agent that remembers its conversation; the one to give to a `Task`.

    Args:
        config: a `ChatAgentConfig`, or a model; without either, the model that the environment names.
        system_message: overrides the config's.
        **kwargs: as for `Agent`.

    Example:
        >>> from trivium.testing import ScriptedModel
        >>> agent = ChatAgent(ChatAgentConfig(name="Ada", llm=ScriptedModel(["hello"])))
        >>> agent.llm_response("hi").content, len(agent.memory.get_memory())
        ('hello', 2)
    """

    name: str = "ChatAgent"

    def __init__(
        self, config: ChatAgentConfig | Model = None, *, system_message: str | None = None, **kwargs: Any
    ) -> None:
        if not isinstance(config, AgentConfig):
            kwargs.setdefault("name", type(self).name)
            config = ChatAgentConfig(llm="" if config is None else config)
        kwargs.setdefault("memory", True)
        super().__init__(config, **kwargs)
        self.system_message = getattr(config, "system_message", "") if system_message is None else system_message

    def _instruction(self) -> str:
        return self.system_message


class AsyncChatAgent(AsyncModule, ChatAgent):
    """A `ChatAgent` whose call gives a coroutine."""
