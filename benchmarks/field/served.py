"""Sessions at a local model server: the first turn of a process, throughput and added latency, as a closed loop and
with time to think."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.request import ProxyHandler, build_opener

sys.path.insert(0, str(Path(__file__).parents[1]))

from figures import Cell
from running import running
from subjects import FLOOR, Child, Hung

LEVELS = (1, 10, 100, 1000)
MODEL_SECONDS, SECONDS, LOAD = 0.05, 2.0, 0.6
LONG = 10.0  # the longest that a run with time to think lasts
LIMIT = 60.0
DIRECT = build_opener(ProxyHandler({}))  # the server is on this machine, whatever http_proxy says
PATIENCE = 20.0  # a level is left out where one turn of each session would take longer


def begun(url: str) -> int:
    """How many answers the server has begun."""
    with DIRECT.open(f"{url}/requests") as answer:
        return int(answer.read())


def one(child: Child, url: str, request: dict[str, Any]) -> dict[str, Any]:
    """A run at one level; what the server counted is evidence too."""
    before = begun(url)
    answer = child.ask({**request, "url": url}, LIMIT)
    if "evidence" in answer:
        answer["evidence"]["the server was asked for each turn"] = begun(url) - before >= answer["turns"]
    return answer


def named(answer: dict[str, Any], kind: str) -> dict[str, Any]:
    """The same with names of figures that tell the level."""
    figures = answer.get("figures")
    return answer if figures is None else {**answer, "figures": {f"{kind} {name}": v for name, v in figures.items()}}


def measure_subject(name: str, child: Child, url: str, cell: Cell, floor: Any) -> None:
    """The first turn of a subject in a process of its own, all levels, then 1,000 sessions that think."""
    alone = Child(name)
    try:
        answer = level(alone, url, {"do": "first_served"})
    finally:
        alone.end()
    if not took(cell, "first", answer, floor, name == FLOOR):
        return
    capacity, began = 1000.0, time.monotonic()
    for sessions in LEVELS:
        if sessions / capacity > PATIENCE or time.monotonic() - began > LIMIT:
            answer = {"failed": f"not run: {capacity:.0f} turns a second came through at the level before"}
        else:
            answer = level(child, url, _sessions(sessions, SECONDS))
        if not took(cell, str(sessions), answer, floor, name == FLOOR):
            return
        capacity = answer["figures"]["throughput"]  # of the last level, whose sessions think below
    think = max(0.0, LEVELS[-1] / (LOAD * capacity) - MODEL_SECONDS)
    answer = level(child, url, _sessions(LEVELS[-1], min(LONG, SECONDS + 2 * think), think))
    answer.get("figures", {})["load"] = LEVELS[-1] / (think + MODEL_SECONDS)
    took(cell, "think", answer, floor, name == FLOOR)


def measure_and_hang_up(name: str, child: Child, url: str, cell: Cell, floor: Any) -> None:
    """The same, and then its connections are closed."""
    measure_subject(name, child, url, cell, floor)
    with suppress(Hung):
        child.ask({"do": "hang_up", "url": url}, LIMIT)


def _sessions(sessions: int, seconds: float, think: float = 0.0) -> dict[str, Any]:
    return {"do": "served", "sessions": sessions, "seconds": seconds, "think": think}


def level(child: Child, url: str, request: dict[str, Any]) -> dict[str, Any]:
    """A run at one level, or why there is none."""
    try:
        return one(child, url, request)
    except Hung as why:
        return {"failed": str(why)}


def took(cell: Cell, kind: str, answer: dict[str, Any], floor: Any, is_floor: bool) -> bool:
    """Take the figures of a level. Where a level fails, those of the levels before it stay."""
    if cell.values and "failed" in answer:
        cell.why = f"at the level of {kind}: {answer['failed'] or 'it took too long'}"
        return False
    cell.add(named(answer, kind), floor, is_floor)
    return cell.kind == "measured"


def measure_served(children: dict[str, Child], rounds: int, note: Callable[[str], None]) -> dict[str, Cell]:
    """All subjects in turns."""
    cells = {name: Cell() for name in children}
    slow = set[str]()
    with running(Path(__file__).with_name("server.py"), str(MODEL_SECONDS)) as url:
        for attempt in range(rounds):
            for name, child in children.items():
                if cells[name].kind != "measured" or cells[name].why or (attempt and name in slow):
                    continue
                began = time.monotonic()
                measure_and_hang_up(name, child, url, cells[name], cells[FLOOR].evidence)
                seconds = time.monotonic() - began
                if seconds > 4 * SECONDS * len(LEVELS):
                    slow.add(name)
                note(f"served: {name}: {seconds:.0f} s {cells[name].why or ''}")
    return cells
