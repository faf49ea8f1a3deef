"""The beginning of a long history as JSON, kept from request to request, so that only what is new is written."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from trivium.llms._protocol import ChatMessage, LongHistory
from trivium.llms.wire._fields import Body, Called

__all__ = ["Beginning", "WrittenMessages"]

Write: TypeAlias = Callable[[Sequence[ChatMessage]], list[Body]]
"""Makes the form of messages."""

SIZE: Final = 16
"""The number of messages in a block."""
_FRESH: Final = 4
"""The last messages are in no block, for the next ones may change them."""
_FORMS: Final = 2
"""The number of forms, such as those of an agent's model and its fallback, for which a history keeps blocks."""
_DEPTH: Final = 5
"""The depth of the arguments of a call in a list of messages; what is nested deeper is in no block."""


class WrittenBlock(NamedTuple):
    """Messages that follow each other in a history, and how they were written.

    Args:
        messages: copies of the messages: what is changed in the history itself is noticed by comparing.
        called: their tools and calls.
        tools: the names that were sent instead of tools' own names.
        data: the messages as they are sent, as JSON, without the brackets of the list; b"" if nothing is sent.
    """

    messages: list[ChatMessage]
    called: Called
    tools: Mapping[str, str]
    data: bytes


class Beginning(NamedTuple):
    """The beginning of a history, as far as it was written before.

    Args:
        form: identifies how messages are written.
        start: the number of messages before it, which are written each time.
        blocks: its blocks.
        messages: the messages of all blocks, so that one comparison is enough.
    """

    form: Hashable
    start: int = 0
    blocks: tuple[WrittenBlock, ...] = ()
    messages: Sequence[ChatMessage] = ()

    @classmethod
    def of(cls, messages: Sequence[ChatMessage], form: Hashable, start: int = 0) -> Beginning:
        """Return what was written in a form, and with which the messages behind `start` still begin."""
        if not isinstance(messages, LongHistory) or form not in messages.written:
            return cls(form, start)
        found: Beginning = messages.written[form]._replace(start=start)
        if messages[start : found.end] == found.messages:
            return found
        count = 0
        for at, block in enumerate(found.blocks, 1):
            if messages[start + count * SIZE : start + at * SIZE] != block.messages:
                break
            count = at
        return cls(form, start, found.blocks[:count], found.messages[: count * SIZE])

    @property
    def end(self) -> int:
        """The first message behind it."""
        return self.start + len(self.blocks) * SIZE

    @property
    def called(self) -> list[Called]:
        """The tools and calls in it."""
        return [block.called for block in self.blocks]

    def write(
        self, name: str, messages: Sequence[ChatMessage], tools: Mapping[str, str], write: Write
    ) -> list[Body] | WrittenMessages:
        """Return the messages behind `start` in their form; of a long history, only what is new is written.

        Args:
            name: the key of the messages in the body.
            messages: the messages of the request.
            tools: the names that are sent instead of tools' own names.
            write: makes the form of some messages; that of each depends on the message, the form and the tools.
        """
        if not isinstance(messages, LongHistory):
            return write(messages[self.start :])
        whole = self._continued(messages, tools, write)
        return WrittenMessages(name, [block.data for block in whole.blocks if block.data], write(messages[whole.end :]))

    def _continued(self, messages: LongHistory, tools: Mapping[str, str], write: Write) -> Beginning:
        """Return it with new blocks for the messages behind it; they are kept for the next request.

        At most twice as many and two are made at once: a history whose beginning is another each time costs little
        more than without blocks.
        """
        kept = self if not self.blocks or self.blocks[-1].tools == tools else Beginning(self.form, self.start)
        new, end = list[WrittenBlock](), kept.end
        for _ in range(min((len(messages) - _FRESH - end) // SIZE, len(kept.blocks) + 2)):
            some = messages[end : end + SIZE]
            if not _is_text(some):
                break
            copied: list[ChatMessage] = _copy(some)
            data = json.dumps(write(copied))[1:-1].encode()
            new.append(WrittenBlock(copied, Called.of(copied), tools, data))
            end += SIZE
        if not new:
            return kept
        if self.form not in messages.written and len(messages.written) >= _FORMS:
            messages.written.clear()
        copies = [*kept.messages, *(each for block in new for each in block.messages)]
        whole = kept._replace(blocks=(*kept.blocks, *new), messages=copies)
        messages.written[self.form] = whole
        return whole


class WrittenMessages(NamedTuple):
    """The messages of a body, some of which are JSON already.

    Args:
        name: their key in the body.
        written: the first messages, in pieces of JSON.
        rest: the others.
    """

    name: str
    written: list[bytes]
    rest: list[Body]

    def insert(self, place: Literal[0], message: Body) -> None:
        """Put a message before all others, as a list does."""
        self.written.insert(place, json.dumps(message).encode())

    def body(self, body: Mapping[str, object]) -> bytes:
        """Return the JSON of a body that has these messages."""
        others = {name: value for name, value in body.items() if name != self.name}
        begin = f'{{"{self.name}": ['.encode()
        end = json.dumps({self.name: self.rest} | others).encode().removeprefix(begin)
        if not self.rest and self.written:
            return begin + b", ".join(self.written) + end
        return begin + b", ".join((*self.written, end))


def _is_text(value: Any, depth: int = _DEPTH) -> bool:
    """Tell whether a value is of texts alone: others may be equal and yet be written differently, as 1 and True."""
    if value.__class__ is dict:
        return depth > 0 and all(key.__class__ is str and _is_text(each, depth - 1) for key, each in value.items())
    if value.__class__ is list:
        return depth > 0 and all(_is_text(each, depth - 1) for each in value)
    return value is None or value.__class__ is str


def _copy(value: Any) -> Any:
    if value.__class__ is dict:
        return {key: _copy(each) for key, each in value.items()}
    return [_copy(each) for each in value] if value.__class__ is list else value
