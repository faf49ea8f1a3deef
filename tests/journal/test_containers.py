"""Runs of an SQLite file that several containers share: none sees the processes of another one.

Also those of systems that do not tell of a process what Linux does, which are imitated.
"""

from __future__ import annotations

import ctypes
import logging
import os
import platform
import signal
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import Context
from ctypes import wintypes
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest

from trivium.exceptions import RunAliveError, RunTakenOverError
from trivium.journal import Journal, _owners, _work_locks, step
from trivium.journal._owners import Caller, Owner, own_process
from trivium.journal._sqlite import SQLiteRunStore
from trivium.journal._work_locks import WorkLocks

TAKEN_OVER = 7
STARTED = 134_000_000_000_000_000
HIGH = 1 << 40
"""Handles are above: they need all bits of a pointer."""


class Container:
    """A process at work on the run "a", whose id is that of no process here, or of another one.

    Args:
        path: the journal.
        pid: the id.
        host: the name of its machine.
        start: when it started.
    """

    def __init__(self, path: Path, pid: int = 5_000_000, host: str = "far", start: str = "5000000") -> None:
        self._parts = pid, host, start
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
            pid, host, start = self._parts
            os.getpid = lambda: pid
            platform.node = lambda: host
            setattr(_owners, "_start_of", always(start))  # noqa: B010 - it is private
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


def always(start: str) -> Callable[[int], str]:
    return lambda pid: start


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


def test_where_no_start_is_told_a_lock_tells_an_attempt_from_a_later_process_of_its_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "runs.db"
    imitate_macos(monkeypatch)
    container = Container(path, 1, platform.node(), "?")
    with opened(path) as journal, opened(path) as other:
        with journal.run("b"):
            for each in (journal, other, journal):
                assert {run.id: run.status for run in each.runs()} == {"a": "running", "b": "running"}
            container.kill()
            assert {run.id: run.status for run in other.runs()} == {"a": "killed", "b": "running"}
        with other.run("a"):
            assert [step("first", lambda: 3), step("second", lambda: 4)] == [1, 4]


def test_where_no_start_is_told_and_the_locks_are_deleted_a_living_process_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path, locks = tmp_path / "runs.db", tmp_path / "runs.db-work"
    imitate_macos(monkeypatch)
    here = Container(path, 1, platform.node(), "?")
    with opened(path) as journal:
        locks.unlink()
        assert journal.info("a").status == "running"
        assert here.go_on() == 0
        assert journal.info("a").status == "done"


def test_where_no_start_is_told_the_locks_stay_which_prove_that_a_run_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "runs.db"
    imitate_macos(monkeypatch)
    Container(path, 1, platform.node(), "?").kill()
    for _ in range(2):  # the first one closes the journal, with no run at work
        with opened(path) as journal:
            assert journal.info("a").status == "killed"


