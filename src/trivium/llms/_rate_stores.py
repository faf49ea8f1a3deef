"""Stores of the requests and tokens of the last minute: this process, an SQLite file, Redis or PostgreSQL."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, Protocol, TypeVar
from weakref import finalize

from trivium.caches.lowlevel import redis_client
from trivium.commander.lowlevel import lock
from trivium.exceptions import RateLimitStoreError

if TYPE_CHECKING:
    from sqlite3 import Connection

    import psycopg

T = TypeVar("T")
WINDOW: Final = 60.0
CONNECT_SECONDS, BUSY_SECONDS = 5.0, 30.0


class Rate(NamedTuple):
    """The limits of a minute; None: no limit."""

    requests: int | None
    tokens: int | None

    def fits(self, before: int, tokens: int) -> bool:
        """Tell whether a request fits after `before` others, if all take `tokens` together."""
        return (self.requests is None or before < self.requests) and (self.tokens is None or tokens <= self.tokens)


class RateStore(Protocol):
    """A store of the counts of a minute.

    Attributes:
        is_shared: True if other processes use it too, so that its methods may block.
    """

    is_shared: bool

    def take(self, ticket: str, tokens: int) -> float:
        """Count a request if it fits into the last minute and return 0; otherwise return the seconds until it fits."""
        ...

    def settle(self, ticket: str, tokens: int) -> float:
        """Replace the tokens of a request; nothing happens once its minute is over."""
        ...


def seconds_until(rate: Rate, entries: Iterable[tuple[float, int]], tokens: int, now: float) -> float:
    """Return the seconds until a request fits, if nothing else happens; 0 if it fits now.

    Args:
        rate: the limits.
        entries: time and tokens of the requests of the last minute, oldest first.
        tokens: tokens of the request.
        now: current time of the same clock.
    """
    minute = list(entries)
    requests, used = len(minute), sum(each for _, each in minute)
    seconds = 0.0
    for at, each in minute:
        if rate.fits(requests, used + tokens):
            break
        requests, used, seconds = requests - 1, used - each, at + WINDOW - now
    return max(seconds, 0.0)


class MemoryRateStore:
    """Counts for this process, by a monotonic clock.

    Args:
        rate: the limits.
        clock: returns seconds.
    """

    is_shared = False

    def __init__(self, rate: Rate, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._clock = rate, clock
        self._minute = deque[list[Any]]()  # [when, tokens, ticket], oldest first
        self._by_ticket: dict[str, list[Any]] = {}
        self._used = 0

    def __repr__(self) -> str:
        return "None"

    def take(self, ticket: str, tokens: int) -> float:
        """See `RateStore`; the cost grows with the counted requests only if this one has to wait."""
        with lock:
            now = self._clock()
            while self._minute and self._minute[0][0] + WINDOW <= now:
                _, freed, old = self._minute.popleft()
                self._used -= freed
                del self._by_ticket[old]
            if not self._rate.fits(len(self._minute), self._used + tokens):
                return seconds_until(self._rate, ((at, used) for at, used, _ in self._minute), tokens, now)
            entry = [now, tokens, ticket]
            self._minute.append(entry)
            self._by_ticket[ticket] = entry
            self._used += tokens
            return 0.0

    def settle(self, ticket: str, tokens: int) -> float:
        """See `RateStore`."""
        with lock:
            entry = self._by_ticket.get(ticket)
            if entry is not None:
                self._used += tokens - entry[1]
                entry[1] = tokens
        return 0.0


class SQLiteRateStore:
    """Counts in an SQLite file, for the processes of one machine. A clock that is set back makes them wait longer.

    Args:
        path: the file; it is created if it does not exist.
        rate: the limits.
        name: name of the limiter.
    """

    is_shared = True
    table: ClassVar = (
        "CREATE TABLE IF NOT EXISTS minute "
        "(ticket TEXT PRIMARY KEY, name TEXT, counted REAL, tokens INTEGER) WITHOUT ROWID"
    )

    def __init__(self, path: Path, rate: Rate, name: str) -> None:
        self._path, self._rate, self._name = path, rate, name

    def __repr__(self) -> str:
        return repr(str(self._path))

    def take(self, ticket: str, tokens: int) -> float:
        """See `RateStore`."""
        with self._changing() as database:
            now = time.time()  # after the lock: the wait for it may have been long
            database.execute("DELETE FROM minute WHERE counted <= ?", (now - WINDOW,))
            database.execute("UPDATE minute SET counted = ? WHERE counted > ?", (now, now))
            rows = database.execute(
                "SELECT counted, tokens FROM minute WHERE name = ? ORDER BY counted", (self._name,)
            ).fetchall()
            seconds = seconds_until(self._rate, rows, tokens, now)
            if not seconds:
                database.execute("INSERT INTO minute VALUES (?, ?, ?, ?)", (ticket, self._name, now, tokens))
            return seconds

    def settle(self, ticket: str, tokens: int) -> float:
        """See `RateStore`."""
        with self._changing() as database:
            database.execute("UPDATE minute SET tokens = ? WHERE ticket = ?", (tokens, ticket))
        return 0.0

    @contextmanager
    def _changing(self) -> Generator[Connection]:
        """Open the file in an exclusive transaction; opened anew each time, so that forks and threads are safe."""
        import sqlite3

        try:
            with closing(sqlite3.connect(self._path, timeout=BUSY_SECONDS, isolation_level=None)) as database:
                database.execute("PRAGMA synchronous = OFF")  # losing the counts at a power cut does no harm
                database.execute("BEGIN IMMEDIATE")
                database.execute(self.table)
                yield database
                database.execute("COMMIT")
        except sqlite3.Error as error:
            raise RateLimitStoreError(
                f"requests cannot be counted in {self._path} ({error}): give a file that can be written, on a disk of "
                "this machine",
                str(self._path),
            ) from error


# Times are the server's own; they go as text, for a number that a script gives back loses its fraction.
_SCRIPT: Final = """
local clock = redis.call('TIME')
local now = clock[1] + clock[2] / 1000000
local window, ticket, tokens = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3])
local most_requests, most_tokens = tonumber(ARGV[4]), tonumber(ARGV[5])
for _, old in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now - window)) do
    redis.call('ZREM', KEYS[1], old)
    redis.call('HDEL', KEYS[2], old)
