"""kill -9 inside a tool, and a new process that goes on, where a peer offers it."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from figures import Cell
from subjects import Child, Hung

WHOLE = {"model": 3, "look_up": 1, "charge": 1}  # what a run needs that nobody kills


def told(text: str, before: Sequence[str], after: Sequence[str]) -> str:
    """What the new process did, in words."""
    if text != "done":
        return f"ended with {text!r} instead of 'done'"
    paid = len([each for each in (*before, *after) if each == "model"]) - WHOLE["model"]
    again = "the finished tool ran again" if "look_up" in after else "the finished tool did not run again"
    killed = "the killed one was run again, unasked" if "charge" in after else "the killed one was not run again"
    return f"went on: {paid} model turns paid again; {again}; {killed}"


def killed_and_resumed(child: Child) -> Cell:
    """Let a child be killed by its second tool, and go on in a new process."""
    cell = Cell()
    with tempfile.TemporaryDirectory() as folder:
        noted = Path(folder) / "noted"
        try:
            answer = child.ask({"do": "begin", "path": folder}, 60)
            if "traceback" not in answer or not noted.exists():
                cell.stop("cannot", answer.get("cannot") or f"its process was not killed: {answer}")
                return cell
            before = noted.read_text().split()
            answer = child.ask({"do": "resume", "path": folder}, 60)
        except Hung as why:
            cell.stop("hung", str(why))
            return cell
        if "text" not in answer:
            cell.stop("failed", str(answer.get("failed", answer)))
            return cell
        cell.evidence = told(str(answer["text"]), before, noted.read_text().split()[len(before) :])
    return cell


def measure_killed(children: dict[str, Child]) -> dict[str, Cell]:
    """All subjects, one after the other: nothing is timed."""
    return {name: killed_and_resumed(child) for name, child in children.items()}
