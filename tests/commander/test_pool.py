"""Work for each item of a source: how many at once, what is pulled when, and what a failure leaves."""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from trivium import ChatAgent, Message, Module, Task
from trivium.commander import ThreadEvent, driver_neutral, for_each, run_sync, step, wait
from trivium.commander.lowlevel import run_in_worker
from trivium.exceptions import TriviumError
from trivium.extraction import Outcome, extract_files
from trivium.testing import ScriptedModel

from ._helpers import GUARD, in_thread


@driver_neutral
async def inside(items: Any, work: Callable[[int, Any], Any], at_once: int = 1) -> None:
    with step("pool"):
        await for_each(items, work, at_once)


def in_a_loop(items: Any, work: Callable[[int, Any], Any], at_once: int = 1) -> None:
    asyncio.run(inside(items, work, at_once))


def blocking(items: Any, work: Callable[[int, Any], Any], at_once: int = 1) -> None:
    run_sync(inside, items, work, at_once)


both = pytest.mark.parametrize("run", [blocking, in_a_loop])


@both
@pytest.mark.parametrize("at_once", [1, 3, 50])
def test_each_item_of_a_slow_source_is_worked_on_once_with_its_number(run: Any, at_once: int):
    seen: list[tuple[int, str]] = []
    pulling = threading.Lock()

    def generated() -> Iterator[str]:
        for each in "abcdefg":
            assert pulling.acquire(blocking=False), "two pull at once"
            pulling.release()
            yield each

    async def arriving() -> AsyncIterator[str]:
        for each in "abcdefg":
            await asyncio.sleep(0)
            yield each

    @driver_neutral
    async def work(index: int, item: str) -> None:
        seen.append((index, item))
        await wait(0)

    for source in (generated(), arriving(), list("abcdefg"), "abcdefg", set("a"), []):
        seen.clear()
        run(source, work, at_once)
        assert seen == list(enumerate(source if isinstance(source, list | str | set) else "abcdefg"))


@both
def test_a_failure_stops_the_others_and_is_raised_when_they_have_ended(run: Any):
    ended: list[int] = []
    all_run, count = ThreadEvent(), 3

    @driver_neutral
    async def work(index: int, item: int) -> None:
        nonlocal count
        count -= 1
        if not count:
            all_run.set()
        try:
            await wait(GUARD, all_run if item == 1 else None)
        finally:
            ended.append(item)
        raise ValueError(f"no {item}")

    with pytest.raises(ValueError, match="no 1"):
        run(range(9), work, 3)
    assert sorted(ended) == [0, 1, 2]


@both
def test_a_source_is_pulled_and_closed_on_one_side_and_its_error_is_raised(run: Any):
    seen: list[str] = []

    async def failing() -> AsyncIterator[int]:
        loop = asyncio.get_running_loop()
        try:
            yield 0
            yield 1
            raise OSError("cut")
        finally:
            assert asyncio.get_running_loop() is loop
            seen.append("closed")

    @driver_neutral
    async def work(index: int, item: int) -> None:
        seen.append(str(item))

    with pytest.raises(OSError, match="cut"):
        run(failing(), work, 2)
    assert seen == ["0", "1", "closed"]


def test_one_at_a_time_stays_in_the_callers_thread():
    names: list[str] = []

    @driver_neutral
    async def work(index: int, item: int) -> None:
        names.append(threading.current_thread().name)

    blocking(range(3), work)
    blocking([1], work, 5)  # there is only one
    assert set(names) == {threading.current_thread().name}


class Later(Module):
    async def forward(self, message: Message) -> str:
        await asyncio.sleep(0)
        return message.content


def test_a_worker_keeps_nothing_of_the_loop_that_it_worked_for_last():
    class Now(Module):
        def forward(self, message: Message) -> str:
            return message.content

    def open_case(path: Path) -> Any:
        raise TriviumError(Later()(path.name).content)

    asyncio.run(Now().acall("in a worker"))
    time.sleep(0.1)  # it idles, and its loop has closed
    outcomes: list[Outcome] = []
    task = Task(ChatAgent(ScriptedModel([])))
    reading = partial(extract_files, task, [Path("a.txt")], open_case, on_outcome=outcomes.append)
    in_thread(lambda: asyncio.run(reading()))
    assert [str(each.error) for each in outcomes] == ["a.txt"]


def test_a_sync_call_of_async_code_whose_loop_was_closed_below_it_fails_and_does_not_wait():
    inside, closed, told = threading.Event(), threading.Event(), queue.SimpleQueue[str]()

    def work() -> None:
        inside.set()
        assert closed.wait(GUARD)
        try:
            Later()("too late")
        except RuntimeError as error:
            told.put(str(error))

    loop = asyncio.new_event_loop()
    left = loop.create_task(run_in_worker(work))
    while not inside.is_set():
        loop.run_until_complete(asyncio.sleep(0.001))
    loop.close()
    closed.set()
    assert told.get(timeout=GUARD) == "Event loop is closed"
    assert not left.done()
