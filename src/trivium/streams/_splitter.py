"""Splitting a model's answer, while it arrives, into text for the user and tool calls. No I/O."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias, cast, get_args

from trivium.exceptions import ConfigurationError
from trivium.llms import Delta, Finish, ToolCallPart
from trivium.llms.wire import OpenAIMessageReader
from trivium.streams._json_text import JSONText

Role: TypeAlias = Literal["to_user", "function_call"]
"""The receiver of a piece of an answer."""

Piece: TypeAlias = tuple[Role, str]
"""A receiver, and a piece of an answer for it."""

_decoder = json.JSONDecoder(strict=False)  # models write line breaks in strings without escapes


class _Call:
    """A tool call that is not complete yet."""

    __slots__ = ("id", "index", "name", "parts", "said", "text", "waiting")

    def __init__(self, index: int, flag: str) -> None:
        self.index = index
        self.id = self.name = ""
        self.parts: list[str] = []
        self.text = JSONText(flag)
        self.waiting: list[str] = []  # text for the user, while another call's text is sent
        self.said = False


class AnswerSplitter:
    """Splits an answer into pieces, each for one receiver.

    The user gets the text, and the values of the calls' argument `flag`, one call after the other. The calls are
    returned without that argument, each as one JSON text, in the order in which they began.

    Args:
        flag: the name of the argument for the user.

    Attributes:
        ended: True after the model's finish reason, or after `end`. Nothing is returned after that.

    Example:
        >>> splitter = AnswerSplitter("to_user")
        >>> call = [ToolCallPart(0, "c1", "add", '{"to_user": "I a'), ToolCallPart(0, arguments='dd", "a": 1}')]
        >>> for delta in ["Hm. ", *call, Finish("tool_calls")]:
        ...     print(list(splitter.feed(delta)))
        [('to_user', 'Hm. ')]
        [('to_user', 'I a')]
        [('to_user', 'dd')]
        [('function_call', '{"tool_call_index": 0, "tool_call_id": "c1", "name": "add", "arguments": {"a": 1}}')]
    """

    def __init__(self, flag: str) -> None:
        self.ended = False
        self._flag = flag
        self._chunks = OpenAIMessageReader()
        self._calls: dict[int, _Call] = {}  # in the order in which they began
        self._speaker: _Call | None = None  # the call whose text is being sent to the user
        self._waiting: list[_Call] = []
        self._spoken = False

    def feed(self, item: object) -> Iterator[Piece]:
        """Return the pieces of an item: a delta, or a chunk of an OpenAI stream as a dict or an object with its fields.

        Raises:
            ConfigurationError: the item has another type.
            MalformedAnswerError: the item is an error of the server.
        """
        for delta in self._deltas(item):
            if self.ended:
                return
            if isinstance(delta, ToolCallPart):
                yield from self._part(delta)
            elif isinstance(delta, Finish):
                yield from self.end()
            elif isinstance(delta, str) and delta:
                yield "to_user", delta

    def end(self) -> Iterator[Piece]:
        """Return the remaining pieces at the end of the answer."""
        if self.ended:
            return
        self.ended, self._speaker = True, None
        yield from self._next_speaker()
        for call in self._calls.values():
            yield from self._complete(call)

    def _deltas(self, item: Any) -> Sequence[Delta]:
        if isinstance(item, get_args(Delta)):
            return [item]
        chunk = item.model_dump(warnings=False) if hasattr(item, "model_dump") else _plain(item)
        if not isinstance(chunk, Mapping):
            raise ConfigurationError(
                f"{type(item).__name__} is not a piece of an answer: the source must yield chunks of an OpenAI stream, "
                "their dicts, or the deltas of a trivium model"
            )
        deltas = list(self._chunks.read(dict(cast("Mapping[str, Any]", chunk))))
        reason = self._chunks.finish_reason
        return deltas if reason is None else [*deltas, Finish(reason)]

    def _part(self, part: ToolCallPart) -> Iterator[Piece]:
        call = self._calls.get(part.index)
        if call is None:
            if not (part.id or part.name or part.arguments.strip()):
                return  # whitespace after a complete call
            call = self._calls[part.index] = _Call(part.index, self._flag)
        call.id, call.name = call.id or part.id or "", call.name or part.name or ""
        call.parts.append(part.arguments)
        if text := call.text.feed(part.arguments):
            yield from self._send_text(call, text)
        if self._speaker is call and not call.text.reading:
            self._speaker = None
            yield from self._next_speaker()
        while len(self._calls) > 1 and (first := next(iter(self._calls.values()))).text.closed:
            del self._calls[first.index]
            yield from self._complete(first)

    def _send_text(self, call: _Call, text: str) -> Iterator[Piece]:
        if self._speaker not in (None, call):
            if not call.waiting:
                self._waiting.append(call)
            call.waiting.append(text)
            return
        if call.text.reading and not self.ended:
            self._speaker = call
        is_next = self._spoken and not call.said
        call.said = self._spoken = True
        yield "to_user", f"\n{text}" if is_next else text

    def _next_speaker(self) -> Iterator[Piece]:
        while self._waiting and self._speaker is None:
            call = self._waiting.pop(0)
            text, call.waiting = "".join(call.waiting), []
            yield from self._send_text(call, text)

    def _complete(self, call: _Call) -> Iterator[Piece]:
        raw = "".join(call.parts)
        entry = {"tool_call_index": call.index, "tool_call_id": call.id or f"call_{call.index}", "name": call.name}
        try:
            arguments = _read_object(raw)
            said = arguments.pop(self._flag, None)
            out = json.dumps({**entry, "arguments": arguments})
        except (ValueError, RecursionError) as error:
            problem = f"the arguments of {call.name} are not a JSON object: {error}"
            yield "function_call", json.dumps({**entry, "arguments": raw, "error": problem})
            return
        if said is not None and not isinstance(said, str):
            yield from self._send_text(call, json.dumps(said, ensure_ascii=False))
        yield "function_call", out


def _plain(item: object) -> object:
    """Return a chunk of a client of one's own as plain data: objects with attributes as dicts of these."""
    if isinstance(item, list | tuple):
        return [_plain(each) for each in cast("Sequence[object]", item)]
    if isinstance(item, Mapping | str | int | float | None) or not hasattr(item, "__dict__"):
        return cast("object", item)
    return {name: _plain(each) for name, each in vars(item).items()}


def _read_object(text: str) -> dict[str, Any]:
    value: Any = _decoder.decode(text) if text.strip() else {}
    if not isinstance(value, dict):
        raise ValueError(f"they are a {type(value).__name__}")
    return cast("dict[str, Any]", value)
