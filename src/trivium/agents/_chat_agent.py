"""The chat agent: an agent that keeps its history, made from a config."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from trivium.actions import ToolMessage
from trivium.agents._agent import Model
from trivium.agents._config import AgentConfig, ChatAgentConfig
from trivium.agents._history import History
from trivium.agents._typed_answers import TypedAnswers
from trivium.agents.aggregator import DefaultAggregator
from trivium.commander import driver_neutral, sync_method, this_session
from trivium.llms.lowlevel import call_model
from trivium.memory import MemoryManager
from trivium.module import AsyncModule
from trivium.schema import Entity, LLMMessage, Message, ObjectRegistry, Role

__all__ = ["AsyncChatAgent", "ChatAgent"]


class _Paragraphs(DefaultAggregator):
    separator = "\n\n"


class ChatAgent(TypedAnswers, History):
    """An agent that remembers its conversation; the one to give to a `Task`.

    Args:
        config: a `ChatAgentConfig`, or a model; without either, the model that the environment names.
        task: the messages with which every conversation begins: a system message, then perhaps a user's. They count
            over the config's.
        system_message: overrides the config's.
        **kwargs: as for `Agent`.

    Example:
        >>> from trivium.testing import ScriptedModel
        >>> agent = ChatAgent(ChatAgentConfig(name="Ada", llm=ScriptedModel(["hello"])))
        >>> agent.llm_response("hi").content, len(agent.message_history)
        ('hello', 3)
    """

    name: str = "ChatAgent"
    config: ChatAgentConfig

    def __init__(
        self,
        config: ChatAgentConfig | Model = None,
        task: Sequence[LLMMessage] | None = None,
        *,
        system_message: str | None = None,
        **kwargs: Any,
    ) -> None:
        if not isinstance(config, AgentConfig):
            name = kwargs.setdefault("name", type(self).name)
            config = ChatAgentConfig(llm="" if config is None else config)
            vars(config)["name"] = name  # unchecked: who makes no config may call an agent anything
        kwargs.setdefault("memory", True)
        kwargs.setdefault("aggregator", _Paragraphs())
        super().__init__(config, **kwargs)
        self.system_message = getattr(config, "system_message", "") if system_message is None else system_message
        if getattr(config, "user_message", None) is not None:
            self.user_message = config.user_message
        for entry in task or ():
            if entry.role is Role.SYSTEM:
                self.system_message = entry.content or ""
            else:
                self.user_message = entry.content
        if getattr(config, "output_format", None) is not None:
            self.set_output_format(config.output_format)

    @staticmethod
    def from_id(id: str) -> Any:
        """The agent with this id, if somebody still holds it."""
        return ObjectRegistry.get(id)

    # ---- what the model is told
    def _instruction(self) -> str:
        if not self._describes_tools():
            return self.system_message
        parts = (self.system_message, self.tool_instructions(), self.tool_format_rules(), self._format_instructions())
        return "\n\n".join(part for part in parts if part)

    def _describes_tools(self) -> bool:
        return (
            "_usable" in self.__dict__ and bool(self._usable) and self._writes_calls_as_text()
        ) or self._has_format()

    def _writes_calls_as_text(self) -> bool:
        """Whether the model writes tool calls into its text: where a config says so, or it knows no other way."""
        config = self.config
        if config.use_functions_api:
            return False
        if "use_tools" in config.model_fields_set or "use_functions_api" in config.model_fields_set:
            return config.use_tools
        return not getattr(self.model, "takes_tools", True)

    def _specs(self) -> Any:
        specs = super()._specs()
        if not specs or "_usable" not in self.__dict__ or not self._offers_none():
            return specs
        return tuple(tool.spec for tool in self.executor.tools.values())

    def _offers_none(self) -> bool:
        config = self.config
        return self._writes_calls_as_text() or ("use_tools" in config.model_fields_set and not config.use_functions_api)

    def tool_format_rules(self) -> str:
        """How each tool that the model may use is written as JSON; for a model that has no tool interface."""
        classes = self._usable_classes() if "_usable" in self.__dict__ else []
        if not classes:
            return "You can ask questions in natural language." if not self.__dict__.get("_known") else ""
        rules = "\n\n".join(each.format_instructions(tool=True) for each in classes)
        group = next((each for each in classes if "group_format_instructions" in vars(each)), ToolMessage)
        return group.group_format_instructions().format(format_instructions=rules, json_instructions=rules)

    json_format_rules = tool_format_rules

    def tool_instructions(self) -> str:
        """When to use each tool, and examples, for those that say so; goes into the system message."""
        parts: list[str] = []
        for each in self._usable_classes() if "_usable" in self.__dict__ else ():
            guidance = each.instructions()
            examples = "" if self._writes_calls_as_text() else each.usage_examples()
            lines = [f"GUIDANCE: {guidance}" if guidance else "", f"EXAMPLES:\n{examples}" if examples else ""]
            if any(lines):
                parts.append("\n".join([f"TOOL: {each.name()}:", *filter(None, lines)]))
        return "\n\n".join(["=== How to use some of the tools ===", *parts]) if parts else ""

    # ---- asking the model directly
    @driver_neutral
    async def llm_response_messages_async(
        self, messages: Sequence[LLMMessage], output_len: int | None = None
    ) -> Message:
        """Ask the model with these messages; nothing is remembered.

        Args:
            messages: what it reads.
            output_len: tokens that the answer may have; default: the model's own.
        """
        history = [each.api_dict("") for each in messages]
        extra = {} if output_len is None else {"max_tokens": output_len}
        return self._said(await call_model(self.model, self._request(history, extra))).replace(entity=Entity.LLM)

    llm_response_messages = sync_method(llm_response_messages_async)

    @driver_neutral
    async def llm_response_forget_async(self, message: str | Message) -> Message | None:
        """Ask the model within the conversation, and forget question and answer."""
        memory = self.memory.open(this_session())
        kept = list(memory._messages)
        try:
            return await ChatAgent.llm_response_async(self, message)
        finally:
            memory._messages = kept

    llm_response_forget = sync_method(llm_response_forget_async)

    def chat_num_tokens(self, messages: Sequence[LLMMessage] | None = None) -> int:
        """Tokens of these messages, or of the history: counted by the model where it can, else estimated."""
        return sum(
            self.num_tokens(each.content or "") for each in (self.message_history if messages is None else messages)
        )

    # ---- copies
    def clone(self, i: int = 0) -> Self:
        """The same agent once more, called `name-i`: what never changes is shared, all that changes is its own."""
        new = self._copied("_known", "_usable", "_handled", "_hooks")
        new.__dict__.pop("_callbacks", None)
        new.config = self.config.model_copy(update={"name": f"{self.name}-{i}"})
        new.name = new.config.name
        if self.memory:
            new.memory = MemoryManager(self.memory.factory)
        self._clone_extra_state(new)
        return new

    def _clone_extra_state(self, new_agent: Any) -> None:
        """Override it to give a clone what your subclass keeps."""


class AsyncChatAgent(AsyncModule, ChatAgent):
    """A `ChatAgent` whose call gives a coroutine."""
