"""What core code suspends through: gather, wait, iterate; under both drivers."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing
from typing import Any

import pytest

from trivium import Agent, Message, Module
from trivium.commander import ThreadEvent, driver_neutral, gather, invoke, iterate, wait
from trivium.exceptions import ArgumentTypeError, RunKilledError, WouldDeadlockError

from ._helpers import GUARD, Entry, async_entry, calling, every_entry, here, in_thread, loop_entry, sync_entry

both_drivers = pytest.mark.parametrize("entry", [sync_entry, async_entry])


class Core(Module):
    """A module whose forward is the given core code."""

    def __init__(self, work: Callable[[], Awaitable[Any]]) -> None:
        super().__init__()
        self.work = work

    @driver_neutral
    async def forward(self, message: Message) -> Any:
        return await self.work()


# ---- gather
@every_entry
def test_gather_keeps_the_order(entry: Entry):
    first_may_end = threading.Event()

    def first() -> str:
        assert first_may_end.wait(GUARD)  # so it ends after the second
        return "first"

    def second() -> str:
        first_may_end.set()
        return "second"

    async def work() -> list[str]:
        return await gather(lambda: invoke(first), lambda: invoke(second))

    assert entry(Core(work), "x").content == ["first", "second"]


@both_drivers
def test_parallel_tools_run_at_the_same_time(entry: Entry):
    meet = threading.Barrier(5)

    def tool(a: int) -> int:
        return meet.wait(GUARD) * 0 + a

    agent = Agent(calling("tool", width=5, a=1), tools=[tool], parallel=True)
    assert entry(agent, "x").content == "done:1,1,1,1,1"


@both_drivers
def test_parallel_async_tools_run_at_the_same_time(entry: Entry):
    arrived: list[asyncio.Event] = []

    async def tool(a: int) -> int:
        arrived.append(asyncio.Event())
        if len(arrived) == 5:
            for event in arrived:
                event.set()
        await arrived[-1].wait()
        return a

    agent = Agent(calling("tool", width=5, a=1), tools=[tool], parallel=True)
    assert entry(agent, "x").content == "done:1,1,1,1,1"


@both_drivers
def test_the_first_failure_stops_the_others_and_is_raised(entry: Entry):
    stopped: list[str] = []
    started = threading.Event()

    async def waits() -> None:
        try:
            started.set()
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            stopped.append("waits")
            raise

    def fails() -> None:
        assert started.wait(GUARD)
        raise ValueError("first")

    async def work() -> Any:
        return await gather(lambda: invoke(waits), lambda: invoke(fails), lambda: invoke(waits))

    with pytest.raises(ValueError, match="first"):
        entry(Core(work), "x")
    assert stopped == ["waits", "waits"]


@both_drivers
def test_of_several_failures_the_first_in_order_is_raised(entry: Entry):
    async def fails(number: int) -> None:
        raise ValueError(f"number {number}")

    def branch(number: int) -> Callable[[], Any]:
        return lambda: invoke(fails, number)

    async def work() -> Any:
        return await gather(*[branch(number) for number in range(8)])

    for _ in range(10):
        with pytest.raises(ValueError, match="number 0"):
            entry(Core(work), "x")


@both_drivers
def test_gather_of_one_and_of_none(entry: Entry):
    async def work() -> Any:
        return [await gather(), await gather(lambda: invoke(lambda: 1))]

    assert entry(Core(work), "x").content == [[], [1]]


def test_system_exit_in_a_branch_reaches_the_caller_and_leaves_the_loop_alive():
    async def leave() -> None:
        raise SystemExit(3)

    async def work() -> Any:
        return await gather(lambda: invoke(leave), lambda: invoke(leave))

    for _ in range(3):
        with pytest.raises(SystemExit):
            Core(work)("x")
    parallel = Agent(calling("plus", width=2, a=3), tools=[plus], parallel=True)
    assert parallel("x").content == "done:4,4"


async def plus(a: int) -> int:
    await asyncio.sleep(0)
    return a + 1


# ---- wait
@every_entry
def test_wait_returns_when_the_time_is_over(entry: Entry):
    async def work() -> str:
        await wait(0)
        await wait(0.001)
        return "woke"

    assert entry(Core(work), "x").content == "woke"


@both_drivers
def test_a_bell_wakes_who_waits_and_who_will(entry: Entry):
    bell = ThreadEvent()
    reached = threading.Event()

    async def work() -> str:
        reached.set()
        await wait(event=bell)
        await wait(event=bell)
        return f"rung {bell.is_set()}"

    def ring() -> None:
        assert reached.wait(GUARD)
        bell.set()

    ringer = threading.Thread(target=ring)
    ringer.start()
    assert entry(Core(work), "x").content == "rung True"
    ringer.join()


@both_drivers
def test_the_sooner_of_time_and_bell_ends_the_wait(entry: Entry):
    async def work() -> bool:
        bell = ThreadEvent()
        await wait(0.001, bell)
        return bell.is_set()

    assert entry(Core(work), "x").content is False


@both_drivers
def test_a_wait_for_nothing_ends_with_the_kill(entry: Entry):
    nodes: list[Any] = []
    waiting = threading.Event()

    async def work() -> None:
        nodes.append(here())
        waiting.set()
        await wait()

    def kill() -> None:
        assert waiting.wait(GUARD)
        nodes[0].kill("enough")

    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(RunKilledError, match="enough"):
        entry(Core(work), "x")
    killer.join()


def test_a_sync_call_on_a_running_loop_refuses_to_wait_for_another_run():
    async def work() -> None:
        await wait(event=ThreadEvent())

    with pytest.raises(WouldDeadlockError, match="await"):
        loop_entry(Core(work), "x")


def test_wait_works_outside_any_call():
    bell = ThreadEvent()
    bell.set()
    asyncio.run(wait(event=bell))
    asyncio.run(wait(0))


# ---- iterate
class Source:
    """An iterator of three items that knows where it was used and when it was closed."""

    def __init__(self, fail: bool = False) -> None:
        self.fail = fail
        self.places: set[tuple[int, object]] = set()
        self.closed = 0

    def _note(self) -> None:
        self.places.add((threading.get_ident(), asyncio._get_running_loop()))

    def sync_items(self, *items: str) -> Iterator[str]:
        try:
            for item in items:
                self._note()
                yield item
            if self.fail:
                raise ValueError("broken")
        finally:
            self._note()
            self.closed += 1

    async def async_items(self, *items: str) -> AsyncIterator[str]:
        try:
            for item in items:
                self._note()
                await asyncio.sleep(0)
                yield item
            if self.fail:
                raise ValueError("broken")
        finally:
            self._note()
            self.closed += 1

    async def coroutine_of_items(self, *items: str) -> AsyncIterator[str]:
        await asyncio.sleep(0)
        return self.async_items(*items)


def taking(function: Callable[..., Any], at_most: int = 99) -> Core:
    async def work() -> list[str]:
        found: list[str] = []
        async with aclosing(iterate(function, "a", "b", "c")) as items:
            async for item in items:
                found.append(item)
                if len(found) == at_most:
                    break
        return found

    return Core(work)


FORMS = ["sync_items", "async_items", "coroutine_of_items"]


@every_entry
@pytest.mark.parametrize("form", FORMS)
def test_iterate_gives_every_item_and_one_owner_closes(entry: Entry, form: str):
    source = Source()
    assert entry(taking(getattr(source, form)), "x").content == ["a", "b", "c"]
    assert source.closed == 1
    assert len(source.places) == 1


@every_entry
@pytest.mark.parametrize("form", FORMS)
def test_leaving_early_closes_the_source_where_it_ran(entry: Entry, form: str):
    source = Source()
    assert entry(taking(getattr(source, form), at_most=1), "x").content == ["a"]
    assert source.closed == 1
    assert len(source.places) == 1


@every_entry
@pytest.mark.parametrize("form", FORMS)
def test_an_error_of_the_source_is_raised(entry: Entry, form: str):
    source = Source(fail=True)
    with pytest.raises(ValueError, match="broken"):
        entry(taking(getattr(source, form)), "x")
    assert source.closed == 1


@every_entry
def test_a_list_is_a_source_too(entry: Entry):
    def items(*items: str) -> list[str]:
        return list(items)

    assert entry(taking(items), "x").content == ["a", "b", "c"]


def test_a_source_that_cannot_be_iterated_is_an_error():
    def nothing(*items: str) -> None:
        return None

    for entry in (sync_entry, async_entry):
        with pytest.raises(TypeError, match="NoneType"):
            entry(taking(nothing), "x")


def test_a_bell_may_be_rung_by_another_thread_while_many_wait():
    bell = ThreadEvent()
    ready = threading.Barrier(9)

    async def work() -> str:
        ready.wait(GUARD)
        await wait(event=bell)
        return "woke"

    threads = [threading.Thread(target=lambda: Core(work)("x")) for _ in range(8)]
    for thread in threads:
        thread.start()
    ready.wait(GUARD)
    in_thread(bell.set)
    for thread in threads:
        thread.join(GUARD)
        assert not thread.is_alive()


@both_drivers
@pytest.mark.parametrize("number", [1, 2])
def test_gather_says_that_it_takes_functions_where_it_is_given_coroutines(entry: Entry, number: int) -> None:
    async def one() -> int:
        return 1

    given: list[Any] = [one() for _ in range(number)]

    @driver_neutral
    async def work() -> Any:
        return await gather(*given)

    with pytest.raises(ArgumentTypeError, match=r"gather takes functions, as partial\(agent.acall, 'hi'\)"):
        entry(Core(work), "x")
    for each in given:
        each.close()
