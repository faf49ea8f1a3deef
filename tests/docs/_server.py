"""A server on the loopback interface that speaks the OpenAI interface and answers from a script."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import Any, TypeAlias

from _http_server import LoopbackServer

__all__ = ["Answer", "Question", "ScriptedServer"]

_USAGE = {"prompt_tokens": 40, "completion_tokens": 2, "total_tokens": 42}
Question: TypeAlias = dict[str, Any]
"""The body of a request."""
Answer: TypeAlias = "str | tuple[str, Mapping[str, Any]] | HTTPStatus"
"""A text, the name and the arguments of a tool, or an error."""


class ScriptedServer(LoopbackServer):
    """Answers each question with what `answer` makes of it, in pieces if the client wants them.

    Attributes:
        asked: the questions, oldest first.
    """

    def __init__(self, answer: Callable[[Question], Answer]) -> None:
        super().__init__()
        self.answer = answer
        self.asked: list[Question] = []

    @property
    def url(self) -> str:
        """What `--base-url` takes."""
        return f"{super().url}/v1"

    def respond(self, handler: BaseHTTPRequestHandler) -> None:
        """Send the answer as a stream of deltas, or an error."""
        question = json.loads(handler.rfile.read(int(handler.headers["content-length"])))
        self.asked.append(question)
        answer = self.answer(question)
        if isinstance(answer, HTTPStatus):
            handler.send_error(answer)
            return
        handler.send_response(200)
        if not question.get("stream"):
            handler.send_header("content-type", "application/json")
            handler.end_headers()
            handler.wfile.write(json.dumps(_whole(answer, len(self.asked))).encode())
            return
        handler.send_header("content-type", "text/event-stream")
        handler.end_headers()
        for chunk in _chunks(answer, len(self.asked)):
            handler.wfile.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")
        handler.wfile.write(b"data: [DONE]\n\n")


def _chunks(answer: str | tuple[str, Mapping[str, Any]], number: int) -> Iterator[dict[str, Any]]:
    if isinstance(answer, str):
        for word in re.findall(r"\S+\s*|\s+", answer):
            yield _delta({"content": word})
    else:
        yield _delta({"tool_calls": [{"index": 0, **_call(answer, number)}]})
    yield {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    yield {"choices": [], "usage": _USAGE}


def _whole(answer: str | tuple[str, Mapping[str, Any]], number: int) -> dict[str, Any]:
    said = {"content": answer} if isinstance(answer, str) else {"content": None, "tool_calls": [_call(answer, number)]}
    choice = {"index": 0, "message": {"role": "assistant", **said}, "finish_reason": "stop"}
    top = {"id": f"answer_{number}", "object": "chat.completion", "created": 0, "model": "stand-in"}
    return {**top, "choices": [choice], "usage": _USAGE}


def _call(answer: tuple[str, Mapping[str, Any]], number: int) -> dict[str, Any]:
    name, arguments = answer
    return {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


def _delta(delta: dict[str, Any]) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta}]}