def imitate_macos(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the system tell no start of a process, and each id here be that of one."""
    monkeypatch.setattr(_owners, "_start_of", always("?"))
    monkeypatch.setattr(_work_locks, "sys", SimpleNamespace(platform="darwin"))


@pytest.mark.parametrize(
    ("pid", "start", "is_alive"),
    [
        (8, STARTED, [True, True]),
        (8, STARTED - 1, [False, False]),  # one that had the id before
        (12, STARTED, [False, False]),  # it has ended
        (16, STARTED, [False, False]),  # there is none
        (20, STARTED, [True, True]),  # it cannot be waited for
        (4, STARTED, [False, True]),  # it may not be asked, so that another sign decides
    ],
)
def test_windows_is_asked_when_a_process_started_and_no_signal_is_sent_which_would_be_ctrl_c(
    monkeypatch: pytest.MonkeyPatch, pid: int, start: int, is_alive: list[bool]
):
    handles = set[int]()
    monkeypatch.setattr(ctypes, "WinDLL", partial(kernel32, handles), raising=False)
    monkeypatch.setattr(ctypes, "get_last_error", lambda: 5 if pid == 4 else 87, raising=False)
    monkeypatch.setattr(os, "kill", partial(pytest.fail, "a signal was sent"))
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(os, "getpid", lambda: 8)
    own = Owner.parse(own_process("store", Caller.here()))
    assert own.start == str(STARTED)
    assert [
        own._replace(pid=pid, start=str(start)).is_alive(lambda _, sign=sign: sign) for sign in (False, True)
    ] == is_alive
    assert not handles


def kernel32(handles: set[int], name: str, use_last_error: bool) -> SimpleNamespace:
    """Return the library of Windows, as far as it tells of processes: 8 and 20 run, 12 has ended, 4 may not be asked.

    Args:
        handles: gets those that are open.
        name: the name of the library.
        use_last_error: it must be asked for, so that `ctypes.get_last_error` tells the error.
    """
    assert (name, use_last_error) == ("kernel32", True)

    def open_process(access: int, inherit: int, pid: int) -> int:
        assert (access, inherit) == (0x101000, 0)
        if pid not in (8, 12, 20):
            return 0
        handles.add(HIGH + pid)
        return HIGH + pid

    def wait(handle: int, milliseconds: int) -> int:
        assert (handle in handles, milliseconds) == (True, 0)
        return {HIGH + 12: 0, HIGH + 20: 0xFFFF_FFFF}.get(handle, 258)

    def times(handle: int, start: Any, *others: Any) -> int:
        assert handle in handles
        start.contents.dwHighDateTime, start.contents.dwLowDateTime = divmod(STARTED, 1 << 32)
        return len({ctypes.addressof(each.contents) for each in (start, *others)}) == 4

    def close(handle: int) -> int:
        handles.remove(handle)
        return 1

    time = ctypes.POINTER(wintypes.FILETIME)
    return SimpleNamespace(
        OpenProcess=ctypes.CFUNCTYPE(wintypes.HANDLE, wintypes.DWORD, wintypes.BOOL, wintypes.DWORD)(open_process),
        WaitForSingleObject=ctypes.CFUNCTYPE(wintypes.DWORD, wintypes.HANDLE, wintypes.DWORD)(wait),
        GetProcessTimes=ctypes.CFUNCTYPE(wintypes.BOOL, wintypes.HANDLE, time, time, time, time)(times),
        CloseHandle=ctypes.CFUNCTYPE(wintypes.BOOL, wintypes.HANDLE)(close),
    )


@pytest.mark.parametrize("is_running", [True, False])
def test_a_process_of_an_older_version_in_the_same_container_is_known_by_its_id(
    monkeypatch: pytest.MonkeyPatch, is_running: bool
):
    monkeypatch.setattr(_owners, "_host", platform.node)
    older = Owner.parse(own_process("store", Caller.here()))
    monkeypatch.setattr(_owners, "_host", lambda: f"{platform.node()} (pid:[1])")
    assert older._replace(start=older.start if is_running else "1").is_alive(lambda _: False) is is_running


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
    assert locks.is_held("two")
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


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc tells the state of a process")
def test_a_process_that_has_ended_holds_no_run_though_its_parent_has_not_waited_for_it(tmp_path: Path):
    begun, told = os.pipe()
    pid = os.fork()
    if pid == 0:
        Context().run(_begin_and_end, tmp_path / "runs.db", told)
    try:
        assert os.read(begun, 1)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)  # it has ended, and is there until it is waited for
        assert Path(f"/proc/{pid}/stat").exists()
        assert [each.status for each in Journal(tmp_path / "runs.db").runs()] == ["killed"]
    finally:
        os.waitpid(pid, 0)
        os.close(begun)
        os.close(told)


def _begin_and_end(path: Path, told: int) -> NoReturn:
    with Journal(path).run("a"):
        step("first", lambda: 1)
        os.write(told, b".")
        os._exit(1)
