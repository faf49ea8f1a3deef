"""Costs of the journal: processor time per effect, lag of the loop with many agents, and bytes by turns."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from itertools import product
from typing import Any

from journal._places import Place
from trivium import Agent
from trivium.actions import tool
from trivium.journal import Journal, step, step_async
from trivium.testing import ScriptedModel, call_tool

__all__ = ["HEAD", "rows"]

HEAD = ("what", "figure")
AGENTS = 50
ROUNDS = 5
TURNS = (10, 100, 1000)


class Parrot:
    """A model whose answers take a while, as real ones do, but no processor time."""

    name = "parrot"

    def stream(self, request: Any) -> Iterator[Any]:
        yield from ScriptedModel([f"You said: {request.messages[-1]['content'][:40]}"]).stream(request)


class Payer:
    """A model that calls a tool three times, and takes a while for each answer."""

    name = "payer"

    async def stream(self, request: Any) -> AsyncIterator[Any]:
        await asyncio.sleep(0.2)
        asked = sum(each["role"] == "assistant" for each in request.messages)
        for piece in ScriptedModel([call_tool("pay", amount=asked) if asked < 3 else "done"]).stream(request):
            yield piece


def rows(place: Place, count: int) -> Iterable[tuple[object, ...]]:
    """The rows of one store; the count is that of effects in each round."""
    journal = place.journal()
    for effect, what in (
        ("read", "a step that reads"),
        ("once", "a step that must happen once (two records, one FULL)"),
    ):
        taken, waited = min(_steps(journal, f"{effect}-{at}", count, effect) for at in range(ROUNDS))
        yield f"{what}: processor time of this process, time", f"{taken:.0f} µs, {waited:.0f} µs"
    bare, _ = min(_steps(None, "", count, "read") for _ in range(ROUNDS))
    yield "a step without a journal: processor time", f"{bare:.0f} µs"
    began = time.process_time()
    with journal.run("read-0"):
        for at in range(count):
            step("step", _answer, at, effect="read")
    yield "an effect that is resumed: processor time", f"{(time.process_time() - began) / count * 1e6:.0f} µs"
    for effect, seconds in product(("read", "once"), (0.02, 0.2)):
        alone, _ = asyncio.run(_lag(None, effect, "", seconds))
        name = f"{effect}-{seconds}"
        most, middle = min(asyncio.run(_lag(journal, effect, f"{name}-{at}", seconds)) for at in range(ROUNDS))
        said = f"{most:.1f} ms, {middle:.1f} ms (without a journal {alone:.1f} ms)"
        yield (
            f"{AGENTS} tasks whose effects ({effect}) take {seconds} s: the loop's lag, 99th percentile and median",
            said,
        )
    (alone, _), (most, middle) = (
        min(asyncio.run(_agents_lag(kept, at)) for at in range(ROUNDS)) for kept in (None, journal)
    )
    yield (
        f"{AGENTS} agents, whose model and tool (once) take 0.2 s: the loop's lag, 99th percentile and median",
        f"{most:.1f} ms, {middle:.1f} ms (without a journal {alone:.1f} ms)",
    )
    for effect in ("read", "once"):
        used = min(asyncio.run(_steps_async(journal, f"async-{effect}-{at}", count, effect)) for at in range(ROUNDS))
        yield f"a step under asyncio ({effect}): processor time", f"{used:.0f} µs"
    for turns in TURNS:
        size = _bytes(place, f"turns-{turns}", turns)
        yield f"bytes of a run of {turns} turns", f"{size:,} ({size / turns:,.0f} a turn)"
        size = _session_bytes(place, f"session-{turns}", turns)
        yield f"bytes of a session of {turns} runs of one turn", f"{size:,} ({size / turns:,.0f} a turn)"


def _answer(at: int) -> str:
    return f"the answer to question number {at} is as long as a short sentence"


def _steps(journal: Journal | None, run_id: str, count: int, effect: Any) -> tuple[float, float]:
    """Microseconds of the processor and of the clock for each effect."""

    def run() -> None:
        for at in range(count):
            step("step", _answer, at, effect=effect)

    used, began = time.process_time(), time.perf_counter()
    if journal is None:
        run()
    else:
        with journal.run(run_id):
            run()
    return (time.process_time() - used) / count * 1e6, (time.perf_counter() - began) / count * 1e6


async def _steps_async(journal: Journal, run_id: str, count: int, effect: Any) -> float:
    """Microseconds of the processor for each effect of ten tasks."""
    used = time.process_time()
    async with journal.run(run_id):

        async def work(number: int) -> None:
            for at in range(count // 10):
                await step_async(f"step-{number}", _answer_async, at, effect=effect)

        await asyncio.gather(*map(work, range(10)))
    return (time.process_time() - used) / count * 1e6


async def _answer_async(at: int) -> str:
    return _answer(at)


async def _lag(journal: Journal | None, effect: Any, name: str, seconds: float) -> tuple[float, float]:
    """Milliseconds by which a timer is late while many tasks perform effects."""

    async def act() -> str:
        await asyncio.sleep(seconds)
        return _answer(1)

    async def work(number: int) -> None:
        for _ in range(10):
            await step_async("step", act, effect=effect)

    async def run(number: int) -> None:
        await asyncio.sleep(number * seconds / AGENTS)
        if journal is None:
            return await work(number)
        async with journal.run(f"lag-{name}-{number}"):
            await work(number)

    return await _late(run)


async def _agents_lag(journal: Journal | None, round_number: int) -> tuple[float, float]:
    """Milliseconds by which a timer is late while many agents are asked, each of which calls a tool three times."""

    @tool(effect="once")
    async def pay(amount: int) -> str:
        """Pay."""
        await asyncio.sleep(0.2)
        return _answer(amount)

    async def run(number: int) -> None:
        await asyncio.sleep(number * 0.2 / AGENTS)
        options: dict[str, Any] = {}
        if journal is not None:
            options = {"journal": journal, "run_id": f"agents-{round_number}-{number}"}
        await Agent(Payer(), tools=[pay], name="payer").acall("Pay.", **options)

    return await _late(run)


async def _late(run: Callable[[int], Awaitable[None]]) -> tuple[float, float]:
    """Milliseconds by which a timer is late, 99th percentile and median, while so many run."""
    late: list[float] = []

    async def watch() -> None:
        while True:
            before = time.perf_counter()
            await asyncio.sleep(0.001)
            late.append((time.perf_counter() - before - 0.001) * 1e3)

    watcher = asyncio.create_task(watch())
    await asyncio.gather(*map(run, range(AGENTS)))
    watcher.cancel()
    late.sort()
    return late[int(len(late) * 0.99)], late[len(late) // 2]


def _bytes(place: Place, run_id: str, turns: int) -> int:
    """Bytes of the records of one run in which an agent is asked so often, each time with all that was said."""
    ours, journal = Agent(Parrot(), name="ours"), place.journal()
    with journal.run(run_id):
        for at in range(turns):
            ours(f"Question number {at}: what did I say, and what did you answer?")
    return sum(len("".join(map(str, each)).encode()) for each in journal.entries(run_id))


def _session_bytes(place: Place, session: str, turns: int) -> int:
    """Bytes of the runs of one session, each of which is one turn, with all that the session remembers."""
    ours, journal = Agent(Parrot(), name="ours"), place.journal()
    parts = "SELECT coalesce(sum(length(digest) + length(before) + length(body)), 0) FROM part"
    before = place.execute(parts)[0][0]
    for at in range(turns):
        asked = f"Question number {at}: what did I say, and what did you answer?"
        ours(asked, run_id=f"{session}-{at}", journal=journal, session_id=session)
    runs = (journal.entries(f"{session}-{at}") for at in range(turns))
    return (
        sum(len("".join(map(str, each)).encode()) for run in runs for each in run) + place.execute(parts)[0][0] - before
    )
