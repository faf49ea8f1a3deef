"""Inside programs of other kinds: anyio, trio, a fork, a thread pool."""

from __future__ import annotations

import asyncio
import multiprocessing
import subprocess
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import anyio.to_thread
import pytest
import trio

from trivium import Agent, Message
from trivium.commander import current
from trivium.commander._workers import lock, start_loop
from trivium.exceptions import NoEventLoopError

from ._helpers import (
    GUARD,
    AsyncNest,
    AsyncWaiter,
    MixedNest,
    SyncNest,
    aadd,
    add,
    adder,
    calling,
    every_entry,
    nest,
)

ANSWER = "done:3"


async def anyio_tool(a: int) -> int:
    """A tool written for anyio: task groups, cancel scopes, threads."""
    async with anyio.create_task_group() as group:
        group.start_soon(anyio.sleep, 0)
    with anyio.move_on_after(0.001) as scope:
        await anyio.sleep_forever()
    assert scope.cancelled_caught
    with anyio.fail_after(GUARD):
        return await anyio.to_thread.run_sync(lambda: a)


@every_entry
def test_tools_written_for_anyio_run(entry: Any):
    module = nest((SyncNest, AsyncNest), Agent(calling("anyio_tool", times=2, a=5), tools=[anyio_tool]))
    assert entry(module, "x").content == "done:5,501"


def test_a_call_in_an_anyio_program_on_asyncio():
    async def main() -> str:
        async with anyio.create_task_group() as group:
            for session in range(20):
                group.start_soon(lambda session=session: adder().acall("x", session_id=session))
        return (await adder().acall("x")).content

    assert anyio.run(main) == ANSWER


def test_an_anyio_scope_cancels_a_call():
    model = AsyncWaiter()

    async def main() -> bool:
        with anyio.move_on_after(0.05) as scope:
            await SyncNest(Agent(model), "").acall("x")
        return scope.cancelled_caught

    assert anyio.run(main)
    assert len(model.closed) == model.asked.is_set()


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_sync_call_from_a_worker_of_anyio(backend: str):
    modules = [nest((SyncNest, MixedNest), adder()) for _ in range(10)]

    async def main() -> list[str]:
        found: list[str] = []

        async def one(module: Any) -> None:
            found.append((await anyio.to_thread.run_sync(module, "x")).content)

        async with anyio.create_task_group() as group:
            for module in modules:
                group.start_soon(one, module)
        return found

    assert anyio.run(main, backend=backend) == [ANSWER + "01"] * 10


def test_a_sync_call_in_a_trio_program():
    async def main() -> str:
        await trio.lowlevel.checkpoint()
        return nest((AsyncNest, SyncNest), adder())("x").content

    assert trio.run(main) == ANSWER + "01"
    assert current.get() is None


def test_calls_from_a_thread_pool():
    module = nest((AsyncNest, SyncNest), adder())

    def call(session: int) -> str:
        return module("x", session_id=session).content

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(call, range(40)))
    assert found == [ANSWER + "01"] * 40


def _in_child(pipe: Any) -> None:
    pipe.send(nest((AsyncNest, SyncNest), adder())("x").content)
    pipe.send(list(Agent(calling("add", a=1, b=2), tools=[add]).stream("x"))[-1].kind)


def fork(target: Any, *args: Any, method: str = "fork") -> Any:
    with warnings.catch_warnings():  # Python 3.12 warns of every fork where there are threads
        warnings.simplefilter("ignore", DeprecationWarning)
        context: Any = multiprocessing.get_context(method)
        child = context.Process(target=target, args=args, daemon=True)
        child.start()
    return child


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_child_process_starts_anew(method: str):
    assert nest((AsyncNest,), adder())("x").content == ANSWER + "0"  # workers and a background loop are there
    here, there = multiprocessing.Pipe()
    child = fork(_in_child, there, method=method)
    assert here.poll(GUARD)
    assert (here.recv(), here.recv()) == (ANSWER + "01", "ended")
    child.join(GUARD)
    assert child.exitcode == 0


def test_a_child_does_not_wait_for_what_a_thread_of_its_parent_held():
    begun, go = threading.Event(), threading.Event()

    def hold() -> str:
        if not begun.is_set():
            begun.set()
            assert go.wait(GUARD)
        return "held"

    agent = Agent(calling("hold"), tools=[hold])
    thread = threading.Thread(target=agent, args=("x",))
    thread.start()
    assert begun.wait(GUARD)
    here, there = multiprocessing.Pipe()
    with lock:
        child = fork(lambda: there.send(agent("x").content))
    assert here.poll(GUARD), "the child waits for a call that is none of its own"
    assert here.recv() == "done:held"
    go.set()
    thread.join(GUARD)
    child.join(GUARD)


def test_a_profiler_that_replaces_locks_is_not_taken_for_gevent(monkeypatch: pytest.MonkeyPatch):
    """As Datadog's does; the locks that it makes are those of Python."""
    real = threading.Lock
    monkeypatch.setattr(threading, "Lock", lambda: real())
    assert asyncio.run_coroutine_threadsafe(asyncio.sleep(0, "it runs"), start_loop(0)).result(GUARD) == "it runs"


def test_under_gevent_a_call_that_needs_an_event_loop_is_refused(monkeypatch: pytest.MonkeyPatch):
    """Its threads are greenlets of one thread, in which a second loop cannot run: the call waited for ever."""
    replaced = type("replaced", (), {"__module__": "gevent.thread"})
    monkeypatch.setattr("trivium.commander._workers.threading", SimpleNamespace(get_ident=replaced))
    with pytest.raises(NoEventLoopError, match="gunicorn -k gthread"):
        start_loop(0)


LEFT = """
from commander._helpers import AsyncWaiter
from trivium import Agent
events = iter(Agent(AsyncWaiter()).stream("hi"))
next(events)
"""


def test_a_program_ends_though_it_still_has_a_stream_that_is_not_read_to_its_end():
    """The interpreter closes it when the thread of the call runs no more."""
    command = [sys.executable, "-X", "dev", "-c", LEFT]
    ended = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True, timeout=GUARD)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_loop_bound_thing_of_the_callers_loop_serves_an_async_call():
    """A future of the running loop, used by a tool of an async call: the tool runs on that very loop."""

    async def main() -> str:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[int] = loop.create_future()
        loop.call_soon(future.set_result, 7)

        async def tool() -> int:
            return await future

        out: Message = await SyncNest(Agent(calling("tool"), tools=[tool]), "").acall("x")
        return out.content

    assert asyncio.run(main()) == "done:7"


def test_an_async_tool_is_not_driven_by_hand():
    """`aadd` really suspends: under a sync call it runs on a loop, and its caller waits."""
    assert Agent(calling("aadd", times=3, a=1, b=2), tools=[aadd])("x").content == "done:3,3,3"
