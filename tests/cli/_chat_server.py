"""A server that answers chat questions piece by piece, and holds an answer back where it is told to."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from typing import Any

from _http_server import LoopbackServer

__all__ = ["HOLD", "ChatAnswers"]

HOLD = "\x00hold"
"""A piece at which the server waits until it is let go, or the client has left."""


class ChatAnswers(LoopbackServer):
    """Answers each question with the pieces that `reply` makes of it.

    Attributes:
        asked: the bodies of the questions.
        left: set when a client has left an answer that was held back.
        held: called when an answer is held back.
    """

    def __init__(self, reply: Callable[[dict[str, Any]], list[str]]) -> None:
        super().__init__()
        self.reply = reply
        self.asked: list[dict[str, Any]] = []
        self.left = threading.Event()
        self.held: Callable[[], object] = lambda: None
        self._let_go = threading.Event()

    @property
    def options(self) -> tuple[str, ...]:
        """The options that send the command here."""
        return ("--model", "openai:tiny", "--base-url", f"{self.url}/v1")

    def texts(self) -> list[list[tuple[str, str]]]:
        """What was asked: role and content of each message."""
        return [[(each["role"], str(each.get("content"))) for each in body["messages"]] for body in self.asked]

    def let_go(self) -> None:
        """Send the answers that are held back."""
        self._let_go.set()

    def __exit__(self, *_: object) -> None:
        self.let_go()
        super().__exit__(*_)

    def respond(self, handler: BaseHTTPRequestHandler) -> None:
        body = json.loads(handler.rfile.read(int(handler.headers["content-length"])))
        self.asked.append(body)
        with suppress(ConnectionError):
            self.answer(handler, self.reply(body))

    def answer(self, handler: BaseHTTPRequestHandler, pieces: list[str]) -> None:
        """Send the pieces, one event each."""
        handler.send_response(200)
        handler.send_header("content-type", "text/event-stream")
        handler.send_header("connection", "close")
        handler.end_headers()
        for piece in pieces:
            if piece == HOLD:
                self._wait_for_leave(handler)
                continue
            handler.wfile.write(_event({"choices": [{"index": 0, "delta": _delta(piece)}]}))
            handler.wfile.flush()
        handler.wfile.write(b"data: [DONE]\n\n")

    def _wait_for_leave(self, handler: BaseHTTPRequestHandler) -> None:
        self.held()
        handler.connection.settimeout(0.02)
        while not self._let_go.is_set():
            try:
                if not handler.connection.recv(1):
                    self.left.set()
                    return
            except TimeoutError:
                continue


def _delta(piece: str) -> dict[str, Any]:
    if not piece.startswith("call:"):
        return {"content": piece}
    _, name, arguments = piece.split(":", 2)
    function = {"name": name, "arguments": arguments}
    return {"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": function}]}


def _event(chunk: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"
