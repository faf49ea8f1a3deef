"""A real Redis server, and the wire to it: a relay that can be cut, and that sees connections come and go."""

from __future__ import annotations

import contextlib
import os
import queue
import shutil
import socket
import subprocess
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any, Self

import pytest

from ._waiting import GUARD

__all__ = ["Relay", "redis_server"]


@contextlib.contextmanager
def redis_server(folder: Path) -> Generator[Path]:
    """A server of its own; gives the path of its socket."""
    if shutil.which("redis-server") is None:
        if "redis-server" in os.environ.get("TRIVIUM_TEST_WITHOUT", "").split(","):
            pytest.skip("TRIVIUM_TEST_WITHOUT names redis-server")
        pytest.fail("redis-server is missing: apt-get install redis-server, or set TRIVIUM_TEST_WITHOUT=redis-server")
    path = folder / "redis.sock"
    command = ["redis-server", "--port", "0", "--unixsocket", str(path), "--save", "", "--dir", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            lines: list[str] = []
            while "accept connections" not in "".join(lines[-1:]):
                line = server.stdout.readline()
                assert line, f"redis-server ended: {''.join(lines)}"
                lines.append(line)
            yield path
        finally:
            server.terminate()


class Relay:
    """A TCP port in front of the server. `subscribed` gets an entry for each subscription, `closed` for each end."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.subscribed: queue.Queue[None] = queue.Queue()
        self.closed: queue.Queue[None] = queue.Queue()
        self.refused: queue.Queue[None] = queue.Queue()
        self.accepts = True
        self.connections = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._threads = [threading.Thread(target=self._accept)]
        self._open: list[socket.socket] = []

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self._listener.getsockname()[1]}/0"

    def wait_subscribed(self) -> None:
        self.subscribed.get(timeout=GUARD)

    def wait_closed(self) -> None:
        self.closed.get(timeout=GUARD)

    def cut(self) -> None:
        """Break every connection."""
        for each in self._open:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def command(self, *parts: Any) -> int:
        """Ask the server past the relay; its answer is a number."""
        from redis import Redis

        with Redis(unix_socket_path=str(self._path)) as client:
            return int(client.execute_command(*parts))  # pyright: ignore

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()
        for thread in self._threads:
            thread.join()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                self.connections += 1
                if not self.accepts:
                    near.close()
                    self.refused.put(None)
                    continue
                far = socket.socket(socket.AF_UNIX)
                far.connect(str(self._path))
                self._open += [near, far]
                threads = [threading.Thread(target=self._pass, args=each) for each in ((near, far), (far, near))]
                self._threads += threads
                for thread in threads:
                    thread.start()

    def _pass(self, source: socket.socket, sink: socket.socket) -> None:
        is_server, data = source.family is socket.AF_UNIX, b""
        with contextlib.suppress(OSError):
            while piece := source.recv(65536):
                data = data[-100:] + piece
                sink.sendall(piece)
                if is_server and b"subscribe\r\n" in data:
                    data = b""
                    self.subscribed.put(None)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_RDWR)
        source.close()
        if not is_server:
            self.closed.put(None)
