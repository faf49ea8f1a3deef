"""What a bad answer says, in no provider's words, and how it is sent: each wire format renders it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Final, Protocol

from trivium.llms import ModelProtocol

__all__ = [
    "ADD",
    "LEFT_OUT",
    "TEXT",
    "USUAL",
    "Call",
    "Event",
    "Http",
    "Raw",
    "Said",
    "Usual",
    "Way",
    "Wire",
    "as_bytes",
    "given_of",
    "halves",
    "stream_of",
]

TEXT: Final = "naïve ✓ 😀 yes"
ADD: Final = '{"a": 1, "b": 2}'


class Usual(Enum):
    """What a value of an answer may be, beside a value."""

    USUAL = "as the interface says"
    LEFT_OUT = "the key is not there"


USUAL, LEFT_OUT = Usual.USUAL, Usual.LEFT_OUT


@dataclass(frozen=True)
class Call:
    """A tool call. `arguments` is JSON text, or another value that stands in its place.

    Args:
        index: where a stream says that it stands; LEFT_OUT for no index.
        choice: in which of the choices.
    """

    name: Any = "add"
    arguments: Any = ADD
    id: Any = "call_1"
    index: Any = USUAL
    choice: int = 0


@dataclass(frozen=True)
class Said:
    """An answer.

    Args:
        text: LEFT_OUT for no text.
        finish: why it stopped, in the words of OpenAI's chat interface; other values are sent as they are.
        usage: pairs of tokens in and out, or what stands in their place; a stream sends all, a whole answer the last.
        usage_first: where a stream tells it.
        roles: of the pieces, one after the other; the last for all others.
        parts: what stands in place of the list of choices, blocks, items or candidates.
        message: what stands in place of each of its entries' message.
        done: whether a stream says that it is over.
        error: an error object that a stream sends at its end, or a whole answer is.
        code: of the error: 500 is the server's own, 400 a wrong request; other codes are sent as they are.
    """

    text: Any = LEFT_OUT
    reasoning: str = ""
    refusal: str = ""
    calls: tuple[Call, ...] = ()
    finish: Any = "stop"
    usage: tuple[Any, ...] = ((5, 2),)
    usage_first: bool = False
    roles: tuple[Any, ...] = ("assistant",)
    model: str = "m"
    parts: Any = USUAL
    message: Any = USUAL
    done: bool = True
    error: str = ""
    code: Any = 500

    def replace(self, **changes: Any) -> Said:
        return replace(self, **changes)


@dataclass(frozen=True)
class Http:
    """An answer on its way.

    Args:
        cuts: the sizes of the pieces in which it is sent, one after the other; the rest in one.
        length: what the head says: None for nothing, where the end of the connection ends it.
    """

    body: bytes
    kind: str
    status: str = "200 OK"
    headers: tuple[str, ...] = ()
    length: int | None = None
    cuts: tuple[int, ...] = ()

    def replace(self, **changes: Any) -> Http:
        return replace(self, **changes)

    def pieces(self) -> list[bytes]:
        """The bytes, head and all. What is cut is sent in chunks, so that the client sees the pieces one by one."""
        head = [f"HTTP/1.1 {self.status}", f"content-type: {self.kind}", "connection: close", *self.headers]
        if self.length is not None:
            head.append(f"content-length: {self.length}")
        body = [self.body]
        if self.cuts:
            head.append("transfer-encoding: chunked")
            body = [b"%x\r\n%b\r\n" % (len(each), each) for each in _cut(self.body, self.cuts)] + [b"0\r\n\r\n"]
        return ["\r\n".join([*head, "", ""]).encode(), *body]


def _cut(data: bytes, sizes: Iterable[int]) -> Iterable[bytes]:
    for size in sizes:
        if data[:size]:
            yield data[:size]
        data = data[size:]
    if data:
        yield data


class Raw(str):
    """JSON text that is put into an answer as it is."""

    __slots__ = ()


Event = tuple[str, Any]
"""The name of an event of a stream ("" for none), and its data: a JSON value, or a `Raw` that is sent as it is."""


class Wire(Protocol):
    """A wire format: how it says what an answer says, and what it asks of a request."""

    name: str

    def model(self, url: str, **options: Any) -> ModelProtocol:
        """A model behind the server at `url`."""
        ...

    def whole(self, said: Said) -> Any:
        """The answer as one JSON value."""
        ...

    def events(self, said: Said) -> list[Event]:
        """The answer as events."""
        ...

    def problems(self, body: Any) -> list[str]:
        """Why the provider would refuse a request; nothing where it would take it."""
        ...

    def results(self, body: Any) -> list[str]:
        """What the tools' results in a request say, oldest first."""
        ...


def as_bytes(value: Any) -> bytes:
    """JSON as servers send it, in UTF-8; what that cannot hold is escaped."""
    raw: list[str] = []

    def marked(value: Any) -> Any:
        if isinstance(value, Raw):
            raw.append(str(value))
            return f"@@raw{len(raw) - 1}@@"
        if isinstance(value, dict):
            return {key: marked(each) for key, each in value.items()}  # pyright: ignore[reportUnknownVariableType]
        return [marked(each) for each in value] if isinstance(value, list | tuple) else value  # pyright: ignore[reportUnknownVariableType]

    value = marked(value)
    try:
        text = json.dumps(value, ensure_ascii=False)
        text.encode()
    except UnicodeEncodeError:
        text = json.dumps(value)
    for number, each in enumerate(raw):
        text = text.replace(f'"@@raw{number}@@"', each)
    return text.encode()


def given_of(**values: Any) -> dict[str, Any]:
    """The values that are there."""
    return {key: value for key, value in values.items() if value is not LEFT_OUT}


def halves(text: str) -> list[str]:
    """A text in two pieces, as a stream sends it; "" is one."""
    half = (len(text) + 1) // 2
    return [text[:half], text[half:]] if text[half:] else [text]


def stream_of(events: Iterable[Event], newline: str = "\n") -> bytes:
    """An event stream."""
    found: list[bytes] = []
    for name, data in events:
        line = str(data).encode() if isinstance(data, Raw) else as_bytes(data)
        found.append((f"event: {name}{newline}" if name else "").encode() + b"data: " + line + newline.encode() * 2)
    return b"".join(found)


Way = Callable[[Http], Http]
