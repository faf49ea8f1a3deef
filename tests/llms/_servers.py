"""Small real servers: one for files with ranges and faults, one that sends scripted bytes."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import threading
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler
from typing import Any, NamedTuple, Self

from _http_server import LoopbackServer

__all__ = ["ChatServer", "Fault", "FileServer", "Received", "event_stream", "http_answer"]


class Fault(NamedTuple):
    """What goes wrong with one request: a status instead of the file, or an end after so many bytes."""

    status: int = 0
    cut_after: int = -1


class FileServer(LoopbackServer):
    """Serves `content`; each request for a path uses up the next of its `faults`."""

    def __init__(self) -> None:
        super().__init__()
        self.content: dict[str, tuple[str, bytes]] = {}
        self.faults: dict[str, list[Fault]] = {}
        self.requests: list[tuple[str, str]] = []
        self.before: Callable[[str], None] = lambda path: None
        self.ranges = True
        self.redirects: dict[str, str] = {}

    def put(self, path: str, data: bytes, kind: str = "application/octet-stream") -> None:
        self.content[path] = (kind, data)

    def paths(self) -> list[str]:
        return [path for path, _ in self.requests]

    def respond(self, handler: BaseHTTPRequestHandler) -> None:
        self.requests.append((handler.path, handler.headers.get("range", "")))
        self.before(handler.path)
        faults = self.faults.get(handler.path)
        self.answer(handler, faults.pop(0) if faults else Fault())

    def answer(self, handler: BaseHTTPRequestHandler, fault: Fault) -> None:
        """Send the file, a part of it, or an error."""
        if handler.path in self.redirects:
            handler.send_response(302)
            handler.send_header("location", self.redirects[handler.path])
            handler.send_header("content-length", "0")
            handler.end_headers()
            return
        if fault.status or handler.path not in self.content:
            handler.send_response(fault.status or 404)
            handler.send_header("content-length", "0")
            handler.end_headers()
            return
        kind, data = self.content[handler.path]
        start = re.fullmatch(r"bytes=(\d+)-", handler.headers.get("range", ""))
        first = int(start[1]) if start and self.ranges else 0
        if first >= len(data) > 0:
            handler.send_response(416)
            handler.send_header("content-length", "0")
            handler.end_headers()
            return
        handler.send_response(206 if first else 200)
        handler.send_header("content-type", kind)
        handler.send_header("content-length", str(len(data) - first))
        if first:
            handler.send_header("content-range", f"bytes {first}-{len(data) - 1}/{len(data)}")
        handler.end_headers()
        body = data[first:] if fault.cut_after < 0 else data[first : first + fault.cut_after]
        with contextlib.suppress(ConnectionError):  # the client may have seen enough
            handler.wfile.write(body)
        handler.close_connection = handler.close_connection or fault.cut_after >= 0


class Received(NamedTuple):
    """A request as the chat server saw it."""

    path: str
    headers: dict[str, str]
    body: Any


Script = Sequence[bytes]


class ChatServer:
    """Answers the n-th request with the n-th script: pieces of bytes, then the end of the connection.

    An empty script resets the connection before any answer. A script whose head says `content-length`
    keeps the connection open for the next request.
    """

    def __init__(self) -> None:
        self.scripts: list[Script] = []
        self.received: list[Received] = []
        self.connections = 0
        self.closed = threading.Event()
        self.open_sockets: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._threads = [threading.Thread(target=self._accept)]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}/v1"

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in self.open_sockets:  # a client on a loop that lasts keeps its own
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self.connections += 1
                self.open_sockets.append(connection)
                thread = threading.Thread(target=self._talk, args=(connection,))
                self._threads.append(thread)
                thread.start()

    def _talk(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(ConnectionError):
            stream = connection.makefile("rb")
            while self._serve(connection, stream.readline, stream.read):
                pass
            stream.close()
        self.closed.set()

    def _serve(self, connection: socket.socket, readline: Callable[[], bytes], read: Callable[[int], bytes]) -> bool:
        first = readline().decode()
        if not first:
            return False
        headers: dict[str, str] = {}
        while line := readline().decode().strip():
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        body = json.loads(read(int(headers.get("content-length", "0"))))
        self.received.append(Received(first.split()[1], headers, body))
        script = self.scripts.pop(0)
        for piece in script:
            connection.sendall(piece)
        return bool(script) and b"content-length" in script[0]


def http_answer(body: bytes, status: str = "200 OK", kind: str = "application/json", **headers: str) -> Script:
    """A whole answer with its length, which keeps the connection open."""
    extra = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    head = f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\n{extra}content-length: {len(body)}\r\n\r\n"
    return [head.encode() + body]


def event_stream(*pieces: bytes) -> Script:
    """An event stream in the given pieces, ended by the end of the connection."""
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
    return [head, *pieces]
