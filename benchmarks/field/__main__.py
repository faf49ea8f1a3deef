"""Measures trivium beside the field: run it with `make bench`.

    python benchmarks/field [--quick] [--only NAME,…] [--peers NAME,…] [--raw FILE] [--page FILE] [--again]

Subjects take turns, workload by workload and round by round, so that drift hits all alike. What was measured is written
as JSON, and from that the page docs/benchmarks.md with its charts.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from answers import measure_answers
from charts import draw
from figures import Cell
from imports import measure_imports
from killed import measure_killed
from report import page
from served import measure_served
from subjects import FLOOR, NAMES, ROOT, Child, Hung, interpreter
from workloads import WORKLOADS, Workload, left_out

ROUNDS, QUICK = 5, 2
SLOW = 5.0  # a subject that needs more seconds for a round has that round only
Cells = dict[str, dict[str, Cell]]
Step = Callable[[], dict[str, Cell]]
STEPS = ("import", *(each.name for each in WORKLOADS), "served", "killed", "answers")


def note(text: str) -> None:
    """Tell how far it is."""
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def measure(workload: Workload, children: dict[str, Child], rounds: int, cells: Cells) -> dict[str, Cell]:
    """All rounds of a workload, the subjects in turns; the floor is asked first, as its evidence is what counts."""
    row = {name: Cell() for name in children}
    for name, why in left_out(workload, cells).items():
        row[name].stop("cannot", why)
    slow = set[str]()
    for attempt in range(min(rounds, workload.rounds)):
        for name, child in children.items():
            cell = row[name]
            if cell.kind != "measured" or (attempt and name in slow):
                continue
            began = time.monotonic()
            try:
                answer = child.ask(workload.request)
            except Hung as why:
                cell.stop("hung", str(why))
                continue
            cell.add(answer, row[FLOOR].evidence, name == FLOOR)
            if time.monotonic() - began > SLOW:
                slow.add(name)
            if cell.kind == "failed":
                note(f"{workload.name}: {name} failed: {cell.why}\n{answer.get('traceback', '')}")
            elif cell.kind == "refused":
                note(f"{workload.name}: {name}: {cell.why}")
    return row


def surroundings(children: dict[str, Child]) -> dict[str, Any]:
    """The machine, the versions and the day."""
    model = next((line.partition(":")[2].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
                  if line.startswith("model name")), platform.processor())  # fmt: skip
    return {
        "date": date.today().isoformat(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, {model}",
        "python": platform.python_version(),
        "subjects": {name: child.ask({"do": "info"}) for name, child in children.items()},
    }


def chosen(given: str, all_names: Sequence[str]) -> list[str]:
    """The names of a list with commas, in the order of ours; all where it is empty."""
    wanted = [name for name in given.split(",") if name]
    unknown = set(wanted) - set(all_names)
    if unknown:
        raise SystemExit(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(all_names)}")
    return [name for name in all_names if not wanted or name in wanted]


def write_page(found: dict[str, Any], file: Path) -> None:
    """The page, and its charts in a folder of its name beside it."""
    draw(file.with_suffix(""), found)
    file.write_text(page(found))


def steps(children: dict[str, Child], rounds: int, cells: Cells, found: dict[str, Any]) -> dict[str, Step]:
    """What is done for each name of `--only`, in this order."""
    statements = {name: told["statement"] for name, told in found["subjects"].items()}
    return {
        "import": partial(measure_imports, statements, rounds),
        **{each.name: partial(measure, each, children, rounds, cells) for each in WORKLOADS},
        "served": partial(measure_served, children, 1 if rounds == QUICK else 2, note),
        "killed": partial(measure_killed, children),
        "answers": partial(measure_answers, children, note),
    }


def save(file: Path, found: dict[str, Any], cells: Cells) -> None:
    """Write down what was found so far."""
    found["cells"] = {name: {who: cell.as_json() for who, cell in row.items()} for name, row in cells.items()}
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(found, indent=1))


def main() -> None:
    """Measure, write the figures, write the page."""
    parser = argparse.ArgumentParser(description="Measure trivium beside the field.")
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    parser.add_argument("--only", default="", help="workloads, with commas")
    parser.add_argument("--peers", default="", help="subjects, with commas; the floor is always there")
    parser.add_argument("--raw", type=Path, default=ROOT / "out" / "benchmarks.json", help="where the figures go")
    parser.add_argument("--page", type=Path, help="where the page goes, its charts beside it")
    parser.add_argument("--again", action="store_true", help="measure nothing: write the page of the figures in --raw")
    given = parser.parse_args()
    if given.again:
        return write_page(json.loads(given.raw.read_text()), given.page or ROOT / "docs" / "benchmarks.md")
    names = chosen(given.peers and f"{FLOOR},{given.peers}", NAMES)
    missing = [name for name in names if not interpreter(name).exists()]
    if missing:
        raise SystemExit(
            f"no environment for {', '.join(missing)}: make {' '.join(f'.peers/{n}/.ready' for n in missing)}"
        )
    rounds = QUICK if given.quick else ROUNDS
    children = {name: Child(name) for name in names}
    try:
        found = {**surroundings(children), "rounds": rounds}
        note(f"{len(names)} subjects, {rounds} rounds")
        cells: Cells = {}
        for name, step in steps(children, rounds, cells, found).items():
            if name in chosen(given.only, STEPS):
                began = time.monotonic()
                cells[name] = step()
                note(f"{name}: {time.monotonic() - began:.0f} s")
                save(given.raw, found, cells)
    finally:
        for child in children.values():
            child.close()
    if given.page:
        write_page(found, given.page)


if __name__ == "__main__":
    main()
