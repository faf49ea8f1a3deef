"""A server that is a coroutine over a raw socket: it says what a test writes, and notes what it sees."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress

__all__ = ["RawServer", "Talk", "answering"]

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter, bytes], Awaitable[object]]
"""Answers one request, of which the head is given; what it returns is of no interest."""


def answering(data: bytes) -> Talk:
    """Answer each request with these bytes."""

    async def talk(_: asyncio.StreamReader, writer: asyncio.StreamWriter, __: bytes) -> None:
        writer.write(data)

    return talk


class RawServer:
    """Runs within `async with`.

    Attributes:
        heads: the heads of the requests, with their first line.
        connections: the number of connections made.
        closed: set once a client has closed a connection.
    """

    def __init__(
        self, talk: Talk, certificates: ssl.SSLContext | None = None, *, closes: bool = False, reads: bool = True
    ) -> None:
        self._talk, self._certificates, self._closes, self._reads = talk, certificates, closes, reads
        self.heads: list[bytes] = []
        self.connections = 0
        self.closed = asyncio.Event()
        self._tasks: list[asyncio.Future[None]] = []

    async def __aenter__(self) -> RawServer:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, ssl=self._certificates, backlog=2048)
        if not self._reads:  # what is not read waits at the client
            self._server.sockets[0].setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 << 10)
        self.port: int = self._server.sockets[0].getsockname()[1]
        scheme = "https" if self._certificates else "http"
        self.url = f"{scheme}://localhost:{self.port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve in a task of our own: those of asyncio tell of being cancelled."""
        self._tasks.append(asyncio.ensure_future(self._serve(reader, writer)))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                self.heads.append(head)
                length = next(
                    (int(line[15:]) for line in head.lower().split(b"\r\n") if line[:15] == b"content-length:"), 0
                )
                if self._reads:  # otherwise the body is left to `talk`
                    await reader.readexactly(length)
                await self._talk(reader, writer, head)
                await writer.drain()
                if self._closes:
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.closed.set()
            writer.close()
            with suppress(ConnectionError, ssl.SSLError):
                await writer.wait_closed()
