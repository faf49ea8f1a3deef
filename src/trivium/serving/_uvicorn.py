"""The uvicorn server of a service, whose connections are bounded; imported where a server starts."""

from __future__ import annotations

import socket
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from trivium.commander import gather, wait
from trivium.serving._accepting import accept_in_turn
from trivium.serving._connections import (
    LEAST_WAITING,
    MOST_WAITING,
    Connected,
    ConnectionLimits,
    Connections,
    most_files,
    network_of,
)
from trivium.serving._error_response import ErrorResponse, error_response
from trivium.serving._last_resort import LAST_SECONDS, LastResort
from trivium.serving._streams import IS_STREAM, PING, PING_SECONDS, SHOWS_LIFE
from trivium.serving._tasks import Background, Deadlines
from trivium.serving._wire import Failure

if TYPE_CHECKING:
    from trivium.serving._server import Served

_FREE_PIECES: Final = 16
_SMALL_BYTES: Final = 1 << 10
_REST_SECONDS: Final = 0.5
"""After so many pieces of a request, what comes after a smaller one is read after so many seconds, all at once."""
_FRAMINGS: Final = {b"content-length", b"transfer-encoding"}
_PARTS: Final = {h11.IDLE: "headers", h11.SEND_BODY: "body"}


class Bounds:
    """The bounds that the connections of one server share.

    Args:
        limits: the limits.

    Attributes:
        limits: the same.
        connections: the connections that are open.
        deadlines: the deadlines of the parts of a request.
        rests: those of rests from reading.
    """

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits, self.connections = limits, Connections(limits)

        def late(what: str, seconds: float) -> tuple[float, Callable[[Connected], None]]:
            return seconds, lambda each: each.refuse(_too_slow(what, seconds))

        self.deadlines = Deadlines[str, Connected]({
            "headers": late("headers", limits.header_seconds), "body": late("body", limits.body_seconds),
            "answer": (PING_SECONDS, lambda each: each.show_life()),
        })  # fmt: skip
        self.rests = Deadlines[str, Connected]({"small": (_REST_SECONDS, lambda each: each.read_on())})


class Wire(h11.Connection):
    """Bounds headers that come at once too, and chunks, of which each costs as much as a thousand bytes."""

    is_cut = False

    def __init__(self, limits: ConnectionLimits) -> None:
        super().__init__(h11.SERVER, limits.header_bytes)
        self._limits = limits
        self._chunks = self._body_bytes = 0

    def next_event(self) -> Any:
        event = super().next_event()
        if isinstance(event, h11.Data):
            most = self._limits.body_chunks
            self._chunks += event.chunk_start
            self._body_bytes += len(event.data)
            if self._chunks > most + (self._body_bytes >> 10):
                self.is_cut = True
                raise h11.RemoteProtocolError(f"the body has more than {most} small chunks")
        if isinstance(event, h11.Request):
            self._chunks = self._body_bytes = 0
            size = len(event.target) + sum(len(name) + len(value) + 4 for name, value in event.headers.raw_items())
            if size > self._limits.header_bytes:
                raise h11.RemoteProtocolError(f"the headers have more than {self._limits.header_bytes} bytes")
            if {name for name, _ in event.headers} >= _FRAMINGS:  # which of them others go by nobody knows (RFC 9112)
                raise h11.RemoteProtocolError("the request has both Content-Length and Transfer-Encoding: send one")
        return event


