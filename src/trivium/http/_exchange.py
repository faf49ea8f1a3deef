"""One request and its response, of either version of HTTP: waiting, the silence of the server, the pieces that came."""

from __future__ import annotations

import asyncio
from collections import deque
from contextvars import Context
from typing import NamedTuple

from trivium.http._messages import HTTPError, ServerSilentError


class Outgoing(NamedTuple):
    """A request as it is sent.

    Args:
        method: the method.
        scheme: "http" or "https".
        target: the path and the query, or the whole address for a proxy.
        headers: all headers, by their names in lower case.
        content: the body.
    """

    method: str
    scheme: str
    target: str
    headers: dict[str, str]
    content: bytes


class Exchange:
    """One exchange at a time; a subclass sends, and adds what came to `status`, `headers` and the pieces."""

    status: int
    headers: dict[str, str]
    reason: str
    is_complete: bool

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._pieces = deque[bytes]()
        self._size: int = 0  # of the pieces
        self._waiter: asyncio.Future[None] | None = None
        self._watch: asyncio.TimerHandle | None = None
        self._error: HTTPError | None = None
        self._is_paused = self._is_under_way = False

    async def send(self, request: Outgoing, timeout: float) -> int:
        """Send a request and wait for the head of the response; it is then in `headers` and `reason`.

        Args:
            request: the request.
            timeout: seconds that the server may send nothing, until the exchange ends.

        Returns:
            The status.

        Raises:
            ConnectionLostError: the connection broke before, or what came is no HTTP.
            ServerSilentError: nothing came in time.
        """
        raise NotImplementedError(f"{type(self).__name__} has no send")

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
        if self._is_paused:
            self._is_paused = False
            self._heard = self._loop.time()
            self._resume()
        return piece

    def end(self) -> bool:
        """End the exchange; return whether the connection can be used by the next one. If not, it is closed at once."""
        raise NotImplementedError(f"{type(self).__name__} has no end")

    def close(self) -> None:
        """Close the exchange at once."""
        raise NotImplementedError(f"{type(self).__name__} has no close")

    def _begin(self, timeout: float) -> None:
        """Forget the last response, and watch the server from now on."""
        self.headers, self.reason, self.status, self.is_complete = {}, "", 0, False
        self._timeout, self._heard, self._is_under_way = timeout, self._loop.time(), True
        if self._watch is None or self._watch.when() > self._heard + timeout:
            self._watch_for(timeout)

    def _leave(self) -> None:
        """Forget what was not read; the watch stays for the next exchange, since setting one costs more than that."""
        self._is_under_way = False
        self._pieces.clear()
        self._size = 0

    def _watch_for(self, seconds: float) -> None:
        self._end_watch()
        self._watch = self._loop.call_later(seconds, self._check, context=Context())  # it holds nothing of a run

    def _end_watch(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None

    def _resume(self) -> None:
        """Let the server send again."""

    async def _news(self) -> None:
        """Wait until something has arrived; where this wait is cancelled, the exchange is closed at once."""
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
        self.close()
        self._wake()

    def _check(self) -> None:
        """Fail if the server was silent for too long; one timer serves all exchanges of a connection."""
        self._watch = None
        if not self._is_under_way:
            return
        left = self._timeout if self._is_paused or self._pieces else self._heard + self._timeout - self._loop.time()
        if left <= 0:
            self._fail(ServerSilentError(f"the server sent nothing for {self._timeout:g} s"))
        else:
            self._watch_for(left)

    def add_header(self, name: str, value: str) -> None:
        """Add a header of the response; several of one name are joined."""
        self.headers[name] = f"{self.headers[name]}, {value}" if name in self.headers else value