end
local minute, used = redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES'), 0
local counted = {}
for at = 1, #minute, 2 do
    counted[at] = tonumber(redis.call('HGET', KEYS[2], minute[at]) or '0')
    used = used + counted[at]
end
local requests, seconds = #minute / 2, 0
for at = 1, #minute, 2 do
    if (most_requests < 0 or requests < most_requests) and (most_tokens < 0 or used + tokens <= most_tokens) then
        break
    end
    requests, used, seconds = requests - 1, used - counted[at], tonumber(minute[at + 1]) + window - now
end
if seconds <= 0 then
    redis.call('ZADD', KEYS[1], string.format('%.6f', now), ticket)
    redis.call('HSET', KEYS[2], ticket, tokens)
    redis.call('EXPIRE', KEYS[1], math.ceil(window * 2))
    redis.call('EXPIRE', KEYS[2], math.ceil(window * 2))
    return '0'
end
return string.format('%.6f', seconds)
"""
_SETTLE: Final = """
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then
    redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
end
"""


class RedisRateStore:
    """Counts on a Redis server, atomically and by its clock.

    Args:
        url: the server; its password is never shown.
        rate: the limits.
        name: name of the limiter.
    """

    is_shared = True

    def __init__(self, url: str, rate: Rate, name: str) -> None:
        what = "a store of a limiter is a path, or a Redis URL: redis://HOST:PORT/NUMBER, rediss:// or unix://"
        self._client, self._shown = redis_client(self, url, what, CONNECT_SECONDS, decode_responses=True)
        self._rate, self._name, self._keys = (
            rate,
            name,
            [f"trivium:rate:{{{name}}}:{part}" for part in ("minute", "tokens")],
        )

    def __repr__(self) -> str:
        return repr(self._shown)

    def take(self, ticket: str, tokens: int) -> float:
        """See `RateStore`."""
        limits = (-1 if each is None else each for each in self._rate)
        return float(self._run(_SCRIPT, 2, *self._keys, WINDOW, ticket, tokens, *limits))

    def settle(self, ticket: str, tokens: int) -> float:
        """See `RateStore`."""
        self._run(_SETTLE, 1, self._keys[1], ticket, tokens)
        return 0.0

    def _run(self, *script: object) -> Any:
        from redis import RedisError

        try:
            return self._client.eval(*script)
        except (RedisError, OSError) as error:
            raise RateLimitStoreError(
                f"requests cannot be counted at {self._shown} ({error}): check that the Redis server runs and that "
                "the URL is right",
                self._shown,
            ) from error


_TABLE: Final = """
CREATE TABLE IF NOT EXISTS trivium_rate (
    ticket TEXT PRIMARY KEY, name TEXT, counted DOUBLE PRECISION, tokens BIGINT);
