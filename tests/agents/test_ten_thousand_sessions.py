"""Ten thousand sessions on one agent object: no cross-talk, and few bytes each beside what was said."""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from trivium import Agent
from trivium.llms import Request

pytestmark = pytest.mark.usefixtures("frozen", "without_the_collector")

SESSIONS = 10_000
THREADS = 32
MOST_BYTES = 4096


def heard(request: Request) -> str:
    """All that the users of this history said: a cross-talk would show in the answer."""
    return " + ".join(message["content"] for message in request.messages if message["role"] == "user")


class Echo:
    name = "echo"

    def stream(self, request: Request) -> Iterator[str]:
        yield heard(request)


class AsyncEcho:
    """Lets all the others run before it answers."""

    name = "async echo"

    async def stream(self, request: Request) -> AsyncIterator[str]:
        await asyncio.sleep(0)
        yield heard(request)


def said_in(agent: Agent) -> dict[Any, list[tuple[str, str]]]:
    assert agent.memory is not None
    sessions = list(agent.memory.memory_map)
    return {each: [(m.sender, m.content) for m in agent.memory.get_memory(each)] for each in sessions}


def expected(session: int) -> list[tuple[str, str]]:
    first, second = f"secret {session}", f"again {session}"
    return [("user", first), ("Agent", first), ("user", second), ("Agent", f"{first} + {second}")]


@pytest.mark.slow
def test_in_one_loop_no_session_hears_another():
    agent = Agent(AsyncEcho())

    async def talk(session: int) -> list[str]:
        told = [await agent.acall(f"{word} {session}", session_id=session) for word in ("secret", "again")]
        return [message.content for message in told]

    async def main() -> list[list[str]]:
        return await asyncio.gather(*[talk(session) for session in range(SESSIONS)])

    told = asyncio.run(main())
    assert said_in(agent) == {session: expected(session) for session in range(SESSIONS)}
    assert told == [[content for sender, content in expected(n) if sender == "Agent"] for n in range(SESSIONS)]


@pytest.mark.slow
def test_in_many_threads_no_session_hears_another():
    agent = Agent(Echo())

    def talk(session: int) -> list[str]:
        return [agent(f"{word} {session}", session_id=session).content for word in ("secret", "again")]

    with ThreadPoolExecutor(THREADS) as pool:
        told = list(pool.map(talk, range(SESSIONS)))
    assert said_in(agent) == {session: expected(session) for session in range(SESSIONS)}
    assert told == [[content for sender, content in expected(n) if sender == "Agent"] for n in range(SESSIONS)]


@pytest.mark.slow
def test_a_session_costs_few_bytes_beside_its_text():
    """A session of two messages, all that is kept for it counted: the place in the memory, the run tree, everything."""
    agent = Agent(Echo())
    agent("warm", session_id="warm")
    gc.collect()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for session in range(SESSIONS):
            agent(f"secret {session}", session_id=session)
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    kept = said_in(agent)
    assert len(kept) == SESSIONS + 1
    text = sum(len(content) for said in kept.values() for _, content in said)
    assert (after - before - text) / SESSIONS <= MOST_BYTES
