"""A real server that speaks the OpenAI interface: one answer for each question, some of them held back."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from typing import Any, NamedTuple

from _http_server import LoopbackServer

__all__ = ["ModelServer", "Reply", "record_of"]


_LETTER = re.compile(r"(\w+) pays EUR (\d+) since ([0-9-]+)")


class Reply(NamedTuple):
    """What a question gets: a record as an event stream, or any bytes with a status.

    With `held`, the head is sent and the rest waits until the server is let go.
    """

    record: Mapping[str, Any] | None = None
    status: int = 200
    body: bytes = b""
    kind: str = "application/json"
    held: bool = False


def record_of(question: str) -> Reply:
    """The record of a question that holds 'NAME pays EUR RENT since DATE.'"""
    found = _LETTER.search(question)
    assert found is not None
    tenant, rent, starts = found.groups()
    return Reply({"tenant": tenant, "rent": f"EUR {rent}", "starts": starts})


def text_of(body: Mapping[str, Any]) -> str:
    """All that a question says."""
    return "\n".join(str(message.get("content") or "") for message in body["messages"])


class ModelServer(LoopbackServer):
    """Answers on the loopback interface with what `reply` makes of the document's text.

    Attributes:
        asked: the bodies of the questions.
        holding: set as soon as an answer is held back.
    """

    def __init__(self, reply: Callable[[str], Reply] = record_of) -> None:
        super().__init__()
        self.reply: Callable[[str], Reply] = reply
        self.asked: list[dict[str, Any]] = []
        self.holding, self._let_go = threading.Event(), threading.Event()

    @property
    def options(self) -> tuple[str, ...]:
        """The options that send the command here."""
        return ("--base-url", f"{self.url}/v1")

    def tenants(self) -> list[str]:
        """Whose letters were asked about."""
        return [found[1] for body in self.asked if (found := _LETTER.search(text_of(body)))]

    def let_go(self) -> None:
        """Send what was held back, and hold nothing more."""
        self._let_go.set()

    def __exit__(self, *_: object) -> None:
        self.let_go()
        super().__exit__(*_)

    def respond(self, handler: BaseHTTPRequestHandler) -> None:
        body = json.loads(handler.rfile.read(int(handler.headers["content-length"])))
        self.asked.append(body)
        with suppress(ConnectionError):  # the command may have been interrupted
            self.answer(handler, self.reply(text_of(body)))

    def answer(self, handler: BaseHTTPRequestHandler, reply: Reply) -> None:
        """Send a reply, its record in pieces that cut the arguments anywhere."""
        handler.send_response(reply.status)
        handler.send_header("content-type", "text/event-stream" if reply.record is not None else reply.kind)
        handler.send_header("connection", "close")
        handler.end_headers()
        handler.wfile.flush()
        if reply.held:
            self.holding.set()
            self._let_go.wait()
        for piece in [reply.body] if reply.record is None else _events(reply.record):
            handler.wfile.write(piece)
            handler.wfile.flush()


def _events(record: Mapping[str, Any]) -> Iterator[bytes]:
    text = json.dumps(record)
    yield _call({"index": 0, "id": "call_1", "type": "function", "function": {"name": "record", "arguments": ""}})
    for start in range(0, len(text), 7):
        yield _call({"index": 0, "function": {"arguments": text[start : start + 7]}})
    yield _event({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
    yield _event({"choices": [], "usage": {"prompt_tokens": 40, "completion_tokens": 2, "total_tokens": 42}})
    yield b"data: [DONE]\n\n"


def _call(call: dict[str, Any]) -> bytes:
    return _event({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]})


def _event(chunk: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"
