"""The memory of one session, and the manager of the memories of all."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from operator import index
from typing import Any, Final, Literal, NoReturn, SupportsIndex, TypeAlias, cast

from trivium.commander.lowlevel import SessionLocks, current_node, emit, scope_of, sources_above
from trivium.exceptions import ArgumentTypeError, ConfigurationError, MissingEntryError
from trivium.memory._events import MemoryChange, MemoryEvent, MessageEvent
from trivium.policies import NOTHING, Sources, as_sources
from trivium.schema import Message
from trivium.schema.lowlevel import factory_of

Filter = Callable[[int, Message], bool]
Loadable = dict[str, Any] | Message

_ONE: Final = (str, Message, Mapping)
_HOW: Final = "give Message(content=…, sender='user'), or the agent's name as sender"


def _refuse(messages: Messages, *_: object, **__: object) -> NoReturn:
    raise TypeError("the messages of a memory change only by its methods: add, erase, edit, load, reset")


def _check_recent(recent_n: object, least: int) -> int:
    if not isinstance(recent_n, SupportsIndex) or isinstance(recent_n, bool):
        kind = type(recent_n).__name__
        raise ArgumentTypeError(f"a memory takes a whole number or None as recent_n, not {kind}", "recent_n")
    if (number := index(recent_n)) < least:
        raise ConfigurationError(f"recent_n is a whole number, {least} or more, or None, not {number}")
    return number


class Messages(list[Message]):
    """The messages of a memory, oldest first, to read: they change only by the memory's methods.

    Raises:
        TypeError: on every attempt to change the list.
    """

    __slots__ = ()
    append = extend = insert = remove = pop = clear = sort = reverse = _refuse  # type: ignore[assignment]  # pyright: ignore
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse  # type: ignore[assignment]  # pyright: ignore

    def __reduce__(self) -> tuple[type[Messages], tuple[list[Message]]]:
        return Messages, (list(self),)


_append: Final = list[Message].append


def _refuse_session(sessions: Sessions, *_: object, **__: object) -> NoReturn:
    raise TypeError("the sessions of a memory change only by its methods: open, add, create_instance, reset")


class Sessions(dict[Hashable, "Memory"]):
    """The memories by session, to read: they change only by the methods of their manager.

    Raises:
        TypeError: on every attempt to change the dict.
    """

    __slots__ = ()
    pop = popitem = clear = update = setdefault = _refuse_session  # type: ignore[assignment]  # pyright: ignore
    __setitem__ = __delitem__ = __ior__ = _refuse_session  # type: ignore[assignment]  # pyright: ignore

    def __reduce__(self) -> tuple[type[Sessions], tuple[dict[Hashable, Memory]]]:
        return Sessions, (dict(self),)


class Memory:
    """The messages of one session, oldest first.

    They change only by the methods `add`, `erase`, `load`, `edit` and `reset`. Those who listen to the call that runs
    receive a `MessageEvent` for each message that is added, and a `MemoryEvent` for every other change.

    Args:
        recent_n: the number of latest messages that `get_memory` returns; None: all. Where they would begin with the
            result of a tool call, the call and its other results come along.

    Example:
        >>> memory = Memory(recent_n=1)
        >>> memory.add([Message(content="a"), Message(content="b")])
        >>> [message.content for message in memory.get_memory()], len(memory)
        (['b'], 2)
    """

    __slots__ = ("messages", "recent_n", "rendered", "sources", "stored")

    def __init__(self, recent_n: int | None = None) -> None:
        self.recent_n = None if recent_n is None else _check_recent(recent_n, 1)
        self.messages = Messages()
        """All messages, oldest first, to read: `add` adds to them, and every other method replaces the object."""
        self.sources: Sources = NOTHING
        """The sources of all messages since the last `reset`, also of those that were erased."""
        self.rendered: object = None
        """The beginning as an aggregator has rendered it: its cache, which nothing else reads."""
        self.stored: object = None
        """The beginning as a journal has it: its cache, which nothing else reads."""

    @classmethod
    def of(cls, messages: Iterable[Message | str]) -> Memory:
        """Return a memory of these messages; within a run those without sources get its own, as in `add`."""
        memory = cls()
        memory.add(list(messages))
        return memory

    @property
    def memory(self) -> Messages:
        """The same as `messages`."""
        return self.messages

    def __repr__(self) -> str:
        recent = "" if self.recent_n is None else f", recent_n={self.recent_n}"
        return f"{type(self).__name__}(messages={len(self.messages)}{recent})"

    def __len__(self) -> int:
        return len(self.messages)

    def get_memory(self, recent_n: int | None = None, filter_func: Filter | None = None) -> list[Message]:
        """Return the latest `recent_n` messages (default: the memory's own), if the filter accepts them.

        Args:
            recent_n: the number of messages, 0: all; applied before the filter.
            filter_func: called with index and message; a message stays if it returns true.

        Raises:
            ConfigurationError: `recent_n` is no whole number, or below 0.
        """
        most = self.recent_n if recent_n is None else _check_recent(recent_n, 0)
        start = slice(-most, None).indices(len(self))[0] if most else 0
        while recent_n is None and 0 < start < len(self) and self.messages[start].tool_call_id:
            start -= 1
        messages = self.messages[start:]
        if filter_func is None:
            return messages
        return [message for index, message in enumerate(messages) if filter_func(index, message)]

    def add(self, messages: Message | str | Iterable[Message | str] | None) -> None:
        """Append one message or several; plain text becomes a user's message. Others are left out, with a warning."""
        is_one = messages.__class__ is not list and (isinstance(messages, _ONE) or not isinstance(messages, Iterable))
        many = cast("Iterable[Any]", [messages] if is_one else messages)
        kept, node = self.messages, current_node()
        start, read = len(kept), sources_above(node)
        for each in many:
            message = Message(content=each) if isinstance(each, str) else each
            if isinstance(message, Message):
                _append(kept, message)
                extra = message.__pydantic_extra__
                if read:  # it is made within a run, and may repeat all that was read there
                    extra.setdefault("sources", read)
                if "sources" in extra:
                    self.sources |= extra["sources"]
                if "files" in extra:
                    self.sources |= message.documents
            elif message is not None:
                kind = type(message).__name__
                warnings.warn(f"a memory keeps messages and texts, not {kind}, which is left out: {_HOW}", stacklevel=3)
        if node is not None and scope_of(node).listeners:
            for message in kept[start:]:
                emit(node, MessageEvent, message)

    def erase(self, index: int | Iterable[int]) -> None:
        """Remove the messages at these positions; all positions are of the list as it was.

        Remove a tool call together with its results: a result without a call is read as a user's text.
        """
        positions = {index} if isinstance(index, int) else set(index)
        length = len(self.messages)
        gone = {position % length for position in positions if -length <= position < length}
        erased = [message for at, message in enumerate(self.messages) if at in gone]
        self.messages = Messages(message for at, message in enumerate(self.messages) if at not in gone)
        self._notify("erase", erased)

    delete = erase

    def edit(self, index: int, content: Any) -> None:
        """Replace the content of the message at a position; all that hold the message see it.

        Raises:
            IndexError: there is no such position.
        """
        if not -len(self) <= index < len(self):
            raise IndexError(f"there is no message {index} in this memory: it has {len(self)}")
        message, read = self.messages[index], sources_above(current_node())
        message.content = content
        if read:  # the new content may repeat it
            message.__pydantic_extra__["sources"] = message.sources | read
            self.sources |= read
        self._notify("edit", [message])

    def reset(self) -> None:
        """Forget all messages."""
        erased, self.sources = self.messages, NOTHING
        self.messages = Messages()
        self._notify("reset", erased)

    def _notify(self, action: Literal["reset", "erase", "load", "edit"], messages: list[Message]) -> None:
        if (node := current_node()) is not None:
            emit(node, MemoryEvent, MemoryChange(action, tuple(messages)))

    def load(self, messages: Loadable | Sequence[Loadable], overwrite: bool = True) -> None:
        """Load saved messages, in place of the present ones or after them.

        Raises:
            TypeError: it is neither a message, a dict of one, nor a list of these.
            ValueError: an entry is no message; nothing is loaded.
        """
        many: Any = [messages] if isinstance(messages, dict | Message) else messages
        if not isinstance(many, list | tuple):
            raise TypeError(f"a memory loads a list of messages, not {type(many).__name__}")
        known, read = set(map(id, self.messages)), sources_above(current_node())
        for each in (loaded := self.read(cast("list[Any]", many))):
            if read and id(each) not in known:  # it may repeat what the run has read, as in `add`
                each.__pydantic_extra__.setdefault("sources", read)
        self.sources = self.sources.union(*(each.sources | each.documents for each in loaded))
        self.messages = Messages(loaded if overwrite else [*self.messages, *loaded])
        self._notify("load", loaded)

    @staticmethod
    def read(saved: Sequence[Loadable]) -> list[Message]:
        """Return saved messages as messages.

        Raises:
            TypeError: an entry is neither a dict nor a message.
            ValueError: an entry is no message.
        """
        if not isinstance(saved, Sequence):  # type: ignore[unnecessary] - users pass anything
            raise ArgumentTypeError(f"saved messages are a list, not {type(saved).__name__}", "messages")
        for each in saved:
            if not isinstance(each, dict | Message):  # type: ignore[unnecessary] - users pass anything
                kind = type(each).__name__
                raise ArgumentTypeError(f"a saved message is a dict, not {kind}: {each!r:.100}", "messages")
            if isinstance(each, dict) and "role" in each and "sender" not in each:
                raise ConfigurationError(
                    f"{each!r:.100} is a chat message, not a saved one: add Message(content=…, sender='user'), or with "
                    "the agent's name as sender, to the memory"
                )
            if isinstance(each, dict) and "content" not in each:
                raise MissingEntryError(f"a saved message has no content: {each!r:.100}", ("content",))
            if isinstance(each, dict) and each.get("sources") is not None:
                as_sources(each["sources"])  # pydantic would hide the error of wrong ones
        try:
            return [Message.model_validate(each) for each in saved]
        except (AttributeError, TypeError, ValueError) as error:
            raise ConfigurationError(f"a saved message cannot be read again: {error}") from error

    def save(self) -> list[dict[str, Any]]:
        """Return all messages as dicts; the last has the sources of what was erased, too."""
        messages, sources = [*self.messages], self.sources
        if sources and messages and not sources <= NOTHING.union(*(each.sources | each.documents for each in messages)):
            messages[-1] = messages[-1].replace(sources=messages[-1].sources | sources)
        return [message.model_dump() for message in messages]


_open: Final = dict[Hashable, Memory].setdefault
_forget: Final = dict[Hashable, Memory].pop


class MemoryManager:
    """One memory for each session, made when it is first written to.

    Args:
        factory: makes the memory of a new session; or a config of it.

    Attributes:
        locks: keep concurrent calls on one session in order.
    """

    __slots__ = ("factory", "locks", "memory_map")

    def __init__(self, factory: Callable[[], Memory] | dict[str, Any] = Memory) -> None:
        made = factory_of(cast("dict[str, Any]", factory)) if isinstance(factory, dict) else factory
        if made is not Memory and not callable(made):  # type: ignore[unnecessary] - users pass anything
            raise ArgumentTypeError(f"a memory is made by a class or function, not {type(made).__name__}", "factory")
        self.factory: Callable[[], Memory] = made
        self.locks = SessionLocks()
        self.memory_map = Sessions()
        """The memories by session, to read."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(sessions={len(self.memory_map)})"

    @staticmethod
    def of(given: MemoryOption) -> MemoryManager | None:
        """Return the memory that an argument means; None: nothing is remembered.

        Args:
            given: a manager; True: a new one; a function, or a config, that makes the memory of each session; False or
                None: none.

        Raises:
            ConfigurationError: it is the memory of one session.
        """
        if given is True:  # first: most are
            return MemoryManager()
        if given is None or given is False:
            return None
        if isinstance(given, Memory):
            raise ConfigurationError("a memory is one session's: give its class, or dict(type=Memory, recent_n=…)")
        return given if isinstance(given, MemoryManager) else MemoryManager(given)

    def get(self, session_id: Hashable = 0) -> Memory | None:
        """Return the memory of a session; None if it has none."""
        return self.memory_map.get(session_id)

    def get_memory(self, session_id: Hashable = 0, **kwargs: Any) -> list[Message]:
        """Return the messages of a session; see `Memory.get_memory`.

        Raises:
            MissingEntryError: the session has no memory; it is a KeyError too.
        """
        if (memory := self.get(session_id)) is None:
            there = ", ".join(map(repr, self.memory_map)) or "none"
            text = f"the session {session_id!r} has no memory; there are {there}. `get(session_id)` returns None then"
            raise MissingEntryError(text, (str(session_id),))
        return memory.get_memory(**kwargs)

    def create_instance(self, session_id: Hashable = 0) -> None:
        """Give a session a new memory, in place of the one that it has."""
        self.reset(session_id)
        self.open(session_id)

    def open(self, session_id: Hashable = 0) -> Memory:
        """Return the memory of a session; make it if there is none.

        Raises:
            ArgumentTypeError: the factory has made something else.
        """
        memory = self.memory_map.get(session_id)
        if memory is None:  # setdefault: two threads that open one session get the same memory
            made = self.factory()
            if not isinstance(made, Memory):  # type: ignore[unnecessary] - users pass anything
                kind = type(made).__name__
                raise ArgumentTypeError(f"a memory derives from trivium.memory.Memory, and {kind} does not", "factory")
            memory = _open(self.memory_map, session_id, made)
        return memory

    def add(self, messages: Message | str | Iterable[Message | str] | None, session_id: Hashable = 0) -> None:
        """Append to a session's memory."""
        self.open(session_id).add(messages)

    def reset(self, session_id: Hashable = 0) -> None:
        """Forget a session."""
        memory = _forget(self.memory_map, session_id, None)
        if memory is not None:
            memory.reset()


MemoryOption: TypeAlias = MemoryManager | Callable[[], Memory] | dict[str, Any] | bool | None
"""The memory of a module as a user gives it; see `MemoryManager.of`."""
