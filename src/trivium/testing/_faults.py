"""Faults: simulated failures between a model and its server."""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any, Final, Self
from urllib.parse import urlsplit

from trivium.commander import wait
from trivium.exceptions import ConfigurationError
from trivium.http import (
    BodyError,
    ConnectFailedError,
    ConnectionLostError,
    HTTPRequest,
    HTTPResponse,
    Layer,
    Send,
    ServerSilentError,
    add_layer,
)
from trivium.schema.lowlevel import checked, positive
from trivium.testing._responses import replace_body

Pieces = AsyncGenerator[bytes]
RESET: Final = "[Errno 104] Connection reset by peer"
_EVENT_ENDS: Final = re.compile(rb"(?<=\n\n)|(?<=\r\n\r\n)|(?<=\r\r)")


class Fault:
    """A fault of one request. A subclass implements `respond`, or `pieces` to change only the answer's body."""

    async def respond(self, request: HTTPRequest, send: Send) -> HTTPResponse:
        """Answer the request, with `send` or without.

        Args:
            request: the request.
            send: sends the request to the next layer.

        Raises:
            HTTPError: as the client does when there is no answer.
        """
        response = await send(request)
        return replace_body(response, self.pieces(request, response), self.headers())

    def pieces(self, request: HTTPRequest, response: HTTPResponse) -> Pieces:
        """Yield the changed body of an answer."""
        return response.pieces

    def headers(self) -> Mapping[str, str]:
        """Headers that replace those of the answer."""
        return {}


class FaultyTransport(Layer):
    """A context in which HTTP requests fail, by a script or at random.

    It applies to this context and everything started from it, and to all HTTP requests of trivium: models, web tools,
    clients of served agents. A request without a fault goes to the next layer: a `cassette`, another
    `FaultyTransport`, the network. Within a cassette, faults disturb the replay; around one, they are recorded.

    Args:
        faults: the fault of each request, in order; None lets a request pass, as do requests after the last. With
            `rate`, the faults to choose from.
        rate: the probability of a fault, from 0 to 1; faults are then chosen at random instead of in order.
        seed: with `rate`, determines the faults together with the content of the request, so that equal requests get
            equal faults in any order.

    Attributes:
        requests: the number of requests.
        injected: the injected faults, oldest first.

    Raises:
        ConfigurationError: an entry is not a fault, or `rate` is not from 0 to 1.

    Example:
        >>> from trivium.llms import OpenAIModel
        >>> model = OpenAIModel("any", base_url="http://127.0.0.1:9/v1")
        >>> with FaultyTransport([Status(400, '{"error": {"message": "no such model"}}')]) as faults:
        ...     model.chat("hi")
        Traceback (most recent call last):
        ...
        trivium.exceptions.ProviderStatusError: http://127.0.0.1:9/v1/chat/completions answered 400: no such model; \
change what it says is wrong, or try another model
        >>> faults.injected
        [Status(status=400, body='{"error": {"message": "no such model"}}', retry_after=None)]
    """

    @checked
    def __init__(self, faults: Iterable[Fault | None], *, rate: float | None = None, seed: int = 0) -> None:
        self._faults = list(faults)
        if not all(each is None or isinstance(each, Fault) for each in self._faults):  # type: ignore[unnecessary]
            raise ConfigurationError("a fault is one of trivium.testing, as Status(500); None lets a request pass")
        if rate is not None and not (0 <= rate <= 1 and self._faults):
            raise ConfigurationError("rate is a number from 0 to 1, and needs faults to choose from")
        self._rate, self._seed = rate, seed
        self.requests = 0
        self.injected: list[Fault] = []
        self._seen: Counter[str] = Counter()
        self._lock = Lock()
        self._removes: list[Callable[[], None]] = []

    def __enter__(self) -> Self:
        self._removes.append(add_layer(self))
        return self

    def __exit__(self, *_: object) -> None:
        self._removes.pop()()

    @property
    def counts(self) -> Counter[str]:
        """The number of injected faults by the name of their class."""
        return Counter(type(each).__name__ for each in self.injected)

    async def respond(self, request: HTTPRequest, send: Send, secrets: Collection[str]) -> HTTPResponse:
        """Answer by the next fault, or by the next layer."""
        with self._lock:
            fault = self._next(f"{request.method} {urlsplit(request.url).path} ".encode() + request.content)
            self.requests += 1
            self.injected += [fault] if fault else []
        return await send(request) if fault is None else await fault.respond(request, send)

    def _next(self, content: bytes) -> Fault | None:
        if self._rate is None:
            return self._faults[self.requests] if self.requests < len(self._faults) else None
        digest = hashlib.sha256(content).hexdigest()
        self._seen[digest] += 1
        chance = random.Random(f"{self._seed} {digest} {self._seen[digest]}")  # noqa: S311 - no secret
        return chance.choice(self._faults) if chance.random() < self._rate else None


# ---- errors and canned answers
@dataclass(frozen=True)
class Status(Fault):
    """A canned answer: an error status, or with 200 any body.

    Args:
        status: the HTTP status.
        body: text, bytes, or a value that is sent as JSON.
        retry_after: the seconds to wait before a retry, or the text of the header.
    """

    status: int
    body: Any = ""
    retry_after: float | str | None = None

    def __post_init__(self) -> None:
        if not (isinstance(self.status, int) and 200 <= self.status <= 599):  # type: ignore[unnecessary] - users pass anything
            raise ConfigurationError(f"the status of an answer is a number from 200 to 599, not {self.status!r}")

    async def respond(self, request: HTTPRequest, send: Send) -> HTTPResponse:
        """Answer without sending the request."""
        text = self.body if isinstance(self.body, str | bytes) else json.dumps(self.body, default=dict)
        data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
        kind = "text/event-stream" if data.startswith((b"data:", b"event:")) else "application/json"
        wanted = {} if self.retry_after is None else {"retry-after": f"{self.retry_after}"}
        return HTTPResponse(self.status, {"content-type": kind, **wanted}, _given([data]))


