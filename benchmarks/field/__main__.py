"""Measures trivium beside the field: run it with `make bench`.

    python benchmarks/field [--quick] [--only NAME,…] [--peers NAME,…] [--raw FILE] [--page FILE] [--again]

Subjects take turns, workload by workload and round by round, so that drift hits all alike. What was measured is written
as JSON, and from that the page with its charts: docs/benchmarks.md, or one beside the JSON where not all was measured.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
sys.path.insert(0, str(Path(__file__).parent))

from answers import measure_answers
from charts import draw
from figures import Cell
from imports import measure_imports
from killed import measure_killed
from quoted import quote
from report import page
from served import measure_served
from subjects import FLOOR, NAMES, ROOT, Child, Hung, interpreter
from workloads import WORKLOADS, Workload, left_out

ROUNDS, QUICK = 5, 2
SLOW = 5.0  # a subject that needs more seconds for a round has that round only
PUBLISHED = ROOT / "docs" / "benchmarks.md"
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


def described(children: dict[str, Child]) -> tuple[dict[str, Any], dict[str, str]]:
    """What each subject tells of itself, and why some do not run at all."""
    found, broken = dict[str, Any](), dict[str, str]()
    for name, child in children.items():
        try:
            answer = child.ask({"do": "info"})
        except Hung as why:
            answer = {"failed": str(why)}
        if "failed" in answer:
            last = answer.get("traceback", "").strip().rpartition("\n")[2]
            broken[name] = f"it does not run: {answer['failed']}{last and f': {last}'}"
            note(f"{name}: {broken[name]}")
            answer = {"title": name, "versions": {}, "notes": {}}
        found[name] = answer
    if FLOOR in broken:
        stop(f"nothing can be compared with {FLOOR}: {broken[FLOOR]}")
    return found, broken


def surroundings() -> dict[str, Any]:
    """The machine, the version and the day."""
    model = next((line.partition(":")[2].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
                  if line.startswith("model name")), platform.processor())  # fmt: skip
    return {
        "date": date.today().isoformat(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, {model}",
        "python": platform.python_version(),
    }


def stop(text: str) -> NoReturn:
    """End with a sentence, as what was asked for cannot be done."""
    print(text, file=sys.stderr)
    raise SystemExit(2)


def chosen(given: str, all_names: Sequence[str]) -> list[str]:
    """The names of a list with commas, in the order of ours; all where it is empty."""
    wanted = [name for name in given.split(",") if name]
    unknown = set(wanted) - set(all_names)
    if unknown:
        stop(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(all_names)}")
    return [name for name in all_names if not wanted or name in wanted]


def page_of(found: dict[str, Any], raw: Path) -> Path:
    """Where a page goes by default: only one of all workloads and subjects replaces the published one."""
    whole = set(found["cells"]) >= set(STEPS) and set(found["subjects"]) >= set(NAMES)
    return PUBLISHED if whole else raw.with_name(PUBLISHED.name)


def write_page(found: dict[str, Any], given: argparse.Namespace) -> None:
    """The page, and its charts in a folder of its name beside it."""
    file, text = given.page or page_of(found, given.raw), page(found)
    file.write_text(text)
    draw(file)
    if file == PUBLISHED:
        quote(text, ROOT / "README.md")
    note(f"written: {file}")


def steps(children: dict[str, Child], rounds: int, cells: Cells, found: dict[str, Any]) -> dict[str, Step]:
    """What is done for each name of `--only`, in this order."""
    statements = {name: found["subjects"][name]["statement"] for name in children}
    return {
        "import": partial(measure_imports, statements, rounds),
        **{each.name: partial(measure, each, children, rounds, cells) for each in WORKLOADS},
        "served": partial(measure_served, children, 1 if rounds == QUICK else 2, note),
        "killed": partial(measure_killed, children),
        "answers": partial(measure_answers, children, note),
    }


def failed(why: str) -> Cell:
    """A cell without figures."""
    cell = Cell()
    cell.stop("failed", why)
    return cell


def taken(name: str, step: Step, subjects: Iterable[str], broken: dict[str, str]) -> dict[str, Cell]:
    """The cells of all subjects in a step: those that do not run have the reason, and all have it where it fails."""
    began = time.monotonic()
    try:
        row = step()
    except Exception as error:
        note(f"{name}: {traceback.format_exc()}")
        row = {who: failed(f"{name} could not be measured: {type(error).__name__}: {error}") for who in subjects}
    note(f"{name}: {time.monotonic() - began:.0f} s")
    return {who: failed(broken[who]) if who in broken else row[who] for who in subjects}


def save(file: Path, found: dict[str, Any], cells: Cells) -> None:
    """Write down what was found so far."""
    found["cells"] = {name: {who: cell.as_json() for who, cell in row.items()} for name, row in cells.items()}
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(found, indent=1))


def measured(children: dict[str, Child], wanted: Sequence[str], rounds: int, raw: Path) -> dict[str, Any]:
    """All that was found in the wanted steps, written down after each."""
    subjects, broken = described(children)
    found, cells = {**surroundings(), "subjects": subjects, "rounds": rounds}, Cells()
    note(f"{len(children)} subjects, {rounds} rounds")
    working = {name: child for name, child in children.items() if name not in broken}
    for name, step in steps(working, rounds, cells, found).items():
        if name in wanted:
            cells[name] = taken(name, step, subjects, broken)
            save(raw, found, cells)
    return found


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(description="Measure trivium beside the field.")
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    parser.add_argument("--only", default="", help="workloads, with commas")
    parser.add_argument("--peers", default="", help="subjects, with commas; the floor is always there")
    parser.add_argument("--raw", type=Path, default=ROOT / "out" / "benchmarks.json", help="where the figures go")
    where = "where the page goes, its charts beside it: docs, or beside the figures if they are not of all"
    parser.add_argument("--page", type=Path, help=where)
    parser.add_argument("--again", action="store_true", help="measure nothing: write the page of the figures in --raw")
    return parser.parse_args(given)


def figures_of(raw: Path) -> dict[str, Any]:
    """The figures of the last run."""
    try:
        return json.loads(raw.read_text())
    except (OSError, ValueError) as error:
        stop(f"there are no figures in {raw}, so measure first: {error}")


def main(line: Sequence[str] | None = None) -> None:
    """Measure, write the figures, write the page."""
    given = arguments(line)
    if given.again:
        return write_page(figures_of(given.raw), given)
    names, wanted = chosen(given.peers and f"{FLOOR},{given.peers}", NAMES), chosen(given.only, STEPS)
    missing = [name for name in names if not interpreter(name).exists()]
    if missing:
        stop(f"no environment for {', '.join(missing)}: make {' '.join(f'.peers/{n}/.ready' for n in missing)}")
    children = {name: Child(name) for name in names}
    try:
        found = measured(children, wanted, QUICK if given.quick else ROUNDS, given.raw)
    except KeyboardInterrupt:
        note(f"stopped; each step that had ended is in {given.raw}")
        raise SystemExit(130) from None
    finally:
        for child in children.values():
            child.end()
    return write_page(found, given)


if __name__ == "__main__":
    main()
