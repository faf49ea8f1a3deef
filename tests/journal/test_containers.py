"""Runs of an SQLite file that several containers share: none sees the processes of another one."""

from __future__ import annotations

import os
import platform
import signal
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
