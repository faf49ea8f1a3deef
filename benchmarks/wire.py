"""What the client of model servers costs beside a bare request and beside OpenAI's own SDK: `make bench-wire`.

A server in another process answers at once. Figures are microseconds of processor time of this process for one
request, the least of several rounds, all in one run; the bare request is one of httpx2, with the same body, whose
answer is read and thrown away. Quote ratios.

A turn of a session with 1,000 messages sends more bytes than one with 10. What these cost by themselves is measured in
the same rounds: the same body is written to a bare socket, and its answer read. Without the bytes, the longer turn
counts less by what the longer body costs more there.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import logging
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

sys.path.insert(0, str(Path(__file__).parent))

from running import running

MESSAGES = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Say twenty words. " * 5}]
ANSWERS = ("whole", "pieces-1", "pieces-20", "pieces-500")
FIRST_CALL = """
import sys, time
from trivium.llms import OpenAIModel
began = time.process_time()
OpenAIModel("pieces-1", base_url={url!r}).chat("hi")
print(time.process_time() - began)
"""
Call = Callable[[str], Awaitable[Any]]


def server() -> AbstractContextManager[str]:
    """The address of a server in another process."""
    return running(Path(__file__).with_name("wire_server.py"))


@asynccontextmanager
async def bare(url: str) -> AsyncGenerator[Call]:
    import httpx2

    client = httpx2.AsyncClient(timeout=60, limits=httpx2.Limits(max_connections=1000))

    async def call(model: str) -> None:
        body = {"model": model, "messages": MESSAGES, "stream": model != "whole"}
        data, headers = json.dumps(body).encode(), {"content-type": "application/json", "authorization": "Bearer k"}
        async with client.stream("POST", url + "/chat/completions", content=data, headers=headers) as response:
            async for _ in response.aiter_bytes():
                pass

    async with client:
        yield call


@asynccontextmanager
async def sdk(url: str) -> AsyncGenerator[Call]:
    from openai import AsyncOpenAI

    client: Any = AsyncOpenAI(api_key="k", base_url=url)

    async def call(model: str) -> None:
        if model == "whole":
            await client.chat.completions.create(model=model, messages=MESSAGES)
            return
        options = {"include_usage": True}
        stream = await client.chat.completions.create(
            model=model, messages=MESSAGES, stream=True, stream_options=options
        )
        async for _ in stream:
            pass

    async with client:
        yield call


@asynccontextmanager
async def trivium(url: str) -> AsyncGenerator[Call]:
    from trivium.llms import OpenAIModel

    models: dict[str, OpenAIModel] = {}

    async def call(model: str) -> None:
        if model not in models:
            models[model] = OpenAIModel(model, base_url=url, api_key="k")
        await models[model].chat_async(MESSAGES)

    yield call


async def cost(call: Call, model: str, times: int, rounds: int) -> float:
    """Microseconds of processor time of one request, the least of several rounds."""
    await call(model)
    best = float("inf")
    for _ in range(rounds):
        gc.collect()
        began = time.process_time()
        for _ in range(times):
            await call(model)
        best = min(best, time.process_time() - began)
    return best / times * 1e6


async def at_once(call: Call, many: int, rounds: int) -> float:
    """Requests a second of processor time with so many at once, the best of several rounds."""
    best = 0.0
    for _ in range(rounds):
        gc.collect()
        began = time.process_time()
        await asyncio.gather(*[call("pieces-20") for _ in range(many)])
        best = max(best, many / (time.process_time() - began))
    return best


async def after(url: str, sizes: tuple[int, ...], times: int, rounds: int) -> dict[int, dict[str, float]]:
    """Microseconds of an agent's turn, and of its bytes alone, by how many messages the session has before."""
    from trivium import Agent, Message
    from trivium.llms import OpenAIModel

    agent = Agent(OpenAIModel("pieces-1", base_url=url, api_key="k"))
    reader, writer = await asyncio.open_connection(*urlsplit(url).netloc.split(":"))
    found = {size: {"turn": float("inf"), "bytes": float("inf")} for size in sizes}

    async def write(body: bytes) -> None:
        writer.write(b"POST / HTTP/1.1\r\ncontent-length: %d\r\n\r\n" % len(body) + body)
        await reader.readuntil(b"\r\n0\r\n\r\n")

    for _ in range(rounds):
        for size, least in found.items():
            session = uuid4().hex
            said = (Message(content=f"message {at} " * 5, sender=("user", agent.name)[at % 2]) for at in range(size))
            agent.memory.add(list(said), session)
            turn = partial(agent.acall, "go", session_id=session)
            least["turn"] = min(least["turn"], await mean(turn, times))
            told = agent.aggregator.aggregate(agent.memory.open(session), agent.name)
            body = json.dumps({"model": "pieces-1", "messages": told[: size + times], "stream": True}).encode()
            least["bytes"] = min(least["bytes"], await mean(partial(write, body), times))
            agent.memory.reset(session)
    writer.close()
    return found


