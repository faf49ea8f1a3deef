"""Files and disks that fail, are damaged or belong to others: typed errors, and nothing that was committed is lost."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from _disks import mounted, read_only
from journal._places import sqlite_place
from trivium import Agent, this_call
from trivium.cli._runs import open_journal
from trivium.exceptions import ConfigurationError, JournalDamagedError, JournalError, JournalVersionError
from trivium.journal import Journal, _sqlite, step
from trivium.journal.lowlevel import Appending, SQLiteRunStore
from trivium.testing import ScriptedModel

ROOT = Path(__file__).parents[2]


def fill(journal: Journal) -> list[int]:
    """Write until it cannot; return what was committed."""
    done: list[int] = []
    with journal.run("big"):
        for number in range(1000):
            step("note", "{:>2000}".format, number, effect="read")
            done.append(number)
    return done


def committed(journal: Journal, run_id: str = "big") -> int:
    return sum(each.kind == "outcome" for each in journal.entries(run_id))


def test_a_disk_that_is_full_is_told_and_the_run_goes_on_when_there_is_space(tmp_path: Path):
    with mounted(tmp_path / "disk", "256k") as disk:
        journal = Journal(disk / "runs.db")
        with pytest.raises(JournalError, match=r"full.*then resume the run"):
            fill(journal)
        before = committed(journal)
        assert 5 < before < 1000
        assert journal.info("big").status in ("failed", "killed")  # the latter if that could not be written either
        subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
        assert len(fill(journal)) == 1000
        assert (committed(journal), journal.info("big").status, journal.info("big").epoch) == (1000, "done", 2)
        journal.close()


def test_a_file_that_may_not_grow_is_told(tmp_path: Path):
    child = os.fork()
    if child == 0:
        status = 1
        try:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
            try:
                fill(Journal(tmp_path / "runs.db"))
            except JournalError as error:
                status = 0 if "resume the run" in str(error) else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    journal = Journal(tmp_path / "runs.db")
    assert committed(journal) > 5
    assert len(fill(journal)) == 1000
    assert committed(journal) == 1000


def test_a_disk_that_can_only_be_read_is_told(tmp_path: Path):
    with mounted(tmp_path / "disk", "4m") as disk:
        journal = Journal(disk / "runs.db")
        with journal.run("a"):
            step("one", lambda: 1)
        journal.close()
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        with pytest.raises(JournalError, match=r"right to write|user can write"), journal.run("b"):
            pass
        subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
        with journal.run("b"):
            step("one", lambda: 1)
        assert {run.id for run in journal.runs()} == {"a", "b"}
        journal.close()


@pytest.mark.parametrize("left", ["", "-wal", "-wal -shm"])
def test_a_journal_that_can_only_be_read_is_read(tmp_path: Path, left: str):
    """A copy; with the log that a killed process has left, if SQLite has its index too."""
    path = tmp_path / "runs.db"
    journal = Journal(path)
    for run_id in ("a", "b"):
        with journal.run(run_id):
            step("one", lambda: 1)
    if not left:
        journal.close()
    with mounted(tmp_path / "disk", "4m") as disk:
        for each in ("", *left.split()):
            shutil.copyfile(f"{path}{each}", disk / f"runs.db{each}")
        journal.close()
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        copied = Journal(disk / "runs.db")
        if left == "-wal":
            with pytest.raises(JournalError, match="or copy it, with the -wal beside it"):
                copied.runs()
            return
        assert {each.id for each in copied.runs()} == {"a", "b"}
        first, second = copied.view("a"), copied.view("b")
        assert [each.status for each in first.tree().walk()] == ["done", "done"]
        assert first.diff(second) is None
        with first.as_journal().run("a"):
            assert step("one", lambda: 2) == 1
        with copied.run("a"):  # which is done
            assert step("one", lambda: 2) == 1
        for change in (lambda: copied.forget("a"), lambda: first.fork("c"), copied.run("c").__enter__):
            with pytest.raises(JournalError, match="the right to write"):
                change()
        copied.close()


@pytest.mark.parametrize("content", ["3", '{"a": 1}', "x" * 5000])
def test_a_file_that_is_no_journal_is_told_and_stays(tmp_path: Path, content: str):
    (tmp_path / "numbers.json").write_text(content)
    with pytest.raises(JournalDamagedError, match=r"no journal \(file is not a database\): .*give another file"):
        Journal(tmp_path / "numbers.json").runs()
    assert (tmp_path / "numbers.json").read_text() == content


def test_a_file_that_others_hold_is_waited_for_and_then_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    Journal(tmp_path / "runs.db").runs()
    monkeypatch.setattr(_sqlite, "BUSY_SECONDS", 0.2)
    journal = Journal(tmp_path / "runs.db")
    with closing(sqlite3.connect(tmp_path / "runs.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(JournalError, match=r"others have written to it.*later"), journal.run("a"):
            pass
        other.execute("ROLLBACK")
    with journal.run("a"):
        assert step("one", lambda: 1) == 1


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE run SET epoch = 'x'",
        "UPDATE run SET epoch = NULL",
        "UPDATE run SET owner = 'x:y', status = 'running'",
        "UPDATE run SET owner = NULL, status = 'running'",
        "UPDATE run SET head = NULL",
        "UPDATE run SET started = 'x', why = 7, status = 'x'",
        "UPDATE entry SET body = CAST(x'ff' AS TEXT)",
        "UPDATE entry SET seq = 10 - seq",
        "DROP TABLE entry",
        "DROP TABLE run",
        "PRAGMA user_version = 99",
    ],
)
def test_what_was_changed_by_hand_is_noticed_or_does_no_harm(tmp_path: Path, change: str):
    place, ran = sqlite_place(tmp_path / "runs.db"), list[int]()

    def program() -> object:
        with place.journal().run("a"):
            return step("pay", lambda: ran.append(1) or "receipt")

    program()
    place.execute(change)
    try:
        assert program() == "receipt"
        place.journal().runs()
    except (JournalDamagedError, JournalVersionError):
        pass
    assert ran == [1]


@pytest.mark.parametrize(
    "body", ["{", '{"a":' * 50_000, "[" * 50_000, '{"asked": 7}', '{"asked": [1]}', b"{}\xff", None]
)
def test_a_damaged_input_hides_no_other_run(tmp_path: Path, body: object):
    place = sqlite_place(tmp_path / "runs.db")
    for run_id in ("a", "b"):
        Agent(ScriptedModel(["hello"]))(f"hi {run_id}", run_id=run_id, journal=place.journal())
    with closing(sqlite3.connect(tmp_path / "runs.db", isolation_level=None)) as other:
        other.execute("UPDATE entry SET body = ? WHERE run = 'a' AND seq = 1", (body,))
    found = place.journal().inputs(["a", "b"])
    assert [found[each]["text"] for each in ("a", "b")] == ["", "hi b"]


@pytest.mark.parametrize(
    ("place", "says"),
    [
        (".", "is a folder"),
        ("/", "is a folder"),
        ("~nobody-of-this-name/runs.db", "a user who is not known: write ./~nobody-of-this-name/runs.db"),
        ("~runs.db", "write ./~runs.db for a file"),
        ("postgres:/ada:secret@host/runs", "not postgres:…"),
        ("dbname=runs password=secret", "not dbname=…"),
        ("postgresql://ada:first@secret@host/runs", "percent-encoded"),
        ("postgresql://ada:1/secret@host/runs", "percent-encoded"),
    ],
)
def test_what_is_no_place_is_refused_and_no_password_is_shown(place: str, says: str):
    with pytest.raises(ConfigurationError, match=says) as refused:
        Journal(place)
    assert "secret" not in str(refused.value)


def test_a_folder_that_this_user_may_not_read_is_told(tmp_path: Path):
    (folder := tmp_path / "closed").mkdir(mode=0)
    is_root = os.geteuid() == 0
    if is_root:  # who may read everything
        os.seteuid(65534)
    try:
        for opened in (Journal, open_journal):
            with pytest.raises(ConfigurationError, match="may not read the folder"):
                opened(f"{folder}/runs.db")
    finally:
        if is_root:
            os.seteuid(0)


def test_who_may_only_read_sees_what_others_write(tmp_path: Path):
    (tmp_path / "shared").mkdir()

    def write(run_id: str) -> None:
        with Journal(tmp_path / "shared" / "runs.db") as writer, writer.run(run_id):
            step("note", int)

    with read_only(tmp_path / "shared", tmp_path / "seen") as seen:
        reader = Journal(seen / "runs.db")
        for run_id in ("a", "b"):
            write(run_id)
            assert reader.info(run_id).status == "done"
        with pytest.raises(JournalError, match="readonly"), reader.run("c"):
            pass


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may act for two users")
def test_who_may_read_a_journal_leaves_nothing_that_locks_its_owner_out() -> None:
    with TemporaryDirectory() as name:  # that of pytest is for its owner alone
        path = Path(name, "runs.db")
        with Journal(path) as writer, writer.run("a"):
            step("note", int)
        path.chmod(0o644)
        Path(name).chmod(0o777)
        child = os.fork()
        if not child:
            with suppress(BaseException):
                os.setuid(65534)
                os._exit(Journal(path).info("a").status != "done")
            os._exit(2)
        assert os.waitpid(child, 0)[1] == 0
        assert os.listdir(name) == ["runs.db"]


def _killed_after_paying(path: Path, paid: list[int]) -> None:
    """A run that has paid when its process is killed, and whose log is lost then."""

    class Store(SQLiteRunStore):
        def append_all(self, group: Sequence[Appending]) -> Mapping[int, Exception]:
            super().append_all(group)
            if any((each.kind, each.name) == ("outcome", "pay") for each in group[0].written.entries):
                os._exit(9)
            return {}

    child = os.fork()
    if child == 0:
        _pay(Journal(Store(path)), paid)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    Path(f"{path}-wal").unlink()


def _pay(journal: Journal, paid: list[int]) -> None:
    with journal.run("a"):
        step("pay", paid.append, 3)


def test_a_log_that_is_lost_after_a_crash_repeats_nothing_that_must_happen_once(tmp_path: Path):
    path, paid, notes = tmp_path / "runs.db", list[int](), tmp_path / "runs.db-acts"
    _killed_after_paying(path, paid)
    journal = Journal(path)
    with pytest.raises(JournalDamagedError, match=r"record 1 of the run 'a' is missing.*runs\.db-acts"):
        _pay(journal, paid)
    assert paid == []
    with journal.run("b"):  # others go on
        step("pay", paid.append, 4)
    assert len(notes.read_text().splitlines()) == 2
    journal.forget("a")
    _pay(journal, paid)
    assert paid == [4, 3]
    journal.close()  # all stands in the file: no notes are needed
    assert not notes.exists()
    _pay(journal, paid)
    assert paid == [4, 3]


def test_a_journal_stays_where_it_is_when_the_process_changes_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for each in ("one", "other"):
        (tmp_path / each).mkdir()
    monkeypatch.chdir(tmp_path / "one")
    journal = Journal("runs.db")
    monkeypatch.chdir(tmp_path / "other")
    _pay(journal, [])
    assert {each.parent.name for each in tmp_path.glob("*/runs.db*")} == {"one"}
    assert (tmp_path / "one" / "runs.db-acts").exists()


def test_an_error_that_is_kept_holds_up_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(_sqlite, "BUSY_SECONDS", 0.2)
    place, kept = sqlite_place(tmp_path / "runs.db"), list[BaseException]()
    for run_id in ("a", "b"):
        with place.journal().run(run_id):
            step("one", lambda: 1)
    place.execute("UPDATE entry SET body = '2' WHERE seq = 2 AND run = 'a'")

    def leave_a_cursor_open() -> None:
        database = this_call().transaction
        rows = database.execute("WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n")
        raise ValueError(next(rows))

    try:
        with place.journal().run("a"):
            pass
    except JournalDamagedError as error:
        kept.append(error)
    try:
        with place.journal().run("c"):
            step("fail", leave_a_cursor_open, effect="transactional")
    except ValueError as error:
        kept.append(error)
    with place.journal().run("d"):
        assert step("one", lambda: 1) == 1
    assert len(kept) == 2


def test_notes_do_not_grow_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("trivium.journal._acts._LARGEST", 1000)
    journal, paid = Journal(tmp_path / "runs.db"), list[int]()
    with journal.run("a"):
        for at in range(100):
            step("pay", paid.append, at)
            notes = tmp_path / "runs.db-acts"
            assert not notes.exists() or notes.stat().st_size < 1200
    journal.close()


def test_files_that_are_damaged_and_races_end_well():
    """A part of what benchmarks/journal does."""
    rows = {"damage": 9, "races": 2, "branches": 4}
    command = [sys.executable, "benchmarks/journal", *rows, "--count", "12"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    heads = [at for at, line in enumerate(ran.stdout.splitlines()) if line.startswith("| store |")]
    assert [*heads, len(ran.stdout.splitlines())] == [0, 2 + 9, 2 + 9 + 2 + 2, 3 * 2 + sum(rows.values())]


@pytest.mark.parametrize(("place", "told"), [("", "empty text"), ("a\0b", "null character")])
def test_a_place_that_names_nothing_is_told(place: str, told: str):
    with pytest.raises(ConfigurationError, match=told):
        Journal(place)
