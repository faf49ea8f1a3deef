"""A server of bytes: no HTTP library stands between a test and what it sends, so that it can be wrong in any way."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import threading
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, Self

__all__ = ["BytesServer", "Does", "Script"]


class Does(Enum):
    """What a server does beside sending bytes."""

    RESET = "break the connection off, so that the client's system is told"
    STALL = "say nothing until the client goes"


Script = Sequence[bytes | Does]
"""What is sent to a request, piece by piece; then the connection is closed."""


class BytesServer:
    """Answers each request with the next of its scripts, and with `then` when there is none left.

    Attributes:
        bodies: what was posted, oldest first.
        stalled: set when a script has come to a stall.
        left: set when a client has gone during a stall.
    """

    def __init__(self, then: Script) -> None:
        self.scripts: list[Script] = []
        self.then = then
        self.bodies: list[Any] = []
        self.stalled, self.left = threading.Event(), threading.Event()
        self._open: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._threads = [threading.Thread(target=self._accept)]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def play(self, *scripts: Script, then: Script | None = None) -> None:
        """Forget all requests, and answer the next with these."""
        self.scripts, self.then, self.bodies = list(scripts), then or self.then, []
        self.stalled.clear()
        self.left.clear()

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in self._open:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self._open.append(connection)
                thread = threading.Thread(target=self._talk, args=(connection,))
                self._threads.append(thread)
                thread.start()

    def _talk(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            with connection.makefile("rb") as stream:
                if not _read(stream.readline, stream.read, self.bodies):
                    return
                script = self.scripts.pop(0) if self.scripts else self.then
                for piece in script:
                    if isinstance(piece, bytes):
                        connection.sendall(piece)
                    elif piece is Does.STALL:
                        self.stalled.set()
                        stream.read(1)  # until the client goes
                        self.left.set()
            if Does.RESET in script:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def _read(readline: Callable[[], bytes], read: Callable[[int], bytes], bodies: list[Any]) -> bool:
    if not readline():
        return False
    length = 0
    while line := readline().strip():
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    bodies.append(json.loads(read(length), parse_constant=_no_json))
    return True


def _no_json(name: str) -> Any:
    raise AssertionError(f"{name} was sent, which is no JSON")
