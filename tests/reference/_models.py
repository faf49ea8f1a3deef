"""The model that is put in the place of the documents' models, and servers that answer as their services do."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from trivium.llms import BaseLLM
from trivium.utils import filter_suffix

__all__ = ["Place", "chat_server", "search_server"]

Chat = Callable[[list[dict[str, Any]]], str]


class Place:
    """Where answers are laid down for the models that a program makes, whatever it passes to them."""

    def __init__(self) -> None:
        self.answers: deque[str] = deque()
        self.prompts: list[str] = []

    def model(self, **kwargs: Any) -> BaseLLM:
        """A model as `VllmModel` would be; `tp` is how many cards it takes."""
        kwargs.pop("tp")
        return _Model(self, **kwargs)


class _Model(BaseLLM):
    def __init__(self, place: Place, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.place = place

    def complete(self, prompt: Any, parameters: Mapping[str, Any]) -> Iterator[str]:
        self.place.prompts.append(prompt)
        yield filter_suffix(self.place.answers.popleft(), parameters["stop_words"])


class _Quiet(BaseHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass

    def reply(self, body: bytes, kind: str = "application/json") -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def _served(handler: type[_Quiet]) -> Generator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def chat_server(answer: Chat, asked: list[dict[str, Any]]) -> Generator[str]:
    """A server that speaks OpenAI's chat interface, stop words included; its base URL."""

    class Handler(_Quiet):
        def do_POST(self) -> None:
            body: dict[str, Any] = json.loads(self.rfile.read(int(self.headers["content-length"])))
            asked.append(body)
            text = filter_suffix(answer(body["messages"]), body.get("stop"))
            choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
            self.reply(json.dumps({"choices": [choice]}).encode())

    with _served(Handler) as place:
        yield f"http://{place}/v1"


@contextmanager
def search_server(pages: Mapping[str, str], searched: list[str]) -> Generator[str]:
    """A server that answers as Bing's search does, and holds the pages that it finds; its place."""

    class Handler(_Quiet):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            if parts.path in pages:
                self.reply(pages[parts.path].encode(), "text/html; charset=utf-8")
                return
            searched.append(parse_qs(parts.query)["q"][0])
            at = f"http://{self.headers['host']}"
            found = [{"url": at + path, "name": path.strip("/"), "snippet": f"about {path}"} for path in pages]
            self.reply(json.dumps({"webPages": {"value": found}}).encode())

    with _served(Handler) as place:
        yield place
