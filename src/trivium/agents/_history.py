"""What of a chat agent has to do with its message history."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any
from weakref import ref

from trivium.agents._agent import Agent
from trivium.commander import this_session
from trivium.schema import Entity, Message
from trivium.schema._chat_document import linked, links_of

if TYPE_CHECKING:
    from trivium.agents._message_history import MessageHistory
    from trivium.schema import LLMMessage, Role

__all__ = ["History"]


class History(Agent):
    """What of a chat agent has to do with its message history."""

    system_message: str = ""
    user_message: str | None = None
    tool_instructions_added: bool = False
    """Always: what the model is told of tools is made anew for every request."""

    if TYPE_CHECKING:

        def tool_instructions(self) -> str: ...
        def tool_format_rules(self) -> str: ...

    @property
    def message_history(self) -> MessageHistory:
        """The messages of the current session, as the model reads them: a live view of the memory."""
        from trivium.agents._message_history import MessageHistory  # for programs that look at it

        return MessageHistory(self)

    @message_history.setter
    def message_history(self, entries: Iterable[LLMMessage]) -> None:
        self.message_history._replace(list(entries))

    @property
    def task_messages(self) -> list[LLMMessage]:
        """The messages with which every conversation begins: the system's, and the user's if one is set."""
        first = [self._system_entry()]
        return [*first, _spoken("user", self.user_message)] if self.user_message else first

    def _system_entry(self) -> LLMMessage:
        from trivium.agents._message_history import system_entry

        return system_entry(self)

    @property
    def system_tool_instructions(self) -> str:
        """What `tool_instructions` says."""
        return self.tool_instructions()

    @property
    def system_json_tool_instructions(self) -> str:
        """What `tool_format_rules` says."""
        return self.tool_format_rules()

    def set_system_message(self, msg: str) -> None:
        """Tell the agent what it is; from the next request on."""
        self.system_message = msg

    def augment_system_message(self, message: str) -> None:
        """Add a paragraph to the system message."""
        self.system_message += "\n\n" + message

    def set_user_message(self, msg: str | None) -> None:
        """What the user says first in every conversation that begins from now on."""
        self.user_message = msg

    def _remember(self, node: Any, messages: list[Message]) -> None:
        if self.user_message is not None and self.memory.get(node._scope.session_id) is None:
            self.init_message_history()
        super()._remember(node, messages)

    def _begins(self) -> bool:
        memory = self._current_memory()
        if memory is None:
            self.init_message_history()
        elif memory._messages and memory._messages[-1].sender == self.name:
            del memory._messages[-1]
        return True

    def _asked(self, message: Message | None) -> Sequence[Message]:
        memory = None if message is None else self._current_memory()
        if memory is not None and memory._messages:
            same = links_of(memory._messages[-1]).get("same")
            if same is not None and same() is message:
                return ()  # it is the last already
        return super()._asked(message)

    def _answered(self, answer: Message, asked: Message | None = None) -> Message:
        answer = super()._answered(answer, asked)
        memory = self._current_memory()
        if memory is not None:
            linked(answer)["index"] = len(memory._messages)
            for kept, given in zip(reversed(memory._messages), (answer, asked), strict=False):
                if given is not None:
                    linked(kept)["same"] = ref(given)  # what is remembered is a copy
        return answer

    def init_message_history(self) -> None:
        """Begin the conversation anew: the system message, and the user's if one is set."""
        if not self.memory:
            return
        self.memory.reset(this_session())
        memory = self.memory.open(this_session())
        if self.user_message:
            memory.add(Message(content=self.user_message, entity=Entity.USER))

    def clear_history(self, start: int = -2, end: int = -1) -> None:
        """Forget messages.

        Args:
            start: the index of the first to forget; negative counts from the end.
            end: the index of the last to forget; -1 is all to the end.
        """
        history = self.message_history
        count = len(history)
        first = max(0, count + start) if start < 0 else start
        last = count if end == -1 else end + 1
        for entry in history[first:last]:
            Message.delete_id(entry.chat_document_id)
        del history[first:last]

    def update_history(self, message: str, response: str) -> None:
        """Remember what a user said and what the agent answered, as if it had been so."""
        self.message_history.extend([_spoken("user", message), _spoken("assistant", response)])

    def last_message_with_role(self, role: Role | str) -> LLMMessage | None:
        """The latest message of this role; None where there is none."""
        return next((each for each in reversed(self.message_history) if each.role == role), None)

    def nth_message_idx_with_role(self, role: Role | str, n: int) -> int:
        """The index of the nth message of this role, counted from 1; -1 where there is none."""
        found = [index for index, each in enumerate(self.message_history) if each.role == role]
        return found[n - 1] if 1 <= n <= len(found) else -1

    def last_message_idx_with_role(self, role: Role | str) -> int:
        """The index of the latest message of this role; -1 where there is none."""
        return max((index for index, each in enumerate(self.message_history) if each.role == role), default=-1)

    def update_last_message(self, message: str, role: Role | str = "user") -> None:
        """Put other text into the latest message of this role, if there is one."""
        found = self.last_message_with_role(role)
        if found is not None:
            found.content = message

    def delete_last_message(self, role: Role | str = "user") -> None:
        """Forget the latest message of this role, if there is one."""
        index = self.last_message_idx_with_role(role)
        if index >= 0:
            del self.message_history[index]

    def message_history_str(self, i: int | None = None) -> str:
        """The history as text.

        Args:
            i: None is all; a positive number is that one message, a negative one the last so many.
        """
        entries = list(self.message_history)
        chosen = entries if i is None else [entries[i]] if i > 0 else entries[i:]
        return "\n".join(map(str, chosen))


def _spoken(role: str, content: str) -> LLMMessage:
    from trivium.schema import LLMMessage

    return LLMMessage.model_validate({"role": role, "content": content})
