"""The store of a journal in a PostgreSQL database, for processes of several machines."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any, Final, LiteralString
from uuid import uuid4
from weakref import finalize

from trivium.exceptions import JournalError
from trivium.journal._outline import Head
from trivium.journal._owners import Caller, Leases, Owner, own_process
from trivium.journal._postgres_connections import PostgresConnections, is_lost
from trivium.journal._postgres_leases import Lease, PostgresLeases
from trivium.journal._seals import Seal
from trivium.journal._served import ADVISORY_LOCKS, AT_WORK, IS_CLAIMED, IS_SERVED, SERVED_TABLES, forget_served
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
    missing_parts,
    newer_version,
    taken_over,
    unknown_run,
)

if TYPE_CHECKING:
    from psycopg import Connection, Cursor

_SETTINGS: Final = {"synchronous_commit": "off"}
"""A commit outlasts this process at once, and a failure of the server after a moment; see `append`."""
_TABLES: Final = """
CREATE TABLE IF NOT EXISTS trivium_journal (version INTEGER);
CREATE TABLE IF NOT EXISTS trivium_run (
    id TEXT COLLATE "C" PRIMARY KEY, root TEXT, digest TEXT, status TEXT, epoch INTEGER, owner TEXT,
    started DOUBLE PRECISION, ended DOUBLE PRECISION, why TEXT, head TEXT) WITH (fillfactor = 50);
CREATE TABLE IF NOT EXISTS trivium_entry (
    run TEXT COLLATE "C", seq INTEGER, epoch INTEGER, kind TEXT, node TEXT, parent TEXT, name TEXT, digest TEXT,
    body TEXT, at DOUBLE PRECISION, link TEXT, PRIMARY KEY (run, seq));
CREATE TABLE IF NOT EXISTS trivium_part (digest TEXT COLLATE "C" PRIMARY KEY, before TEXT COLLATE "C", body TEXT);
CREATE TABLE IF NOT EXISTS trivium_head (
    run TEXT COLLATE "C", part TEXT COLLATE "C", PRIMARY KEY (run, part));
"""
_PARTS: Final = """
WITH RECURSIVE chain (digest, before, body, place) AS (
    SELECT digest, before, body, 0 FROM trivium_part WHERE digest = %s
    UNION ALL SELECT each.digest, each.before, each.body, place + 1
    FROM trivium_part AS each JOIN chain ON each.digest = chain.before
) SELECT digest, before, body FROM chain ORDER BY place DESC
"""
_SWEEP: Final = """
WITH RECURSIVE used (digest) AS (
    SELECT part FROM trivium_head
    UNION SELECT each.before FROM trivium_part AS each JOIN used ON each.digest = used.digest
) DELETE FROM trivium_part WHERE digest NOT IN (SELECT digest FROM used)
"""
_MAKING: Final = 7_248_351_190_212_011
"""The advisory lock of those that create the tables."""

_RUNS: Final = f"""
SELECT id, root, CASE WHEN status = 'running'
    AND hashtextextended(current_schema() || '/trivium_run/' || id, 0) NOT IN ({ADVISORY_LOCKS})
