"""A real server that answers each request with what a function makes of it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple, Self

__all__ = ["Asked", "Given", "Server"]


class Asked(NamedTuple):
    """A request as it came."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


class Given(NamedTuple):
    """An answer."""

    body: bytes
    status: int = 200
    headers: Mapping[str, str] = {}


class Server:
    """Answers with what `answer` gives; `asked` keeps the requests."""

    def __init__(self, answer: Callable[[Asked], Given]) -> None:
        self.answer = answer
        self.asked: list[Asked] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    @property
    def host(self) -> str:
        """The name and the port."""
        return f"127.0.0.1:{self._server.server_address[1]}"

    @property
    def url(self) -> str:
        """The address, without a path."""
        return f"http://{self.host}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, format: str, *args: Any) -> None:
                """Silence: tests look at `asked` instead."""

            def respond(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", "0")))
                headers = {name.lower(): value for name, value in self.headers.items()}
                asked = Asked(self.command, self.path, headers, body)
                outer.asked.append(asked)
                given = outer.answer(asked)
                self.send_response(given.status)
                for name, value in {"content-length": str(len(given.body)), **given.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(given.body)

            do_GET = do_POST = do_DELETE = respond

        return Handler
