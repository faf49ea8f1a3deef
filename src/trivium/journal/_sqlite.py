"""The store of a journal in an SQLite file."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final
from uuid import uuid4

from trivium.caches.lowlevel import SQLiteConnections
from trivium.exceptions import (
    ConfigurationError,
    JournalDamagedError,
    JournalError,
    RunTakenOverError,
)
from trivium.journal._acts import ActNotes
from trivium.journal._commits import GroupCommit
from trivium.journal._outline import Head
from trivium.journal._owners import Caller, Leases, Owner, own_process
from trivium.journal._records import NewRecords
from trivium.journal._seals import Seal
from trivium.journal._served import AT_WORK, IS_SERVED, forget_served, has_server
from trivium.journal._store import (
    BRIEF,
    VERSION,
    Appending,
    Begun,
    Entry,
    Part,
    RunInfo,
    RunStatus,
    UndoneError,
    Writing,
    at_work,
    check_input,
    checked_entries,
    checked_parts,
    damaged,
    missing_parts,
    newer_version,
    no_text,
    taken_over,
    unknown_run,
)
from trivium.journal._work_locks import WorkLocks

BUSY_SECONDS: Final = 30.0
_TABLES: Final = """
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS run (
    id TEXT PRIMARY KEY, root TEXT, digest TEXT, status TEXT, epoch INTEGER, owner TEXT, started REAL, ended REAL,
    why TEXT, head TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS entry (
    run TEXT, seq INTEGER, epoch INTEGER, kind TEXT, node TEXT, parent TEXT, name TEXT, digest TEXT, body TEXT,
    at REAL, link TEXT, PRIMARY KEY (run, seq)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS part (digest TEXT PRIMARY KEY, before TEXT, body TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS head (run TEXT, part TEXT, PRIMARY KEY (run, part)) WITHOUT ROWID;
COMMIT;
"""
_RUNS: Final = """
SELECT id, root, status, started, ended, why, epoch,
    epoch - coalesce((SELECT epoch FROM entry WHERE run = id ORDER BY seq DESC LIMIT 1), 0), owner FROM run
"""
_ENTRIES: Final = """
SELECT seq, kind, node, parent, name, digest, body, at, link FROM entry WHERE run = ? AND seq >= ? ORDER BY seq
"""
_HEADS: Final = f"SELECT seq, kind, node, parent, name, at, {BRIEF} FROM entry WHERE run = ? ORDER BY seq"  # noqa: S608
_NEAR: Final = """
SELECT seq, kind, node, parent, name, digest, body, at, link FROM entry WHERE run = :run AND (
    node = :node OR node = (SELECT parent FROM entry WHERE run = :run AND node = :node LIMIT 1)
    OR seq BETWEEN (SELECT min(seq) FROM entry WHERE run = :run AND node = :node) - :most
    AND (SELECT min(seq) FROM entry WHERE run = :run AND node = :node)
) ORDER BY seq
"""
_PARTS: Final = """
WITH RECURSIVE chain (digest, before, body, place) AS (
    SELECT digest, before, body, 0 FROM part WHERE digest = ?
    UNION ALL SELECT part.digest, part.before, part.body, place + 1 FROM part JOIN chain ON part.digest = chain.before
) SELECT digest, before, body FROM chain ORDER BY place DESC
"""
_IS_THERE: Final = "SELECT 1 FROM run WHERE id = ?"
_FORGET: Final = ("DELETE FROM entry WHERE run = ?", "DELETE FROM run WHERE id = ?")
_SWEEP: Final = """
DELETE FROM part WHERE digest NOT IN (
    WITH RECURSIVE used (digest) AS (
        SELECT part FROM head UNION SELECT part.before FROM part JOIN used ON part.digest = used.digest
    ) SELECT digest FROM used)
"""


class SQLiteRunStore:
    """A journal's SQLite file, for all processes of a machine at once; see `Store`.

    The lease of a run is the process that has it: the file names its id and when it started. In another container its
    lock tells that it is at work.

    Args:
        path: the file; it is created if it does not exist.
        seal: what it trusts; default: everything that is not damaged.

    Raises:
        ConfigurationError: the path is that of no file.
    """

    def __init__(self, path: str | os.PathLike[str], seal: Seal | None = None) -> None:
        if not str(path) or str(path) == ":memory:":
            raise ConfigurationError("a journal is a file that outlives the process: give a path, as 'runs.db'")
        self.path, self.seal = Path(path).expanduser().absolute(), seal or Seal()  # the process may change its folder
        self._connections = SQLiteConnections(self.path, BUSY_SECONDS, _prepare, reads_at_least=True)
        self.commits = GroupCommit[NewRecords]()
        self._leases, self._token = Leases[str](), uuid4().hex
        real = self.path.resolve()  # beside the log of SQLite, whatever links there are
        self._acts, self._locks = ActNotes(real), WorkLocks(real)
        self._is_left = False
        """Whether what was deleted may still be in SQLite's log, as somebody read the file."""

    def __reduce__(self) -> tuple[object, ...]:  # another process may be in another folder
        return SQLiteRunStore, (str(self.path), self.seal)

    @property
    def place(self) -> str:
        """The file."""
        return str(self.path)

    def close(self) -> None:
        """Close unused connections; the next use opens one again."""
        if self._is_left or self._acts.exist():
            self._clear_notes()
        self._locks.remove()
        self._connections.close()

    def begin(self, run_id: str, root: str, digest: str, caller: Caller) -> Begun:
        """Begin a run, or go on with one; see `Store.begin`."""
        owner = own_process(self._token, caller)
        with self._writing(run_id) as database:
            query = "SELECT root, digest, status, epoch, owner, head FROM run WHERE id = ?"
            row = database.execute(query, (run_id,)).fetchone()
            holder, epoch, entries = None, 1, self._entries(database, run_id, row and row[5])
            self._acts.check(run_id, entries)
            if row is not None and not isinstance(row[3], int):
                raise damaged(run_id, f"the run {run_id!r} is damaged or was changed")
            if row is None:
                values = (run_id, root, digest, "running", 1, owner, time.time(), None, "", "")
                database.execute("INSERT INTO run VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
            else:
                check_input(run_id, (root, digest), row[:2])
                if row[2] == "done":
                    return Begun(row[3], entries, is_done=True)
                holder, epoch = self._holder(run_id, *row[2:5]), row[3] + 1
            if holder is None:  # before others can see who has it
                self._locks.take(_attempt(run_id, epoch, owner))
            if row is not None and holder is None:
                database.execute(
                    "UPDATE run SET status = 'running', epoch = ?, owner = ?, ended = NULL, why = '' WHERE id = ?",
                    (epoch, owner, run_id),
                )
        if holder is not None:
            raise holder.error(run_id, caller)
        self._leases.add(run_id, epoch, owner)
        return Begun(epoch, entries)

    def _holder(self, run_id: str, status: str, epoch: int, owner: str) -> Owner | None:
        """Return the attempt that is at work on a run."""
        found = Owner.parse(owner)
        if status != "running" or not found.is_alive(partial(self._locks.is_held, _attempt(run_id, epoch, owner))):
            return None
        has_ended = found.pid == os.getpid() and found.store == self._token and not self._leases.find(run_id, epoch)
        return None if has_ended else found  # it may have ended without being able to write so

    def append(self, run_id: str, epoch: int, written: Writing, *, is_durable: bool = False) -> None:
        """Add records to a run, all or none; see `Store.append`."""
        for error in self.append_all([Appending(run_id, epoch, written, is_durable)]).values():
            raise error

    def append_all(self, group: Sequence[Appending]) -> Mapping[int, Exception]:
        """Add records to several runs in one transaction; see `Store.append_all`."""
        errors: dict[int, Exception] = {}
        with self._writing(group[0].run_id, any(each.is_durable for each in group)) as database:
            if len(group) == 1:
                self._append(database, group[0])
            for at, each in enumerate(group if len(group) > 1 else ()):
                database.execute("SAVEPOINT one")
                try:
                    self._append(database, each)
                except RunTakenOverError as error:
                    errors[at] = error
                    database.execute("ROLLBACK TO one")
                database.execute("RELEASE one")
        for at, each in enumerate(group):
            if each.is_durable and at not in errors:
                self._note(each.run_id, each.written.entries[-1])
        return errors

    def _note(self, run_id: str, record: Entry) -> None:
        with _typed_errors(self.path, run_id):
            if self._acts.add(run_id, record):
                self._clear_notes()

    def _clear_notes(self) -> None:
        """Write all records into the main file, and clear the notes of acts if nobody writes further ones meanwhile."""
        with suppress(sqlite3.Error, OSError, UnicodeDecodeError, JournalError), self._connections.use() as database:
            database.execute("PRAGMA busy_timeout = 0")
            self._is_left &= bool(database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0])
            database.execute("BEGIN IMMEDIATE")
            self._acts.clear()
            database.execute("ROLLBACK")
            database.execute(f"PRAGMA busy_timeout = {int(BUSY_SECONDS * 1000)}")

    def transact(self, run_id: str, epoch: int, act: Callable[[sqlite3.Connection], Writing]) -> None:
        """Call a function within a transaction; see `Store.transact`."""
        try:
            with self._writing(run_id, is_durable=True) as database:
                self._update(database, run_id, epoch, "epoch = epoch")
                database.set_authorizer(_no_end)
                try:
                    written = act(database)
                except BaseException as error:
                    raise UndoneError(error) from None
                finally:
                    database.set_authorizer(None)
                self._append(database, Appending(run_id, epoch, written))
        except UndoneError as undone:
            raise undone.error from None
        self._note(run_id, written.entries[-1])

    def _append(self, database: sqlite3.Connection, appending: Appending) -> None:
        run_id, epoch, written, _ = appending
        self._update(database, run_id, epoch, "head = ?", written.entries[-1].link)
        rows = [(run_id, each.seq, epoch, *each[1:]) for each in written.entries]
        try:
            database.executemany("INSERT INTO entry VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
        except sqlite3.IntegrityError:
            raise taken_over(run_id) from None
        for chain in written.chains:
            database.execute("INSERT OR IGNORE INTO head VALUES (?, ?)", (run_id, chain[-1].digest))
            new = missing_parts(chain, partial(_known_of, database))
            database.executemany("INSERT INTO part VALUES (?, ?, ?)", new)

    def end(self, run_id: str, epoch: int, status: RunStatus, why: str = "") -> None:
        """Note that a run has ended; see `Store.end`."""
        with self._writing(run_id) as database:
            self._update(database, run_id, epoch, "status = ?, ended = ?, why = ?", status, time.time(), why)
        self.sweep()

    def leave(self, run_id: str, epoch: int) -> None:
        """Give the lease of a run back."""
        if (owner := self._leases.remove(run_id, epoch)) is not None:
            self._locks.leave(_attempt(run_id, epoch, owner))

    def runs(self, run_id: str | None = None) -> list[RunInfo]:
        """Return the runs, the latest first; or the one of an id; see `Store.runs`."""
        where, values = ("", ()) if run_id is None else (" WHERE id = ?", (run_id,))
        with _typed_errors(self.path, run_id or ""), self._connections.use() as database:
            rows = database.execute(_RUNS + where + " ORDER BY started DESC", values).fetchall()
        if run_id is not None and not rows:
            raise unknown_run(self.place, run_id)
        infos = [(RunInfo(*row[:-1]), row[-1]) for row in rows]
        return [replace(each, status="killed") if self._is_killed(each, owner) else each for each, owner in infos]

    def _is_killed(self, run: RunInfo, owner: str) -> bool:
        return run.status == "running" and self._holder(run.id, run.status, run.epoch, owner) is None

    def entries(self, run_id: str, after: int = 0) -> list[Entry]:
        """Return the records of a run after the one of a number; see `Store.entries`."""
        with _typed_errors(self.path, run_id), self._connections.use() as database:
            row = database.execute("SELECT head FROM run WHERE id = ?", (run_id,)).fetchone()
            return self._entries(database, run_id, row and row[0], after)

    def heads(self, run_id: str) -> list[Head]:
        """Return the heads of the records of a run; see `Store.heads`."""
        with _typed_errors(self.path, run_id), self._connections.use() as database:
            return database.execute(_HEADS, (run_id,)).fetchall()

    def first_bodies(self, run_ids: Sequence[str]) -> dict[str, str]:
        """Return the bodies of the first records of runs; see `Store.first_bodies`."""
        marks = ", ".join("?" * len(run_ids))
        query = f"SELECT run, body FROM entry WHERE seq = 1 AND kind = 'begin' AND run IN ({marks})"  # noqa: S608 - marks for values
        with _typed_errors(self.path, ""), self._connections.use() as database:
            return dict(database.execute(query, [*run_ids]).fetchall())

    def begun_with(self, text: str) -> dict[str, str]:
        """Return the bodies of the first records in which a text stands; see `Store.begun_with`."""
        query = "SELECT run, body FROM entry WHERE seq = 1 AND kind = 'begin' AND instr(body, ?)"
        with _typed_errors(self.path, ""), self._connections.use() as database:
            return dict(database.execute(query, (text,)).fetchall())

    def near(self, run_id: str, node: str, most: int) -> list[Entry]:
        """Return the records of a node, of the one above it, and those before it; see `Store.near`."""
        with _typed_errors(self.path, run_id), self._connections.use() as database:
            found = database.execute(_NEAR, {"run": run_id, "node": node, "most": most})
            return [*map(Entry._make, found)]

    def parts(self, digest: str) -> list[Part]:
        """Return the part of a digest and those before it; see `Store.parts`."""
        with _typed_errors(self.path, ""), self._connections.use() as database:
            return checked_parts([*map(Part._make, database.execute(_PARTS, (digest,)))], digest)

    def add_fork(self, run_id: str, origin: RunInfo, digest: str, entries: Sequence[Entry]) -> bool:
        """Add a run that has stopped, at once and whole; see `Store.add_fork`."""
        now, owner = time.time(), own_process(self._token, Caller.here())
        values = (run_id, origin.root, digest, "stopped", 1, owner, now, now, "", "")
        with self._writing(run_id, is_durable=True) as database:
            added = "INSERT OR IGNORE INTO run VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
            if is_new := database.execute(added, values).rowcount == 1:
                self._append(database, Appending(run_id, 1, Writing(entries), is_durable=True))
                shared = "INSERT OR IGNORE INTO head SELECT ?, part FROM head WHERE run = ?"
                database.execute(shared, (run_id, origin.id))
        if is_new:
            self._note(run_id, entries[-1])
        return is_new

    def forget(self, run_ids: Sequence[str]) -> set[str]:
        """Delete runs and their records, and the parts that no other run refers to; see `Store.forget`."""
        rows, about = [(each,) for each in run_ids], run_ids[0] if len(run_ids) == 1 else ""
        with self._writing(about) as database:
            of_server = forget_served([name for (name,) in database.execute("SELECT name FROM sqlite_master")])
            for each in run_ids:
                self._check_over(database, each, bool(of_server))
            known = [_IS_THERE, *([IS_SERVED] if of_server else ())]
            there = {each[0] for each in rows if any(database.execute(query, each).fetchone() for query in known)}
            database.execute("PRAGMA secure_delete = ON")
            if database.executemany("DELETE FROM head WHERE run = ?", rows).rowcount > 0:
                database.execute(_SWEEP)
            for each in (*_FORGET, *of_server):
                database.executemany(each, rows)
        with _typed_errors(self.path, about):
            for each in run_ids:
                self._acts.forget(each)
        self._is_left = True
        self._clear_notes()
        return there

    def sweep(self) -> str:
        """Remove what is left of deleted runs; see `Store.sweep`."""
        if self._is_left:
            self._clear_notes()
        return f"{self.path}-wal" if self._is_left else ""

    def _check_over(self, database: sqlite3.Connection, run_id: str, is_served: bool) -> None:
        """Raise a RunAliveError where an attempt or a server is at work on a run."""
        row = database.execute("SELECT status, epoch, owner FROM run WHERE id = ?", (run_id,)).fetchone()
        if row is not None and (holder := self._holder(run_id, *row)) is not None:
            raise at_work(run_id, where=f" (it goes on in {holder.place})")
        served = database.execute(AT_WORK, (run_id,)).fetchone() if is_served else None
        if served is not None and has_server(self.path):
            raise at_work(run_id, *served)

    def _entries(self, database: sqlite3.Connection, run_id: str, head: str | None, after: int = 0) -> list[Entry]:
        found = map(Entry._make, database.execute(_ENTRIES, (run_id, after)))
        return checked_entries(found, head, run_id, self.seal.key_of(run_id), after)

    def _update(self, database: sqlite3.Connection, run_id: str, epoch: int, changes: str, *values: object) -> None:
        """Change a run, if it still has this epoch; and this owner, where an attempt of this process changes it."""
        owner = self._leases.find(run_id, epoch)
        query = f"UPDATE run SET {changes} WHERE id = ? AND epoch = ? AND owner = coalesce(?, owner)"  # noqa: S608 - our own text
        done = database.execute(query, (*values, run_id, epoch, owner))
        if done.rowcount != 1:
            raise taken_over(run_id)

    @contextmanager
    def _writing(self, run_id: str, is_durable: bool = False) -> Generator[sqlite3.Connection]:
        with self.commits.lock(), self._transaction(run_id, is_durable) as database:
            yield database

    @contextmanager
    def _transaction(self, run_id: str, is_durable: bool) -> Generator[sqlite3.Connection]:
        with _typed_errors(self.path, run_id), self._connections.use() as database:
            if is_durable:
                database.execute("PRAGMA synchronous = FULL")
            database.execute("BEGIN IMMEDIATE")
            yield database  # where the block fails, the connection is closed, which rolls back
            database.execute("COMMIT")
            if is_durable:
                database.execute("PRAGMA synchronous = NORMAL")


def _attempt(run_id: str, epoch: int, owner: str) -> str:
    """Return the name of an attempt: if a run is deleted and begun anew, the new one has another owner."""
    return f"{epoch}:{owner}:{run_id}"


def _no_end(action: int, *_: object) -> int:
    """Refuse to end a transaction before its records are written."""
    return sqlite3.SQLITE_DENY if action == sqlite3.SQLITE_TRANSACTION else sqlite3.SQLITE_OK


def _known_of(database: sqlite3.Connection, digests: list[str]) -> set[str]:
    query = f"SELECT digest FROM part WHERE digest IN ({','.join('?' * len(digests))})"  # noqa: S608 - no values
    return {row[0] for row in database.execute(query, digests)}


def _prepare(database: sqlite3.Connection) -> None:
    version = database.execute("PRAGMA user_version").fetchone()[0]
    if version > VERSION:
        raise newer_version(version)
    if version < VERSION:
        database.executescript(_TABLES)
        database.execute(f"PRAGMA user_version = {VERSION}")


@contextmanager
def _typed_errors(path: Path, run_id: str) -> Generator[None]:
    """Turn the errors of SQLite and of the system into `JournalError`."""
    try:
        yield
    except UnicodeEncodeError as error:
        raise no_text(error, run_id) from None
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # the latter is of text that is not
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
        if code in _DAMAGED:
            raise JournalDamagedError(
                f"{path} is damaged, or no journal ({error}): restore it from a copy, or give another file", run_id
            ) from error
        advice = _ADVICE.get(code, "resume the run when this is mended")
        raise JournalError(f"the journal {path} cannot be used ({error}): {advice}", run_id, str(path)) from error
    except OSError as error:
        raise JournalError(
            f"the journal {path} cannot be opened ({error}): give a path that this user can write", run_id, str(path)
        ) from error


_DAMAGED: Final = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)
_ADVICE: Final = {
    sqlite3.SQLITE_FULL: "the disk is full: free some space, then resume the run",
    sqlite3.SQLITE_IOERR: "the disk fails, or is full: see to it, then resume the run",
    sqlite3.SQLITE_READONLY: "give this user the right to write the file and its folder, then resume the run; or "
    "copy it, with the -wal beside it, to where that is so",
    sqlite3.SQLITE_BUSY: f"others have written to it for over {BUSY_SECONDS:g} s: resume the run later",
    sqlite3.SQLITE_CANTOPEN: "see that its folder exists, that this user can write it, and that the process may open "
    "further files (`ulimit -n`), then resume the run; or copy it, with the -wal beside it, to where that is so",
}
