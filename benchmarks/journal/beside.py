"""Conversations that are kept in a store, by trivium's journal and by what others offer, each in its own process."""

from __future__ import annotations

import json
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import NamedTuple

import psycopg
from psycopg.conninfo import make_conninfo

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks" / "field"))

from subjects import Child, Hung  # noqa: E402

from journal._places import Place  # noqa: E402

__all__ = ["HEAD", "rows"]

TURNS = (10, 100, 1000)
LAST = 9
"""The turns at the end of a conversation of which the median is taken."""
LIMIT = 900.0
SUBJECTS = ("by_hand", "trivium", "langgraph", "dbos", "agno", "openai_agents")
HEAD = (
    "kept by",
    f"the {', '.join(f'{each:,}' for each in TURNS)}th turn, ms",
    "the next one in a new process, ms",
    "kB stored",
)
_SIZE = """
SELECT sum(pg_total_relation_size(pg_class.oid)) FROM pg_class JOIN pg_namespace ON relnamespace = pg_namespace.oid
WHERE relkind = 'r' AND nspname NOT IN ('pg_catalog', 'information_schema')
"""


class Kept(NamedTuple):
    """What a conversation of some turns costs: seconds of the processor, and bytes."""

    turn: float
    resumed: float
    size: int


class Wrong(Exception):
    """A subject did not do the work."""


def rows(place: Place, count: int) -> Iterator[tuple[object, ...]]:
    """The rows of one kind of store; the count is that of the turns of the longest conversation."""
    kind = "PostgreSQL" if "://" in place.name else "SQLite"
    sizes = [each for each in TURNS if each <= count]
    for name in SUBJECTS:
        child = Child(name)
        try:
            told = child.ask({"do": "info"})
            if "stores" not in told:
                raise Wrong(f"{name} does not run: {told}")
            for store in told["stores"]:
                if kind in store:
                    said = f"{told['title']} {told['versions'].get(name.replace('_', '-'), '')}".strip()
                    yield f"{said}: {store.partition(',')[0]}", *_cells(child, store, place, sizes)
        finally:
            child.end()


def _cells(child: Child, store: str, place: Place, sizes: list[int]) -> tuple[str, str, str]:
    found = list[Kept]()
    try:
        for turns in sizes:
            found.append(_kept(child, store, place, turns))
    except Hung:
        pass  # what it has not done in time stays out
    except Wrong as why:
        return f"WRONG: {why}", "", ""
    turn, resumed, size = zip(*found, strict=True) if found else ((), (), ())
    missing = ["—"] * (len(sizes) - len(found))
    return (
        ", ".join([*(f"{each * 1e3:.2f}" for each in turn), *missing]),
        ", ".join([*(f"{each * 1e3:,.0f}" for each in resumed), *missing]),
        ", ".join([*(f"{each / 1024:,.0f}" for each in size), *missing]),
    )


def _kept(child: Child, store: str, place: Place, turns: int) -> Kept:
    """Let a subject hold a conversation until it is killed, and go on in a new process.

    Raises:
        Wrong: it did not hold it, or its model did not hear all of it then.
        Hung: it took too long.
    """
    with tempfile.TemporaryDirectory(dir=_folder_of(place)) as folder:
        where, noted = _fresh(place, folder), Path(folder, "noted")
        asked = {"store": store, "place": where, "turns": turns}
        answer = child.ask({"do": "converse", **asked, "noted": str(noted)}, LIMIT)
        if not noted.exists():
            raise Wrong(f"{answer.get('failed', answer)} {answer.get('traceback', '')[-300:]}")
        times: list[float] = json.loads(noted.read_text())
        spent = [after - before for before, after in pairwise(times)][-LAST:]
        size = _bytes(where)
        child.ask({"do": "info"})  # starts it
        answer = child.ask({"do": "converse_on", **asked}, LIMIT)
        child.close()
        if answer.get("evidence") != {"questions heard": turns + 1, "requests": 1}:
            raise Wrong(str(answer)[:500])
        return Kept(median(spent), answer["seconds"], size)


def _folder_of(place: Place) -> str | None:
    return None if "://" in place.name else str(Path(place.name).parent)


def _fresh(place: Place, folder: str) -> str:
    """The path of a file that is not there yet, or the URL of an empty database."""
    if "://" not in place.name:
        return str(Path(folder, "kept.db"))
    name = Path(folder).name.lower()
    url = place.name.partition("options=")[0].rstrip("?&")
    with psycopg.connect(url, autocommit=True) as database:
        database.execute(f'CREATE DATABASE "{name}"'.encode())
    head, mark, rest = url.partition("?")
    return f"{head.rpartition('/')[0]}/{name}{mark}{rest}"


def _bytes(where: str) -> int:
    """The bytes of a store, without what its database has not cleared away yet."""
    if "://" in where:
        with psycopg.connect(make_conninfo(where), autocommit=True) as database:
            database.execute("VACUUM FULL")
            row = database.execute(_SIZE).fetchone()
            return int(row[0]) if row else 0
    with closing(sqlite3.connect(where, isolation_level=None)) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        database.execute("VACUUM")
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return Path(where).stat().st_size
