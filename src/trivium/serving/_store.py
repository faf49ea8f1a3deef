"""The store of what a server was asked and what it has sent: in the same database as the journal."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, field, fields
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, Final, Literal, Protocol, TypeAlias

from trivium.caches.lowlevel import SQLiteConnections
from trivium.events import JSONObject
from trivium.exceptions import JournalError, MissingExtraError

__all__ = ["ACTIVE", "RunRequest", "RunState", "RunStore"]

RunState: TypeAlias = Literal["queued", "running", "paused", "done", "failed", "cancelled"]
ACTIVE: Final = ("queued", "running")
"""The states of runs that go on after a restart of the server."""
BUSY_SECONDS: Final = 30.0
_TABLES: Final = (
    """CREATE TABLE IF NOT EXISTS trivium_served (
    id TEXT PRIMARY KEY, owner TEXT, name TEXT, session TEXT, state TEXT, created DOUBLE PRECISION,
    ended DOUBLE PRECISION, tokens INTEGER, usd DOUBLE PRECISION, before TEXT, body TEXT)""",
    "CREATE INDEX IF NOT EXISTS trivium_served_owner ON trivium_served (owner, created)",
    "CREATE INDEX IF NOT EXISTS trivium_served_session ON trivium_served (owner, session, created)",
    "CREATE INDEX IF NOT EXISTS trivium_served_state ON trivium_served (state)",
    """CREATE TABLE IF NOT EXISTS trivium_sent (
    run TEXT, seq INTEGER, body TEXT, PRIMARY KEY (run, seq))""",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """A run that a client has asked for, as the server keeps it.

    Args:
        id: the id of the run, also in the journal.
        owner: the user whose run it is; "" where the server has one token for all.
        name: the name of the served object.
        session: the conversation to which it belongs.
        before: the id of the run whose end the conversation goes on from; "" for a new conversation.
        state: how far it is.
        created: when it was asked for, in seconds since the epoch.
        ended: when it ended; 0.0: it has not.
        tokens: input and output tokens together.
        usd: US dollars.
        body: what was asked, as JSON values.
    """

    id: str
    owner: str
    name: str
    session: str
    before: str = ""
    state: RunState = "queued"
    created: float = field(default_factory=time.time)
    ended: float = 0.0
    tokens: int = 0
    usd: float = 0.0
    body: JSONObject = field(default_factory=dict[str, Any])

    @property
    def is_active(self) -> bool:
        """Return whether the run goes on, or will."""
        return self.state in ACTIVE


_COLUMNS: Final = tuple(each.name for each in fields(RunRequest))
_ALL: Final = f"SELECT {', '.join(_COLUMNS)} FROM trivium_served"  # noqa: S608 - our own names
_ADD: Final = f"INSERT INTO trivium_served ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"  # noqa: S608


class RunStore:
    """The runs of a server and the events that it sends of them.

    Args:
        place: an SQLite file, or the URL of a PostgreSQL database: that of the journal.

    Raises:
        MissingExtraError: the place is in PostgreSQL, and the extra `postgres` is missing.
    """

    def __init__(self, place: str | Path) -> None:
        is_url = isinstance(place, str) and place.startswith(("postgresql://", "postgres://"))
        self._database: _Database = _Postgres(str(place)) if is_url else _SQLite(Path(place).expanduser())

    def close(self) -> None:
        """Close the connections; the next use opens one again."""
        self._database.close()

    def add(self, request: RunRequest) -> None:
        """Add a run before its client hears of it."""
        self._database.write((_ADD, [(*astuple(request)[:-1], json.dumps(request.body))]))

    def find(self, run_id: str) -> RunRequest | None:
        """Return a run; None: there is none of this id."""
        return next(iter(self._requests(" WHERE id = ?", run_id)), None)

    def unfinished(self) -> list[RunRequest]:
        """Return the runs that go on after a restart, the oldest first."""
        return self._requests(" WHERE state IN (?, ?) ORDER BY created", *ACTIVE)

    def paused(self) -> list[RunRequest]:
        """Return the runs that wait for a decision, the oldest first."""
        return self._requests(" WHERE state = 'paused' ORDER BY created")

    def runs_of(self, owner: str, most: int = 100) -> list[RunRequest]:
        """Return the runs of an owner, the latest first."""
        return self._requests(" WHERE owner = ? ORDER BY created DESC, id LIMIT ?", owner, most)

    def last_of(self, owner: str, session: str) -> RunRequest | None:
        """Return the run of a conversation that ended well last; None: there is none."""
        where = " WHERE owner = ? AND session = ? AND state = 'done' ORDER BY ended DESC, id LIMIT 1"
        return next(iter(self._requests(where, owner, session)), None)

    def in_session(self, owner: str, session: str) -> list[RunRequest]:
        """Return the runs of a conversation, the oldest first."""
        return self._requests(" WHERE owner = ? AND session = ? ORDER BY created, id", owner, session)

    def count_sessions(self, owner: str) -> int:
        """Return how many conversations with a name of their own an owner has."""
        query = "SELECT COUNT(DISTINCT session) FROM trivium_served WHERE owner = ? AND substr(session, 1, 4) <> 'run_'"
        return int(self._database.read(query, (owner,))[0][0])

    def spent_since(self, owner: str, since: float) -> tuple[int, float]:
        """Return the tokens and the dollars that runs of an owner have used which were asked for since then."""
        query = "SELECT SUM(tokens), SUM(usd) FROM trivium_served WHERE owner = ? AND created >= ?"
        tokens, usd = self._database.read(query, (owner, since))[0]
        return int(tokens or 0), float(usd or 0)

    def write(self, events: Sequence[tuple[str, int, str]], requests: Sequence[RunRequest] = ()) -> None:
        """Write events of any runs, and how far runs are with them, all or none.

        Args:
            events: for each the id of the run, its number and its JSON.
            requests: runs whose state and usage have changed.
        """
        query = "UPDATE trivium_served SET state = ?, ended = ?, tokens = ?, usd = ? WHERE id = ?"
        values = [(each.state, each.ended, each.tokens, each.usd, each.id) for each in requests]
        self._database.write(("INSERT INTO trivium_sent VALUES (?, ?, ?)", events), (query, values))

    def events(self, run_id: str, after: int = 0) -> list[JSONObject]:
        """Return the events of a run after the one of a number."""
        query = "SELECT body FROM trivium_sent WHERE run = ? AND seq > ? ORDER BY seq"
        return [json.loads(body) for (body,) in self._database.read(query, (run_id, after))]

    def forget(self, run_id: str) -> None:
        """Delete a run and its events."""
        self._database.write(
            ("DELETE FROM trivium_sent WHERE run = ?", [(run_id,)]),
            ("DELETE FROM trivium_served WHERE id = ?", [(run_id,)]),
        )

    def _requests(self, where: str, *values: object) -> list[RunRequest]:
        found = [dict(zip(_COLUMNS, row, strict=True)) for row in self._database.read(_ALL + where, values)]
        return [RunRequest(**{**each, "body": json.loads(each["body"])}) for each in found]


class _Database(Protocol):
    """Texts of SQL with `?` for values, in either dialect."""

    def read(self, query: str, values: Sequence[object]) -> list[tuple[Any, ...]]: ...

    def write(self, *statements: tuple[str, Sequence[Sequence[object]]]) -> None: ...

    def close(self) -> None: ...


class _SQLite:
    def __init__(self, path: Path) -> None:
        self._path, self._lock = path, Lock()
        self._connections = SQLiteConnections(path, BUSY_SECONDS, _create)

    def read(self, query: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
        with self._use() as database:
            return database.execute(query, values).fetchall()

    def write(self, *statements: tuple[str, Sequence[Sequence[object]]]) -> None:
        with self._lock, self._use() as database:
            database.execute("BEGIN IMMEDIATE")
            for query, rows in statements:
                database.executemany(query, rows)
            database.execute("COMMIT")

    @contextmanager
    def _use(self) -> Generator[sqlite3.Connection]:
        try:
            with self._connections.use() as database:
                yield database
        except (sqlite3.Error, OSError) as error:
            raise JournalError(
                f"{self._path} cannot be used ({error}): free the disk or mend the file, then start the server again"
            ) from error

    def close(self) -> None:
        self._connections.close()


def _create(database: sqlite3.Connection) -> None:
    for each in _TABLES:
        database.execute(each)


class _Postgres:
    def __init__(self, url: str) -> None:
        try:
            import psycopg
        except ImportError:
            raise MissingExtraError("psycopg", "postgres") from None
        self._connect, self._error = partial(psycopg.connect, url, autocommit=True, connect_timeout=10), psycopg.Error
        self._lock, self._idle = Lock(), list[Any]()

    def read(self, query: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
        with self._use() as database:
            return database.execute(query.replace("?", "%s"), values).fetchall()

    def write(self, *statements: tuple[str, Sequence[Sequence[object]]]) -> None:
        with self._use() as database, database.transaction(), database.cursor() as cursor:
            for query, rows in statements:
                cursor.executemany(query.replace("?", "%s"), rows)

    @contextmanager
    def _use(self) -> Generator[Any]:
        try:
            with self._lock:
                database = self._idle.pop() if self._idle else None
            if database is None:
                database = self._connect()
                for each in _TABLES:
                    database.execute(each)
            try:
                yield database
            except BaseException:
                database.close()
                raise
            with self._lock:
                self._idle.append(database)
        except self._error as error:
            raise JournalError(f"the database cannot be used ({error}): see that it runs, then try again") from error

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for each in idle:
            each.close()
