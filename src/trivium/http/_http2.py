"""Connections of HTTP/2, each with many exchanges at once: the bytes by h2, below the same client."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final, cast

from h2.config import H2Configuration
from h2.connection import ConnectionState, H2Connection
from h2.errors import ErrorCodes
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    Event,
    RemoteSettingsChanged,
    ResponseReceived,
    StreamEnded,
    StreamReset,
    WindowUpdated,
)
from h2.exceptions import FrameTooLargeError, H2Error, NoAvailableStreamIDError
from h2.settings import SettingCodes

from trivium.http._client import LONGEST_IDLE
from trivium.http._connection import MAX_WAITING, Connection
from trivium.http._exchange import Exchange, Outgoing
from trivium.http._messages import ConnectionLostError, HTTPError, InvalidRequestError

_WINDOW: Final = 16 << 20
"""Bytes that a server may send on one connection before some are read."""
_FRAME_HEAD: Final = 9
_AT_FIRST: Final = 100
_MOST: Final = 1000
"""Exchanges at once on a connection, at most; `_AT_FIRST` before the server has told how many it takes."""
_OF_HTTP1: Final = frozenset({"host", "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"})


class HTTP2Exchange(Exchange):
    """One exchange on a connection of HTTP/2."""

    def __init__(self, session: HTTP2Connection) -> None:
        super().__init__()
        self._session, self._id, self._is_sent = session, 0, False
        self._unread = 0  # bytes that the server counts and does not know to be read

    async def send(self, request: Outgoing, timeout: float) -> int:
        """Send a request and wait for the head of the response; see `Exchange.send`."""
        self._begin(timeout)
        own = {name: value for name, value in request.headers.items() if name not in _OF_HTTP1}
        head = {":method": request.method, ":scheme": request.scheme, ":authority": request.headers["host"]}
        self._id = self._session.open(self, [*head.items(), (":path", request.target), *own.items()], request.content)
        content = memoryview(request.content)
        while content and not self.status:  # a server that responds before the end does not want the rest
            sent = self._session.send_content(self._id, content)
            content = content[sent:]
            if not sent:
                await self._news()
        self._is_sent = not content
        while not self.status:
            await self._news()
        return self.status

    def end(self) -> bool:
        """End the exchange: what is not complete is cancelled at the server."""
        self._leave()
        self._end_watch()
        self._session.forget(self._id, self._unread, is_complete=self.is_complete and self._is_sent)
        return False

    def close(self) -> None:
        """End the exchange at once; those beside it go on."""
        self._session.forget(self._id, self._unread, is_complete=False)

    def _resume(self) -> None:
        unread, self._unread = self._unread, 0
        self._session.note_read(self._id, unread)

    def on_event(self, event: ResponseReceived | StreamEnded | StreamReset) -> None:
        """Keep the head of the response, or mark its end."""
        self._heard = self._loop.time()
        if isinstance(event, StreamEnded):
            self.on_end()
        elif isinstance(event, StreamReset):
            self.on_end(ConnectionLostError(f"the server ended the exchange (error {event.error_code:d})"))
        else:
            for name, value in event.headers:
                if name == b":status":
                    self.status = int(value)
                elif not name.startswith(b":"):
                    self.add_header(bytes(name).decode("latin-1"), bytes(value).decode("latin-1"))
            self._wake()

    def on_data(self, data: bytes, counted: int) -> None:
        """Keep a piece of the body; it is read for the server when a reader has taken it."""
        self._heard = self._loop.time()
        if not data:
            self._session.note_read(self._id, counted)
            return
        self._unread += counted
        self._is_paused = True
        self._pieces.append(data)
        self._wake()

    def on_end(self, error: HTTPError | None = None) -> None:
        """Mark the end of the response."""
        self.is_complete = self.is_complete or error is None
        if not self.is_complete and self._error is None:
            self._error = error
        self._wake()

    def on_room(self) -> None:
        """Go on with a body that waited."""
        self._wake()


class HTTP2Connection(asyncio.Protocol):
    """A connection of HTTP/2 to a server."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._h2 = H2Connection(H2Configuration(client_side=True, header_encoding=None))
        self._streams: dict[int, HTTP2Exchange] = {}
        self._rest = bytearray()  # of a frame that has not come in full
        self._is_leaving, self._most = False, _AT_FIRST
        self._idle_since = self._loop.time()

    @property
    def is_closed(self) -> bool:
        """True if the connection has ended; one that was idle for too long is closed."""
        if not self._streams and (self._is_leaving or self._loop.time() - self._idle_since > LONGEST_IDLE):
            self.close()
        return self.transport.is_closing()

    @property
    def has_room(self) -> bool:
        """True if one more exchange has room."""
        return not self._is_leaving and len(self._streams) < self._most

    def close(self) -> None:
        """Close the connection at once."""
        self._is_leaving = True
        self.transport.abort()

    # ---- for its streams
    def open(self, stream: HTTP2Exchange, headers: list[tuple[str, str]], content: bytes) -> int:
        """Begin an exchange, and return its number.

        Raises:
            ConnectionLostError: the connection takes no more.
            InvalidRequestError: a header cannot be sent.
        """
        try:
            number = self._h2.get_next_available_stream_id()
            self._h2.send_headers(number, headers, end_stream=not content)
        except H2Error as error:
            is_over = self._is_leaving or isinstance(error, NoAvailableStreamIDError)
            self._is_leaving = True  # half a head has changed how the next ones are packed
            if is_over:
                raise ConnectionLostError("the connection takes no more requests") from None
            raise InvalidRequestError(f"a header cannot be sent ({type(error).__name__})") from None
        self._streams[number] = stream
        self._flush()
        return number

    def send_content(self, number: int, content: memoryview) -> int:
        """Send as much of a body as the server takes now, and return how many bytes that were."""
        try:
            size = min(len(content), self._h2.local_flow_control_window(number), self._h2.max_outbound_frame_size)
            if size > 0:
                self._h2.send_data(number, bytes(content[:size]), end_stream=size == len(content))
                self._flush()
        except H2Error:  # the server has ended it, and its response tells why
            return len(content)
        return max(size, 0)

    def note_read(self, number: int, count: int) -> None:
        """Tell the server that so many bytes have been read."""
        if count and not self.transport.is_closing():
            with suppress(H2Error):  # the connection is over for h2
                self._h2.acknowledge_received_data(count, number)
            self._flush()

    def forget(self, number: int, unread: int, *, is_complete: bool) -> None:
        """End an exchange; the server is told if it is not complete."""
        if self._streams.pop(number, None) is None:
            return
        if not self._streams:
            self._idle_since = self._loop.time()
        if self.transport.is_closing():
            return
        if not is_complete:
            with suppress(H2Error):  # it is over at the server too
                self._h2.reset_stream(number, ErrorCodes.CANCEL)
            self._flush()
        self.note_read(number, unread)

    def _flush(self) -> None:
        if data := self._h2.data_to_send():
            self.transport.write(data)

    def _end(self, error: HTTPError) -> None:
        self._is_leaving = True
        for stream in list(self._streams.values()):
            stream.on_end(error)

    # ---- what asyncio calls
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin the connection."""
        self.transport = cast("asyncio.Transport", transport)  # one of uvloop derives from no class of asyncio
        self._h2.initiate_connection()
        self._h2.update_settings({SettingCodes.ENABLE_PUSH: 0, SettingCodes.INITIAL_WINDOW_SIZE: MAX_WAITING})
        self._h2.increment_flow_control_window(_WINDOW)
        self._flush()

    def data_received(self, data: bytes) -> None:
        """Parse what came, frame by frame: each may change what h2 makes of the next one."""
        self._rest += data
        try:
            while len(self._rest) >= _FRAME_HEAD:
                size = int.from_bytes(self._rest[:3], "big")
                if size > self._h2.max_inbound_frame_size:
                    raise FrameTooLargeError(f"a frame of {size:,} bytes")
                if len(self._rest) < _FRAME_HEAD + size:
                    break
                frame = bytes(self._rest[: _FRAME_HEAD + size])
                del self._rest[: _FRAME_HEAD + size]
                for event in self._h2.receive_data(frame):
                    self._handle(event)
        except H2Error as error:
            self._flush()
            self._end(ConnectionLostError(f"the server sent what is not HTTP/2 ({type(error).__name__})"))
            self.close()
            return
        self._flush()

    def connection_lost(self, exc: Exception | None) -> None:
        """End all exchanges."""
        self._end(ConnectionLostError(f"{exc}" if exc else "the server closed the connection before the end"))

    def _handle(self, event: Event) -> None:
        match event:
            case RemoteSettingsChanged() | WindowUpdated():
                self._most = min(self._h2.remote_settings.max_concurrent_streams, _MOST)
                for stream in self._streams.values():
                    stream.on_room()
            case ConnectionTerminated():
                self._is_leaving = True
                # To h2 this is the end of everything, where what the server has taken is still to come (RFC 9113, 6.8).
                self._h2.state_machine.state = ConnectionState.CLIENT_OPEN
                for number, stream in self._streams.items():
                    if number > (event.last_stream_id or 0):
                        stream.on_end(ConnectionLostError("the server closed the connection without a response"))
            case DataReceived():
                if (stream := self._streams.get(event.stream_id)) is not None:
                    stream.on_data(event.data, event.flow_controlled_length)
                else:
                    self._h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            case ResponseReceived() | StreamEnded() | StreamReset():
                if (stream := self._streams.get(event.stream_id)) is not None:
                    stream.on_event(event)
            case _:
                pass


class NewConnection(asyncio.Protocol):
    """A new connection, until the server has chosen the version of HTTP in the handshake of TLS."""

    chosen: Connection | HTTP2Connection

    def __init__(self) -> None:
        self._early = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Give the connection to the protocol of its version."""
        tls = transport.get_extra_info("ssl_object")
        self.chosen = HTTP2Connection() if tls is not None and tls.selected_alpn_protocol() == "h2" else Connection()
        cast("asyncio.Transport", transport).set_protocol(self.chosen)
        self.chosen.connection_made(transport)
        if self._early:
            self.chosen.data_received(bytes(self._early))

    def data_received(self, data: bytes) -> None:
        """Keep what came before the connection was told to be made."""
        self._early += data
