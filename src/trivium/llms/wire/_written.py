"""The beginning of a long history as JSON, kept from request to request, so that only what is new is written."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

from trivium.llms._protocol import ChatMessage, LongHistory
from trivium.llms.wire._fields import Body, Called

__all__ = ["SIZE", "WrittenBlock", "WrittenMessages", "blocks_of", "with_new_blocks"]

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
        data: the messages as they are sent, as JSON, without the brackets of the list.
    """

    messages: list[ChatMessage]
    called: Called
    tools: Mapping[str, str]
    data: bytes


class WrittenMessages(NamedTuple):
    """The messages of a body, some of which are JSON already.

    Args:
        written: the first messages, in pieces of JSON.
        rest: the others; there is at least one.
    """

    written: list[bytes]
    rest: list[Body]

    def insert(self, place: Literal[0], message: Body) -> None:
        """Put a message before all others, as a list does."""
        self.written.insert(place, json.dumps(message).encode())

    def body(self, others: Body) -> bytes:
        """Return the JSON of a body with these messages and its other values."""
        begin = b'{"messages": ['
        end = json.dumps({"messages": self.rest} | others).encode().removeprefix(begin)
        return begin + b", ".join((*self.written, end))


def blocks_of(messages: Sequence[ChatMessage], form: Hashable) -> tuple[WrittenBlock, ...]:
    """Return the blocks, written in a form, with which messages still begin."""
    if not isinstance(messages, LongHistory):
        return ()
    blocks: tuple[WrittenBlock, ...] = messages.written.get(form, ())
    for at, block in enumerate(blocks):
        if messages[at * SIZE : at * SIZE + SIZE] != block.messages:
            return blocks[:at]
    return blocks


def with_new_blocks(
    messages: LongHistory,
    form: Hashable,
    blocks: tuple[WrittenBlock, ...],
    tools: Mapping[str, str],
    write: Callable[[ChatMessage], Body],
) -> tuple[WrittenBlock, ...]:
    """Return the blocks, with new ones for the messages behind them; they are kept for the next request.

    At most twice as many and two are made at once: a history whose beginning is another each time costs little more
    than without blocks.

    Args:
        messages: the messages of the request.
        form: identifies how messages are written.
        blocks: the blocks with which the messages begin.
        tools: the names that are sent instead of tools' own names.
        write: makes the form of one message; it depends on the message, the form and the tools.
    """
    if blocks and blocks[-1].tools != tools:
        blocks = ()
    before = blocks
    for _ in range(min((len(messages) - _FRESH) // SIZE - len(before), len(before) + 2)):
        begin = len(blocks) * SIZE
        some = messages[begin : begin + SIZE]
        if not _is_text(some):
            break
        copied: list[ChatMessage] = _copy(some)
        data = json.dumps([write(message) for message in copied])[1:-1].encode()
        blocks += (WrittenBlock(copied, Called.of(copied), tools, data),)
    if blocks is not before:
        if form not in messages.written and len(messages.written) >= _FORMS:
            messages.written.clear()
        messages.written[form] = blocks
    return blocks


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
