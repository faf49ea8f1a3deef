"""Stores of what models have cost in a period: this process, an SQLite file, Redis or PostgreSQL."""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from trivium.commander.lowlevel import lock
from trivium.exceptions import ConfigurationError
from trivium.llms._rate_stores import PostgresRateStore, Rate, RedisRateStore, SQLiteRateStore

if TYPE_CHECKING:
    import psycopg

_ROUNDING: Final = 1e-9  # dollars: a rounding error of a sum is no reason to refuse a request
_NO_RATE: Final = Rate(None, None)


class CostStore(Protocol):
    """A store of what the periods of a limiter have cost.

    Attributes:
        is_shared: True if other processes use it too, so that its method may block.
    """

    is_shared: bool

    def add(self, period: str, usd: float, most: float | None = None) -> float | None:
        """Add to what a period has cost, and return the sum.

        Args:
            period: the period.
            usd: dollars.
            most: the most that the sum may be; None: no limit.

        Returns:
            The sum; None if it would be more, and nothing is added.

        Raises:
            RateLimitStoreError: the place cannot be used.
        """
        ...


class MemoryCostStore:
    """Costs of this process."""

    is_shared = False

    def __init__(self) -> None:
        self._periods = defaultdict[str, float](float)

    def __repr__(self) -> str:
        return "None"

    def add(self, period: str, usd: float, most: float | None = None) -> float | None:
        """See `CostStore`."""
        with lock:
            total = self._periods[period] + usd
            if most is not None and total > most + _ROUNDING:
                return None
            self._periods[period] = total
            return total


class SQLiteCostStore(SQLiteRateStore):
    """Costs in an SQLite file, for the processes of one machine."""

    table = "CREATE TABLE IF NOT EXISTS cost (name TEXT, period TEXT, usd REAL, PRIMARY KEY (name, period))"

    def add(self, period: str, usd: float, most: float | None = None) -> float | None:
        """See `CostStore`."""
        with self._changing() as database:
            key = self._name, period
            row = database.execute("SELECT usd FROM cost WHERE name = ? AND period = ?", key).fetchone()
            total: float = usd + (row[0] if row else 0.0)
            if most is not None and total > most + _ROUNDING:
                return None
            database.execute("INSERT OR REPLACE INTO cost VALUES (?, ?, ?)", (*key, total))
            return total


_ADD: Final = """
local total = tonumber(redis.call('HGET', KEYS[1], ARGV[1]) or '0') + tonumber(ARGV[2])
if ARGV[3] ~= '' and total > tonumber(ARGV[3]) then
    return ''
end
local text = string.format('%.12f', total)
redis.call('HSET', KEYS[1], ARGV[1], text)
return text
"""


class RedisCostStore(RedisRateStore):
    """Costs on a Redis server."""

    def add(self, period: str, usd: float, most: float | None = None) -> float | None:
        """See `CostStore`."""
        key = f"trivium:cost:{{{self._name}}}"
        total = self._run(_ADD, 1, key, period, f"{usd:.12f}", "" if most is None else f"{most + _ROUNDING:.12f}")
        return float(total) if total else None


class PostgresCostStore(PostgresRateStore):
    """Costs in a PostgreSQL database, in a table of the first schema of the connection."""

    table = """
CREATE TABLE IF NOT EXISTS trivium_cost (
    name TEXT, period TEXT, usd DOUBLE PRECISION, PRIMARY KEY (name, period));
"""
    made = "trivium_cost"

    def add(self, period: str, usd: float, most: float | None = None) -> float | None:
        """See `CostStore`."""
        return self._changed(partial(self._add, period, usd, None if most is None else most + _ROUNDING))

    def _add(self, period: str, usd: float, most: float | None, database: psycopg.Connection[Any]) -> float | None:
        key = self._name, period
        database.execute("INSERT INTO trivium_cost VALUES (%s, %s, 0) ON CONFLICT DO NOTHING", key)
        query = (
            "UPDATE trivium_cost SET usd = usd + %s WHERE name = %s AND period = %s "
            "AND (%s::float8 IS NULL OR usd + %s <= %s) RETURNING usd"
        )
        row = database.execute(query, (usd, *key, most, usd, most)).fetchone()
        return None if row is None else row[0]


def cost_store_at(place: str | Path | None, name: str) -> CostStore:
    """Make the store for a place: None is this process, a URL a server, and a path an SQLite file.

    Raises:
        ConfigurationError: the URL cannot be used, or the path names no file.
        MissingExtraError: the client of Redis or PostgreSQL is not installed.
    """
    if place is None:
        return MemoryCostStore()
    if isinstance(place, str) and place.startswith(("postgresql://", "postgres://")):
        return PostgresCostStore(place, _NO_RATE, name)
    if isinstance(place, str) and "://" in place:
        return RedisCostStore(place, _NO_RATE, name)
    if str(place) == ":memory:":
        raise ConfigurationError("':memory:' does not name a file: leave store= out to count in this process")
    return SQLiteCostStore(Path(place).expanduser(), _NO_RATE, name)
