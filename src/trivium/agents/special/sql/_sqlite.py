"""A guard for SQLite: while a query runs, its connection can do nothing but read some tables."""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Callable, Collection, Generator, Iterable, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from trivium.agents.special.sql._dialects import FUNCTIONS
from trivium.exceptions import DatabaseConnectionError

_STEPS: Final = 1000  # of the virtual machine, some microseconds, between two readings of the clock
_TABLE_FUNCTIONS: Final = ("json_each", "json_tree")
_OPERATORS: Final = frozenset({"->", "->>"})
_RTREE: Final = {
    "node": r"\(nodenointegerprimarykey,data(blob)?\)",
    "parent": r"\(nodenointegerprimarykey,parentnode(integer)?\)",
    "rowid": r"\(rowidintegerprimarykey,nodeno(integer)?(,a\d+)*\)",
}
_FTS: Final = {
    "content": r"\(docidintegerprimarykey,'c0.*\)",
    "docsize": r"\(docidintegerprimarykey,sizeblob\)",
    "segdir": r"\(levelinteger,idxinteger,start_blockinteger,[^()]*primarykey\(level,idx\)\)",
    "segments": r"\(blockidintegerprimarykey,blockblob\)",
    "stat": r"\(idintegerprimarykey,valueblob\)",
}
_FTS5: Final = {
    "config": r"\(kprimarykey,v\)withoutrowid",
    "content": r"\(idintegerprimarykey(,[cl]\d+)*\)",
    "data": r"\(idintegerprimarykey,blockblob\)",
    "docsize": r"\(idintegerprimarykey,szblob(,origininteger)?\)",
    "idx": r"\(segid,term,pgno,primarykey\(segid,term\)\)withoutrowid",
}
_PARTS: Final = {
    "fts5": _FTS5, "fts4": _FTS, "fts3": _FTS, "rtree": _RTREE, "rtree_i32": _RTREE, "geopoly": _RTREE
}  # fmt: skip
"""The tables in which SQLite keeps a virtual one, for each kind that can be read: the ends of their names, and their
columns as SQLite makes them. A name alone says nothing (nor does `PRAGMA table_list`, which goes by names):
`docs_content` may be a table of the user, whose texts `docs` is an index of."""
_NAME: Final = r"""(?:"(?:[^"]|"")*+"|'(?:[^']|'')*+'|`(?:[^`]|``)*+`|\[[^\]]*+\]|[^\s"'`\[(]++)"""
_VIRTUAL: Final = re.compile(
    rf"CREATE VIRTUAL TABLE\s++(?:IF NOT EXISTS\s++)?{_NAME}\s*+USING\s++(\w++)", re.IGNORECASE
)
_LIMITS: Final = {
    sqlite3.SQLITE_LIMIT_LENGTH: 10_000_000,  # bytes of a value and of a row, so that no function fills the memory
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 1000,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}


def connect_read_only(path: str, seconds: float) -> sqlite3.Connection:
    """Open a connection that cannot write: the file is opened for reading alone.

    Args:
        path: the file.
        seconds: how long a query waits for another program that has locked the file.

    Raises:
        DatabaseConnectionError: there is no such file.
    """
    file = Path(path).expanduser()
    if not file.is_file():
        raise DatabaseConnectionError(f"there is no database {file}: give the path of an SQLite file", str(file))
    address = f"{file.absolute().as_uri()}?mode=ro"
    database = sqlite3.connect(address, uri=True, timeout=seconds, check_same_thread=False)
    database.execute("PRAGMA trusted_schema = OFF")  # views may call no function that has effects
    return database


def virtual_tables(made: Iterable[tuple[str, str | None]]) -> dict[str, frozenset[str] | None]:
    """Return the virtual tables with the tables in which SQLite keeps them; None for a kind that cannot be read.

    Args:
        made: names and statements of a database, as `sqlite_master` has them.

    Example:
        >>> made = {"r": "CREATE VIRTUAL TABLE r USING rtree(id, a, b)", "r_parent": "CREATE TABLE r_parent(name)"}
        >>> virtual_tables([*made.items(), ("r_node", "CREATE TABLE r_node(nodeno INTEGER PRIMARY KEY, data)")])
        {'r': frozenset({'r_node'})}
    """
    statements = {name: sql or "" for name, sql in made}
    real = {name.lower(): name for name in statements}
    kinds = {name: found[1].lower() for name, sql in statements.items() if (found := _VIRTUAL.match(sql))}
    tables: dict[str, frozenset[str] | None] = dict.fromkeys(kinds)
    for name, kind in kinds.items():
        if kind in _PARTS:
            forms = {real.get(f"{name}_{end}".lower(), ""): form for end, form in _PARTS[kind].items()}
            tables[name] = frozenset(part for part, form in forms.items() if _has_form(statements.get(part), form))
    return tables


