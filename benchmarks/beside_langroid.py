"""What trivium's tasks cost beside Langroid itself, in one run: processor time, and the time of the import.

Run it with `make bench-langroid`, which puts Langroid into an environment of its own below `.peers`, with all that
it asks for. The same program (`peers/task_runs.py`) runs on both, with each package's own `MockLM`: only the
package's name differs. The subjects take turns, each time in a new process; a figure is the median of all rounds,
in microseconds of processor time, and the spread is the difference between the worst round and the best, in parts
of the median. Both must have done the same work, else there is no figure.

Both are quiet (`settings.quiet`), and each is measured twice: with the logs of a task off, and with all of them on
(`.log`, `.tsv` and HTML, each package's default for its root tasks written to a folder that is deleted afterwards).
Langroid's import needs a tokenizer's vocabulary, which it would fetch; it is told of a copy that a package brought.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PEER = ROOT / ".peers" / "langroid" / "bin" / "python"
RUNS = Path(__file__).parent / "peers" / "task_runs.py"
PYTHONS = {"trivium": sys.executable, "langroid": str(PEER)}
LOGS = ("off", "on")
NAMES = "Agent, AgentConfig, ChatAgent, ChatAgentConfig, ChatDocument, Entity, Task, TaskConfig, ToolMessage"
IMPORTS = {
    "from trivium import …": ("trivium", f"from trivium import {NAMES}"),
    "from langroid import …": ("langroid", f"from langroid import {NAMES}"),
    "pass": ("trivium", "pass"),
}
CLOCK = "\nimport time; print(time.process_time())"

Figures = dict[str, dict[str, list[float]]]


def child(subject: str, *arguments: str) -> str:
    """The last line that a subject's interpreter prints, in a folder of its own."""
    vocabulary = PEER.parents[1].glob("lib/python*/site-packages/llama_index/core/_static/tiktoken_cache")
    environment = {**os.environ, "TIKTOKEN_CACHE_DIR": str(next(vocabulary, ""))}
    with tempfile.TemporaryDirectory() as folder:
        command = [PYTHONS[subject], "-W", "ignore", *arguments]
        done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=folder, env=environment)
    if done.returncode:
        raise SystemExit(f"{subject} failed:\n{done.stderr[-5000:]}")
    return done.stdout.rstrip().rpartition("\n")[2]


def import_times(rounds: int) -> dict[str, list[float]]:
    """Seconds of processor time of a whole process that does one import; the first round warms up."""
    found: dict[str, list[float]] = {statement: [] for statement in IMPORTS}
    for attempt in range(rounds + 1):
        for name, (subject, statement) in IMPORTS.items():
            seconds = float(child(subject, "-c", statement + CLOCK))
            if attempt:
                found[name].append(seconds)
    return found


def run_times(rounds: int) -> dict[str, Figures]:
    """Microseconds of each run, by what the logs are, name and subject, all rounds.

    Raises:
        SystemExit: the subjects did not do the same work.
    """
    found: dict[str, Figures] = {logs: {} for logs in LOGS}
    for _ in range(rounds):
        for logs in LOGS:
            evidence: dict[str, dict[str, Any]] = {}
            for subject in PYTHONS:
                told = json.loads(child(subject, str(RUNS), subject, logs))
                for name, each in told.items():
                    found[logs].setdefault(name, {}).setdefault(subject, []).append(each["microseconds"])
                    evidence.setdefault(name, {})[subject] = each["evidence"]
            for name, each in evidence.items():
                if len({json.dumps(did) for did in each.values()}) != 1:
                    raise SystemExit(f"they did not do the same work in '{name}': {json.dumps(each, indent=1)}")
    return found


def surroundings() -> dict[str, Any]:
    """The machine, the versions and the day."""
    code = "import sys; from importlib.metadata import version; print(*[f'{n} {version(n)}' for n in sys.argv[1:]])"
    return {
        "date": date.today().isoformat(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        "versions": {subject: child(subject, "-c", code, subject, "pydantic") for subject in PYTHONS},
    }


def lines(name: str, times: dict[str, list[float]], width: str) -> Iterator[str]:
    """A row of the table."""
    if times.keys() == PYTHONS.keys():
        ours, theirs = (statistics.median(times[subject]) for subject in PYTHONS)
        spreads = [(max(each) - min(each)) / statistics.median(each) for each in (times[key] for key in PYTHONS)]
        yield f"{name:42}{ours:{width}}{theirs:{width}}{theirs / ours:8.1f}" + "".join(
            f"{each:7.0%}" for each in spreads
        )


def show(figures: dict[str, Any]) -> None:
    """Print the tables."""
    print(f"{figures['date']}; {figures['machine']}; Python {figures['python']}; {figures['rounds']} rounds")
    print("; ".join(figures["versions"].values()))
    head = f"{'trivium':>11}{'langroid':>11}{'ratio':>8}{'spreads':>14}"
    for logs, runs in figures["microseconds"].items():
        print(f"\n{f'µs of processor time, logs {logs}':42}{head}")
        for name, times in runs.items():
            print(*lines(name, times, "11.1f"))
    print(f"\n{'seconds of processor time':42}{head}")
    ours, theirs, floor = figures["import_seconds"].values()
    print(*lines("a process that imports nine names", {"trivium": ours, "langroid": theirs}, "11.3f"))
    print(f"a process that does nothing: {statistics.median(floor):.3f}")


def main() -> None:
    """Measure, and print tables or JSON."""
    parser = argparse.ArgumentParser(description="Measure trivium's tasks beside Langroid itself.")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of tables")
    parser.add_argument("--rounds", type=int, default=3, help="how often each subject has its turn")
    arguments = parser.parse_args()
    if not PEER.exists():
        raise SystemExit("Langroid is not there: run `make bench-langroid`, which fetches it into .peers/langroid")
    figures = {
        **surroundings(),
        "rounds": arguments.rounds,
        "import_seconds": import_times(arguments.rounds),
        "microseconds": run_times(arguments.rounds),
    }
    if arguments.json:
        print(json.dumps(figures))
    else:
        show(figures)


if __name__ == "__main__":
    main()
