"""Commits that several writers share."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from trivium.exceptions import RunTakenOverError
from trivium.journal import Journal, step
from trivium.journal._commits import GroupCommit


def test_those_who_wait_are_written_in_one_commit_and_each_has_its_own_error() -> None:
    groups: list[list[int]] = []
    is_writing, may_end = Event(), Event()

    def commit(items: Sequence[int]) -> dict[int, Exception]:
        groups.append(sorted(items))
        is_writing.set()
        assert may_end.wait(30)
        return {at: RunTakenOverError(f"{item}", f"{item}") for at, item in enumerate(items) if item == 3}

    group = GroupCommit[int]()
    with ThreadPoolExecutor(6) as threads:
        first = threads.submit(group.write, 0, commit)
        assert is_writing.wait(30)
        others = [threads.submit(group.write, number, commit) for number in range(1, 6)]
        while len(group.waiting) < 5:
            time.sleep(0.001)
        may_end.set()
        errors = [each.exception() for each in (first, *others)]
    assert groups == [[0], [1, 2, 3, 4, 5]]
    assert [str(error) for error in errors if error] == ["3"]


def test_an_error_of_the_disk_is_told_to_each_who_meets_it() -> None:
    tried: list[list[int]] = []
    is_writing, may_end = Event(), Event()

    def commit(items: Sequence[int]) -> dict[int, Exception]:
        tried.append(list(items))
        is_writing.set()
        assert may_end.wait(30)
        if items[0]:
            raise OSError(items[0])
        return {}

    group = GroupCommit[int]()
    with ThreadPoolExecutor(4) as threads:
        written = threads.submit(group.write, 0, commit)
        assert is_writing.wait(30)
        failed = [threads.submit(group.write, number, commit) for number in range(1, 4)]
        while len(group.waiting) < 3:
            time.sleep(0.001)
        may_end.set()
        assert written.result() is None
        assert sorted(each.exception().args[0] for each in failed) == [1, 2, 3]  # type: ignore[union-attr]
    assert len(tried) == 4


@pytest.mark.parametrize("effect", ["read", "once"])
def test_runs_that_write_at_once_keep_all_that_they_wrote(effect: str, tmp_path: Path) -> None:
    journal = Journal(tmp_path / "runs.db")

    def run(number: int) -> None:
        with journal.run(f"run-{number}"):
            for at in range(20):
                step("step", lambda value=at: value, effect=effect)  # type: ignore[arg-type]

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(run, range(8)))
    for number in range(8):
        outcomes = [each for each in journal.entries(f"run-{number}") if each.kind == "outcome"]
        assert len(outcomes) == 20
