"""A batch on a Ray cluster of two nodes, one of which is killed."""

# The folder of the tests is found when it runs.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from distributed._cluster import cluster_of_two, kill_node_at_work
from distributed._office import office
from trivium.journal import Journal
from trivium.tasks import run_batch_tasks
from workers._effects import broken_promises

__all__ = ["ON_RAY", "ray_rows"]

ON_RAY = (
    "what happens", "items", "seconds", "items a second", "items that went on elsewhere",
    "lost items and broken promises",
)  # fmt: skip
_AT_ONCE = 32


def ray_rows(make: Callable[[], str], count: int) -> Iterable[tuple[object, ...]]:
    """One row without harm, one with a node killed, one for the same batch again."""
    with cluster_of_two() as cluster:
        yield "nothing", *batch(make(), count, lambda url: None)[1:]
        url = make()
        yield (
            "a node is killed while it is at work",
            *batch(url, count, lambda url: kill_node_at_work(cluster, url))[1:],
        )
        yield "the same batch again", *batch(url, count, lambda url: None)[1:]


def batch(url: str, count: int, harm: Callable[[str], Any]) -> tuple[object, ...]:
    """Run a batch of so many items while something happens."""
    journal = Journal(url)
    before = {each.id: each.epoch for each in journal.runs()}
    began = time.monotonic()
    with ThreadPoolExecutor() as pool:
        harmed = pool.submit(harm, url)
        found = run_batch_tasks(
            office(url, 0.1),
            range(count),
            sequential=False,
            batch_size=_AT_ONCE,
            on="ray",
            run_id="all",
            journal=journal,
        )
        seconds = time.monotonic() - began
        harmed.result()
    wrong = broken_promises(url, journal, [f"all-{number}" for number in range(count)])
    again = sum(each.epoch - before.get(each.id, 0) > 1 for each in journal.runs())
    journal.close()
    assert len(found) == count
    return "", count, f"{seconds:.0f}", f"{count / seconds:.0f}", again, f"WRONG {wrong[:5]}" if wrong else 0
