"""What a node of the run tree costs: a handler beside a bare task of asyncio.TaskGroup, and beside Agere's handler.

Run it with `python benchmarks/nodes.py`; a guard of the tests does. The three are measured in turns in one process,
so that drift hits all alike; each figure is the least of several rounds, in microseconds of processor time for one
handler from its call to its end. "at once" handlers have nothing to do; "waiting" ones all live at the same time,
until the last was started. Agere takes a node out of a list of its siblings, which is quadratic: above 10,000 it is
left out.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import importlib
import json
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import trivium.commander

AGERE_AT_MOST = 10_000
Run = Callable[[int], float]


def bare_at_once(number: int) -> float:
    """Seconds for so many tasks of a TaskGroup that do nothing."""

    async def nothing() -> None: ...

    async def main() -> float:
        began = time.process_time()
        async with asyncio.TaskGroup() as group:
            for _ in range(number):
                group.create_task(nothing())
        return time.process_time() - began

    return asyncio.run(main())


def bare_waiting(number: int) -> float:
    """Seconds for so many tasks of a TaskGroup that all wait for one event."""

    async def waits(event: asyncio.Event) -> None:
        await event.wait()

    async def main() -> float:
        began, event = time.process_time(), asyncio.Event()
        async with asyncio.TaskGroup() as group:
            for _ in range(number):
                group.create_task(waits(event))
            await asyncio.sleep(0)
            event.set()
        return time.process_time() - began

    return asyncio.run(main())


def handlers(package: Any) -> dict[str, Run]:
    """The same with handlers below a job; `package` is a commander module, ours or Agere's: the names are the same."""
    word = package.PASS_WORD

    @package.handler(word)
    async def nothing(self_handler: Any) -> None: ...

    @package.handler(word)
    async def waits(self_handler: Any, event: asyncio.Event) -> None:
        await event.wait()

    @package.handler(word)
    async def sets(self_handler: Any, event: asyncio.Event) -> None:
        event.set()

    class AtOnce(package.Job):
        number = 0

        @package.tasker(word)
        async def task(self) -> None:
            self.began = time.process_time()
            for _ in range(self.number):
                self.call_handler(nothing())

    class Waiting(AtOnce):
        @package.tasker(word)
        async def task(self) -> None:
            self.began, event = time.process_time(), asyncio.Event()
            for _ in range(self.number):
                self.call_handler(waits(event))
            self.call_handler(sets(event))

    def run(kind: type[AtOnce]) -> Run:
        def seconds(number: int) -> float:
            job = kind()
            job.number = number
            package.CommanderAsync().run(job, auto_exit=True)
            return time.process_time() - job.began

        return seconds

    return {"at once": run(AtOnce), "waiting": run(Waiting)}


def subjects(number: int) -> dict[str, dict[str, Run]]:
    """Who is measured, for each of the two ways."""
    found: dict[str, dict[str, Run]] = {
        "TaskGroup": {"at once": bare_at_once, "waiting": bare_waiting},
        "trivium": handlers(trivium.commander),
    }
    if number <= AGERE_AT_MOST:
        with suppress(ImportError):  # it comes with the group `bench`
            found["Agere"] = handlers(importlib.import_module("agere.commander"))
    return found


def node_costs(number: int, rounds: int = 7) -> dict[str, dict[str, float]]:
    """Microseconds a node, for each way and subject."""
    measured = subjects(number)
    costs = {way: dict.fromkeys(measured, float("inf")) for way in ("at once", "waiting")}
    for attempt in range(rounds + 1):  # the first one warms up
        for way, cost in costs.items():
            for name, runs in measured.items():
                gc.collect()
                seconds = runs[way](number)
                if attempt:
                    cost[name] = min(cost[name], seconds / number * 1e6)
    return costs


def show(number: int, costs: dict[str, dict[str, float]]) -> None:
    """Print the lines of one number of nodes."""
    for way, cost in costs.items():
        bare, agere = cost["TaskGroup"], cost.get("Agere")
        theirs = f"{agere:8.2f}{agere / bare:7.2f}" if agere is not None else f"{'-':>8}{'-':>7}"
        print(f"{number:>8,} {way:10}{bare:8.2f}{cost['trivium']:9.2f}{cost['trivium'] / bare:7.2f}{theirs}")


def main() -> None:
    """Measure, and print a table or JSON."""
    parser = argparse.ArgumentParser(description="Measure what a node of the run tree costs.")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    parser.add_argument("--nodes", type=int, nargs="*", default=[1_000, 10_000, 100_000], help="how many at a time")
    arguments = parser.parse_args()
    figures: dict[int, dict[str, dict[str, float]]] = {}
    if not arguments.json:
        print(f"µs a node{'':10}TaskGroup  trivium  ratio   Agere  ratio")
    for number in arguments.nodes:
        figures[number] = node_costs(number, rounds=7 if number < 100_000 else 3)
        if not arguments.json:
            show(number, figures[number])
    if arguments.json:
        print(json.dumps(figures))


if __name__ == "__main__":
    main()