def _has_form(sql: str | None, form: str) -> bool:
    """Tell whether the columns of a table are those that SQLite makes for its own use."""
    text = "".join((sql or "").lower().split())
    return text.startswith("createtable") and re.search(f"{form}$", text) is not None


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


@contextmanager
def read_only_guard(
    database: sqlite3.Connection, tables: Collection[str] | None, functions: Collection[str], seconds: float
) -> Generator[None]:
    """Let a connection only read some tables and call some functions, for a limited time, while the block runs.

    Afterwards the connection is as before, since it may belong to another.

    Args:
        database: the connection.
        tables: the tables and views, without a schema; None: all but SQLite's own.
        functions: functions beside the built-in ones that only compute.
        seconds: until the query is interrupted.
    """
    made = database.execute("SELECT name, type, sql FROM sqlite_master").fetchall()
    for name in _TABLE_FUNCTIONS:  # made at their first use, which the authorizer would see as a write
        with suppress(sqlite3.OperationalError):  # a build without JSON
            database.execute(f"SELECT 1 FROM {name}('[]')").close()  # noqa: S608 - names of our own
    kinds = {str(name).lower(): kind for name, kind, _ in made}
    names = None if tables is None else {each.lower() for each in tables}
    for name, parts in virtual_tables((name, sql) for name, _, sql in made).items():
        if parts is not None and (names is None or name.lower() in names):
            names = None if names is None else names | {part.lower() for part in parts}
            with suppress(sqlite3.OperationalError):  # it is broken, which the query will tell
                quoted = name.replace('"', '""')
                database.execute(f'SELECT 1 FROM "{quoted}" LIMIT 0').close()  # noqa: S608 - quoted
    was_read_only, reads_text = database.execute("PRAGMA query_only").fetchone()[0], database.text_factory
    before = {kind: database.setlimit(kind, limit) for kind, limit in _LIMITS.items()}
    end = time.monotonic() + seconds
    try:
        database.execute("PRAGMA query_only = ON")
        database.text_factory = _text if reads_text is str else reads_text  # one wrong byte hides no row
        database.set_authorizer(authorizer(names, functions, kinds))
        database.set_progress_handler(lambda: int(time.monotonic() > end), _STEPS)
        yield
    finally:
        database.set_progress_handler(None, 0)
        database.set_authorizer(None)
        database.text_factory = reads_text
        database.execute(f"PRAGMA query_only = {was_read_only}")
        for kind, limit in before.items():
            database.setlimit(kind, limit)


def authorizer(
    names: Collection[str] | None, functions: Collection[str], kinds: Mapping[str, str]
) -> Callable[[int, str | None, str | None, str | None, str | None], int]:
    """Make the function that SQLite asks about each action of a query.

    Args:
        names: the tables and views that may be read, in lower case; None: all but SQLite's own.
        functions: functions beside the built-in ones that only compute.
        kinds: "table" or "view" for each name in the database, in lower case.
    """
    callable_ = FUNCTIONS["sqlite"] | _OPERATORS | {each.lower() for each in functions}

    def is_readable(table: str, column: str) -> bool:
        table = table.lower()
        if table.startswith(("sqlite_", "pragma_", "dbstat")):
            return False
        if not column and table not in kinds:  # as for the count of a subquery's rows
            return True
        return names is None or table in names or table in ("", *_TABLE_FUNCTIONS)

    def may(action: int, first: str | None, second: str | None, _: str | None, source: str | None) -> int:
        if action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE):
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_READ:
            # A view may read any table; `source` may also be the name of a common table expression.
            view = source if kinds.get((source or "").lower()) == "view" else None
            fits = is_readable(first or "", second or "") or (view is not None and is_readable(view, ""))
            return sqlite3.SQLITE_OK if fits else sqlite3.SQLITE_DENY
        is_known = action == sqlite3.SQLITE_FUNCTION and (second or "").lower() in callable_
        asks_version = action == sqlite3.SQLITE_PRAGMA and (first, second) == ("data_version", None)  # FTS5 does
        return sqlite3.SQLITE_OK if is_known or asks_version else sqlite3.SQLITE_DENY

    return may
