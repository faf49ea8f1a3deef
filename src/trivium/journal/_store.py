"""The file of a journal: runs and their records, which are only ever added."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias

from trivium.caches.lowlevel import SQLiteConnections
from trivium.exceptions import (
    ConfigurationError,
    JournalDamagedError,
    JournalError,
    JournalVersionError,
    RunAliveError,
    RunInputError,
    RunTakenOverError,
    UnknownRunError,
)

__all__ = ["Entry", "EntryKind", "RunInfo", "RunStatus", "SQLiteStore", "own_process"]

VERSION: Final = 1
BUSY_SECONDS: Final = 30.0
_TABLES: Final = """
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS run (
    id TEXT PRIMARY KEY, root TEXT, digest TEXT, status TEXT, epoch INTEGER, owner TEXT, started REAL, ended REAL,
    why TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS entry (
    run TEXT, seq INTEGER, epoch INTEGER, kind TEXT, node TEXT, parent TEXT, name TEXT, digest TEXT, body TEXT,
    at REAL, link TEXT, PRIMARY KEY (run, seq)) WITHOUT ROWID;
COMMIT;
"""
_RUNS: Final = "SELECT id, root, status, started, ended, why, epoch, owner FROM run"
_ENTRIES: Final = "SELECT seq, kind, node, parent, name, digest, body, at, link FROM entry WHERE run = ? ORDER BY seq"

RunStatus: TypeAlias = Literal["running", "done", "failed", "stopped", "paused", "killed"]
"""The status of a run; one that is paused waits for a decision. The process of one that was killed has ended without a
word: it may be resumed."""

EntryKind: TypeAlias = Literal["begin", "call", "node", "intent", "outcome", "error", "retry", "end", "decision"]
"""The kind of a record: a run begins; a call starts, or ends; a node has others below it that are recorded; an effect
is intended, has an outcome, or has failed; what failed shall be tried again; a person has decided on what was asked."""


class Entry(NamedTuple):
    """One record of a journal.

    Args:
        seq: its number in the run, from 1 on.
        kind: the kind of record.
        node: the key of the node that it is about.
        parent: the key of the node above.
        name: the name of the node.
        digest: the digest of what was asked.
        body: JSON: what was asked, or the outcome.
        at: the time, in seconds since the epoch.
        link: a digest of this record and the one before.
    """

    seq: int
    kind: EntryKind
    node: str
    parent: str
    name: str
    digest: str
    body: str
    at: float
    link: str = ""

    def linked(self, before: str) -> Entry:
        """Return the record with the digest that links it to the one before."""
        said = "\x1f".join(map(str, (before, *self[:-2], repr(self.at))))
        return self._replace(link=blake2b(said.encode(), digest_size=16).hexdigest())


@dataclass(frozen=True, slots=True)
class RunInfo:
    """A run of a journal.

    Args:
        id: its id.
        root: the name of the module that it began with.
        status: its status.
        started: when it began, in seconds since the epoch.
        ended: when it ended last; None: it has not.
        why: the error that ended it, on one line.
        epoch: how often it was begun or resumed.
    """

    id: str
    root: str
    status: RunStatus
    started: float
    ended: float | None
    why: str
    epoch: int


class SQLiteStore:
    """A journal's SQLite file, for all processes of a machine at once.

    Args:
        path: the file; it is created if it does not exist.

    Raises:
        ConfigurationError: the path is that of no file.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        if not str(path) or str(path) == ":memory:":
            raise ConfigurationError("a journal is a file that outlives the process: give a path, as 'runs.db'")
        self.path = Path(path).expanduser()
        self._connections = SQLiteConnections(self.path, BUSY_SECONDS, _prepare)

    def close(self) -> None:
        """Close unused connections; the next use opens one again."""
        self._connections.close()

    def begin(self, run_id: str, root: str, digest: str, owner: str) -> tuple[int, list[Entry]]:
        """Begin a run, or take one over that was begun before.

        Args:
            run_id: its id.
            root: the name of the module that it begins with.
            digest: the digest of its input.
            owner: the process, as `own_process` gives it.

        Returns:
            The epoch, 1 for a new run; and its records, none for a new one.

        Raises:
            RunInputError: it began with another input, or another module.
            RunAliveError: the process that has it is alive.
            JournalDamagedError: a record was changed.
        """
        with self._writing(run_id) as database:
            row = database.execute(
                "SELECT root, digest, status, epoch, owner FROM run WHERE id = ?", (run_id,)
            ).fetchone()
            if row is None:
                values = (run_id, root, digest, "running", 1, owner, time.time(), None, "")
                database.execute("INSERT INTO run VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
                return 1, []
            if (row[0], row[1]) != (root, digest):
                other = "another input" if row[0] == root else f"{row[0]}, not with {root}"
                raise RunInputError(
                    f"the run {run_id!r} began with {other}: give it the same again, or the new run an id of its own",
                    run_id,
                )
            if row[2] == "running" and (alive := _process_of(row[4])):
                raise RunAliveError(
                    f"the run {run_id!r} goes on in the process {alive}: wait until it ends, or stop that process",
                    run_id,
                    alive,
                )
            epoch = row[3] + 1
            database.execute(
                "UPDATE run SET status = 'running', epoch = ?, owner = ?, ended = NULL, why = '' WHERE id = ?",
                (epoch, owner, run_id),
            )
            return epoch, self._entries(database, run_id)

    def append(self, run_id: str, epoch: int, entries: Sequence[Entry], *, is_durable: bool = False) -> None:
        """Add records to a run, all or none.

        Args:
            run_id: the run.
            epoch: the epoch of the writer.
            entries: the records.
            is_durable: whether they must be on the disk before this returns, and not only with the system.

        Raises:
            RunTakenOverError: the run has a later epoch.
        """
        with _told(self.path, run_id), self._connections.use() as database:
            if is_durable:
                database.execute("PRAGMA synchronous = FULL")
            database.execute("BEGIN IMMEDIATE")
            try:
                self._check_epoch(database, run_id, epoch)
                rows = [(run_id, each.seq, epoch, *each[1:]) for each in entries]
                database.executemany("INSERT INTO entry VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
                database.execute("COMMIT")
            except BaseException:
                database.execute("ROLLBACK")
                raise
            finally:
                if is_durable:
                    database.execute("PRAGMA synchronous = NORMAL")

    def end(self, run_id: str, epoch: int, status: RunStatus, why: str = "") -> None:
        """Note that a run has ended.

        Raises:
            RunTakenOverError: the run has a later epoch.
        """
        with self._writing(run_id) as database:
            self._check_epoch(database, run_id, epoch)
            database.execute(
                "UPDATE run SET status = ?, ended = ?, why = ? WHERE id = ?", (status, time.time(), why, run_id)
            )

    def runs(self, run_id: str | None = None) -> list[RunInfo]:
        """Return the runs, the latest first; or the one of an id.

        Raises:
            UnknownRunError: there is none of this id.
        """
        where, values = ("", ()) if run_id is None else (" WHERE id = ?", (run_id,))
        with _told(self.path, run_id or ""), self._connections.use() as database:
            rows = database.execute(_RUNS + where + " ORDER BY started DESC", values).fetchall()
        if run_id is not None and not rows:
            raise UnknownRunError(f"the journal {self.path} has no run {run_id!r}", run_id)
        return [_info_of(*row) for row in rows]

    def entries(self, run_id: str, after: int = 0) -> list[Entry]:
        """Return the records of a run after the one of a number.

        Raises:
            JournalDamagedError: a record was changed.
        """
        with _told(self.path, run_id), self._connections.use() as database:
            return self._entries(database, run_id)[after:]

    def forget(self, run_id: str) -> None:
        """Delete a run and its records."""
        with self._writing(run_id) as database:
            database.execute("DELETE FROM entry WHERE run = ?", (run_id,))
            database.execute("DELETE FROM run WHERE id = ?", (run_id,))

    def _entries(self, database: sqlite3.Connection, run_id: str) -> list[Entry]:
        rows = database.execute(_ENTRIES, (run_id,))
        return list(_checked(map(Entry._make, rows), run_id))

    def _check_epoch(self, database: sqlite3.Connection, run_id: str, epoch: int) -> None:
        row = database.execute("SELECT epoch FROM run WHERE id = ?", (run_id,)).fetchone()
        if row is None or row[0] != epoch:
            raise RunTakenOverError(f"another process has resumed the run {run_id!r}: this one ends", run_id)

    @contextmanager
    def _writing(self, run_id: str) -> Generator[sqlite3.Connection]:
        with _told(self.path, run_id), self._connections.use() as database:
            database.execute("BEGIN IMMEDIATE")
            try:
                yield database
            except BaseException:
                database.execute("ROLLBACK")
                raise
            database.execute("COMMIT")


def _prepare(database: sqlite3.Connection) -> None:
    version = database.execute("PRAGMA user_version").fetchone()[0]
    if version > VERSION:
        raise JournalVersionError(
            f"the journal has version {version}, and this trivium reads {VERSION}: install the version that wrote it"
        )
    if version < VERSION:
        database.executescript(_TABLES)
        database.execute(f"PRAGMA user_version = {VERSION}")


def _info_of(
    id: str, root: str, status: RunStatus, started: float, ended: float | None, why: str, epoch: int, owner: str
) -> RunInfo:
    is_killed = status == "running" and _process_of(owner) is None
    return RunInfo(id, root, "killed" if is_killed else status, started, ended, why, epoch)


def _checked(entries: Iterator[Entry], run_id: str) -> Iterator[Entry]:
    """Yield records whose links are right.

    Raises:
        JournalDamagedError: one is not.
    """
    before = ""
    for number, entry in enumerate(entries, 1):
        if entry.seq != number or entry.linked(before).link != entry.link:
            raise JournalDamagedError(
                f"record {number} of the run {run_id!r} is damaged or was changed: restore the file, or begin anew",
                run_id,
            )
        before = entry.link
        yield entry


@contextmanager
def _told(path: Path, run_id: str) -> Generator[None]:
    """Turn the errors of SQLite and of the system into `JournalError`."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            raise JournalDamagedError(f"{path} is damaged, or no journal: {error}", run_id) from error
        advice = {
            sqlite3.SQLITE_FULL: "the disk is full: free some space, then resume the run",
            sqlite3.SQLITE_READONLY: "the file cannot be written: give this user the right to, then resume the run",
            sqlite3.SQLITE_BUSY: f"others have written to it for over {BUSY_SECONDS:g} s: resume the run later",
            sqlite3.SQLITE_CANTOPEN: "the file cannot be opened: does its folder exist?",
        }.get(code, "resume the run when this is mended")
        raise JournalError(f"the journal {path} cannot be used ({error}); {advice}", run_id) from error
    except OSError as error:
        raise JournalError(f"the journal {path} cannot be opened: {error}", run_id) from error


# ---- processes
def own_process(token: str) -> str:
    """Return this process as the owner of runs; `token` is that of the journal object."""
    return f"{os.getpid()}:{_start_of(os.getpid())}:{token}"


def _process_of(owner: str) -> int | None:
    """Return the id of the process that an owner is, if it is alive; None if it has ended."""
    pid, started, _ = owner.split(":")
    return int(pid) if started and _start_of(int(pid)) == started else None


def _start_of(pid: int) -> str:
    """Return when a process of this machine started, which tells it from a later one of its id; "" for none.

    Where the system has no `/proc`, it is "?" for every process that is alive.
    """
    if pid <= 0:
        return ""
    try:
        if not Path("/proc/self/stat").exists():
            os.kill(pid, 0)
            return "?"
        return Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()[19]
    except PermissionError:
        return "?"
    except OSError:
        return ""
