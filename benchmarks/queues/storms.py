"""Workers that are killed, cut off and left without a database."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterable
from typing import Any

import psycopg
from costs import counter

from trivium.journal import Journal
from workers._cable import cable
from workers._effects import broken_promises
from workers._fleet import Fleet, fleet
from workers._programs import prepare

__all__ = ["STORMS", "storm_rows"]

STORMS = (
    "what happens", "runs", "kills, cuts or restarts", "runs a second", "attempts of a run",
    "payments of which it is not known whether they happened", "lost runs and broken promises",
)  # fmt: skip
_WORKERS, _AT_ONCE = 4, 8


def storm_rows(server: Any, make: Callable[[], str], count: int) -> Iterable[tuple[object, ...]]:
    """One row for each kind of storm."""
    yield "nothing", *storm(make(), count, lambda made, url, over: 0)
    yield "a random worker is killed every 0.3 s", *storm(make(), count, kill)
    for title, harm in (
        ("the network is cut for 0.5 s, every 3 s", cut),
        ("PostgreSQL is restarted, every 5 s", lambda made, url, over: restart(server, over)),
    ):
        yield title, *storm(make(), count // 4, harm)


def storm(url: str, count: int, harm: Callable[[Fleet, Any, Callable[[], bool]], int]) -> tuple[object, ...]:
    """Let workers do runs while something happens."""
    prepare(url)
    journal, run_ids = Journal(url), [f"run-{number}" for number in range(count)]
    for each in run_ids:
        journal.submit("clerk", "Go.", run_id=each)
    with cable(url) as network, fleet(network.url) as made:
        for _ in range(_WORKERS):
            made.start("slow", at_once=_AT_ONCE)
        began, end = time.monotonic(), time.monotonic() + 1800

        def over() -> bool:
            assert time.monotonic() < end
            try:
                done = counter(url, "trivium_run", "status = 'done'")()
            except psycopg.Error:  # it restarts
                return False
            return done == count

        harms = harm(made, network, over)
        while not over():
            time.sleep(0.05)
        seconds = time.monotonic() - began
        for each in run_ids:  # no result is lost either
            assert journal.submitted(each).result(timeout=60).content == "done"
        wrong = broken_promises(url, journal, run_ids)
    attempts = sum(each.epoch for each in journal.runs()) / count
    told = sum(
        each.kind == "error" and "is not known" in json.loads(each.body)["text"]
        for run_id in run_ids
        for each in journal.entries(run_id)
    )
    journal.close()
    right = len(wrong) or 0
    return count, harms, f"{count / seconds:.0f}", f"{attempts:.2f}", told, f"WRONG {wrong[:5]}" if right else 0


def kill(made: Fleet, network: Any, over: Callable[[], bool]) -> int:
    while not over():
        made.kill_some(1, 0.3, "slow", at_once=_AT_ONCE)
    return made.kills


def cut(made: Fleet, network: Any, over: Callable[[], bool]) -> int:
    cuts = 0
    while not over():
        time.sleep(random.uniform(2, 4))
        network.cut()
        time.sleep(0.5)
        network.mend()
        cuts += 1
    return cuts


def restart(server: Any, over: Callable[[], bool]) -> int:
    restarts = 0
    while not over():
        time.sleep(5)
        server.stop()
        server.ensure_postgres_running()
        restarts += 1
    return restarts
