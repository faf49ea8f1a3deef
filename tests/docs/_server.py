"""A server on the loopback interface that speaks the OpenAI interface and answers from a script."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self, TypeAlias

__all__ = ["Answer", "Question", "ScriptedServer"]

Question: TypeAlias = dict[str, Any]
"""The body of a request."""
Answer: TypeAlias = "str | tuple[str, Mapping[str, Any]] | HTTPStatus"
"""A text, the name and the arguments of a tool, or an error."""


class ScriptedServer:
    """Answers each question with what `answer` makes of it.

    Attributes:
        asked: the questions, oldest first.
    """

    def __init__(self, answer: Callable[[Question], Answer]) -> None:
        self.answer = answer
        self.asked: list[Question] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    @property
    def url(self) -> str:
        """What `--base-url` takes."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

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

            def do_POST(self) -> None:
                question = json.loads(self.rfile.read(int(self.headers["content-length"])))
                outer.asked.append(question)
                answer = outer.answer(question)
                if isinstance(answer, HTTPStatus):
                    self.send_error(answer)
                    return
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.end_headers()
                for chunk in _chunks(answer, len(outer.asked)):
                    self.wfile.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")
                self.wfile.write(b"data: [DONE]\n\n")

        return Handler


def _chunks(answer: str | tuple[str, Mapping[str, Any]], number: int) -> Iterator[dict[str, Any]]:
    if isinstance(answer, str):
        for word in re.findall(r"\S+\s*|\s+", answer):
            yield _delta({"content": word})
    else:
        name, arguments = answer
        function = {"name": name, "arguments": json.dumps(arguments)}
        yield _delta({"tool_calls": [{"index": 0, "id": f"call_{number}", "type": "function", "function": function}]})
    yield {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    yield {"choices": [], "usage": {"prompt_tokens": 40, "completion_tokens": 2, "total_tokens": 42}}


def _delta(delta: dict[str, Any]) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta}]}
