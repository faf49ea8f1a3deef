"""Agents to serve, and a client that knows nothing of trivium: plain requests to a real server."""

from __future__ import annotations

import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import httpx2

from trivium import Message, Module
from trivium.commander import run_sync, wait
from trivium.distributed import AgentServer
from trivium.memory import MemoryManager

__all__ = ["GUARD", "TOKEN", "Ask", "AsyncEcho", "AsyncSleeper", "Echo", "Sleeper", "events_of", "served"]

GUARD = 30.0
"""Seconds after which something hangs; nothing here waits for it to pass."""
TOKEN = "right-token"


class Echo(Module):
    """Says what it was told, with the number of what it remembers."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name=name, memory=MemoryManager())

    def forward(self, message: Message, session_id: Any, **kwargs: Any) -> Any:
        assert self.memory is not None
        said = len(self.memory.get_memory(session_id))
        return json.dumps([said, message.sender, message.content, kwargs])


class AsyncEcho(Echo):
    async def forward(self, message: Message, session_id: Any, **kwargs: Any) -> Any:
        return super().forward(message, session_id, **kwargs)


class Sleeper(Module):
    """Works until it is stopped, and tells when it began and when it ended."""

    def __init__(self) -> None:
        super().__init__()
        self.began, self.ended = threading.Semaphore(0), threading.Semaphore(0)

    def forward(self, *message: Message) -> Any:
        self.began.release()
        try:
            run_sync(wait)
        finally:
            self.ended.release()
        return "nobody stopped me"


class AsyncSleeper(Sleeper):
    async def forward(self, *message: Message) -> Any:
        self.began.release()
        try:
            await wait()
        finally:
            self.ended.release()
        return "nobody stopped me"


class Ask:
    """Plain requests to a server."""

    def __init__(self, server: AgentServer, token: str = TOKEN) -> None:
        self.url = server.url
        self.http = httpx2.Client(base_url=server.url, trust_env=False, verify=False, timeout=GUARD)
        if token:
            self.http.headers["authorization"] = f"Bearer {token}"

    def chat(self, message: Any, **body: Any) -> httpx2.Response:
        return self.http.post("/chat_completion", json={"message": message, **body})

    def events(self, message: Any, **body: Any) -> list[dict[str, Any]]:
        """What a stream says, without its last word, which must be [DONE]."""
        response = self.chat(message, **body, stream=True)
        assert response.headers["content-type"].startswith("text/event-stream")
        return events_of(response.text)


def events_of(text: str) -> list[dict[str, Any]]:
    data = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")]
    assert data.pop() == "[DONE]"
    return [json.loads(each) for each in data]


@contextmanager
def served(agent: Module, **options: Any) -> Generator[Ask]:
    """A real server of that agent on a free port, and who asks it."""
    options = {"token": TOKEN, "port": 0, **options}
    server = AgentServer(agent, **options)
    server.start()
    ask = Ask(server, options["token"] if isinstance(options["token"], str) else "")
    with ask.http:  # closed after the server: a test may see how that ends what goes on
        try:
            yield ask
        finally:
            server.close()
