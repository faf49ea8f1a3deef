"""Reading what an OpenAI-compatible server sends: bytes in, deltas out. No I/O.

Servers differ: event streams with and without `[DONE]`, whole answers to a question for a stream, calls
without index or id, arguments as objects, all in an envelope `data`. Where nothing is lost the reader goes on;
else it raises `MalformedAnswerError` with what was sent.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping
from typing import Any, Protocol, cast

from trivium.exceptions import MalformedAnswerError
from trivium.llms._protocol import Delta, Finish, Reasoning, ToolCallPart
from trivium.schema import Usage

__all__ = ["AnswerReader", "EventDecoder", "OpenAIMessageReader", "clean", "error_text"]

MAX_BYTES = 64 << 20
_CHECK = "check that base_url is that of the model's server"
AGAIN = "run it again, and look into the server's log if it stays"


class EventDecoder:
    """Server-sent events, however they are cut into pieces: the data of each event, in order."""

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[str] = []

    def feed(self, piece: bytes) -> Iterator[str]:
        """The events that `piece` completes."""
        *lines, self._rest = (self._rest + piece).replace(b"\r\n", b"\n").split(b"\n")
        _check_size(self._rest)
        for line in lines:
            yield from self._line(line)

    def end(self) -> Iterator[str]:
        """The event that was not followed by an empty line, if any."""
        yield from self._line(self._rest)
        yield from self._line(b"")

    def _line(self, raw: bytes) -> Iterator[str]:
        for line in raw.split(b"\r"):  # a carriage return alone ends a line too
            name, _, value = line.decode("utf-8", "replace").partition(":")
            if name == "data":
                self._data.append(value.removeprefix(" "))
            elif not line and self._data:
                yield "\n".join(self._data)
                self._data.clear()


class MessageReader(Protocol):
    """Reads the objects of one answer, in the words of one interface."""

    def read(self, chunk: dict[str, Any]) -> Iterator[Delta]:
        """The deltas of one event's object."""
        ...

    def whole(self, answer: dict[str, Any]) -> Iterator[Delta]:
        """The deltas of a whole answer."""
        ...

    def end(self, done: bool) -> Iterator[Delta]:
        """Usage, and why it stopped; `done` if the server said that this is the end."""
        ...


class AnswerReader:
    """Turns the body of an answer, piece by piece, into deltas; what it is shows in its first byte.

    Args:
        message: reads the objects in the body; default those of OpenAI's interface.
    """

    def __init__(self, message: MessageReader | None = None) -> None:
        self._events: EventDecoder | None = None
        self._head = bytearray()
        self._message = message or OpenAIMessageReader()
        self._done = False

    def feed(self, piece: bytes) -> Iterator[Delta]:
        """The deltas that `piece` completes."""
        if self._events is None:
            self._head += piece
            _check_size(self._head)
            start = self._head[:64].lstrip(b"\xef\xbb\xbf \r\n\t")[:1]
            if not start or start in b"{[<":
                return
            self._events = EventDecoder()
            piece = bytes(self._head.removeprefix(b"\xef\xbb\xbf"))
        for data in self._events.feed(piece):
            yield from self._event(data)

    def end(self) -> Iterator[Delta]:
        """What is left at the end of the body: the deltas of a whole answer, usage, and why it stopped."""
        if self._events is None:
            yield from self._whole()
        else:
            for data in self._events.end():
                yield from self._event(data)
        yield from self._message.end(self._done)

    def _event(self, data: str) -> Iterator[Delta]:
        if data.strip() == "[DONE]":
            self._done = True
        elif data.strip():
            yield from self._message.read(_as_object(_json(data), data))

    def _whole(self) -> Iterator[Delta]:
        text = self._head.decode("utf-8-sig", "replace").strip()
        if text.startswith("<"):
            raise MalformedAnswerError("the server sent a web page instead of an answer: check base_url", text)
        if not text:
            raise MalformedAnswerError(f"the server sent an empty answer: {_CHECK}")
        self._done = True
        answer = _json(text)
        if isinstance(answer, list) and answer:  # all events of a stream at once
            for each in cast("list[Any]", answer):
                yield from self._message.read(_as_object(each, text))
        else:
            yield from self._message.whole(_as_object(answer, text))


