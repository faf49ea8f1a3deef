"""Measure open streams and many owners at a server: `make bench-serving`, or `python benchmarks/serving --quick`.

The page is docs/serving-figures.md; a quick run prints what would stand there.
"""

from __future__ import annotations

import argparse
import asyncio
import platform
import resource
import sys
import tempfile
from collections.abc import Iterator, Sequence
from datetime import date
from os import cpu_count, getloadavg
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from crowds import KINDS, Beside, measured_beside
from owners import Talked, talked
from streams import Measured, measured, subjects

PAGE = Path(__file__).parents[2] / "docs" / "serving-figures.md"
HEAD = """# A server in figures

This page is written by `make bench-serving`. Each server runs in a process of its own, with a model (or, for the MCP
SDK, a tool) that says "begun", and then "end": at once, or after an hour where it is told to hold. The client is one
process on the same machine; all were measured one after the other, in one run.
"""
STREAMS = """## {streams:,} open streams

Each stream is a run that has sent its first piece and waits for the next one. A turn is a request of its own: from
connecting to the end of its stream, {turns} of them one after the other, first alone and then among the open streams;
each percentile is the least of three rounds.
"""
NOTES = """
trivium writes each run and each event to SQLite before it is sent, so that it can be taken up after a crash; Agno
writes nothing, or with SqliteDb the run at its end; the MCP SDK writes nothing. What trivium and Agno run is an agent,
what the MCP SDK runs is a function. Idle streams were watched for {idle:g} seconds: trivium's send a sign of life every
20 seconds, those over MCP and the MCP SDK's every 15; Agno's send none.
"""
OWNERS = """## {sessions:,} conversations of 100 owners

Each owner has conversations of the same names, {at_once} at once, with two turns each: in the first one the user tells
a secret, and the agent repeats all that was said. A wrong answer lacks something, or has something of another
conversation. Then every owner asks for a run of another one.
"""

CROWDS = """
## Clients that connect and say little

Turns of new clients, one after the other for {seconds:g} seconds each, at a server with its limits of connections as
they are, beside a process that holds connections or opens them as fast as it can. That process has one of the
processors for itself, and the server and the other clients share what is left: what a crowd takes on its own machine
is not counted.
"""


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """The lines of a table."""
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def row(title: str, found: Measured) -> list[str]:
    """A row of the table of streams."""
    among = [f"{each:.1f} ({each - before:+.1f})" for each, before in zip(found.among, found.alone, strict=True)]
    alone = [f"{each:.1f}" for each in found.alone]
    return [title, f"{found.kilobytes:.0f}", f"{found.opening:.1f}", f"{found.idle:.1f}", *alone, *among]


def page(
    streams: int,
    turns: int,
    idle: float,
    found: dict[str, Measured],
    owned: Talked,
    seconds: float,
    beside: dict[str, Beside],
) -> str:
    """The whole page."""
    head = ["", "kB a stream", "opened in s", "idle: ms of processor a s", "turn alone: p50, ms", "p99", "among: p50",
            "p99"]  # fmt: skip
    machine = f"{date.today().isoformat()}; {platform.system()} {platform.machine()}, {cpu_count()} cores; Python "
    counted = [f"{owned.sessions:,}", f"{owned.seconds:.0f}", f"{2 * owned.sessions / owned.seconds:.0f}"]
    load = f"the load of the machine, with other work on it, was {getloadavg()[1]:.1f}"
    lines = [
        HEAD, f"{machine}{platform.python_version()}; {load}.\n", STREAMS.format(streams=streams, turns=turns),
        *table(head, [row(title, each) for title, each in found.items()]), NOTES.format(idle=idle),
        OWNERS.format(sessions=owned.sessions, at_once=32),
        *table(
            ["conversations", "seconds", "turns a second", "wrong answers", "runs of others that could be read"],
            [[*counted, str(owned.wrong), str(owned.foreign)]],
        ),
        CROWDS.format(seconds=seconds),
        *table(
            ["beside", "p50, ms", "p99", "longest"],
            [[KINDS[kind], *(f"{each:.1f}" for each in figures)] for kind, figures in beside.items()],
        ),
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few streams and conversations; print the page")
    given = parser.parse_args()
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(limit, 8192) if limit > 0 else 8192, limit))
    streams, turns, idle, sessions, seconds = (
        (20, 10, 0.5, 100, 2.0) if given.quick else (1000, 300, 40.0, 10_000, 30.0)
    )
    found = dict[str, Measured]()
    with tempfile.TemporaryDirectory() as folder:
        for each in subjects(Path(folder)):
            if Path(each.command[0]).exists() or not given.quick:
                found[each.title] = asyncio.run(measured(each, streams, turns, idle))
                print(f"{each.title}: {found[each.title]}", file=sys.stderr, flush=True)
    beside = {kind: measured_beside(kind, seconds) for kind in KINDS}
    print(beside, file=sys.stderr, flush=True)
    text = page(streams, turns, idle, found, asyncio.run(talked(sessions)), seconds, beside)
    if given.quick:
        print(text, end="")
    else:
        PAGE.write_text(text)


if __name__ == "__main__":
    main()
