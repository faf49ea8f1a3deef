"""The chat messages that a memory was rendered to before, so that a turn renders only what is new."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from trivium.llms.lowlevel import LongHistory
from trivium.memory import Memory
from trivium.schema import Message
from trivium.schema.lowlevel import Changes, watch

Append = Callable[[list[dict[str, Any]], Message, str], None]

_FRESH = 4
"""The last messages are rendered for each request: what a model does to their entries does not stay."""
_STEP = 8
"""The number of messages that are added to what is kept at once, for each time costs a copy of the list."""
SHORT = _FRESH + _STEP
"""The number of messages from which on `rendered` is worth its price."""


class _Rendered(NamedTuple):
    """The result of a rendering: an unchanged beginning of a list of messages, behind a system instruction.

    It is replaced, never changed, so that threads may share it.
    """

    key: tuple[Any, ...]
    messages: Sequence[Message]
    covered: int
    last: Message
    chat: LongHistory
    changes: Changes
    """Counts the changes of what is covered; one for all that a memory was rendered to."""
    changed: int
    """The count when this was made."""

    def is_of(self, key: tuple[Any, ...], messages: Sequence[Message]) -> bool:
        """Return whether the messages begin as they did: none was changed, and they are cut at the end alone."""
        is_there = messages is self.messages and len(messages) >= self.covered and self.changes.count == self.changed
        return is_there and messages[self.covered - 1] is self.last and key == self.key


def rendered(
    system: list[dict[str, Any]], memory: Memory, name: str, append: Append, separator: str
) -> list[dict[str, Any]]:
    """Return the system instruction's chat messages, then those of a memory with `SHORT` messages or more.

    Args:
        system: becomes the beginning of the result.
        memory: all its messages count.
        name: the agent's name.
        append: adds one message; its result depends on the end of the list, the message, the name and the separator.
        separator: see `DefaultAggregator`.
    """
    messages = memory.messages
    before = memory.rendered if isinstance(memory.rendered, _Rendered) else None
    if before is None or not before.is_of((name, separator, system), messages):
        changes = Changes() if before is None else before.changes
        own = LongHistory.begin(system)  # a program's instruction may be changed by the program, or by a model
        before = _Rendered((name, separator, own), messages, 0, messages[0], own, changes, changes.count)
    ready = end_of_plain(messages, before.covered, len(messages) - _FRESH)
    if ready - before.covered >= _STEP:
        chat = before.chat.continued()
        for message in messages[before.covered : ready]:
            watch(message, before.changes)  # first: a change from now on is seen
            append(chat, message, name)
        chat.keep(max(0, len(before.chat) - 1))  # the last one may have been joined with what followed
        before = before._replace(covered=ready, last=messages[ready - 1], chat=chat)
        memory.rendered = before
    found = before.chat.continued(len(system))
    for message in messages[before.covered :]:
        append(found, message, name)
    return found


def end_of_plain(messages: Sequence[Message], start: int, end: int) -> int:
    """Return up to where messages change only where a value is set: a list or an object could change in itself."""
    for at in range(start, end):
        if messages[at].content.__class__ is not str or "files" in messages[at].__pydantic_extra__:
            return at
    return end
