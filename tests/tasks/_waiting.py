"""What kills are tried on: a model server that never answers, and tasks that ask it."""

from __future__ import annotations

import contextlib
import queue
import socket
import threading
from typing import Any, Self

from trivium import ChatAgent, Task
from trivium.llms import OpenAIModel

__all__ = ["GUARD", "SilentServer"]

GUARD = 60.0
"""Seconds after which a test that waits for something gives up."""


class SilentServer:
    """A model server that takes requests and lets them wait. `asked` gets each request, `closed` each that was left."""

    def __init__(self) -> None:
        self.asked: queue.Queue[str] = queue.Queue()
        self.closed: queue.Queue[str] = queue.Queue()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._threads = [threading.Thread(target=self._accept)]
        self._open: list[socket.socket] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}/v1"

    def task(self, name: str = "Waiting", **kwargs: Any) -> Task:
        """A task whose model is asked here."""
        return Task(ChatAgent(OpenAIModel("silent", base_url=self.url), name=name), interactive=False, **kwargs)

    def wait_asked(self) -> str:
        return self.asked.get(timeout=GUARD)

    def wait_closed(self) -> str:
        return self.closed.get(timeout=GUARD)

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(self, *_: object) -> None:
        for each in (self._listener, *self._open):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self._open.append(connection)
                self._threads.append(threading.Thread(target=self._talk, args=(connection,)))
                self._threads[-1].start()

    def _talk(self, connection: socket.socket) -> None:
        body = b""
        with connection, contextlib.suppress(ConnectionError):
            while (piece := connection.recv(65536)) != b"":
                body += piece
                head, _, sent = body.partition(b"\r\n\r\n")
                length = head.lower().partition(b"content-length:")[2].split(b"\r\n")[0]
                if length and len(sent) == int(length):
                    self.asked.put(sent.decode())
        self.closed.put(body.decode(errors="replace"))
