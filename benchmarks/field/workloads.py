"""What is measured: each workload is a request to the children, and rows of the table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any, NamedTuple

from figures import Cell

__all__ = ["IMPORTS", "SERVED", "WORKLOADS", "Row", "Workload", "groups", "left_out"]


class Row(NamedTuple):
    """A row of the table.

    Args:
        title: what stands before it.
        figure: the name of the figure.
        unit: µs, ms, s, kB, MB, or "" for a number.
    """

    title: str
    figure: str = ""
    unit: str = "µs"


class Workload(NamedTuple):
    """Something to measure.

    Args:
        name: for `--only`.
        request: to the driver.
        rows: of the table.
        rounds: how many at most.
        group: the heading that it stands below.
    """

    name: str
    request: Mapping[str, Any]
    rows: tuple[Row, ...]
    group: str
    rounds: int = 99
    after: tuple[str, float] | None = None
    """Left to those who did another workload within so many seconds."""


def _one(name: str, title: str, group: str, unit: str = "µs", rounds: int = 99, **request: Any) -> Workload:
    return Workload(name, request, (Row(title, unit=unit),), group, rounds)


BUILD, RUN, MANY, GROWS, TREE = "Building", "One run", "Many runs", "What grows", "Below an agent"
IMPORTS = (
    Row("import, warm", "warm", "s"),
    Row("import, cold: no bytecode yet", "cold", "s"),
    Row("modules loaded by it", "modules", ""),
    Row("memory of the process after it", "memory", "MB"),
)

SERVED = (
    Row("processor time of the first turn after the import", "first cpu", "ms"),
    *(Row(f"turns a second, {level} sessions", f"{level} throughput", "/s") for level in ("1", "10", "100", "1000")),
    *(Row(f"processor time of a turn, {level} sessions", f"{level} cpu", "µs") for level in ("1", "100", "1000")),
    *(Row(f"added at p50, {level} sessions", f"{level} p50", "ms") for level in ("1", "10", "100", "1000")),
    *(Row(f"added at p99, {level} sessions", f"{level} p99", "ms") for level in ("1", "10", "100", "1000")),
    Row("turns a second that 1000 sessions ask for who think, 60 % of the above", "think load", "/s"),
    Row("then added at p50", "think p50", "ms"),
    Row("then added at p99", "think p99", "ms"),
    Row("turns that failed there", "think failed", "%"),
)

WORKLOADS = (
    _one("build", "build an agent without tools", BUILD, do="build", number=0),
    _one("known-20", "with 20 tools that an agent had before", BUILD, do="build", number=20, fresh=False, rounds=5),
    _one("build-1", "with 1 new tool", BUILD, do="build", number=1),
    _one("build-20", "with 20 new tools", BUILD, do="build", number=20, rounds=3),
    _one("first-20", "with 20 new tools, and its first turn", BUILD, do="first", number=20, rounds=3),
    _one("turn", "one turn", RUN, do="turn"),
    _one("ten", "ten tool calls", RUN, do="turn", tool_calls=10),
    _one("style", "ten tool calls, in Lagent's own style", RUN, do="turn", tool_calls=10, in_lagents_style=True),
    _one("awaited", "one turn, awaited", RUN, do="awaited"),
    _one("ten-awaited", "ten calls of an async tool, awaited", RUN, do="awaited", tool_calls=10),
    _one("stream", "one delta of a streamed answer", RUN, do="stream"),
    _one("team", "a manager asks a worker: 3 requests", TREE, do="team"),
    _one("node", "one of 1,000 nodes below one", TREE, do="node", number=1000),
    _one("state", "the state of agents 20 deep", TREE, do="state", depth=20),
    _one("concurrent-200", "200 runs at once, one async tool each: all", MANY, "ms", 3, do="concurrent", number=200),
    _one("concurrent-1000", "1,000 runs at once", MANY, "ms", 3, do="concurrent", number=1000)._replace(
        after=("concurrent-200", 6.0)
    ),
    _one(
        "plain-200", "200 at once, their tool a plain `def`", MANY, "ms", 3, do="concurrent", number=200, plain=True
    )._replace(after=("concurrent-200", 6.0)),
    Workload(
        "history",
        {"do": "history", "sizes": [10, 100, 1000]},
        tuple(Row(f"a turn after {size:,} messages", str(size)) for size in (10, 100, 1000)),
        GROWS,
        3,
    ),
    Workload(
        "memory",
        {"do": "memory", "agents": 50, "sessions": 50},
        (Row("memory of an agent with a tool", "agent", "kB"), Row("of a session after one turn", "session", "kB")),
        GROWS,
        3,
    ),
)


def groups() -> Iterator[tuple[str, list[tuple[str, Row]]]]:
    """The tables: a title, and the columns, each with the workload that it comes from."""
    yield "Import", [("import", row) for row in IMPORTS]
    for title, some in groupby(WORKLOADS, key=lambda each: each.group):
        yield title, [(each.name, row) for each in some for row in each.rows]
    yield "At a model server that takes 50 ms", [("served", row) for row in SERVED]


def left_out(workload: Workload, cells: Mapping[str, Mapping[str, Cell]]) -> dict[str, str]:
    """Who is not asked, and why: who took too long for less."""
    if workload.after is None or workload.after[0] not in cells:
        return {}
    spreads = {name: cell.spread() for name, cell in cells[workload.after[0]].items()}
    return {
        name: f"not run: {workload.after[0]} took {each.least:.0f} s"
        for name, each in spreads.items()
        if each is not None and each.least > workload.after[1]
    }
