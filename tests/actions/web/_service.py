"""A real HTTP server on the loopback interface that says what it is told to, and keeps what it was asked."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import NamedTuple, Self
from urllib.parse import parse_qsl, urlsplit

from _http_server import LoopbackServer

__all__ = ["CUT", "DROP", "HANG", "Answer", "Asked", "Service"]

DROP, CUT, HANG = "drop", "cut", "hang"


class Asked(NamedTuple):
    """One request as it came."""

    method: str
    path: str
    params: dict[str, str]
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True)
class Answer:
    """What is sent back; `fault` ends the connection before, within the body, or never."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict[str, str])
    fault: str = ""


class Service(LoopbackServer):
    """Gives its answers one by one; the last is given for ever."""

    def __init__(self, *answers: Answer) -> None:
        super().__init__()
        self.answers = list(answers)
        self.asked: list[Asked] = []
        self.gone = threading.Event()
        self.on_request: Callable[[], object] = lambda: None

    def says(self, *answers: Answer) -> Self:
        self.answers = list(answers)
        return self

    def respond(self, handler: BaseHTTPRequestHandler) -> None:
        parts = urlsplit(handler.path)
        body = handler.rfile.read(int(handler.headers.get("content-length") or 0))
        headers = {name.lower(): value for name, value in handler.headers.items()}
        self.asked.append(Asked(handler.command, parts.path, dict(parse_qsl(parts.query)), headers, body))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        self.on_request()
        handler.close_connection = True
        if answer.fault == HANG:
            handler.connection.recv(1)  # comes back when the client has gone
            self.gone.set()
        if answer.fault in (HANG, DROP):
            handler.connection.shutdown(socket.SHUT_RDWR)
            return
        handler.send_response(answer.status)
        for name, value in answer.headers.items():
            handler.send_header(name, value)
        handler.send_header(
            "content-length", str(len(answer.body) * (2 if answer.fault == CUT else 1) + 1 * (answer.fault == CUT))
        )
        handler.end_headers()
        handler.wfile.write(answer.body)
