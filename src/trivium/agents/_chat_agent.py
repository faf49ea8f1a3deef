"""The chat agent: an agent made from a config, with the history and the names of a conversation."""

from __future__ import annotations

from collections.abc import Coroutine, Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Self, cast

from pydantic import BaseModel

import trivium.schema as schema
from trivium.agents._agent import Agent, R
from trivium.agents._calls import overrides
from trivium.agents._config import AgentConfig, ChatAgentConfig
from trivium.agents._parts import FormatOption, Model, choose_given, own_containers
from trivium.agents._typed import T_co
from trivium.commander import CallNode, current, invoke, this_session
from trivium.commander.lowlevel import driver_neutral, sources_above, sync_method
from trivium.exceptions import ConfigurationError, EmptyAnswerError
from trivium.llms import Reply
from trivium.llms.lowlevel import call_model
from trivium.memory import MemoryManager
from trivium.module import AsyncModule
from trivium.policies import NOTHING
from trivium.schema import Entity, Message
from trivium.schema.lowlevel import check_arguments, linked

if TYPE_CHECKING:
    from trivium.agents._message_history import MessageHistory
    from trivium.agents._typed import CallMethod
    from trivium.schema import Answer, LLMMessage, Role


class ChatAgent(Agent[T_co]):
    """An agent that remembers its conversation; the one to give to a `Task`.

    Args:
        config: a `ChatAgentConfig`, or a model; without either, the model that the environment names.
        task: the system message, or the messages with which every conversation begins: a system message, then perhaps
            a user's. They count over the config's.
        llm: overrides the config's.
        system_message: overrides the config's.
        output_format: the type of the answers, or a parser; overrides the config's.
        **kwargs: as for `Agent`.

    Attributes:
        user_message: the first message of every conversation, as the user's; None: the conversation begins empty.

    Example:
        >>> from trivium.testing import ScriptedModel
        >>> agent = ChatAgent(ChatAgentConfig(name="Ada", llm=ScriptedModel(["hello"])))
        >>> agent.llm_response("hi").content, len(agent.message_history)
        ('hello', 3)
    """

    name: str = "ChatAgent"
    config: ChatAgentConfig
    user_message: str | None = None
    tool_instructions_added: bool = False
    """Always False: the tools are described anew in every request."""

    asking = ("llm_response_messages", "llm_response_messages_async", "update_token_usage", "chat_num_tokens")

    def __init__(
        self,
        config: ChatAgentConfig | Model = None,
        task: Sequence[schema.LLMMessage] | str | None = None,
        *,
        llm: Model = None,
        system_message: str | None = None,
        output_format: type[T_co] | FormatOption = None,
        **kwargs: Any,
    ) -> None:
        if not isinstance(config, AgentConfig):
            name = kwargs.setdefault("name", type(self).name)
            llm = config if llm is None else choose_given(config, llm, "model", "llm")
            config = ChatAgentConfig(llm="" if llm is None else llm)
            vars(config)["name"] = name  # unchecked: without a config of one's own, an agent may have any name
        elif llm is not None:
            config = config.model_copy(update={"llm": llm})
        kwargs.setdefault("memory", True if self._usual_memory == "default" else self._usual_memory)
        if system_message is None and (self._template is None or "system_message" in config.model_fields_set):
            kwargs.setdefault("template", config.system_message)
        super().__init__(config, system_message=system_message, output_format=output_format, **kwargs)
        self.user_message = getattr(config, "user_message", None)
        if "init_state" in self.overridden:
            self.init_state()
        check_arguments(ChatAgent.__init__, self, [("task", task)])
        entries = [schema.LLMMessage(role=schema.Role.SYSTEM, content=task)] if isinstance(task, str) else task
        for each in entries or ():
            entry = schema.LLMMessage.model_validate(each)
            if entry.role is not schema.Role.SYSTEM:
                self.user_message = entry.content
            elif system_message is None:
                self.system_message = entry.content or ""
            else:
                raise ConfigurationError("the system message is given twice: in task, and as system_message=")

    # ---- requests to the model
    @driver_neutral
    async def llm_response_messages_async(
        self, messages: Sequence[LLMMessage], output_len: int | None = None
    ) -> Message:
        """Ask the model with these messages; nothing is remembered.

        Args:
            messages: the messages that it reads.
            output_len: tokens that the answer may have; default: the model's own.
        """
        history = [each.api_dict("") for each in messages]
        extra = {} if output_len is None else {"max_tokens": output_len}
        answer = self._message(await call_model(self.model, self._request(history, extra)))
        read = NOTHING.union(*(each.sources for each in messages))
        return answer.replace(entity=Entity.LLM, sources=read or None)

    llm_response_messages = sync_method(llm_response_messages_async)

    @driver_neutral
    async def llm_response_forget_async(self, message: str | Message) -> Message | None:
        """Ask the model within the conversation, and forget question and answer."""
        memory = self.memory.open(this_session())
        kept = list(memory.messages)
        try:
            return await invoke(self.llm_response, message)
        finally:
            memory.load(kept)

    llm_response_forget = sync_method(llm_response_forget_async)

    def chat_num_tokens(self, messages: Sequence[LLMMessage] | None = None) -> int:
        """Return the tokens of these messages, or of the history: counted by the model where it can, else estimated."""
        entries = self.message_history if messages is None else messages
        return sum(self.num_tokens(each.content or "") for each in entries)

    # ---- the conversation
    def _remember(self, node: CallNode, messages: list[Message]) -> None:
        if node.session_id not in self.memory.memory_map and (
            self.user_message is not None or overrides(self, "init_message_history")
        ):
            self.init_message_history()
        super()._remember(node, messages)
        for each in messages:
            (each.__pydantic_private__ or linked(each)).setdefault("made", datetime.now(UTC))

    def _message(self, reply: Reply) -> Message:
        text = reply.text.strip()
        if text in ("''", '""') and not (reply.tool_calls or self.answer_format):
            raise EmptyAnswerError(f"the model {self.model.name} gave an empty text, {text}; ask again", text)
        return super()._message(reply._replace(text=text))

    def _begins(self) -> bool:
        memory = self.current_memory()
        if memory is None:
            self.init_message_history()
        elif memory.messages and memory.messages[-1].sender == self.name:
            memory.delete(-1)
        return True

    def init_message_history(self) -> None:
        """Begin the conversation anew: the system message, and the user's if one is set."""
        if not self.memory:
            return
        self.memory.reset(this_session())
        memory = self.memory.open(this_session())
        if self.user_message:
            memory.add(Message(content=self.user_message, entity=Entity.USER, sources=self._repeats))

    @property
    def message_history(self) -> MessageHistory:
        """The messages of the current session, as the model reads them: a live view of the memory."""
        from trivium.agents._message_history import MessageHistory  # for programs that look at it

        return MessageHistory(self)

    @message_history.setter
    def message_history(self, entries: Iterable[LLMMessage]) -> None:
        self.message_history.replace_all(list(entries))

    @property
    def task_messages(self) -> list[LLMMessage]:
        """The messages with which every conversation begins: the system's, and the user's if one is set."""
        users = [schema.LLMMessage(role=schema.Role.USER, content=self.user_message)] if self.user_message else []
        return [self.message_history.entry(0), *users]

    def set_system_message(self, msg: str) -> None:
        """Set the system message, from the next request on."""
        self.system_message = msg

    def augment_system_message(self, message: str) -> None:
        """Add a paragraph to the system message."""
        self.system_message += "\n\n" + message

    def set_user_message(self, msg: str | None) -> None:
        """Set the user's first message in every conversation that begins from now on."""
        self.user_message, self._repeats = msg, self._repeats | sources_above(current.get())

    def clear_history(self, start: int = -2, end: int = -1) -> None:
        """Forget messages.

        Args:
            start: the index of the first to forget; negative counts from the end.
            end: the index of the last to forget; -1: all to the end.
        """
        history, part = self.message_history, slice(start, None if end == -1 else end + 1)
        for entry in history[part]:
            Message.delete_id(entry.chat_document_id)
        del history[part]

    def update_history(self, message: str, response: str) -> None:
        """Remember a user's message and the agent's answer, as if they had been said."""
        for role, text in ((schema.Role.USER, message), (schema.Role.ASSISTANT, response)):
            self.message_history.append(schema.LLMMessage(role=role, content=text))

    def last_message_with_role(self, role: Role | str) -> LLMMessage | None:
        """Return the latest message of this role; None where there is none."""
        return next((each for each in reversed(self.message_history) if each.role == role), None)

    def nth_message_idx_with_role(self, role: Role | str, n: int) -> int:
        """Return the index of the nth message of this role, counted from 1; -1 where there is none."""
        found = [index for index, each in enumerate(self.message_history) if each.role == role]
        return found[n - 1] if 1 <= n <= len(found) else -1

    def last_message_idx_with_role(self, role: Role | str) -> int:
        """Return the index of the latest message of this role; -1 where there is none."""
        return max((index for index, each in enumerate(self.message_history) if each.role == role), default=-1)

    def update_last_message(self, message: str, role: Role | str = "user") -> None:
        """Replace the text of the latest message of this role, if there is one."""
        if found := self.last_message_with_role(role):
            found.content = message

    def delete_last_message(self, role: Role | str = "user") -> None:
        """Forget the latest message of this role, if there is one."""
        if (index := self.last_message_idx_with_role(role)) >= 0:
            del self.message_history[index]

    def message_history_str(self, i: int | None = None) -> str:
        """Return the history as text.

        Args:
            i: None: all; a positive number: that one message; a negative one: the last so many.
        """
        entries = list(self.message_history)
        return "\n".join(map(str, entries if i is None else [entries[i]] if i > 0 else entries[i:]))

    # ---- copies
    def __getitem__(self, output_type: type[R]) -> ChatAgent[R]:
        """Return the same agent with answers of a type; its conversation is the same one."""
        return cast("ChatAgent[R]", super().__getitem__(output_type))

    def clone(self, i: int = 0) -> Self:
        """Return the same agent once more, called `name-i`, with conversations and tools of its own.

        Lists, dicts and sets that a subclass keeps as attributes are copied, with the same items; all else, such as a
        connection or another agent, is shared: `_clone_extra_state` may change that.
        """
        new = self.copied()
        own_containers(new)
        new.own_callbacks = None
        named = BaseModel.model_copy(self.config, update={"name": f"{self.name}-{i}"})  # unchecked, as above
        new.config = cast("ChatAgentConfig", named)
        new.name = new.config.name
        if self.memory:
            new.memory = MemoryManager(self.memory.factory)
        self._clone_extra_state(new)
        return new

    def _clone_extra_state(self, new_agent: Any) -> None:
        """Override it to give a clone what your subclass keeps."""


class AsyncChatAgent(AsyncModule, ChatAgent[T_co]):
    """A `ChatAgent` whose call gives a coroutine."""

    if TYPE_CHECKING:
        __call__: CallMethod[Coroutine[Any, Any, Answer[T_co]]]  # type: ignore[override]
