"""Reads the responses of model servers, in any format: bytes in, deltas out. No I/O.

Servers differ: event streams with and without `[DONE]`, complete answers instead of a stream, errors with a status of
success. If nothing is lost the reader goes on; otherwise it raises a `ProviderError` with the data that was sent.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Protocol, TypeAlias

import jiter

from trivium.exceptions import AnswerBrokeOffError, MalformedAnswerError, ProviderError
from trivium.llms._protocol import Delta, Logprobs, TokenLogprob
from trivium.llms.wire._events import EventDecoder, check_size
from trivium.schema import JSONValue, Usage

CHECK = "check that base_url is that of a model server, with its version part"
AGAIN = "run it again, and look into the server's log if it stays"
AGAIN_BY_ITSELF = "run it again, as RetryPolicy(replay=True) does by itself, and look into the server's log if it stays"
RAW_BYTES = 2000


ParsedObject: TypeAlias = dict[str, JSONValue]
"""A JSON object that a server sent: check the class of each value before use."""


class MessageReader(Protocol):
    """Reads the objects of one answer in the format of one interface."""

    @property
    def usage(self) -> Usage | None:
        """The usage that the server has reported so far."""
        ...

    @property
    def over(self) -> bool:
        """True once the server has sent the format's end of the answer."""
        ...

    def read(self, chunk: ParsedObject) -> Iterator[Delta]:
        """Yield the deltas of one event's object."""
        ...

    def whole(self, answer: ParsedObject) -> Iterator[Delta]:
        """Yield the deltas of a complete answer."""
        ...

    def end(self, done: bool) -> Iterator[Delta]:
        """Yield usage and finish reason; `done` if the server marked the end."""
        ...


class ChangedReader:
    """Reads an answer by another reader, whose deltas a subclass changes: it writes `changed`.

    Args:
        message: the reader of the answer.
    """

    def __init__(self, message: MessageReader) -> None:
        self._message = message

    def changed(self, deltas: Iterator[Delta]) -> Iterator[Delta]:
        """Yield the deltas as they are given out."""
        raise NotImplementedError(f"{type(self).__name__} has no changed")

    @property
    def usage(self) -> Usage | None:
        """The usage that the server has reported so far."""
        return self._message.usage

    @property
    def over(self) -> bool:
        """True once the server has sent the format's end of the answer."""
        return self._message.over

    def read(self, chunk: ParsedObject) -> Iterator[Delta]:
        """Yield the deltas of one event's object."""
        return self.changed(self._message.read(chunk))

    def whole(self, answer: ParsedObject) -> Iterator[Delta]:
        """Yield the deltas of a complete answer."""
        return self.changed(self._message.whole(answer))

    def end(self, done: bool) -> Iterator[Delta]:
        """Yield the rest of the text, usage and finish reason."""
        return self.changed(self._message.end(done))


class AnswerReader:
    """Turns the body of a response, piece by piece, into deltas; its first byte tells a stream from a complete answer.

    Args:
        message: the reader of the objects in the body.

    Attributes:
        done: True once the server has marked the end.
    """

    def __init__(self, message: MessageReader) -> None:
        self._events: EventDecoder | None = None
        self._head = bytearray()
        self._last = b""  # the last object, for errors that are found at the end
        self._message = message
        self.done = False

    @property
    def usage(self) -> Usage | None:
        """The usage that the server has reported so far: it is paid for, however the answer ends."""
        return self._message.usage

    def feed(self, piece: bytes) -> Iterator[Delta]:
        """Yield the deltas that `piece` completes.

        Raises:
            ProviderError: the server sent an error or no valid answer; `raw` holds the data.
        """
        if self._events is None:
            self._head += piece
            check_size(len(self._head), piece)
            start = self._head[:64].lstrip(b"\xef\xbb\xbf \r\n\t")[:1]
            if not start or start in b"{[<":
                return
            self._events, piece = EventDecoder(), bytes(self._head)
            del self._head[RAW_BYTES:]
        yield from self._read(self._events.feed(piece))

    def end(self) -> Iterator[Delta]:
        """Yield the rest at the end of the body: the deltas of a complete answer, usage and finish reason.

        Raises:
            ProviderError: the answer is invalid or incomplete; `raw` holds the data.
        """
        if self._events is None:
            yield from self._whole()
        else:
            yield from self._read(map(_checked_last, self._events.end()))
        try:
            yield from self._message.end(self.done)
        except ProviderError as error:
            raise _with_raw(error, self._last or bytes(self._head)) from None

    def _read(self, events: Iterator[bytes]) -> Iterator[Delta]:
        for data in events:
            if data.startswith(b"[DONE]"):
                self.done = True
            elif data and not data.isspace():
                self._last = data
                chunk = _as_object(_json(data), data)
                try:
                    yield from self._message.read(chunk)
                except ProviderError as error:
                    raise _with_raw(error, data) from None
                self.done = self.done or self._message.over

    def _whole(self) -> Iterator[Delta]:
        body = self._last = bytes(self._head.removeprefix(b"\xef\xbb\xbf").strip())
        if body.startswith(b"<"):
            text = body[:RAW_BYTES].decode("utf-8", "replace")
            raise MalformedAnswerError("the server sent a web page instead of an answer: check base_url", text)
        if not body:
            raise AnswerBrokeOffError(f"the server sent an empty answer: {CHECK}")
        self.done = True
        answer = _json(body)
        events = answer if isinstance(answer, list) else []
        try:
            for event in events:  # all events of a stream at once
                yield from self._message.read(_as_object(event, body))
            if not events:
                yield from self._message.whole(_as_object(answer, body))
        except ProviderError as error:
            raise _with_raw(error, body) from None


