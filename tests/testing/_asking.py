"""What the tests of cassettes ask, and whom."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from docs._server import ScriptedServer
from trivium.llms import OpenAIModel, Request, RetryPolicy
from trivium.testing import cassette

__all__ = ["HI", "KEY", "ask", "echoed", "recorded", "whole"]

KEY = "sk-marked-0123456789"
HI = Request([{"role": "user", "content": "hi"}])


def echoed(question: dict[str, Any]) -> str:
    return f"you said {question['messages'][-1]['content']}"


def ask(url: str, text: str = "hi", key: str | None = KEY) -> str:
    return OpenAIModel("m", base_url=url, api_key=key).chat(text)


def recorded(file: Path, *texts: str) -> str:
    """Record a question each, and give the address, where nobody is any more."""
    with ScriptedServer(echoed) as server, cassette(file):
        for text in texts or ("hi",):
            ask(server.url, text)
    return server.url


def whole(url: str) -> list[Any]:
    async def run() -> list[Any]:
        model = OpenAIModel("m", base_url=url, retry=RetryPolicy(max_tries=1))
        return [delta async for delta in model.stream(HI)]

    return asyncio.run(run())
