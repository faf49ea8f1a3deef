"""Races of two processes for one run: one of them performs its effect, and both have its result."""

from __future__ import annotations

import multiprocessing
import os
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from journal._places import Place
from trivium.journal import step

__all__ = ["HEAD", "rows"]

HEAD = ("races", "won by the first, by the second", "effects that happened twice", "results that differ")


def rows(place: Place, count: int) -> Iterable[tuple[object, ...]]:
    """One row: all races."""
    context = multiprocessing.get_context("fork")
    with tempfile.TemporaryDirectory() as folder:
        witness, barrier = Path(folder, "witness"), context.Barrier(2)
        racers = [context.Process(target=_race, args=(place, count, witness, barrier, at)) for at in range(2)]
        for racer in racers:
            racer.start()
        for racer in racers:
            racer.join()
        done = [line.split() for line in witness.read_text().splitlines()]
        said = [Path(f"{witness}.{at}").read_text().splitlines() for at in range(2)]
    happened = Counter(run for run, _ in done)
    won = Counter(who for _, who in done)
    twice = sum(number != 1 for number in happened.values()) + count - len(happened)
    differ = sum(first != second for first, second in zip(*said, strict=True)) + count - len(said[0])
    codes = [racer.exitcode for racer in racers]
    verdict = "" if (twice, differ, codes) == (0, 0, [0, 0]) else f" WRONG {codes}"
    yield count, f"{won['0']}, {won['1']}", f"{twice}{verdict}", differ


def _race(place: Place, count: int, witness: Path, barrier: Any, own: int) -> None:
    """Run each of the runs, together with the other process."""
    journal = place.journal()

    def act(number: int) -> str:
        with witness.open("a") as file:
            file.write(f"{number} {own}\n")
        return f"{number} by {os.getpid()}"

    with Path(f"{witness}.{own}").open("w") as said:
        for number in range(count):
            barrier.wait(60)
            with journal.run(f"race-{number}"):
                said.write(step("act", act, number) + "\n")
