"""Places of a journal, with a way round its back to what stands there."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from trivium.journal import Journal

__all__ = ["Place", "postgres_place", "sqlite_place"]


class Place(NamedTuple):
    """A place.

    Args:
        name: what a journal is given.
        execute: runs SQL on its tables, `run` and `entry`; returns rows.
    """

    name: str
    execute: Callable[[str], list[Any]]

    def journal(self) -> Journal:
        return Journal(self.name)


def sqlite_place(path: Path) -> Place:
    def execute(sql: str) -> list[Any]:
        with closing(sqlite3.connect(path)) as database, database:
            return database.execute(sql).fetchall()

    return Place(str(path), execute)


def postgres_place(url: str, schema: str) -> Place:
    import psycopg

    with psycopg.connect(url, autocommit=True) as database:
        database.execute(f"CREATE SCHEMA {schema}".encode())
    there = f"{url}{'&' if '?' in url else '?'}options={quote(f'-csearch_path={schema}')}"

    def execute(sql: str) -> list[Any]:
        for name in ("run", "entry", "part", "head", "journal"):
            for verb in ("FROM", "UPDATE"):
                sql = sql.replace(f"{verb} {name}", f"{verb} trivium_{name}")
        with psycopg.connect(there, autocommit=True) as database:
            done = database.execute(sql.encode())
            return done.fetchall() if done.description else []

    return Place(there, execute)
