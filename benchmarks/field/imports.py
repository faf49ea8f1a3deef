"""What an import costs: each in a new process, cold where there is no bytecode yet, warm where there is."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Mapping
from typing import Any

from figures import Cell, differs
from subjects import LIMIT, PEERS, environment, interpreter

CODE = """
import sys, time, json
known = {{*globals(), "known", "before", "began"}}
before, began = len(sys.modules), time.perf_counter()
{statement}
seconds, after = time.perf_counter() - began, len(sys.modules)
memory = [line.split()[1] for line in open("/proc/self/status") if line.startswith("VmRSS")][0]
print("\\n" + json.dumps([seconds, after - before, int(memory) / 1024]))
"""
# After the clock has stopped: whether the names stand for what they say, and a turn comes of them.
USED = """
names = {{name: value for name, value in globals().items() if name not in known | {{"seconds", "after", "memory"}}}}
loaded = set(sys.modules)
sys.path.insert(0, {peers!r})
import driver
from importlib import import_module
used = driver.Workloads(import_module({name!r} + "_adapter").Peer()).used(names, loaded)
print("\\n" + json.dumps([used]))
"""
WANTED = {"names": True, "works": True}


def once(name: str, statement: str, *, cold: bool = False, used: bool = False) -> Any:
    """Seconds, modules and MB of one import, or what came of its use, or the words of its failure or its time out."""
    code = CODE.format(statement=statement) + (USED.format(peers=str(PEERS), name=name) if used else "")
    with tempfile.TemporaryDirectory() as folder:
        told = environment(name, folder)
        if cold:
            told["PYTHONPYCACHEPREFIX"] = os.path.join(folder, "bytecode")
        command = [str(interpreter(name)), "-W", "ignore", "-c", code]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, check=False, cwd=folder, env=told, timeout=LIMIT
            )
        except subprocess.TimeoutExpired:
            return f"it took longer than {LIMIT:.0f} s"
    return json.loads(done.stdout.rpartition("\n[")[2].join(["[", ""])) if done.returncode == 0 else done.stderr[-300:]


def check(cell: Cell, name: str, statement: str) -> None:
    """Refuse the figures of an import of which nothing comes."""
    told = once(name, statement, used=True)
    if isinstance(told, str):
        cell.stop("failed", told)
    elif (why := differs(WANTED, told[0])) is not None:
        cell.stop("refused", f"it did not do the same work: {why}")


def measure_imports(statements: Mapping[str, str], rounds: int) -> dict[str, Cell]:
    """The imports of all subjects in turns; the cold ones in each third round."""
    cells = {name: Cell() for name in statements}
    for name, statement in statements.items():  # which warms up too
        check(cells[name], name, statement)
    for attempt in range(1, min(rounds, 3) + 1):
        for name, statement in statements.items():
            if cells[name].kind != "measured":
                continue
            for kind in ("warm", "cold") if attempt <= max(1, rounds // 3) else ("warm",):
                told = once(name, statement, cold=kind == "cold")
                if isinstance(told, str):
                    cells[name].stop("failed", told)
                elif cells[name].kind == "measured":
                    seconds, modules, memory = told
                    cells[name].values.setdefault(kind, []).append(seconds)
                    if kind == "warm":
                        cells[name].values.setdefault("modules", []).append(modules)
                        cells[name].values.setdefault("memory", []).append(memory)
    return cells
