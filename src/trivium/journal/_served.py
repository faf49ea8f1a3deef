"""What a server keeps of a run in the database of its journal: it is deleted with the run, whoever deletes it."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sqlite3 import Connection

SERVED_TABLES: Final = ("trivium_served", "trivium_sent", "trivium_label", "trivium_spent")
"""The tables of a server; one of an earlier version has made the first two alone."""
IS_SERVED: Final = "SELECT state FROM trivium_served WHERE id = ?"
AT_WORK: Final = f"{IS_SERVED} AND state IN ('queued', 'running')"
"""The state of a run that a server is at work on, or was when it died."""
ADVISORY_LOCKS: Final = """SELECT classid::bigint << 32 | objid::bigint FROM pg_locks WHERE locktype = 'advisory'
    AND objsubid = 1 AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"""
IS_CLAIMED: Final = f"""(hashtextextended(current_schema() || '/trivium_served/run/' || id, 0) IN ({ADVISORY_LOCKS}))"""
"""Whether a server that lives has claimed a run of `trivium_served` in PostgreSQL."""
_AT: Final = "CASE WHEN ended > created THEN ended ELSE created END"
FORGET_SERVED: Final = (
    "UPDATE trivium_served SET id = id WHERE id = ?",  # of two who delete it, one waits here
    f"""INSERT INTO trivium_spent SELECT owner, {_AT}, tokens, usd FROM trivium_served
    WHERE id = ? AND tokens + usd > 0""",  # noqa: S608 - our own text
    "DELETE FROM trivium_label WHERE run = ?",
    "DELETE FROM trivium_sent WHERE run = ?",
    "DELETE FROM trivium_served WHERE id = ?",
)
"""Statements that delete what was asked and sent of a run, each with its id; what it has spent still counts."""


def forget_served(tables: Collection[str]) -> list[str]:
    """Return the statements of `FORGET_SERVED` that need no table but these."""
    missing = [each for each in SERVED_TABLES if each not in tables]
    return [each for each in FORGET_SERVED if not any(name in each for name in missing)]


def server_lock(path: Path) -> Connection | None:
    """Return a connection that holds the lock of the server of an SQLite file while it is open; None: a server has it.

    SQLite has locks on every system, which end with their process.
    """
    import sqlite3

    real = path.resolve()  # one file has one lock, whatever links there are
    place = real.with_name(f"{real.name}-server")
    connection = sqlite3.connect(place, timeout=0.0, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode = MEMORY")  # nothing is ever written
        connection.execute("BEGIN EXCLUSIVE")
    except sqlite3.Error as error:
        connection.close()
        if error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
            return None
        raise
    return connection


def has_server(path: Path) -> bool:
    """Return whether a server that lives is at work with an SQLite file."""
    free = server_lock(path)
    if free is not None:
        free.close()
    return free is None