class OpenAIMessageReader:
    """Choices and their deltas, over all chunks of one answer.

    Args:
        names: the name of a tool by the name that was sent instead of it.
    """

    def __init__(self, names: Mapping[str, str] | None = None) -> None:
        self._calls = _CallReader(names or {})
        self._usage: Usage | None = None
        self._reason: str | None = None
        self._any = self._refused = False

    def read(self, chunk: dict[str, Any]) -> Iterator[Delta]:
        """The deltas of one chunk.

        Raises:
            MalformedAnswerError: it is an error.
        """
        if error := chunk.get("error"):
            raise MalformedAnswerError(f"the server sent an error: {error_text(chunk)}; {AGAIN}", json.dumps(error))
        chunk = _unpacked(chunk)
        if isinstance(usage := chunk.get("usage"), dict):
            self._usage = _usage(cast("dict[str, Any]", usage))
        choices = chunk.get("choices")
        for choice in cast("list[Any]", choices) if isinstance(choices, list) else []:
            if isinstance(choice, dict):
                yield from self._choice(cast("dict[str, Any]", choice))

    def whole(self, answer: dict[str, Any]) -> Iterator[Delta]:
        """The deltas of a whole answer.

        Raises:
            MalformedAnswerError: it is none.
        """
        if "error" not in answer and not _unpacked(answer).get("choices"):
            raise MalformedAnswerError(f"the server sent an answer without choices: {_CHECK}", json.dumps(answer))
        return self.read(answer)

    def _choice(self, choice: dict[str, Any]) -> Iterator[Delta]:
        message = choice.get("delta") or choice.get("message")
        if isinstance(message, str):
            message = {"content": message}
        for delta in self._deltas(cast("dict[str, Any]", message)) if isinstance(message, dict) else ():
            self._any = True
            yield delta
        if isinstance(reason := choice.get("finish_reason"), str) and reason:
            if reason == "error":
                raise MalformedAnswerError(
                    f"the server gave up in the middle of the answer; {AGAIN}", json.dumps(choice)
                )
            self._reason = "content_filter" if self._refused else reason

    def _deltas(self, message: dict[str, Any]) -> Iterator[Delta]:
        if thought := _text(message.get("reasoning_content") or message.get("reasoning")):
            yield Reasoning(thought)
        if text := _text(message.get("content")):
            yield text
        if refusal := _text(message.get("refusal")):
            self._refused = True
            yield refusal
        calls = message.get("tool_calls")
        for call in cast("list[Any]", calls) if isinstance(calls, list) else []:
            if isinstance(call, dict):
                yield self._calls.read(cast("dict[str, Any]", call))

    def end(self, done: bool) -> Iterator[Delta]:
        """Usage, and why it stopped; `done` if the server said that this is the end.

        Raises:
            MalformedAnswerError: it broke off.
        """
        if self._usage is not None:
            yield self._usage
        if self._reason is None and not (done and self._any):
            what = "the server's answer broke off" if self._any else "the server sent no answer"
            raise MalformedAnswerError(f"{what}; {AGAIN}")
        yield Finish(self._reason or ("tool_calls" if self._calls.any else "stop"))


class _CallReader:
    """Gives each tool call one index and one id, whatever the server makes of them."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names
        self._index_of: dict[int, int] = {}  # the server's index: ours
        self._ids: list[str | None] = []  # by our index; None where the server gave none

    @property
    def any(self) -> bool:
        return bool(self._ids)

    def read(self, call: dict[str, Any]) -> ToolCallPart:
        given, function = call.get("id"), call.get("function")
        function = cast("dict[str, Any]", function) if isinstance(function, dict) else {}
        name = function.get("name")
        name = self._names.get(name, name) if isinstance(name, str) and name else None
        index, first = self._place(call.get("index"), given if isinstance(given, str) else "", name)
        arguments = function.get("arguments")
        if not isinstance(arguments, str):
            arguments = "" if arguments is None else json.dumps(arguments)
        if not first:
            return ToolCallPart(index, arguments=clean(arguments))
        known = given if given and given not in self._ids[:index] else f"call_{uuid.uuid4().hex[:12]}"
        return ToolCallPart(index, str(known), name, clean(arguments))

    def _place(self, index: Any, given: str, name: str | None) -> tuple[int, bool]:
        """Our index of the call that a piece belongs to, and whether it is the call's first piece."""
        last = len(self._ids) - 1
        if not isinstance(index, int):  # without an index, an id or a name begins a call
            repeated = given and last >= 0 and self._ids[last] == given
            if last >= 0 and (repeated or not (given or name)):
                return last, False
            return self._new(given), True
        ours = self._index_of.get(index)
        if ours is not None and not (given and name and self._ids[ours] not in (None, given)):
            return ours, False
        self._index_of[index] = ours = self._new(given)
        return ours, True

    def _new(self, given: str) -> int:
        self._ids.append(given or None)
        return len(self._ids) - 1


def _unpacked(chunk: dict[str, Any]) -> dict[str, Any]:
    data = chunk.get("data")
    return cast("dict[str, Any]", data) if isinstance(data, dict) and "choices" not in chunk else chunk


def error_text(answer: Any) -> str:
    """The message in an error object of any of the usual forms, or "" where there is none."""
    if isinstance(answer, list) and answer:
        answer = cast("list[Any]", answer)[0]
    for key in ("error", "message", "detail"):
        if isinstance(answer, dict) and (value := cast("dict[str, Any]", answer).get(key)):
            return value if isinstance(value, str) else error_text(value) or json.dumps(value)
    return ""


def _check_size(data: bytes | bytearray) -> None:
    if len(data) > MAX_BYTES:
        raise MalformedAnswerError(f"the server sent more than {MAX_BYTES >> 20} MB in one piece: {_CHECK}")


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise MalformedAnswerError(f"the server sent something that is not JSON: {_CHECK}", text) from error


def _as_object(value: Any, text: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise MalformedAnswerError(f"the server sent JSON that is no answer: {_CHECK}", text)
    return cast("dict[str, Any]", value)


def _usage(usage: dict[str, Any]) -> Usage:
    read, written = usage.get("prompt_tokens_details"), usage.get("completion_tokens_details")
    return Usage(
        _count(usage, "prompt_tokens"),
        _count(usage, "completion_tokens"),
        cached_tokens=_count(read, "cached_tokens"),
        cache_write_tokens=_count(read, "cache_write_tokens"),
        reasoning_tokens=_count(written, "reasoning_tokens"),
    )


def _count(counts: Any, name: str) -> int:
    count = cast("dict[str, Any]", counts).get(name) if isinstance(counts, dict) else None
    return max(count, 0) if isinstance(count, int) else 0


def _text(content: Any) -> str:
    if isinstance(content, list):
        parts = cast("list[Any]", content)
        texts = (cast("dict[str, Any]", part).get("text") for part in parts if isinstance(part, dict))
        content = "".join(text for text in texts if isinstance(text, str))
    return clean(content) if isinstance(content, str) else ""


def clean(text: str) -> str:
    """`text` without lone surrogates, which no file and no other server would take."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
