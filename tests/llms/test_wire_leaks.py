"""Ten thousand calls over real sockets leave nothing behind: no socket, no task, no thread, no memory."""

# Open connections are visible only in the pools of the transport.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from weakref import ref

import pytest

from trivium import Agent
from trivium.http import HTTPClient
from trivium.llms import OpenAIModel

pytestmark = pytest.mark.usefixtures("frozen")

SERVER = Path(__file__).parents[2] / "benchmarks/wire_server.py"
CALLS, AT_ONCE = 10_000, 50


@pytest.fixture
def url() -> Iterator[str]:
    """The address of a server in another process, that answers at once."""
    with subprocess.Popen([sys.executable, str(SERVER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().decode().strip()}/v1"
        finally:
            process.kill()


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def blocks() -> int:
    """Pieces of memory that Python holds."""
    gc.collect()
    return sys.getallocatedblocks()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_ten_thousand_calls_leave_nothing_behind(url: str):
    model = OpenAIModel("whole", base_url=url)
    agent = Agent(model, memory=False)

    async def some(calls: int) -> None:
        for _ in range(calls // AT_ONCE):
            await asyncio.gather(*[agent.acall("hi") for _ in range(AT_ONCE)])

    async def all_calls() -> tuple[list[int], list[int]]:
        await some(1000)
        before = [open_files(), threading.active_count(), len(asyncio.all_tasks()), blocks()]
        await some(CALLS)
        return before, [open_files(), threading.active_count(), len(asyncio.all_tasks()), blocks()]

    outside = open_files()
    before, after = asyncio.run(all_calls())
    assert [now <= then for now, then in zip(after[:3], before[:3], strict=True)] == [True] * 3
    assert after[3] - before[3] < CALLS / 10, "pieces of memory that ten thousand calls have left"
    assert open_files() <= outside, "the loop's connections are closed with it"


def test_a_loop_for_each_call_leaves_nothing_behind(url: str):
    model = OpenAIModel("whole", base_url=url)
    agent = Agent(model, memory=False)

    def call() -> None:
        asyncio.run(agent.acall("hi"))

    call()
    agent("hi")
    before = open_files(), threading.active_count()
    for _ in range(100):
        call()
        agent("hi")
    assert open_files() <= before[0]
    assert threading.active_count() <= before[1]  # idle threads of tests before this one may have ended
    gc.collect()
    client = model._transport._client
    assert isinstance(client, HTTPClient)
    assert len(client._pools) == 1, "that of the background loop"


class Held:
    """Something that a run has as its context."""


def test_the_timers_of_a_request_keep_nothing_of_its_run(url: str):
    agent = Agent(OpenAIModel("whole", base_url=url), memory=False)

    async def run() -> object:
        await agent.acall("hi")  # the connection that it makes goes on
        held = Held()
        seen = ref(held)
        await agent.acall("hi", context=held)
        del held
        gc.collect()
        return seen()

    assert asyncio.run(run()) is None
