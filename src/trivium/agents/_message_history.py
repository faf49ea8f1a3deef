"""The memory of a chat agent as the list of model messages that the documents work with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableSequence
from typing import TYPE_CHECKING, Any, cast, overload

from pydantic import PrivateAttr

from trivium.commander import this_session
from trivium.exceptions import ConfigurationError
from trivium.memory import Memory
from trivium.schema import LLMMessage, Message, Role

if TYPE_CHECKING:
    from trivium.agents._chat_agent import ChatAgent


class MessageHistory(MutableSequence[LLMMessage]):
    """The messages of the current session as the model reads them: a live view of the agent's memory.

    The first is the system message with the instructions for tools; it is made anew for every request, so to change
    it is to change `agent.system_message`. The list is empty until something is said.
    """

    __slots__ = ("_agent",)

    def __init__(self, agent: ChatAgent[Any]) -> None:
        self._agent = agent

    def _all(self) -> list[LLMMessage]:
        memory = self._agent.current_memory()
        if memory is None:
            return []
        return [self.system_entry(), *(_Entry.of(message, memory, self._agent) for message in memory.messages)]

    def system_entry(self) -> LLMMessage:
        """Return the system message as an entry of the history."""
        return _Entry(role=Role.SYSTEM, content=str(self._agent.instruction() or ""))

    def __len__(self) -> int:
        memory = self._agent.current_memory()
        return 0 if memory is None else 1 + len(memory)

    def __iter__(self) -> Iterator[LLMMessage]:
        return iter(self._all())

    @overload
    def __getitem__(self, index: int) -> LLMMessage: ...
    @overload
    def __getitem__(self, index: slice) -> list[LLMMessage]: ...  # pyright: ignore[reportIncompatibleMethodOverride]
    def __getitem__(self, index: int | slice) -> LLMMessage | list[LLMMessage]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self._all()[index]

    @overload
    def __setitem__(self, index: int, value: LLMMessage) -> None: ...
    @overload
    def __setitem__(self, index: slice, value: Iterable[LLMMessage]) -> None: ...
    def __setitem__(self, index: int | slice, value: Any) -> None:
        entries = self._all()
        entries[index] = value
        if entries and entries[0].role is not Role.SYSTEM:
            raise ConfigurationError("the system message stays the first of a history: set agent.system_message")
        self.replace_all(entries)

    def __delitem__(self, index: int | slice) -> None:
        entries, memory = self._all(), self._agent.current_memory()
        positions = range(len(entries))[index]
        gone = [positions] if isinstance(positions, int) else list(positions)
        if memory is not None and gone and 0 not in gone:
            memory.erase(position - 1 for position in gone)
        elif gone:  # the system message too
            self[:] = [entry for at, entry in enumerate(entries) if at not in gone]

    def insert(self, index: int, value: LLMMessage) -> None:
        """Put a message before another; a system message becomes the agent's."""
        entries = self._all()
        if index >= len(entries) and (entries or value.role is not Role.SYSTEM):
            self._agent.memory.open(this_session()).add(_Entry.to_message(value, self._agent))
        else:
            at = slice(index, 1 if value.role is Role.SYSTEM and index == 0 else index)
            self[at] = [value]

    def replace_all(self, entries: list[LLMMessage]) -> None:
        """Make the memory what these entries say; entries that were there keep their messages."""
        manager = self._agent.memory
        if not entries:
            manager.reset(this_session())
            return
        if entries[0].role is Role.SYSTEM:
            if not isinstance(entries[0], _Entry):
                self._agent.system_message = entries[0].content or ""
            entries = entries[1:]
        manager.open(this_session()).load([_Entry.to_message(each, self._agent) for each in entries])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Iterable) and self._all() == list(cast("Iterable[Any]", other))

    __hash__ = None  # pyright: ignore[reportAssignmentType] - it changes

    def __repr__(self) -> str:
        return repr(self._all())


class _Entry(LLMMessage):
    """A message of the history: what is set on it is set on the message that the agent remembers."""

    _of: Message | None = PrivateAttr(None)
    _memory: Memory | None = PrivateAttr(None)

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name == "content" and self._of is not None and self._memory is not None:
            at = next((at for at, each in enumerate(self._memory.messages) if each is self._of), None)
            if at is None:  # it was forgotten meanwhile
                self._of.content = value
            else:
                self._memory.edit(at, value)

    @classmethod
    def of(cls, message: Message, memory: Memory, agent: ChatAgent[Any]) -> _Entry:
        """Return the entry for a message of the agent's memory."""
        values = dict(Message.to_LLMMessage(message)[0])
        if message.tool_call_id is not None:
            values |= {"role": Role.TOOL, "tool_call_id": message.tool_call_id}
        elif message.entity is None:
            values["role"] = Role.ASSISTANT if message.sender == agent.name else Role.USER
        entry = cls.model_construct(**values)
        entry._of, entry._memory = message, memory
        return entry

    @classmethod
    def to_message(cls, entry: LLMMessage, agent: ChatAgent[Any]) -> Message:
        """Return the message that an entry stands for, or a new one."""
        if isinstance(entry, cls) and entry._of is not None:
            return entry._of
        made = Message.from_LLMMessage(entry)
        return made.replace(sender=agent.name) if entry.role is Role.ASSISTANT else made
