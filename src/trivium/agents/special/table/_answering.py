"""The program of the process in which DuckDB runs: nothing of trivium."""

from __future__ import annotations

import faulthandler
import json
import shutil
import sys
from contextlib import suppress
from typing import Any, Final, cast

import _duckdb as duckdb  # the rest of its package, which nothing here needs, takes three times as long to load

_OWN: Final = 256 << 20
"""Bytes for the program itself, and for memory that DuckDB does not count."""


def answer_queries() -> None:
    """Answer queries, one to a line of JSON, from standard input to standard output, until it ends or must end.

    It ends when the program has: one that was killed leaves its folder, which is deleted then.
    """
    first = json.loads(sys.stdin.buffer.readline())
    with suppress(BrokenPipeError):
        _answer_all(first)
    if first["folder"]:
        shutil.rmtree(first["folder"], ignore_errors=True)


def _answer_all(first: dict[str, Any]) -> None:
    database, seconds = _open(first)
    while line := sys.stdin.buffer.readline():
        order = json.loads(line)
        if isinstance(order, dict):
            database.close()
            database, seconds = _open(cast("dict[str, Any]", order))
            continue
        sql, rows, memory = order
        _limit_memory(memory + _OWN)
        faulthandler.dump_traceback_later(seconds, exit=True)  # whatever DuckDB is doing then
        _answer(database, sql, rows, memory // 4)
        faulthandler.cancel_dump_traceback_later()


def _open(order: dict[str, Any]) -> tuple[duckdb.DuckDBPyConnection, float]:
    file = order["file"]
    database = duckdb.connect(file or ":memory:", read_only=file is not None, config={"threads": 2, "async_threads": 0})
    for statement in order["settings"]:
        database.execute(statement)
    _reply("ready")
    return database, order["seconds"]


def _limit_memory(size: int) -> None:
    with suppress(ImportError, ValueError, OSError):  # Windows cannot, and macOS does not
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (size, resource.getrlimit(resource.RLIMIT_DATA)[1]))


def _answer(database: duckdb.DuckDBPyConnection, sql: str, rows: int, size: int) -> None:
    try:
        database.execute(sql)
        found = database.description or ()
        names, kinds = [str(each[0]) for each in found], [str(each[1]) for each in found]
        if "INTERVAL" in " ".join(kinds):  # Python has no months: it would take each for 30 days
            chosen = (f"CAST(#{at} AS VARCHAR)" if "INTERVAL" in kind else f"#{at}" for at, kind in enumerate(kinds, 1))
            database.execute(f"SELECT {', '.join(chosen)} FROM ({sql})")  # noqa: S608 - a query that has just run
        _reply("rows", names, [[_pack(value) for value in row] for row in database.fetchmany(rows)], size=size)
    except duckdb.InterruptException:
        _reply("late")
    except duckdb.Error as error:
        is_broken = isinstance(error, duckdb.FatalException | duckdb.InternalException)
        kind = "large" if isinstance(error, duckdb.OutOfMemoryException) else "broken" if is_broken else "error"
        _reply(kind, str(error), type(error).__name__)
    except (ValueError, OverflowError) as error:
        _reply("error", f"a value cannot be read: {error}", "Error")


def _reply(*answer: Any, size: int = sys.maxsize) -> None:
    text = json.dumps(answer)
    if len(text) > size:
        text = json.dumps(("error", f"its answer is larger than {size} bytes: ask for shorter values", "Error"))
    sys.stdout.buffer.write(text.encode() + b"\n")
    sys.stdout.buffer.flush()


def _pack(value: Any) -> object:
    """Return a value of JSON; for a value of another type, the type's name with its text or its parts."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        parts = [_pack(each) for each in cast("list[Any]", value)]
        return parts if isinstance(value, list) else {"tuple": parts}
    if isinstance(value, dict):
        return {"dict": [[_pack(name), _pack(each)] for name, each in cast("dict[Any, Any]", value).items()]}
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    return {type(value).__name__: value.isoformat() if hasattr(value, "isoformat") else str(value)}


if __name__ == "__main__":
    answer_queries()
