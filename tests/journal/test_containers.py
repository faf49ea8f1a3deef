"""Runs of an SQLite file that several containers share: none sees the processes of another one."""

from __future__ import annotations

import logging
import os
import platform
import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import Context
from pathlib import Path
from typing import NoReturn

import pytest

from trivium.exceptions import RunAliveError, RunTakenOverError
from trivium.journal import Journal, _owners, step
from trivium.journal._owners import Caller, Owner, own_process
from trivium.journal._sqlite import SQLiteRunStore
from trivium.journal._work_locks import WorkLocks

TAKEN_OVER = 7


class Container:
    """A process at work on the run "a", whose id is that of no process here.

    Args:
        path: the journal.
    """

    def __init__(self, path: Path) -> None:
        self._begun, begun = os.pipe()
        going, self._go_on = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            os.close(self._go_on)  # so that it ends with this process
            Context().run(self._work, path, begun, going)  # outside of a run of this process
        os.close(begun)
        assert os.read(self._begun, 1)

    def _work(self, path: Path, begun: int, going: int) -> NoReturn:
        ended = 1
        try:
            os.getpid = lambda: 5_000_000
            platform.node = lambda: "far"
            setattr(_owners, "_start_of", str)  # noqa: B010 - it is private
            with Journal(path).run("a"):
                step("first", lambda: 1)
                os.write(begun, b".")
                os.read(going, 1)
                step("second", lambda: 2)
            ended = 0
        except RunTakenOverError:
            ended = TAKEN_OVER
        finally:
            os._exit(ended)

    def go_on(self) -> int:
        """Let it go on; return how it has ended."""
        os.write(self._go_on, b".")
        return self._wait()

    def kill(self) -> None:
        """Kill it."""
        os.kill(self._pid, signal.SIGKILL)
        self._wait()

    def _wait(self) -> int:
        return os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])


@contextmanager
def opened(path: Path) -> Generator[Journal]:
    journal = Journal(path)
    yield journal
    journal.close()


@pytest.mark.parametrize("is_killed", [True, False])
def test_a_run_of_another_container_is_at_work_as_long_as_its_process_is(tmp_path: Path, is_killed: bool):
    path = tmp_path / "runs.db"
    container = Container(path)
    with opened(path) as journal:
        assert journal.info("a").status == "running"
        with journal.run("b"):
            assert {each.id: each.status for each in journal.runs()} == {"a": "running", "b": "running"}
            with pytest.raises(RunAliveError, match=r"is at work: .*in the process 5000000 of far"):
                journal.forget("a")
        with pytest.raises(RunAliveError, match=r"process 5000000 of far.*journal\.give_up") as caught:
            SQLiteRunStore(path).begin("a", "run", "", Caller.here())
        assert not caught.value.is_here
        if not is_killed:
            assert container.go_on() == 0
            assert journal.info("a").status == "done"
            return
        container.kill()
        assert journal.info("a").status == "killed"
        with journal.run("a"):
            assert [step("first", lambda: 3), step("second", lambda: 4)] == [1, 4]
        assert (journal.info("a").epoch, journal.info("a").status) == (2, "done")


def test_an_attempt_whose_run_was_deleted_writes_nothing_into_the_new_one_of_its_id(tmp_path: Path):
    path = tmp_path / "runs.db"
    container = Container(path)
    with opened(path) as journal:
        journal.give_up(journal.info("a"), "its machine is gone")
        journal.forget("a")
        with journal.run("a"):
            assert step("mine", lambda: 5) == 5
            assert container.go_on() == TAKEN_OVER
        assert [each.name for each in journal.entries("a")] == ["mine"] * 2
        assert (journal.info("a").epoch, journal.info("a").status) == (1, "done")


@pytest.mark.parametrize("is_running", [True, False])
def test_a_process_of_an_older_version_in_the_same_container_is_known_by_its_id(
    monkeypatch: pytest.MonkeyPatch, is_running: bool
):
    monkeypatch.setattr(_owners, "_host", platform.node)
    older = Owner.parse(own_process("store", Caller.here()))
    monkeypatch.setattr(_owners, "_host", lambda: f"{platform.node()} (pid:[1])")
    assert older._replace(start=older.start if is_running else "1").is_alive(lambda: False) is is_running


@pytest.mark.skipif(sys.platform != "linux", reason="its locks end when any of the process closes the file")
def test_a_lock_outlives_a_copy_of_its_file_which_has_the_mode_of_the_journal(tmp_path: Path):
    path = tmp_path / "runs.db"
    path.touch()
    path.chmod(0o664)
    locks = WorkLocks(path)
    locks.take("one")
    assert Path(f"{path}-work").read_bytes() == b""  # a backup, which closes it
    assert Path(f"{path}-work").stat().st_mode & 0o777 == 0o664
    assert [_is_held_elsewhere(path, each) for each in ("one", "two")] == [True, False]
    locks.take("two")
    locks.leave("one")
    assert [_is_held_elsewhere(path, each) for each in ("one", "two")] == [False, True]
    locks.leave("two")
    assert not _is_held_elsewhere(path, "two")


def test_a_lock_ends_with_its_process_and_not_with_a_child_of_that(tmp_path: Path):
    path = tmp_path / "runs.db"
    path.touch()
    ending, end = os.pipe()
    child = os.fork()
    if child == 0:
        WorkLocks(path).take("one")
        os.close(end)
        if os.fork() == 0:
            os.read(ending, 1)
        os._exit(0)
    os.waitpid(child, 0)
    assert Path(f"{path}-work").exists()
    assert not _is_held_elsewhere(path, "one")
    os.close(end)
    os.close(ending)


def _is_held_elsewhere(path: Path, attempt: str) -> bool:
    """Return whether another process finds that the lock of an attempt is held."""
    child = os.fork()
    if child == 0:
        os._exit(WorkLocks(path).is_held(attempt))
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1


def test_a_lock_that_cannot_be_taken_is_told_once(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    path = tmp_path / "runs.db"
    path.touch()
    Path(f"{path}-work").mkdir()
    locks = WorkLocks(path)
    with caplog.at_level(logging.WARNING, "trivium.journal"):
        locks.take("one")
        locks.take("two")
        locks.leave("one")
    (told,) = caplog.messages
    assert "runs.db-work cannot be locked" in told
    assert "take them over" in told


def test_the_file_of_the_locks_goes_with_the_last_one(tmp_path: Path):
    journal, other, file = Journal(tmp_path / "runs.db"), Journal(tmp_path / "runs.db"), tmp_path / "runs.db-work"
    with journal.run("a"):
        other.close()
        assert file.exists()
    journal.close()
    assert not file.exists()