CREATE INDEX IF NOT EXISTS trivium_rate_name ON trivium_rate (name, counted);
"""
_MAKING: Final = 7_248_351_190_212_013
"""The advisory lock of those that create the table."""


class PostgresRateStore:
    """Counts in a PostgreSQL database, by its clock, in a table of the first schema of the connection.

    Args:
        url: the database; its password is never shown.
        rate: the limits.
        name: name of the limiter.
    """

    is_shared = True
    table: ClassVar = _TABLE
    made: ClassVar = "trivium_rate_name"
    """What is there once the table was made."""

    def __init__(self, url: str, rate: Rate, name: str) -> None:
        from trivium.journal.lowlevel import PostgresConnections

        prepare = partial(_make_table, self.table, self.made)
        # Losing the counts at a power cut does no harm.
        self._connections = PostgresConnections(url, prepare, {"synchronous_commit": "off"})
        self._rate, self._name = rate, name
        self._lock, self._pid = Lock(), 0
        self._connection: psycopg.Connection[Any] | None = None
        self._closing = finalize(self, bool)

    def __repr__(self) -> str:
        return repr(self._connections.place)

    def take(self, ticket: str, tokens: int) -> float:
        """See `RateStore`."""
        return self._changed(partial(self._take, ticket, tokens))

    def _take(self, ticket: str, tokens: int, database: psycopg.Connection[Any]) -> float:
        key = b"SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || '/trivium_rate/' || %s, 0))"
        database.execute(key, (self._name,))
        found: Any = database.execute("SELECT extract(epoch FROM clock_timestamp())::float8").fetchone()
        now: float = found[0]
        database.execute("DELETE FROM trivium_rate WHERE name = %s AND counted <= %s", (self._name, now - WINDOW))
        query = "SELECT counted, tokens FROM trivium_rate WHERE name = %s ORDER BY counted"
        seconds = seconds_until(self._rate, database.execute(query, (self._name,)).fetchall(), tokens, now)
        if not seconds:
            row = (ticket, self._name, now, tokens)
            database.execute("INSERT INTO trivium_rate VALUES (%s, %s, %s, %s) ON CONFLICT DO NOTHING", row)
        return seconds

    def settle(self, ticket: str, tokens: int) -> float:
        """See `RateStore`."""
        query = "UPDATE trivium_rate SET tokens = %s WHERE ticket = %s"
        self._changed(lambda database: database.execute(query, (tokens, ticket)))
        return 0.0

    def _changed(self, change: Callable[[psycopg.Connection[Any]], T]) -> T:
        """Make a change in a transaction on the connection of this process; anew where the connection has broken."""
        import psycopg

        if self._pid != os.getpid():  # a new child leaves the connection of its parent alone
            self._lock, self._pid, self._connection = Lock(), os.getpid(), None
        try:
            with self._lock:
                if self._connection is not None:
                    with suppress(psycopg.OperationalError), self._connection.transaction():
                        return change(self._connection)
                connection = self._opened()
                with connection.transaction():
                    return change(connection)
        except psycopg.Error as error:
            place = self._connections.place
            raise RateLimitStoreError(
                f"requests cannot be counted at {place} ({self._connections.said(error)}): check that the PostgreSQL "
                "server runs, that the URL is right, and that its user may create tables",
                place,
            ) from error

    def _opened(self) -> psycopg.Connection[Any]:
        self._connection = connection = self._connections.open()
        self._closing.detach()
        self._closing = finalize(self, connection.close)
        self._closing.atexit = False
        return connection


def _make_table(table: str, made: str, database: psycopg.Connection[Any]) -> None:
    if database.execute("SELECT to_regclass(%s) IS NULL", (made,)).fetchone() == (True,):
        with database.transaction():
            database.execute("SELECT pg_advisory_xact_lock(%s)", (_MAKING,))
            database.execute(table.encode())
