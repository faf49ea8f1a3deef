"""The events of a memory: every change of a conversation is one."""

from __future__ import annotations

from logging import DEBUG
from typing import Literal, NamedTuple

from trivium.events import Event, JSONObject, on_one_line
from trivium.schema import Message


class MessageEvent(Event[Message, Literal["message"]], level=DEBUG):
    """A message entered an agent's memory, or is the result of a task's step."""

    __slots__ = ()

    def detail(self, content: bool = False) -> str:
        """Name the sender."""
        return on_one_line(f"{self.data.sender}: {self.data.content}") if content else self.data.sender


class MemoryChange(NamedTuple):
    """A change of a conversation that is not a new message at its end."""

    action: Literal["reset", "erase", "load", "edit"]
    messages: tuple[Message, ...]
    """Those that were forgotten, or those that were loaded, or the one that was edited."""


class MemoryEvent(Event[MemoryChange, Literal["memory"]], level=DEBUG):
    """Messages of a conversation were erased, loaded or edited, or all were forgotten."""

    __slots__ = ()

    def detail(self, content: bool = False) -> str:
        """Name the change, and the number of messages."""
        return f"{self.data.action}: {len(self.data.messages)}"

    def fields(self, content: bool = False) -> JSONObject:
        """Return the change and the number of messages; the messages on request."""
        return {"action": self.data.action, "count": len(self.data.messages), **super().fields(content)}
