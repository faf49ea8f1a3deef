"""The chat agent: an agent that keeps its history, made from a config."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Self

from trivium.actions import ToolMessage
from trivium.agents._agent import AgentConfig, Model
from trivium.agents._history import History
from trivium.agents._typed_answers import TypedAnswers
from trivium.agents.aggregator import DefaultAggregator
from trivium.commander import door, portable, this_session
from trivium.llms._call import ask
from trivium.memory import MemoryManager
from trivium.module import AsyncModule
from trivium.schema import Entity, LLMMessage, Message, ObjectRegistry, Role

__all__ = ["AsyncChatAgent", "ChatAgent", "ChatAgentConfig"]


class ChatAgentConfig(AgentConfig):
    """What a chat agent is made of.

    Args:
        llm: its model, its model's name or config; by default the one that the environment names, looked up at the
            first call. None is no model.
        system_message: what the agent is told to be.
        user_message: what the user says first in every conversation.
        handle_llm_no_tool: what the agent answers where the model calls no tool: text, a tool message, "user" or "done"
            (see `NonToolAction`), or a function of the message.
        use_tools: tool calls are written as JSON in the text, and described in the system message. That is what is done
            where it is set; where neither this nor `use_functions_api` is, the model's own way is taken, which is
            better with nearly every model.
        use_functions_api: the provider's own tool interface is used; where set, it counts over `use_tools`.
        use_tools_api: of the two interfaces that providers have had, the newer; nobody needs the older now.
        strict_recovery: ask again, with what was wrong, where an answer does not fit `output_format`.
        enable_orchestration_tool_handling: handle the tools by which a model steers a task (done, send, pass, …).
        output_format: the type of every answer; see `ChatAgent.set_output_format`.
        handle_output_format: handle an `output_format` that is a tool message.
        use_output_format: let the model use an `output_format` that is a tool message.
        instructions_output_format: describe the format in the system message.
        use_tools_on_output_format: write tool calls as text while a format is set.
        output_format_include_defaults: show fields that have defaults in the format.
        full_citations: whether sources are cited with their text.
        search_for_tools_everywhere: look for tool calls in the text too where the provider's interface is used.
        recognize_recipient_in_content: read `TO[name]: text` and a `recipient` in JSON as an address.
        context_overflow_strategy: what to do where the history is longer than the model can read: "truncate" shortens
            the oldest messages, "drop_turns" leaves out whole turns.
    """

    llm: Any = ""
    system_message: str = "You are a helpful assistant."
    user_message: str | None = None
    handle_llm_no_tool: Any = None
    use_tools: bool = True
    use_functions_api: bool = False
    use_tools_api: bool = True
    strict_recovery: bool = True
    enable_orchestration_tool_handling: bool = True
    output_format: Any = None
    handle_output_format: bool = True
    use_output_format: bool = True
    instructions_output_format: bool = True
    use_tools_on_output_format: bool = True
    output_format_include_defaults: bool = True
    full_citations: bool = True
    search_for_tools_everywhere: bool = True
    recognize_recipient_in_content: bool = True
    context_overflow_strategy: Literal["truncate", "drop_turns"] = "truncate"


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
    @portable
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
        return self._said(await ask(self.model, self._request(history, extra))).but(entity=Entity.LLM)

    llm_response_messages = door(llm_response_messages_async)

    @portable
    async def llm_response_forget_async(self, message: str | Message) -> Message | None:
        """Ask the model within the conversation, and forget question and answer."""
        memory = self.memory.open(this_session())
        kept = list(memory._messages)
        try:
            return await ChatAgent.llm_response_async(self, message)
        finally:
            memory._messages = kept

    llm_response_forget = door(llm_response_forget_async)

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
