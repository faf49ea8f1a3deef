"""A network between workers and their database that can be cut."""

from __future__ import annotations

import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from urllib.parse import parse_qs, urlsplit

__all__ = ["Cable", "cable"]


class Cable:
    """Forwards connections of a port of this machine to the socket of a database.

    Args:
        url: the URL of the database, which listens at a socket of a folder.

    Attributes:
        refused: how many connections it has refused, as it was cut.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._socket = f"{parse_qs(parts.query)['host'][0]}/.s.PGSQL.5432"
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = parts._replace(netloc=f"postgres@127.0.0.1:{self._listener.getsockname()[1]}", query="").geturl()
        self._ends: set[socket.socket] = set()
        self._is_cut, self._lock, self.refused = False, threading.Lock(), 0
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Break all connections, and refuse new ones."""
        with self._lock:
            self._is_cut, ends, self._ends = True, self._ends, set()
        for end in ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def mend(self) -> None:
        self._is_cut = False

    def close(self) -> None:
        self.cut()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = socket.socket(socket.AF_UNIX)
                with self._lock:
                    if not self._is_cut:
                        with suppress(OSError):
                            far.connect(self._socket)
                            self._ends |= {near, far}
                            threading.Thread(target=self._forward, args=(near, far), daemon=True).start()
                            threading.Thread(target=self._forward, args=(far, near), daemon=True).start()
                            continue
                self.refused += 1
                near.close()
                far.close()

    def _forward(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                target.sendall(data)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            with self._lock:
                self._ends.discard(end)
        source.close()  # each thread closes its own; the other end is that of the other one


@contextmanager
def cable(url: str) -> Generator[Cable]:
    """A cable, as long as the block runs."""
    made = Cable(url)
    try:
        yield made
    finally:
        made.close()
