"""What trivium costs beside Lagent's own source, and beside the loop that everybody writes first.

Run it with `make bench-lagent`, which puts Lagent's pre-release (the one with the documented interface) into an
environment of its own below `.peers`. The same program (`peers/agent_runs.py`) runs on both: only the package's
name differs. The subjects take turns, each time in a new process; a figure is the least of all
rounds, in microseconds of processor time, and the spread says how much worse the worst round was. Both must have
done the same work: the same answer, the same results of tools, as much remembered; else there is no figure.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from datetime import date
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PEER = ROOT / ".peers" / "lagent" / "bin" / "python"
RUNS = Path(__file__).parent / "peers" / "agent_runs.py"
SUBJECTS = {"trivium": sys.executable, "lagent": str(PEER), "by hand": sys.executable}
IMPORTS = {
    "from trivium import Agent": "trivium",
    "from trivium.agents import Agent": "trivium",
    "from lagent.agents import Agent": "lagent",
    "pass": "by hand",
}

Figures = dict[str, dict[str, list[float]]]


def child(subject: str, *arguments: str) -> str:
    """What a subject's interpreter prints; its warnings are the peer's own affair."""
    command = [SUBJECTS[subject], "-W", "ignore", *arguments]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{subject} failed:\n{done.stderr}")
    return done.stdout


def import_times(rounds: int) -> dict[str, list[float]]:
    """Seconds of a whole process, from its start to its end, that does one import; the first round warms up."""
    found: dict[str, list[float]] = {statement: [] for statement in IMPORTS}
    for attempt in range(rounds + 1):
        for statement, subject in IMPORTS.items():
            began = time.perf_counter()
            child(subject, "-c", statement)
            if attempt:
                found[statement].append(time.perf_counter() - began)
    return found


def run_times(rounds: int) -> Figures:
    """Microseconds of each run, by name and subject, all rounds.

    Raises:
        SystemExit: the subjects did not do the same work.
    """
    found: Figures = {}
    for _ in range(rounds):
        evidence: dict[str, dict[str, Any]] = {}
        for subject in SUBJECTS:
            told = json.loads(child(subject, str(RUNS), subject))
            for name, each in told.items():
                found.setdefault(name, {}).setdefault(subject, []).append(each["microseconds"])
                evidence.setdefault(name, {})[subject] = each["evidence"]
        for name, each in evidence.items():
            if len({json.dumps(did) for did in each.values()}) != 1:
                raise SystemExit(f"they did not do the same work in '{name}': {json.dumps(each, indent=1)}")
    return found


def surroundings() -> dict[str, Any]:
    """The machine, the versions and the day."""
    names = {"trivium": ("trivium", "pydantic"), "lagent": ("lagent", "pydantic")}
    code = "import sys; from importlib.metadata import version; print(*[f'{n} {version(n)}' for n in sys.argv[1:]])"
    return {
        "date": date.today().isoformat(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        "versions": {subject: child(subject, "-c", code, *each).strip() for subject, each in names.items()},
    }


def show(figures: dict[str, Any]) -> None:
    """Print the tables."""
    print(f"{figures['date']}; {figures['machine']}; Python {figures['python']}")
    print("; ".join(figures["versions"].values()), end="\n\n")
    print(f"{'µs of processor time':38}{'trivium':>9}{'lagent':>9}{'ratio':>7}{'by hand':>9}  {'spread':>11}")
    for name, times in figures["microseconds"].items():
        ours, theirs, floor = (min(times[subject]) if subject in times else None for subject in SUBJECTS)
        spread = " ".join(f"{max(times[subject]) / min(times[subject]) - 1:5.0%}" for subject in list(SUBJECTS)[:2])
        by_hand = "-" if floor is None else f"{floor:.1f}"
        print(f"{name:38}{ours:9.1f}{theirs:9.1f}{ours / theirs:7.2f}{by_hand:>9}  {spread:>11}")
    print(f"\n{'seconds of a process that does it':38}{'least':>9}{'worst':>9}")
    for statement, seconds in figures["import_seconds"].items():
        print(f"{statement:38}{min(seconds):9.3f}{max(seconds):9.3f}")
    print(f"the import is {figures['import_ratio']:.1f} × quicker")


def main() -> None:
    """Measure, and print tables or JSON."""
    parser = argparse.ArgumentParser(description="Measure trivium beside Lagent's own source.")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of tables")
    parser.add_argument("--rounds", type=int, default=5, help="how often each subject has its turn")
    arguments = parser.parse_args()
    if not PEER.exists():
        raise SystemExit("Lagent is not there: run `make bench-lagent`, which fetches it into .peers/lagent")
    imports = import_times(arguments.rounds)
    ours, theirs = imports["from trivium.agents import Agent"], imports["from lagent.agents import Agent"]
    figures = {
        **surroundings(),
        "microseconds": run_times(arguments.rounds),
        "import_seconds": imports,
        "import_ratio": min(theirs) / min(ours),
    }
    if arguments.json:
        print(json.dumps(figures))
    else:
        show(figures)


if __name__ == "__main__":
    main()