THEN 'killed' ELSE status END, started, ended, why, epoch,
epoch - coalesce((SELECT epoch FROM trivium_entry WHERE run = id ORDER BY seq DESC LIMIT 1), 0) FROM trivium_run
"""  # noqa: S608 - our own text
_ENTRIES: Final = """
SELECT seq, kind, node, parent, name, digest, body, at, link FROM trivium_entry
WHERE run = %s AND seq >= %s ORDER BY seq
"""
_HEADS: Final = f"SELECT seq, kind, node, parent, name, at, {BRIEF} FROM trivium_entry WHERE run = %s ORDER BY seq"  # noqa: S608
_NEAR: Final = """
SELECT seq, kind, node, parent, name, digest, body, at, link FROM trivium_entry WHERE run = %(run)s AND (
    node = %(node)s OR node = (SELECT parent FROM trivium_entry WHERE run = %(run)s AND node = %(node)s LIMIT 1)
    OR seq BETWEEN (SELECT min(seq) FROM trivium_entry WHERE run = %(run)s AND node = %(node)s) - %(most)s
    AND (SELECT min(seq) FROM trivium_entry WHERE run = %(run)s AND node = %(node)s)
) ORDER BY seq
"""
_BEGIN: Final = """
INSERT INTO trivium_run VALUES (%s, %s, %s, 'running', %s, %s, %s, NULL, '', '') ON CONFLICT (id)
DO UPDATE SET status = 'running', epoch = excluded.epoch, owner = excluded.owner, ended = NULL, why = ''
"""
_END: Final = """
UPDATE trivium_run SET status = %s, ended = %s, why = %s
WHERE id = %s AND epoch = %s AND set_config('synchronous_commit', 'on', true) IS NOT NULL
"""  # others note elsewhere that it has ended, and must not know more
_APPEND: Final = """
WITH mine AS (
    UPDATE trivium_run SET head = %s
    WHERE id = %s AND epoch = %s AND set_config('synchronous_commit', %s, true) IS NOT NULL RETURNING id, epoch
)
INSERT INTO trivium_entry SELECT id, seq, epoch, kind, node, parent, name, digest, body, at, link
FROM mine, unnest(
    %s::int[], %s::text[], %s::text[], %s::text[], %s::text[], %s::text[], %s::text[], %s::float8[], %s::text[]
) AS new (seq, kind, node, parent, name, digest, body, at, link)
"""


class PostgresRunStore:
    """A journal in the first schema of a PostgreSQL connection, in tables whose names begin with "trivium_".

    The lease of a run is an advisory lock. One connection holds those of all attempts of this process, which share a
    few others; a pooler between them must keep sessions (not PgBouncer's transaction mode).

    Args:
        url: "postgresql://user:password@host:5432/database"; libpq's defaults hold for the parts that are not given.
        seal: what it trusts; default: everything that is not damaged.

    Raises:
        ConfigurationError: the URL is not valid.
        MissingExtraError: the extra `postgres` is missing.
    """

    def __init__(self, url: str, seal: Seal | None = None) -> None:
        self.seal, self.commits = seal or Seal(), None
        self._url, self.connections = url, PostgresConnections(url, _prepare, _SETTINGS)
        self._leases, self._token = Leases[Lease](), uuid4().hex
        self._locks = PostgresLeases(self.connections)
        finalize(self, self.connections.close).atexit = False
        finalize(self, self._locks.drop).atexit = False

    def __reduce__(self) -> tuple[object, ...]:  # another process has connections of its own
        return PostgresRunStore, (self._url, self.seal)

    @property
    def place(self) -> str:
        """The URL of the database, without the password."""
        return self.connections.place

    def close(self) -> None:
        """Close unused connections; the next use opens one again."""
        self._locks.close()
        self.connections.close()

    def begin(self, run_id: str, root: str, digest: str, caller: Caller) -> Begun:
        """Begin a run, or go on with one; see `Store.begin`."""
        owner = own_process(self._token, caller)
        lease = self._locks.take(run_id)
        try:
            with self.connections.use(run_id) as connection, connection.transaction():
                query = "SELECT root, digest, epoch, owner, head, status FROM trivium_run WHERE id = %s FOR UPDATE"
                row = connection.execute(query, (run_id,)).fetchone()
                epoch, entries, is_done = 1, list[Entry](), row is not None and row[5] == "done"
                if row is not None:
                    check_input(run_id, (root, digest), row[:2])
                    epoch = row[2] if is_done else row[2] + 1
                if lease is not None or is_done:
                    entries = self._entries(connection, run_id, row and row[4])
                if lease is not None and not is_done:
                    connection.execute(_BEGIN, (run_id, root, digest, epoch, owner, time.time()))
        except BaseException:
            if lease is not None:
                self._locks.give(lease)
            raise
        if is_done and lease is not None:
            self._locks.give(lease)
        if is_done:
            return Begun(epoch, entries, is_done)
        if lease is None:
            raise Owner.parse(row and row[3]).error(run_id, caller)
        lease.epoch, lease.head = epoch, entries[-1].link if entries else ""
        self._leases.add(run_id, epoch, lease)
        return Begun(epoch, entries)

    def append(self, run_id: str, epoch: int, written: Writing, *, is_durable: bool = False) -> None:
        """Add records to a run, all or none; see `Store.append`."""
        with (
            self._connected(run_id, epoch) as connection,
            connection.transaction() if written.chains else nullcontext(),
        ):
            self._append(connection, run_id, epoch, written, is_durable)

    def append_all(self, group: Sequence[Appending]) -> Mapping[int, Exception]:
        """Add records to several runs, to one after the other; see `Store.append_all`."""
        for run_id, epoch, written, is_durable in group:  # of one attempt: each has its own connection
            self.append(run_id, epoch, written, is_durable=is_durable)
        return {}

    def transact(self, run_id: str, epoch: int, act: Callable[[Connection[Any]], Writing]) -> None:
        """Call a function within a transaction; see `Store.transact`."""
        try:
            with self._connected(run_id, epoch) as connection, connection.transaction():
                try:
                    written = act(connection)
                except BaseException as error:
                    raise UndoneError(error) from None
                self._append(connection, run_id, epoch, written, True)
        except UndoneError as undone:
            raise undone.error from None

    def _append(self, connection: Connection[Any], run_id: str, epoch: int, written: Writing, is_durable: bool) -> None:
        entries, chains = written
        columns = map(list, zip(*entries, strict=True))
        values = (entries[-1].link, run_id, epoch, "on" if is_durable else "off", *columns)
        self._write(connection, run_id, _APPEND, values, len(entries))
        if (held := self._leases.find(run_id, epoch)) is not None:
            held.head = entries[-1].link
        for chain in chains:  # the reference first: `forget` waits for its transaction, or this one for that
            reference = (run_id, chain[-1].digest)
            connection.execute("INSERT INTO trivium_head VALUES (%s, %s) ON CONFLICT DO NOTHING", reference)
            new = missing_parts(chain, partial(_known_of, connection))
            connection.cursor().executemany("INSERT INTO trivium_part VALUES (%s, %s, %s) ON CONFLICT DO NOTHING", new)

    def end(self, run_id: str, epoch: int, status: RunStatus, why: str = "") -> None:
        """Note that a run has ended; see `Store.end`."""
        values = (status, time.time(), why.replace("\0", "�"), run_id, epoch)
        with self._connected(run_id, epoch) as connection:
            self._write(connection, run_id, _END, values, 1)

    @contextmanager
    def _connected(self, run_id: str, epoch: int) -> Generator[Connection[Any]]:
        """A connection for what an attempt writes, whose lease holds; or for others, where none is at work."""
        held = self._leases.find(run_id, epoch)
        try:
            if held is not None:
                self._locks.hold(held)
            with self.connections.use(run_id) as connection:
                yield connection
        except JournalError as error:
            if held is not None and is_lost(error):
                self._locks.lose(held)
            raise

    def _write(
        self, connection: Connection[Any], run_id: str, query: LiteralString, values: tuple[Any, ...], rows: int
    ) -> None:
        """Execute a query that changes so many rows, or none if the run has a later epoch."""
        import psycopg

        try:
            if connection.execute(query, values, prepare=True).rowcount == rows:
                return
        except psycopg.errors.UniqueViolation:
            pass
        raise taken_over(run_id)

    def leave(self, run_id: str, epoch: int) -> None:
        """Give the lease of a run back."""
        held = self._leases.remove(run_id, epoch)
        if held is not None:
            self._locks.give(held)

    def runs(self, run_id: str | None = None) -> list[RunInfo]:
        """Return the runs, the latest first; or the one of an id; see `Store.runs`."""
        where, values = ("", ()) if run_id is None else (" WHERE id = %s", (run_id,))
        with self.connections.use(run_id or "") as connection:
            rows = connection.execute(_RUNS + where + " ORDER BY started DESC", values).fetchall()
        if run_id is not None and not rows:
            raise unknown_run(self.place, run_id)
        return [RunInfo(*row) for row in rows]

    def entries(self, run_id: str, after: int = 0) -> list[Entry]:
        """Return the records of a run after the one of a number; see `Store.entries`."""
        with self.connections.use(run_id) as connection:
            row = connection.execute("SELECT head FROM trivium_run WHERE id = %s", (run_id,)).fetchone()
            return self._entries(connection, run_id, row and row[0], after)

    def heads(self, run_id: str) -> list[Head]:
        """Return the heads of the records of a run; see `Store.heads`."""
        with self.connections.use(run_id) as connection:
            return connection.execute(_HEADS, (run_id,)).fetchall()

    def first_bodies(self, run_ids: Sequence[str]) -> dict[str, str]:
        """Return the bodies of the first records of runs; see `Store.first_bodies`."""
        query = "SELECT run, body FROM trivium_entry WHERE seq = 1 AND kind = 'begin' AND run = ANY(%s)"
        with self.connections.use("") as connection:
            return dict(connection.execute(query, ([*run_ids],)).fetchall())

    def begun_with(self, text: str) -> dict[str, str]:
        """Return the bodies of the first records in which a text stands; see `Store.begun_with`."""
        query = "SELECT run, body FROM trivium_entry WHERE seq = 1 AND kind = 'begin' AND strpos(body, %s) > 0"
        with self.connections.use("") as connection:
            return dict(connection.execute(query, (text,)).fetchall())

    def near(self, run_id: str, node: str, most: int) -> list[Entry]:
        """Return the records of a node, of the one above it, and those before it; see `Store.near`."""
        with self.connections.use(run_id) as connection:
            found = connection.execute(_NEAR, {"run": run_id, "node": node, "most": most})
            return [*map(Entry._make, found)]

    def parts(self, digest: str) -> list[Part]:
        """Return the part of a digest and those before it; see `Store.parts`."""
        with self.connections.use("") as connection:
            return checked_parts([*map(Part._make, connection.execute(_PARTS, (digest,)))], digest)

    def add_fork(self, run_id: str, origin: RunInfo, digest: str, entries: Sequence[Entry]) -> bool:
        """Add a run that has stopped, at once and whole; see `Store.add_fork`."""
        now, owner = time.time(), own_process(self._token, Caller.here())
        values = (run_id, origin.root, digest, owner, now, now)
        added = "INSERT INTO trivium_run VALUES (%s, %s, %s, 'stopped', 1, %s, %s, %s, '', '') ON CONFLICT DO NOTHING"
        shared = "INSERT INTO trivium_head SELECT %s, part FROM trivium_head WHERE run = %s ON CONFLICT DO NOTHING"
        with self.connections.use(run_id) as connection, connection.transaction():
            if is_new := connection.execute(added, values).rowcount == 1:
                self._append(connection, run_id, 1, Writing(entries), True)
                connection.execute(shared, (run_id, origin.id))
        return is_new

    def forget(self, run_ids: Sequence[str]) -> set[str]:
        """Delete runs and their records, and the parts that no other run refers to; see `Store.forget`."""
        given = (sorted({*run_ids}),)  # in one order, whoever locks them
        with self.connections.use(run_ids[0] if len(run_ids) == 1 else "") as connection, connection.transaction():
            found = "SELECT name FROM unnest(%s::text[]) AS name WHERE to_regclass(name) IS NOT NULL"
            tables = [name for (name,) in connection.execute(found, ([*SERVED_TABLES],))]
            lock_served, *of_server = forget_served(tables) or ("",)
            is_served = set[str]()
            for each in given[0] if lock_served else ():
                _execute(connection, lock_served, each)
                if served := _execute(connection, f"{AT_WORK} AND {IS_CLAIMED}", each).fetchone():
                    raise at_work(each, *served)
                is_served |= {each for _ in _execute(connection, IS_SERVED, each)}
            connection.execute("SELECT FROM trivium_run WHERE id = ANY(%s) ORDER BY id FOR UPDATE", given)
            there = {row[0]: row[2] for row in connection.execute(f"{_RUNS} WHERE id = ANY(%s)", given)}
            for each in [run_id for run_id, status in there.items() if status == "running"]:
                raise at_work(each)
            connection.execute("LOCK TABLE trivium_head IN SHARE ROW EXCLUSIVE MODE")
            if connection.execute("DELETE FROM trivium_head WHERE run = ANY(%s)", given).rowcount:
                connection.execute(_SWEEP)
            connection.execute("DELETE FROM trivium_entry WHERE run = ANY(%s)", given)
            connection.execute("DELETE FROM trivium_run WHERE id = ANY(%s)", given)
            for query, each in product(of_server, given[0]):
                _execute(connection, query, each)
        return {*there} | is_served

    def sweep(self) -> str:
        """Do nothing: the server removes what nobody sees any more by itself."""
        return ""

    def _entries(self, connection: Connection[Any], run_id: str, head: str | None, after: int = 0) -> list[Entry]:
        found = map(Entry._make, connection.execute(_ENTRIES, (run_id, after)))
        return checked_entries(found, head, run_id, self.seal.key_of(run_id), after)


def _execute(connection: Connection[Any], query: str, run_id: str) -> Cursor[Any]:
    """Execute a statement of `_served` for a run."""
    return connection.execute(query.replace("?", "%s").encode(), (run_id,))


def _known_of(connection: Connection[Any], digests: list[str]) -> set[str]:
    rows = connection.execute("SELECT digest FROM trivium_part WHERE digest = ANY(%s)", (digests,))
    return {row[0] for row in rows}


def _prepare(connection: Connection[Any]) -> None:
    """Create the tables, if there are none, and check their version.

    Raises:
        JournalVersionError: a newer version of trivium has made them.
    """
    if connection.execute("SELECT to_regclass('trivium_journal') IS NULL").fetchone() == (True,):
        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_MAKING,))
            connection.execute(_TABLES)
            connection.execute(
                "INSERT INTO trivium_journal SELECT %s WHERE NOT EXISTS (SELECT FROM trivium_journal)", (VERSION,)
            )
    row = connection.execute("SELECT max(version) FROM trivium_journal").fetchone()
    version = row[0] if row else 0
    if version > VERSION:
        raise newer_version(version)