class BoundedConnection(H11Protocol):
    """A connection of uvicorn's that keeps to the bounds.

    Args:
        *given: as for uvicorn's.
        bounds: the bounds that it shares with the others of its server.
        **named: as for uvicorn's.
    """

    def __init__(self, *given: Any, bounds: Bounds, **named: Any) -> None:
        super().__init__(*given, **named)
        self._bounds = bounds
        self._part: str | None = None
        self._pieces = 0
        self.conn: Any
        self.address = ""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.conn = Wire(self._bounds.limits)
        self.address = network_of(self.client)
        self._bounds.connections.enter(self)
        self.watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._bounds.connections.leave(self)
        self._bounds.rests.move(self, "small", None)
        self.watch(is_lost=True)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self.watch()
        self._pieces = self._pieces + 1 if self._part in _PARTS.values() else 0
        if self._pieces > _FREE_PIECES and len(data) < _SMALL_BYTES:
            self.transport.pause_reading()
            self._bounds.rests.move(self, "small", "small")

    def read_on(self) -> None:
        """Read what has come since a small piece, which costs as much as a large one."""
        if not self.flow.read_paused:
            self.transport.resume_reading()

    def send_400_response(self, msg: str) -> None:
        if not self.conn.is_cut:
            return super().send_400_response(msg)
        return self.refuse(_too_many(self._bounds.limits.body_chunks))

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self.watch()

    def watch(self, is_lost: bool = False) -> None:
        """Start the time limit of the next part: the headers, the body, or what is answered."""
        part = None if is_lost or self.transport.is_closing() else _PARTS.get(self.conn.their_state, "answer")
        self._bounds.connections.wait(self, part in ("headers", "body"))
        if part != self._part:
            self._bounds.deadlines.move(self, self._part, part)
            self._part = part

    def show_life(self) -> None:
        """Send a sign of life if a stream of events is open, and its client has read all that came so far."""
        if self._is_idle_stream():
            self.transport.write(self.conn.send(h11.Data(data=PING)))
        self._bounds.deadlines.move(self, None, self._part)

    def _is_idle_stream(self) -> bool:
        """Return whether it sends a stream of events, all of which its client has read so far."""
        last = self._last_response
        if last is None or not last.scope.get(IS_STREAM):
            return False
        return last.response_started and not last.response_complete and not self.flow.write_paused

    @property
    def _last_response(self) -> RequestResponseCycle | None:
        """The response that is sent now, or was sent last; None before the first request."""
        return self.cycle

    def refuse(self, failure: Failure) -> None:
        """Close the connection with an error, which is sent unless a response has begun."""
        last = self._last_response
        if self.transport.is_closing():
            return
        if last is None or last.response_complete or not last.response_started:
            path = "" if last is None or last.response_complete else last.scope["path"]
            self.transport.write(_as_http(error_response(path, failure)))
        self.transport.close()


class UvicornServer(uvicorn.Server):
    """A uvicorn server for a service.

    Args:
        service: the service.
        grace: seconds that its runs have to end after the stop of the server.
        limits: the limits of its connections.
        ready: called when it listens.
        last_resort: ends the process where the shutdown takes too long.
    """

    def __init__(
        self,
        service: Served,
        grace: float,
        limits: ConnectionLimits,
        ready: Callable[[], object],
        last_resort: LastResort,
    ) -> None:
        super().__init__(_config_of(service, grace, limits))
        self._bounds = Bounds(limits)
        self._service, self._grace, self._ready, self._last_resort = service, grace, ready, last_resort
        self._accepting: list[Background] = []

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup([])
        given = (self.config, self.server_state, {SHOWS_LIFE: True})
        make = partial(BoundedConnection, *given, bounds=self._bounds)
        most = max(LEAST_WAITING, min(MOST_WAITING, most_files() // 4))
        for each in sockets or ():
            each.listen(MOST_WAITING)
            self._accepting.append(Background(partial(accept_in_turn, each, make, most)))
        self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        last = LAST_SECONDS if self._captured_signals else None  # else the process goes on, and its threads too
        await gather(partial(self._close, sockets), partial(self._service.end_runs, self._grace, last))
        if self._captured_signals:  # one of which may end the process as it is raised again
            await self._service.close()
            self._last_resort.hasten()

    async def _close(self, sockets: list[socket.socket] | None) -> None:
        for each in self._accepting:
            each.cancel("the server stops")
            await each.ended()
        late = Background(self._leave)
        try:
            await super().shutdown(sockets)
        finally:
            late.cancel("all have what there was for them")

    async def _leave(self) -> None:
        """End the connections whose clients do not read what the end of their runs has left to read."""
        await wait(self._grace + 2 * LAST_SECONDS)
        for each in [*self.server_state.connections]:
            each.transport.abort()


def _config_of(service: Served, grace: float, limits: ConnectionLimits) -> uvicorn.Config:
    return uvicorn.Config(
        service.app,
        http=BoundedConnection,
        h11_max_incomplete_event_size=limits.header_bytes,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=int(grace) + 6,  # the runs themselves are stopped before
    )


def _too_many(chunks: int) -> Failure:
    text = f"the body has more than {chunks} chunks of less than 1 KiB, the server's body_chunks: "
    return Failure(413, "TooLarge", f"{text}send larger ones, or raise it there", "body_chunks", chunks)


def _too_slow(what: str, seconds: float) -> Failure:
    limit = f"{what.removesuffix('s')}_seconds"
    text = f"the {what} did not arrive within {seconds:g} s, the server's {limit}: send less, or raise it there"
    return Failure(408, "TooSlow", text, limit, seconds)


def _as_http(refused: ErrorResponse) -> bytes:
    """Return the response of a connection that is closed with it."""
    headers = {**refused.headers, "connection": "close", "content-length": str(len(refused.body))}
    lines = [f"HTTP/1.1 {refused.status} {HTTPStatus(refused.status).phrase}", *map(": ".join, headers.items())]
    return "\r\n".join([*lines, "", ""]).encode() + refused.body
