"""Callbacks that keep what they are told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

from trivium import Agent, Message
from trivium.schema import StreamEventType

__all__ = ["SHOWN", "Seen", "called", "given_to", "names", "recorded"]

Seen = list[tuple[str, Any]]
SHOWN = (
    "cancel_llm_stream", "finish_llm_stream", "show_llm_response", "show_agent_response", "show_error_message",
    "show_start_response",
)  # fmt: skip


def recorded(agent: Agent, *, streams: bool = True, is_async: bool = False, only: Iterable[str] = SHOWN) -> Seen:
    """Set the callbacks, plain or async; what they are told."""
    seen: Seen = []

    def recorder(name: str) -> Callable[..., Any]:
        def plain(**given: Any) -> None:
            seen.append((name, given))

        async def later(**given: Any) -> None:
            await asyncio.sleep(0)
            seen.append((name, given))

        return later if is_async else plain

    def start() -> Callable[..., None]:
        seen.append(("start_llm_stream", None))

        def give(token: str, kind: StreamEventType) -> None:
            seen.append(("token", (token, kind.name)))

        return give

    async def start_later() -> Callable[..., Any]:
        await asyncio.sleep(0)
        stream = start()

        async def give(token: str, kind: StreamEventType) -> None:
            await asyncio.sleep(0)
            stream(token, kind)

        return give

    callbacks = agent.callbacks
    if streams:
        setattr(
            callbacks, "start_llm_stream_async" if is_async else "start_llm_stream", start_later if is_async else start
        )
    for name in only:
        setattr(callbacks, name, recorder(name))
    return seen


def called(agent: Agent, text: str, is_async: bool) -> Message:
    return asyncio.run(agent.acall(text)) if is_async else agent(text)


def names(seen: Seen) -> list[str]:
    return [name for name, _ in seen]


def given_to(seen: Seen, name: str) -> list[Any]:
    return [given for each, given in seen if each == name]
