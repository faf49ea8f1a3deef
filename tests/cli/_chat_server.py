"""A server that answers chat questions piece by piece, and holds an answer back where it is told to."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

__all__ = ["HOLD", "ChatAnswers"]

HOLD = "\x00hold"
"""A piece at which the server waits until it is let go, or the client has left."""


class ChatAnswers:
    """Answers each question with the pieces that `reply` makes of it.

    Attributes:
        asked: the bodies of the questions.
        left: set when a client has left an answer that was held back.
        held: called when an answer is held back.
    """

    def __init__(self, reply: Callable[[dict[str, Any]], list[str]]) -> None:
        self.reply = reply
        self.asked: list[dict[str, Any]] = []
        self.left = threading.Event()
        self.held: Callable[[], object] = lambda: None
        self._let_go = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    @property
    def options(self) -> tuple[str, ...]:
        """The options that send the command here."""
        return ("--model", "openai:tiny", "--base-url", f"http://127.0.0.1:{self._server.server_address[1]}/v1")

    def texts(self) -> list[list[tuple[str, str]]]:
        """What was asked: role and content of each message."""
        return [[(each["role"], str(each.get("content"))) for each in body["messages"]] for body in self.asked]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._let_go.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, format: str, *args: Any) -> None:
                """Silence: tests look at `asked` instead."""

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                outer.asked.append(body)
                with suppress(ConnectionError):
                    outer.answer(self, outer.reply(body))

        return Handler

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
