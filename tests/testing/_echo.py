"""A real server that answers each request with what a function makes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler
from typing import NamedTuple

from _http_server import LoopbackServer

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


class Server(LoopbackServer):
    """Answers with what `answer` gives; `asked` keeps the requests."""

    def __init__(self, answer: Callable[[Asked], Given]) -> None:
        super().__init__()
        self.answer = answer
        self.asked: list[Asked] = []

    def respond(self, handler: BaseHTTPRequestHandler) -> None:
        body = handler.rfile.read(int(handler.headers.get("content-length", "0")))
        headers = {name.lower(): value for name, value in handler.headers.items()}
        asked = Asked(handler.command, handler.path, headers, body)
        self.asked.append(asked)
        given = self.answer(asked)
        handler.send_response(given.status)
        for name, value in {"content-length": str(len(given.body)), **given.headers}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(given.body)