async def mean(do: Callable[[], Awaitable[Any]], times: int) -> float:
    """Microseconds of processor time of one of so many, after eight, by which a long history is written in blocks."""
    for _ in range(8):
        await do()
    gc.collect()
    began = time.process_time()
    for _ in range(times):
        await do()
    return (time.process_time() - began) / times * 1e6


async def measure(url: str, times: int, rounds: int, many: int) -> dict[str, dict[str, float]]:
    async with bare(url) as floor, sdk(url) as theirs, trivium(url) as ours:
        return await measured({"bare": floor, "sdk": theirs, "trivium": ours}, times, rounds, many)


async def measured(clients: dict[str, Call], times: int, rounds: int, many: int) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for answer in ANSWERS:
        count = times // 10 if answer == "pieces-500" else times
        found[answer] = {name: await cost(call, answer, count, rounds) for name, call in clients.items()}
    for size in (250_000, 1_000_000):
        found[f"arguments-{size}"] = {
            name: await cost(call, f"arguments-{size}", 1, 3) for name, call in clients.items() if name != "sdk"
        }
    found["at once"] = {name: await at_once(call, many, rounds) for name, call in clients.items()}
    return found


def first_call(url: str) -> float:
    """Seconds of processor time from the import's end to the end of the first answer, the best of five processes."""
    command = [sys.executable, "-c", FIRST_CALL.format(url=url)]
    return min(float(subprocess.run(command, capture_output=True, text=True, check=True).stdout) for _ in range(5))


def show(found: dict[str, dict[str, float]], first: float, many: int) -> None:
    print(f"{'one request, µs':22}{'httpx2':>10}{'SDK':>10}{'trivium':>10}{'to httpx2':>12}{'to SDK':>10}")
    for answer in ANSWERS:
        bare, sdk, ours = (found[answer][name] for name in ("bare", "sdk", "trivium"))
        print(f"{answer:22}{bare:10.0f}{sdk:10.0f}{ours:10.0f}{ours / bare:12.2f}{ours / sdk:10.2f}")
    long, short = found["pieces-500"], found["pieces-1"]
    deltas = ", ".join(f"{name} {(long[name] - short[name]) / 499:.1f} µs" for name in ("bare", "sdk", "trivium"))
    print(f"a delta: {deltas}")
    quarter, whole = (found[f"arguments-{size}"]["trivium"] / 1e6 for size in (250_000, 1_000_000))
    print(f"streamed arguments: 250 kB {quarter:.2f} s, 1 MB {whole:.2f} s, ratio {whole / quarter:.2f} (4 is linear)")
    rates = found["at once"]
    print(f"{many} at once, requests a second: " + ", ".join(f"{name} {rate:.0f}" for name, rate in rates.items()))
    print(f"  trivium / SDK {rates['trivium'] / rates['sdk']:.2f}")
    print(f"first call after the import: {first * 1000:.0f} ms")


def show_after(found: dict[int, dict[str, float]]) -> None:
    least = min(found)
    for size, cost in found.items():
        more = cost["bytes"] - found[least]["bytes"]
        whole, rest = (value / found[least]["turn"] for value in (cost["turn"], cost["turn"] - more))
        print(
            f"a turn after {size:5,} messages: {cost['turn']:5.0f} µs, its bytes alone {cost['bytes']:4.0f} µs; ",
            end="",
        )
        print(f"to one after {least} {whole:.2f}, without the bytes {rest:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=200, help="requests in a round")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--many", type=int, default=500, help="requests at once")
    given = parser.parse_args()
    logging.disable(logging.INFO)
    with server() as url:
        show_after(asyncio.run(after(url, (10, 100, 1000), 16, given.rounds)))
        found = asyncio.run(measure(url, given.times, given.rounds, given.many))
        show(found, first_call(url), given.many)


if __name__ == "__main__":
    main()
