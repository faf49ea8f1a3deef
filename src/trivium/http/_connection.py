"""A connection to a server under asyncio: HTTP/1.1, one exchange at a time, parsed by httptools."""

from __future__ import annotations

import asyncio
import select
from typing import Final, cast

from trivium.exceptions import MissingExtraError
from trivium.http._exchange import Exchange, Outgoing
from trivium.http._messages import MAX_HEAD, ConnectionLostError

try:
    import httptools
except ImportError as error:  # it was built for another platform or Python, as in an image that was made elsewhere
    raise MissingExtraError("httptools", error=f"httptools, which parses HTTP, cannot be loaded ({error})") from error

MAX_WAITING: Final = 256 << 10
"""Bytes of a body that wait to be read before the server is made to wait."""


class Connection(Exchange, asyncio.Protocol):
    """A connection to a server."""

    transport: asyncio.Transport

    def __init__(self) -> None:
        super().__init__()
        self._parser = httptools.HttpResponseParser(self)  # one that cannot go on ends the connection
        self._is_lost = False
        self.idle_since = 0.0

    # ---- one exchange
    async def send(self, request: Outgoing, timeout: float) -> int:
        """Send a request and wait for the head of the response; see `Exchange.send`."""
        self._has_body, self._head_size = request.method not in ("HEAD", "CONNECT"), 0
        self.can_be_kept = self._left_over = False
        self._begin(timeout)
        if self._is_lost:
            raise ConnectionLostError("the server closed the connection")
        self.transport.write(_as_bytes(request))
        while not self.status:
            await self._news()
        return self.status

    def end(self) -> bool:
        """End the exchange; return whether the connection can be used again. If not, it is closed at once."""
        self._leave()
        is_whole = self.is_complete and self.can_be_kept and not self._left_over
        if is_whole and not self._is_lost and not self.transport.is_closing():
            self.idle_since = self._loop.time()
            return True
        self.close()
        return False

    def release(self) -> asyncio.Transport:
        """Give the transport away, as to TLS; the connection takes no further part."""
        self._leave()
        self._end_watch()
        return self.transport

    def close(self) -> None:
        """Close the connection at once."""
        self._end_watch()
        self.transport.abort()

    def is_usable(self, longest: float) -> bool:
        """Return whether an idle connection is still open, and not idle for more than `longest` seconds."""
        is_open = not self._is_lost and not self.transport.is_closing() and not self._left_over
        if not is_open or self.was_idle(longest):
            return False
        # The loop may not have seen yet that the server has closed it.
        descriptor = self.transport.get_extra_info("socket").fileno()
        if not hasattr(select, "poll"):
            return not select.select([descriptor], [], [], 0)[0]
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        return not poll.poll(0)

    def was_idle(self, longest: float) -> bool:
        """Return whether it was idle for more than `longest` seconds."""
        return self._loop.time() - self.idle_since > longest

    def _resume(self) -> None:
        if not self._is_lost:
            self.transport.resume_reading()

    # ---- what asyncio calls
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self.transport = cast("asyncio.Transport", transport)  # one of uvloop derives from no class of asyncio

    def data_received(self, data: bytes) -> None:
        """Parse what came."""
        if not self._is_under_way:  # nothing was asked
            self._left_over = True
            self.close()
            return
        self._heard = self._loop.time()
        if not self.status:
            self._head_size += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self.is_complete = True
        except httptools.HttpParserError as error:
            if self.is_complete:
                self._left_over = True  # after the response
            else:
                self._fail(ConnectionLostError(f"the server sent what is not HTTP ({str(error) or 'malformed'})"))
        if not self.status and self._head_size > MAX_HEAD:
            self._fail(ConnectionLostError(f"the headers of the response are larger than {MAX_HEAD:,} bytes"))
        if self._size > MAX_WAITING and not self._is_paused and not self.is_complete:
            self._is_paused = True
            self.transport.pause_reading()
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        """End the exchange, and with it a body that lasts until the connection is closed."""
        self._is_lost = True
        self._end_watch()
        if self._is_under_way and not self.is_complete:
            ends_so = self.headers.keys().isdisjoint(("content-length", "transfer-encoding"))
            if exc is None and self.status and ends_so:
                self.is_complete = True
            elif self._error is None:
                when = "before the end of the response" if self.status else "without a response"
                self._error = ConnectionLostError(f"{exc}" if exc else f"the server closed the connection {when}")
                self._error.__cause__ = exc
        self._wake()

    # ---- what httptools calls
    def on_message_begin(self) -> None:
        """Notice a second response to one request."""
        if self.is_complete:
            self._left_over = True

    def on_status(self, status: bytes) -> None:
        """Keep the phrase beside the status."""
        self.reason += status.decode("latin-1")

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header; those that follow a body are dropped."""
        if not self.status:
            self.add_header(name.decode("latin-1").lower(), value.decode("latin-1"))

    def on_headers_complete(self) -> None:
        """Keep the status; what says only that the request goes on is no response."""
        status = self._parser.get_status_code()
        if self.is_complete:
            return
        if status < 200 and status != 101:
            self.headers, self.reason = {}, ""
        else:
            self.status = status
            self.is_complete = not self._has_body

    def on_body(self, body: bytes) -> None:
        """Keep a piece of the body."""
        if not self.is_complete:
            self._pieces.append(body)
            self._size += len(body)

    def on_message_complete(self) -> None:
        """Mark the end of the response."""
        if self.status and not self.is_complete:
            self.is_complete, self.can_be_kept = True, self._parser.should_keep_alive()


def _as_bytes(request: Outgoing) -> bytes:
    head = [f"{request.method} {request.target} HTTP/1.1", *map(": ".join, request.headers.items()), "", ""]
    return "\r\n".join(head).encode("latin-1") + request.content
