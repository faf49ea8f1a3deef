"""What runs of a queue cost a worker, and what they cost the database."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import psutil
import psycopg

__all__ = ["Figures", "measure"]

_COUNTS = """
SELECT xact_commit + xact_rollback, pg_current_wal_lsn() - '0/0'::pg_lsn, pg_database_size(current_database())
FROM pg_stat_database WHERE datname = current_database()
"""
_SETTLED = 1.5
"""Seconds until the database has counted all transactions."""


class Figures(NamedTuple):
    """The costs of some runs: seconds in all, and of each run the processor's time and the database's work."""

    seconds: float
    worker_ms: float
    database_ms: float
    transactions: float
    wal_bytes: float
    disk_bytes: float


def measure(
    url: str, workers: Sequence[Any], runs: int, done: Callable[[], int], begin: Callable[[], object]
) -> Figures:
    """Measure runs from their beginning until all are done; the workers are there, and have nothing to do.

    Args:
        url: the database.
        workers: the processes.
        runs: how many runs there are.
        done: returns how many are done.
        begin: lets them begin.
    """
    with psycopg.connect(url, autocommit=True) as database:
        idle = _Counts(database, workers)
        time.sleep(3)
        idle_costs = _Counts(database, workers) - idle
        before = _Counts(database, workers)
        started = time.monotonic()
        begin()
        while done() < runs:
            time.sleep(0.02)
        seconds = time.monotonic() - started
        time.sleep(_SETTLED)
        costs = _Counts(database, workers) - before
        share = (seconds + _SETTLED) / (3 + _SETTLED)
        worker, server, transactions, wal, disk = (
            (each - share * waste) / runs for each, waste in zip(costs, idle_costs, strict=True)
        )
    return Figures(seconds, 1000 * worker, 1000 * server, transactions, wal, disk)


class _Counts:
    """What was used up to now: processor seconds of the workers and of the server, transactions, bytes."""

    def __init__(self, database: psycopg.Connection[Any], workers: Sequence[Any]) -> None:
        time.sleep(_SETTLED)
        row = database.execute(_COUNTS).fetchone()
        assert row is not None
        mine = sum(sum(psutil.Process(each.pid).cpu_times()[:2]) for each in workers)
        server = psutil.Process(database.info.backend_pid).parent()
        assert server is not None
        used = sum(server.cpu_times()[2:4]) + sum(sum(each.cpu_times()[:2]) for each in server.children())
        self.values = (mine, used, *map(float, row))

    def __sub__(self, other: _Counts) -> tuple[float, ...]:
        return tuple(now - before for now, before in zip(self.values, other.values, strict=True))