@dataclass(frozen=True)
class _NoConnection(Fault):
    async def respond(self, request: HTTPRequest, send: Send) -> HTTPResponse:
        """Fail like a client without a connection."""
        raise ConnectFailedError(self.reason())

    def reason(self) -> str:
        """The text of the client's error."""
        raise NotImplementedError


@dataclass(frozen=True)
class ConnectionRefused(_NoConnection):
    """No server listens at the address."""

    def reason(self) -> str:
        """The text of the system's error."""
        return "[Errno 111] Connection refused"


@dataclass(frozen=True)
class DNSFailure(_NoConnection):
    """The host's name is not known."""

    def reason(self) -> str:
        """The text of the system's error."""
        return "[Errno -2] Name or service not known"


@dataclass(frozen=True)
class TLSFailure(_NoConnection):
    """The server's certificate is not trusted."""

    def reason(self) -> str:
        """The text of the TLS error."""
        return "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate"


# ---- faults of the body
@dataclass(frozen=True)
class Reset(Fault):
    """The connection breaks.

    Args:
        after: bytes of the body that arrive before; None: it breaks before the answer begins.
    """

    after: int | None = None

    async def respond(self, request: HTTPRequest, send: Send) -> HTTPResponse:
        """Break the connection at once, or after the answer began."""
        if self.after is None:
            raise ConnectionLostError(RESET)
        return await super().respond(request, send)

    async def pieces(self, request: HTTPRequest, response: HTTPResponse) -> Pieces:
        """Yield the beginning, then raise the error."""
        async for piece in _first(response.pieces, self.after or 0):
            yield piece
        raise ConnectionLostError(RESET)


@dataclass(frozen=True)
class Truncated(Fault):
    """The body ends early, as if it were complete.

    Args:
        after: the number of bytes that arrive.
    """

    after: int = 0

    def pieces(self, request: HTTPRequest, response: HTTPResponse) -> Pieces:
        """The beginning."""
        return _first(response.pieces, self.after)


@dataclass(frozen=True)
class Stall(Fault):
    """No more bytes arrive, until the client's timeout or the cancellation of the run.

    Args:
        after: bytes of the body that arrive before; None: it stalls before the answer, and the request is not sent.
    """

    after: int | None = None

    async def respond(self, request: HTTPRequest, send: Send) -> HTTPResponse:
        """Stall at once, or after the answer began."""
        if self.after is None:
            raise await _waited(request)
        return await super().respond(request, send)

    async def pieces(self, request: HTTPRequest, response: HTTPResponse) -> Pieces:
        """Yield the beginning, then stall."""
        async for piece in _first(response.pieces, self.after or 0):
            yield piece
        raise await _waited(request)


@dataclass(frozen=True)
class Slow(Fault):
    """The body comes in small pieces, with a wait before each.

    Args:
        seconds: the wait.
        size: bytes of a piece.
    """

    seconds: float = 0.01
    size: int = 16

    def __post_init__(self) -> None:
        positive(size=self.size)

    async def pieces(self, request: HTTPRequest, response: HTTPResponse) -> Pieces:
        """Yield the body in small pieces."""
        async for piece in response.pieces:
            for start in range(0, len(piece), self.size):
                await wait(self.seconds)
                yield piece[start : start + self.size]


@dataclass(frozen=True)
class Duplicated(Fault):
    """Each event of a stream arrives twice."""

    async def pieces(self, request: HTTPRequest, response: HTTPResponse) -> Pieces:
        """Yield the body with each complete event doubled."""
        left = b""
        async for piece in response.pieces:
            *events, left = _EVENT_ENDS.split(left + piece)
            for event in events:
                yield event + event
        yield left


@dataclass(frozen=True)
class Garbage(Fault):
    """The body is replaced by meaningless bytes.

    Args:
        data: the bytes.
    """

    data: bytes = b"\x00\xff\xfe garbage \x80"

    def __post_init__(self) -> None:
        if not isinstance(self.data, bytes):  # type: ignore[unnecessary] - users pass anything
            raise ConfigurationError(f"garbage is bytes, not {type(self.data).__name__}")

    def pieces(self, request: HTTPRequest, response: HTTPResponse) -> Pieces:
        """The bytes."""
        return _given([self.data])


@dataclass(frozen=True)
class BrokenGzip(Garbage):
    """The header says that the body is compressed, but it is not."""

    async def pieces(self, request: HTTPRequest, response: HTTPResponse) -> Pieces:
        """Fail like a client that cannot decompress the bytes."""
        if self.data:
            raise BodyError("the body cannot be unpacked", self.data)
        yield b""


@dataclass(frozen=True)
class WrongContentType(Fault):
    """The answer has a wrong content type; its body is unchanged.

    Args:
        content_type: the wrong content type.
    """

    content_type: str = "text/html"

    def headers(self) -> Mapping[str, str]:
        """The false header."""
        return {"content-type": self.content_type}


# ---- pieces
async def _given(pieces: Iterable[bytes]) -> Pieces:
    for piece in pieces:
        yield piece


async def _first(pieces: Pieces, count: int) -> Pieces:
    """Yield only the first bytes."""
    if count <= 0:
        return
    async for piece in pieces:
        yield piece[:count]
        count -= len(piece)
        if count <= 0:
            return


async def _waited(request: HTTPRequest) -> Exception:
    """Wait for the client's timeout, and return its error."""
    await wait(request.timeout)
    return ServerSilentError(f"the server sent nothing for {request.timeout:g} s")
