"""The memory of a chat agent as the list of model messages that the documents work with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, MutableSequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Self, cast, overload

from pydantic import PrivateAttr

from trivium.commander import this_session
from trivium.exceptions import ConfigurationError
from trivium.memory import Memory
from trivium.schema import Entity, LLMMessage, Message, Role
from trivium.schema.lowlevel import linked

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

    def entry(self, at: int) -> LLMMessage:
        """Return the entry at a position from the front; at 0 the system message, even where the history is empty."""
        memory = self._agent.current_memory()
        if memory is not None and at:
            return _Entry.of(memory.messages[at - 1], memory, self._agent)
        told = Message(content=str(self._agent.instruction() or ""), sender=Entity.SYSTEM.value, entity=Entity.SYSTEM)
        return _Entry.of(told, memory, self._agent)

    def __len__(self) -> int:
        memory = self._agent.current_memory()
        return 0 if memory is None else 1 + len(memory)

    @overload
    def __getitem__(self, index: int) -> LLMMessage: ...
    @overload
    def __getitem__(self, index: slice) -> list[LLMMessage]: ...  # pyright: ignore[reportIncompatibleMethodOverride]
    def __getitem__(self, index: int | slice) -> LLMMessage | list[LLMMessage]:  # pyright: ignore[reportIncompatibleMethodOverride]
        at = range(len(self))[index]
        return self.entry(at) if isinstance(at, int) else [self.entry(each) for each in at]

    def __setitem__(self, index: int | slice, value: LLMMessage | Iterable[LLMMessage]) -> None:
        entries: list[Any] = self[:]
        entries[index] = value
        if entries and entries[0].role is not Role.SYSTEM:
            raise ConfigurationError("the system message stays the first of a history: set agent.system_message")
        self.replace_all(entries)

    def copy(self) -> list[LLMMessage]:
        """Return the entries as a plain list."""
        return self[:]

    def __add__(self, other: Iterable[LLMMessage]) -> list[LLMMessage]:
        return [*self, *other]

    def __radd__(self, other: Iterable[LLMMessage]) -> list[LLMMessage]:
        return [*other, *self]

    def __reduce__(self) -> tuple[type[list[LLMMessage]], tuple[list[LLMMessage]]]:
        return list, (self[:],)

    def sort(self, *, key: Callable[[LLMMessage], Any] | None = None, reverse: bool = False) -> None:
        """Sort the messages behind the system message, which stays the first."""
        self[1:] = sorted(self[1:], key=key, reverse=reverse)  # type: ignore[type-var, arg-type] - as of a list

    def __delitem__(self, index: int | slice) -> None:
        positions = range(len(self))[index]
        gone = [positions] if isinstance(positions, int) else list(positions)
        if 0 in gone:  # the system message too
            self[:] = [entry for at, entry in enumerate(self) if at not in gone]
        elif gone:
            self._agent.memory.open(this_session()).erase(at - 1 for at in gone)

    def insert(self, index: int, value: LLMMessage) -> None:
        """Put a message before another; a system message becomes the agent's."""
        if index >= len(self) and (self or value.role is not Role.SYSTEM):
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
            if _Entry.shown(entries[0], self._agent) is None:
                self._agent.system_message = entries[0].content or ""
            entries = entries[1:]
        manager.open(this_session()).load([_Entry.to_message(each, self._agent) for each in entries])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Iterable) and self[:] == list(cast("Iterable[Any]", other))

    __hash__ = None  # pyright: ignore[reportAssignmentType] - it changes

    def __repr__(self) -> str:
        return repr(self[:])


class _Entry(LLMMessage):  # noqa: PLW1641 - as other models, it has no hash
    """A message of the history: content that is set is that of the message which the agent remembers.

    A copy is on its own, and can be changed like any message.
    """

    _of: Message | None = PrivateAttr(None)
    _memory: Memory | None = PrivateAttr(None)
    """The memory with the message; None: it is a copy."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name in LLMMessage.model_fields and (memory := self._memory) is not None:
            at = next((at for at, each in enumerate(memory.messages) if each is self._of), None)
            if name != "content":
                raise ConfigurationError(f"an entry's {name} cannot be set: history[i] = entry.model_copy(update=…)")
            if at is not None:  # else it was forgotten meanwhile, or is the system message
                memory.edit(at, value)
        super().__setattr__(name, value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LLMMessage) and _told(self) == _told(other)

    def __copy__(self) -> Self:
        new = super().__copy__()
        new._memory = None
        return new

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        return super(_Entry, self.__copy__()).__deepcopy__(memo)

    def __repr_name__(self) -> str:
        return LLMMessage.__name__

    @classmethod
    def of(cls, message: Message, memory: Memory | None, agent: ChatAgent[Any]) -> _Entry:
        """Return the entry for a message of the agent's memory."""
        own = message.entity is None and message.sender == agent.name
        calling = own and bool(message.tool_calls)
        values = dict(Message.to_LLMMessage(message.replace(entity=Entity.LLM) if calling else message)[0])
        values |= {"chat_document_id": message.id(), "timestamp": linked(message).setdefault("made", datetime.now(UTC))}
        if own and values["role"] is Role.USER:  # a copy of each message would cost more than all else
            values["role"] = Role.ASSISTANT
        if message.tool_call_id is not None:
            values |= {"role": Role.TOOL, "tool_call_id": message.tool_call_id}
        entry = cls.model_construct(None, **values)
        entry._of, entry._memory = message, memory
        return entry

    @classmethod
    def shown(cls, entry: LLMMessage, agent: ChatAgent[Any]) -> Message | None:
        """Return the message that an entry shows, if it says to this agent what the entry does."""
        found = entry._of if isinstance(entry, cls) else None
        return found if found is not None and cls.of(found, None, agent) == entry else None

    @classmethod
    def to_message(cls, entry: LLMMessage, agent: ChatAgent[Any]) -> Message:
        """Return the message that an entry stands for, or a new one."""
        if (shown := cls.shown(entry, agent)) is not None:
            return shown
        made = Message.from_LLMMessage(entry, agent.name if entry.role is Role.ASSISTANT else "")
        linked(made)["made"] = entry.timestamp
        return made


def _told(entry: LLMMessage) -> dict[str, Any]:
    """Return what equality looks at: not what an entry has from being remembered, or from being made anew each time."""
    made = None if entry.role is Role.SYSTEM else entry.timestamp
    unseen = {"name": None, "chat_document_id": None, "sources": None}
    return {**dict(entry), **unseen, "content": entry.content or "", "timestamp": made}
