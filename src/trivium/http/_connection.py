"""A connection to a server under asyncio: HTTP/1.1, one exchange at a time, parsed by httptools."""

from __future__ import annotations

import asyncio
import select
from collections import deque
from typing import Final

import httptools

from trivium.http._messages import MAX_HEAD, ConnectionLostError, HTTPError, ServerSilentError

__all__ = ["Connection"]

MAX_WAITING: Final = 256 << 10
"""Bytes of a body that wait to be read before the server is made to wait."""


class Connection(asyncio.Protocol):
    """A connection to a server."""

    transport: asyncio.Transport

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._pieces = deque[bytes]()
        self._size = 0  # of the pieces
        self._waiter: asyncio.Future[None] | None = None
        self._watch: asyncio.TimerHandle | None = None
        self._error: HTTPError | None = None
        self._is_paused = self._is_lost = False
        self.idle_since = 0.0

    # ---- one exchange
    async def send(self, data: bytes, timeout: float, *, has_body: bool = True) -> int:
        """Send a request and wait for the head of the response; it is then in `headers` and `reason`.

        Args:
            data: the request as it is sent.
            timeout: seconds that the server may send nothing, until the exchange ends.
            has_body: False for a response that never has one, as to HEAD.

        Returns:
            The status.

        Raises:
            ConnectionLostError: the connection broke before, or what came is no HTTP.
            ServerSilentError: nothing came in time.
        """
        self._parser = httptools.HttpResponseParser(self)
        self.headers: dict[str, str] = {}
        self.reason, self.status, self.is_complete, self.can_be_kept = "", 0, False, False
        self._has_body, self._head_size, self._left_over = has_body, 0, False
        self._timeout, self._heard = timeout, self._loop.time()
        if self._is_lost:
            raise ConnectionLostError("the server closed the connection")
        self._watch = self._loop.call_later(self._timeout, self._check)
        self.transport.write(data)
        while not self.status:
            await self._news()
        return self.status

    async def next_piece(self) -> bytes:
        """Return the next piece of the body; empty at its end.

        Raises:
            ConnectionLostError: the connection broke before the end.
            ServerSilentError: nothing came in time.
        """
        while not self._pieces:
            if self.is_complete:
                return b""
            await self._news()
        piece = self._pieces.popleft() if len(self._pieces) == 1 else b"".join(self._pieces)
        self._pieces.clear()
        self._size = 0
        if self._is_paused and not self._is_lost:
            self._is_paused = False
            self._heard = self._loop.time()
            self.transport.resume_reading()
        return piece

    def end(self) -> bool:
        """End the exchange; return whether the connection can be used again. If not, it is closed at once."""
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None
        self._pieces.clear()
        self._size = 0
        is_whole = self.is_complete and self.can_be_kept and not self._left_over
        if is_whole and not self._is_lost and not self.transport.is_closing():
            self.idle_since = self._loop.time()
            return True
        self.close()
        return False

    def release(self) -> asyncio.Transport:
        """Give the transport away, as to TLS; the connection takes no further part."""
        if self._watch is not None:
            self._watch.cancel()
        return self.transport

    def close(self) -> None:
        """Close the connection at once."""
        self.transport.abort()

    def is_usable(self, longest: float) -> bool:
        """Return whether an idle connection is still open, and not idle for more than `longest` seconds."""
        is_open = not self._is_lost and not self.transport.is_closing() and not self._left_over
        if not is_open or self._loop.time() - self.idle_since > longest:
            return False
        # The loop may not have seen yet that the server has closed it.
        descriptor = self.transport.get_extra_info("socket").fileno()
        if not hasattr(select, "poll"):
            return not select.select([descriptor], [], [], 0)[0]
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        return not poll.poll(0)

    async def _news(self) -> None:
        """Wait until something has arrived; where this wait is cancelled, the connection is closed at once."""
        if self._error is not None:
            raise self._error
        self._waiter = waiter = self._loop.create_future()
        try:
            await waiter
        except asyncio.CancelledError:
            self.close()
            raise
        finally:
            self._waiter = None
        if self._error is not None and not self._pieces:
            raise self._error

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _fail(self, error: HTTPError) -> None:
        if self._error is None:
            self._error = error
        self.transport.abort()
        self._wake()

    def _check(self) -> None:
        """Fail if the server was silent for too long; one timer serves a whole exchange."""
        now = self._loop.time()
        left = self._timeout if self._is_paused or self._pieces else self._heard + self._timeout - now
        if left <= 0:
            self._fail(ServerSilentError(f"the server sent nothing for {self._timeout:g} s"))
        else:
            self._watch = self._loop.call_later(left, self._check)

    # ---- what asyncio calls
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        """Parse what came."""
        if self._watch is None:  # nothing was asked
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
        if self._watch is not None and not self.is_complete:
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
            key, text = name.decode("latin-1").lower(), value.decode("latin-1")
            self.headers[key] = f"{self.headers[key]}, {text}" if key in self.headers else text

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
