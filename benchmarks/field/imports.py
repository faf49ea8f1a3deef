"""What an import costs: each in a new process, cold where there is no bytecode yet, warm where there is."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Mapping
from typing import Any

from figures import Cell
from subjects import environment, interpreter

CODE = """
import sys, time, json
before, began = len(sys.modules), time.perf_counter()
{statement}
seconds, after = time.perf_counter() - began, len(sys.modules)
memory = [line.split()[1] for line in open("/proc/self/status") if line.startswith("VmRSS")][0]
print("\\n" + json.dumps([seconds, after - before, int(memory) / 1024]))
"""


def once(name: str, statement: str, *, cold: bool) -> Any:
    """Seconds, modules and MB of one import, or the words of its failure."""
    with tempfile.TemporaryDirectory() as folder:
        told = environment(name, folder)
        if cold:
            told["PYTHONPYCACHEPREFIX"] = os.path.join(folder, "bytecode")
        command = [str(interpreter(name)), "-W", "ignore", "-c", CODE.format(statement=statement)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, env=told, timeout=120)
    return json.loads(done.stdout.rpartition("\n[")[2].join(["[", ""])) if done.returncode == 0 else done.stderr[-300:]


def measure_imports(statements: Mapping[str, str], rounds: int) -> dict[str, Cell]:
    """The imports of all subjects in turns; the cold ones in each third round."""
    cells = {name: Cell() for name in statements}
    for attempt in range(min(rounds, 3) + 1):  # the first warms up
        for name, statement in statements.items():
            for kind in ("warm", "cold") if 1 <= attempt <= max(1, rounds // 3) else ("warm",):
                told = once(name, statement, cold=kind == "cold")
                if isinstance(told, str):
                    cells[name].stop("failed", told)
                elif attempt and cells[name].kind == "measured":
                    seconds, modules, memory = told
                    cells[name].values.setdefault(kind, []).append(seconds)
                    if kind == "warm":
                        cells[name].values.setdefault("modules", []).append(modules)
                        cells[name].values.setdefault("memory", []).append(memory)
    return cells
