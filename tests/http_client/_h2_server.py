"""A server of HTTP/2 by h2's own server side: it says what a test writes, and notes what it sees."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import DataReceived, RequestReceived, StreamEnded, StreamReset, WindowUpdated
from h2.settings import SettingCodes

__all__ = ["H2Server", "Talk", "Talker"]


class Talker:
    """One request, and the way to answer it."""

    def __init__(self, server: H2Server, connection: _Connection, number: int, headers: dict[str, str]) -> None:
        self.server, self.connection, self.number, self.headers = server, connection, number, headers
        self.body, self.whole, self.reset = bytearray(), asyncio.Event(), asyncio.Event()

    def begin(self, status: int = 200, headers: Mapping[str, str] | None = None, ends: bool = False) -> None:
        given = list((headers or {}).items())
        self.connection.h2.send_headers(self.number, [(":status", str(status)), *given], end_stream=ends)
        self.connection.flush()

    async def say(self, data: bytes, ends: bool = False) -> None:
        """Send a piece as the client's windows let it."""
        h2 = self.connection.h2
        while True:
            size = min(len(data), h2.local_flow_control_window(self.number), h2.max_outbound_frame_size)
            if size or not data:
                h2.send_data(self.number, data[:size], end_stream=ends and size == len(data))
                self.connection.flush()
                data = data[size:]
                if not data:
                    return
            else:
                self.connection.room.clear()
                await self.connection.room.wait()

    async def answer(self, body: bytes, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        self.begin(status, headers)
        await self.say(body, ends=True)


Talk = Callable[[Talker], Awaitable[object]]
"""Answers one request, which may not have come in full."""


class _Connection(asyncio.Protocol):
    def __init__(self, server: H2Server) -> None:
        self.server = server
        self.h2 = H2Connection(H2Configuration(client_side=False, header_encoding="latin-1"))
        self.talkers: dict[int, Talker] = {}
        self.room = asyncio.Event()
        self.most = 0

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self.server.connections.append(self)
        self.h2.initiate_connection()
        self.h2.update_settings(self.server.settings)
        self.flush()

    def connection_lost(self, exc: Exception | None) -> None:
        self.server.closed.set()

    def data_received(self, data: bytes) -> None:
        for event in self.h2.receive_data(data):
            if isinstance(event, RequestReceived):
                self.most = max(self.most, self.h2.open_inbound_streams)
                headers: dict[str, str] = dict(event.headers)  # type: ignore[arg-type] - texts, by the encoding
                talker = self.talkers[event.stream_id] = Talker(self.server, self, event.stream_id, headers)
                self.server.requests.append(talker)
                self.server.tasks.append(asyncio.ensure_future(self.server.serve(talker)))
            elif isinstance(event, DataReceived):
                self.talkers[event.stream_id].body += event.data
                if self.server.reads:
                    self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            elif isinstance(event, StreamEnded):
                self.talkers[event.stream_id].whole.set()
            elif isinstance(event, StreamReset):
                self.talkers[event.stream_id].reset.set()
            elif isinstance(event, WindowUpdated):
                self.room.set()
        self.flush()

    def flush(self) -> None:
        self.transport.write(self.h2.data_to_send())


class H2Server:
    """Runs within `async with`.

    Attributes:
        requests: those that came.
        connections: those that were made, each with the `most` requests that it had at once.
        closed: set once one was closed.
    """

    def __init__(self, talk: Talk, certificates: ssl.SSLContext, *, streams: int = 100, reads: bool = True) -> None:
        self._talk, self._certificates, self.reads = talk, certificates, reads
        self._certificates.set_alpn_protocols(["h2"])
        self.settings: dict[SettingCodes | int, int] = {SettingCodes.MAX_CONCURRENT_STREAMS: streams}
        self.requests: list[Talker] = []
        self.connections: list[_Connection] = []
        self.tasks: list[asyncio.Future[None]] = []
        self.closed = asyncio.Event()

    async def __aenter__(self) -> H2Server:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: _Connection(self), "127.0.0.1", 0, ssl=self._certificates, backlog=2048
        )
        self.port: int = self._server.sockets[0].getsockname()[1]
        self.url = f"https://localhost:{self.port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        for connection in self.connections:
            connection.transport.abort()

    async def serve(self, talker: Talker) -> None:
        """Answer a request in a task of its own."""
        await self._talk(talker)
