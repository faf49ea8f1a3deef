"""The beginning of a long history as JSON, kept from request to request, so that only what is new is written."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias, cast

from trivium.llms._protocol import ChatMessage, KeptMessage, LongHistory, is_of_texts
from trivium.llms.wire._fields import Body, Called

Write: TypeAlias = Callable[[Sequence[ChatMessage]], list[Body]]
"""Makes the form of messages."""

SYSTEM: Final = frozenset({"system", "developer"})
"""The roles of instructions."""
GOES_ON: Final = "(The conversation goes on.)"
"""The user's words before an answer with which a conversation begins: some interfaces refuse it as it is."""
_SIZE: Final = 16
"""The number of messages in a block, or the least."""
_FRESH: Final = 4
"""The last messages are in no block, for the next ones may change them."""
_FORMS: Final = 2
"""The number of forms, such as those of an agent's model and its fallback, for which a history keeps blocks."""
_DEPTH: Final = 7
"""The depth of the summary of a model's thoughts in a list of messages; what is nested deeper is in no block."""

_encode: Final = json.JSONEncoder(allow_nan=False).encode  # made once: that takes as long as to write a short request


class WrittenBlock(NamedTuple):
    """Messages that follow each other in a history, and how they were written.

    Args:
        messages: copies of the messages, for what is changed in the history itself is noticed by comparing; those that
            notice it themselves are the same objects, which takes no comparison.
        called: their tools and calls.
        names: the names that were sent instead of tools' own names, and of calls.
        data: the messages as they are sent, as JSON, without the brackets of the list; b"" if nothing is sent.
    """

    messages: list[ChatMessage]
    called: Called
    names: object
    data: bytes

    def with_next(self, block: WrittenBlock) -> WrittenBlock:
        """Return it and the one behind it as one, so that a long history has few."""
        data = b", ".join(filter(None, (self.data, block.data)))
        messages, called = [*self.messages, *block.messages], self.called.with_next(block.called)
        return WrittenBlock(messages, called, self.names, data)


