"""Commits that several writers share."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event, get_ident

import pytest

from trivium.exceptions import RunTakenOverError
from trivium.journal import Journal, step, step_async
from trivium.journal._commits import GroupCommit
from trivium.journal.lowlevel import Appending, SQLiteRunStore


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


def test_tasks_of_a_loop_are_written_by_one_thread_and_an_error_is_that_of_the_first_alone() -> None:
    tried: list[list[int]] = []
    threads: set[int] = set()
    is_writing, may_go_on = Event(), Event()

    def commit(items: Sequence[int]) -> dict[int, Exception]:
        tried.append(list(items))
        is_writing.set()
        threads.add(get_ident())
        assert may_go_on.wait(30)
        if items[0] == 1:
            raise OSError(items[0])
        return {at: RunTakenOverError(f"{item}", "a") for at, item in enumerate(items) if item == 3}

    async def program() -> list[BaseException | None]:
        group = GroupCommit[int]()
        writing = [asyncio.ensure_future(group.write_beside(0, commit))]
        assert await asyncio.to_thread(is_writing.wait, 30)
        writing += [asyncio.ensure_future(group.write_beside(number, commit)) for number in range(1, 6)]
        await asyncio.sleep(0)
        assert len(group.waiting) == 5
        writing[4].cancel()
        may_go_on.set()
        return await asyncio.gather(*writing, return_exceptions=True)

    found = asyncio.run(program())
    assert tried == [[0], [1, 2, 3, 4, 5], [2, 3, 4, 5]]
    assert len(threads) == 1
    kinds = [type(each) for each in found]
    none = type(None)
    assert kinds == [none, OSError, none, RunTakenOverError, asyncio.CancelledError, none]


def test_what_the_tasks_of_a_run_write_at_once_is_one_commit(tmp_path: Path) -> None:
    commits: list[int] = []

    class Counting(SQLiteRunStore):
        def append_all(self, group: Sequence[Appending]) -> Mapping[int, Exception]:
            commits.append(len(group))
            time.sleep(0.05)  # so that all others are waiting
            return super().append_all(group)

    journal = Journal(Counting(tmp_path / "runs.db"))

    async def run(number: int) -> None:
        async with journal.run(f"run-{number}"):
            await asyncio.gather(*(step_async(f"step-{at}", lambda: 1) for at in range(10)))

    async def program() -> None:
        await asyncio.gather(*map(run, range(4)))

    asyncio.run(program())
    for number in range(4):
        kinds = Counter(each.kind for each in journal.entries(f"run-{number}"))
        assert kinds == {"intent": 10, "outcome": 10}
    assert max(commits) > 1  # of several runs
    assert len(commits) < 20  # of 80 records
    journal.close()


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