def _with_raw(error: ProviderError, data: bytes) -> ProviderError:
    if not error.raw:
        error.raw = data[:RAW_BYTES].decode("utf-8", "replace")
    return error


def _json(data: bytes) -> JSONValue:
    try:
        return jiter.from_json(data)
    except ValueError:  # half a character, or what only the standard library takes
        text = data.decode("utf-8", "replace")
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise MalformedAnswerError(f"the server sent something that is not JSON: {CHECK}", text) from error


def _checked_last(data: bytes) -> bytes:
    """Return the last event if its end has arrived."""
    if not data.startswith(b"[DONE]"):
        try:
            _json(data)
        except MalformedAnswerError as error:
            raise AnswerBrokeOffError(f"the server's answer broke off; {AGAIN_BY_ITSELF}", error.raw) from None
    return data


def _as_object(value: JSONValue, data: bytes) -> ParsedObject:
    if not isinstance(value, dict):
        text = data.decode("utf-8", "replace")
        raise MalformedAnswerError(f"the server sent JSON that is no answer: {CHECK}", text)
    return value


def unfinished(is_begun: bool, is_marked: bool) -> ProviderError:
    """Return the error of an answer without a reason for its end. One without the mark of its end broke off, as a
    connection does: the same request may be made again."""
    what = "the server's answer broke off" if is_begun else "the server sent no answer"
    kind = MalformedAnswerError if is_marked else AnswerBrokeOffError
    return kind(f"{what}; {AGAIN if is_marked else AGAIN_BY_ITSELF}")


def error_text(answer: JSONValue, depth: int = 3) -> str:
    """Return the message of an error object in any of the usual forms; "" if there is none."""
    if isinstance(answer, list) and answer:
        answer = answer[0]
    for key in ("error", "message", "Message", "detail"):  # the capital is Amazon's
        if value := dict_or_empty(answer).get(key):
            inner = error_text(value, depth - 1) if depth else ""
            return value if isinstance(value, str) else inner or json_text(value)
    return ""


def json_text(value: JSONValue) -> str:
    """Return the text of a JSON value.

    Raises:
        MalformedAnswerError: the value is nested too deeply.
    """
    try:
        return json.dumps(value)
    except RecursionError as error:
        raise MalformedAnswerError(f"the server sent something that is nested too deeply: {CHECK}") from error


def dict_or_empty(value: JSONValue) -> ParsedObject:
    """Return the value if it is an object, otherwise an empty object."""
    return value if isinstance(value, dict) else {}


def replace_surrogates(text: str) -> str:
    """Replace lone surrogates, which files and other servers refuse."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class Letters:
    """Text in pieces, without lone surrogates; a surrogate pair that was split between pieces is joined."""

    __slots__ = ("_half",)

    def __init__(self) -> None:
        self._half = ""

    def whole(self, piece: str) -> str:
        """Return the text that `piece` completes."""
        if self._half:
            piece, self._half = self._half + piece, ""
        if not piece or piece.isascii():
            return piece
        if "\ud800" <= piece[-1] <= "\udbff":
            piece, self._half = piece[:-1], piece[-1]
        return replace_surrogates(piece)

    def rest(self) -> str:
        """Return the replacement of a half that is left at the end."""
        half, self._half = self._half, ""
        return replace_surrogates(half)


def logprobs_of(entries: JSONValue) -> Logprobs | None:
    """Return the log probabilities in a list of OpenAI's interfaces, without malformed ones; None if none is left."""
    if not isinstance(entries, list):
        return None
    found: list[TokenLogprob] = []
    for entry in map(dict_or_empty, entries):
        top = entry.get("top_logprobs")
        others = map(_token, map(dict_or_empty, top)) if isinstance(top, list) else ()
        if (token := _token(entry)) is not None:
            found.append(TokenLogprob(*token, tuple(other for other in others if other is not None)))
    return Logprobs(tuple(found)) if found else None


def _token(entry: ParsedObject) -> tuple[str, float] | None:
    token, logprob = entry.get("token"), entry.get("logprob")
    if isinstance(token, str) and isinstance(logprob, int | float) and abs(logprob) < 1e15:
        return replace_surrogates(token), float(logprob)
    return None