class Beginning(NamedTuple):
    """The beginning of a history, as far as it was written before.

    Args:
        form: identifies how messages are written.
        start: the number of messages before it, which are written each time.
        is_joined: the form joins messages of one role that follow each other.
        blocks: its blocks.
        messages: the messages of all blocks, so that one comparison is enough.
    """

    form: Hashable
    start: int = 0
    is_joined: bool = False
    blocks: tuple[WrittenBlock, ...] = ()
    messages: Sequence[ChatMessage] = ()

    @classmethod
    def of(cls, messages: Sequence[ChatMessage], form: Hashable, start: int = 0, is_joined: bool = False) -> Beginning:
        """Return what was written in a form, and with which the messages behind `start` still begin."""
        if not isinstance(messages, LongHistory) or form not in messages.written:
            return cls(form, start, is_joined)
        found: Beginning = messages.written[form]._replace(start=start)
        if messages[start : found.end] == found.messages:
            return found.cut(messages, len(found.blocks))
        end = start
        for count, block in enumerate(found.blocks):
            if messages[end : end + len(block.messages)] != block.messages:
                return found.cut(messages, count)
            end += len(block.messages)
        return found

    @classmethod
    def behind_system(cls, messages: Sequence[ChatMessage], form: Hashable, is_joined: bool = False) -> Beginning:
        """The same for a form that has a place of its own for the instructions at the very beginning."""
        roles = enumerate(message.get("role") for message in messages)
        return cls.of(messages, form, next((at for at, role in roles if role not in SYSTEM), len(messages)), is_joined)

    def cut(self, messages: Sequence[ChatMessage], count: int) -> Beginning:
        """Return its first blocks, at most `count`, as far as they do not join what follows in the messages."""
        found = self
        while len(found.blocks) > count or not found._is_apart(messages, found.end):
            end = len(found.messages) - len(found.blocks[-1].messages)
            found = found._replace(blocks=found.blocks[:-1], messages=found.messages[:end])
        return found

    def with_names(self, names: object) -> Beginning:
        """Return it if it was written with these names; otherwise nothing was."""
        is_same = not self.blocks or self.blocks[-1].names == names
        return self if is_same else self._replace(blocks=(), messages=())

    def _is_apart(self, messages: Sequence[ChatMessage], at: int) -> bool:
        """Tell whether the messages before and behind a place are never sent as one."""
        if not self.is_joined or at in (self.start, len(messages)):
            return True
        before, behind = messages[at - 1], messages[at]
        return (
            before.get("role") == "assistant"
            and bool(before.get("tool_calls") or _has_text(before))
            and behind.get("role") not in ("assistant", *SYSTEM)
            and (behind.get("tool_call_id") is not None or _has_text(behind))
        )

    @property
    def end(self) -> int:
        """The first message behind it."""
        return self.start + len(self.messages)

    @property
    def called(self) -> list[Called]:
        """The tools and calls in it."""
        return [block.called for block in self.blocks]

    def write(
        self, name: str, messages: Sequence[ChatMessage], names: object, write: Write
    ) -> list[Body] | WrittenMessages:
        """Return the messages behind `start` in their form; of a long history, only what is new is written.

        Args:
            name: the key of the messages in the body.
            messages: the messages of the request.
            names: the names that are sent instead of tools' own names, and of calls.
            write: makes the form of some messages; it depends on them, the form and the names.
        """
        if not isinstance(messages, LongHistory):
            return write(messages[self.start :])
        whole = self._continued(messages, names, write)
        return WrittenMessages(name, [block.data for block in whole.blocks if block.data], write(messages[whole.end :]))

    def _continued(self, messages: LongHistory, names: object, write: Write) -> Beginning:
        """Return it with new blocks for the messages behind it; they are kept for the next request.

        At most as many messages as it has and two blocks are written at once: a history whose beginning is another each
        time costs little more than without blocks. A block that has grown as long as the one before joins it.
        """
        kept = self.with_names(names)
        blocks, begin = [*kept.blocks], kept.end
        most = begin + len(kept.messages) + 2 * _SIZE
        while begin < most and (end := kept._end_of_block(messages, begin)):
            messages.keep(begin, end)
            copied: list[ChatMessage] = _copy(messages[begin:end])
            data = sent_json(write(copied))[1:-1]
            blocks.append(WrittenBlock(copied, Called.of(copied), names, data))
            while len(blocks) > 1 and len(blocks[-2].messages) <= len(blocks[-1].messages):
                blocks[-2:] = [blocks[-2].with_next(blocks[-1])]
            begin = end
        if begin == kept.end:
            return kept
        if self.form not in messages.written and len(messages.written) >= _FORMS:
            messages.written.clear()
        whole = kept._replace(blocks=tuple(blocks), messages=[each for block in blocks for each in block.messages])
        messages.written[self.form] = whole
        return whole

    def _end_of_block(self, messages: LongHistory, begin: int) -> int:
        """Return the end of the block that begins at a place; 0: there is none yet, or it cannot be one."""
        ends = range(begin + _SIZE, len(messages) - _FRESH + 1)
        end = next((at for at in ends if self._is_apart(messages, at)), 0)
        some = messages[begin:end]
        has_place = self.is_joined and any(each.get("role") in SYSTEM for each in some)  # where all of these are
        return end if _is_text(some) and not has_place else 0


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
        self.written.insert(place, sent_json(message))

    def body(self, body: Mapping[str, object]) -> bytes:
        """Return the JSON of a body that has these messages."""
        others = {name: value for name, value in body.items() if name != self.name}
        begin = f'{{"{self.name}": ['.encode()
        end = sent_json({self.name: self.rest} | others).removeprefix(begin)
        pieces = [begin, *(piece for each in self.written for piece in (each, b", "))]
        if self.written and not self.rest:
            pieces.pop()
        return b"".join((*pieces, end))  # one copy of a long body


def begin_with_user(messages: list[Body] | WrittenMessages, line: Body) -> None:
    """Put a line of the user's before written messages that begin with an answer; the role is their first key."""
    if isinstance(messages, list) or not messages.written:
        first = messages if isinstance(messages, list) else messages.rest
        is_users = all(each["role"] == line["role"] for each in first[:1])
    else:
        is_users = messages.written[0].startswith(sent_json({"role": line["role"]})[:-1])
    if not is_users:
        messages.insert(0, line)


def sent_json(value: object) -> bytes:
    """Return a value as JSON that is sent.

    Raises:
        TypeError: something in it has no form in JSON.
        ValueError: a number is NaN or infinite, or a list holds itself.
    """
    return _encode(value).encode()


def _has_text(message: ChatMessage) -> bool:
    content = message.get("content")
    return isinstance(content, str) and not content.isspace() and content != ""


def _is_text(value: Any, depth: int = _DEPTH) -> bool:
    """Tell whether a value is of texts alone: others may be equal and yet be written differently, as 1 and True."""
    if value.__class__ is dict or value.__class__ is KeptMessage:
        return depth > 0 and all(key.__class__ is str and _is_text(each, depth - 1) for key, each in value.items())
    if isinstance(value, list | tuple):
        return depth > 0 and all(_is_text(each, depth - 1) for each in cast("Sequence[Any]", value))
    return value is None or value.__class__ is str


def _copy(value: Any) -> Any:
    if value.__class__ is KeptMessage and is_of_texts(value):
        return value
    if isinstance(value, dict):
        return {key: _copy(each) for key, each in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_copy(each) for each in cast("list[Any]", value)]
    return tuple(map(_copy, cast("tuple[Any, ...]", value))) if isinstance(value, tuple) else value
