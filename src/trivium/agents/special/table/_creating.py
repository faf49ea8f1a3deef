"""Tables in DuckDB, with names that need no quotes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Any, cast

__all__ = ["create", "duckdb_error", "names_of", "quoted", "reserved", "text_of"]


def names_of(headers: Iterable[Any], reserved: Iterable[str] = ()) -> list[str]:
    """Names that need no quotes, one for each header, no two alike.

    Args:
        headers: what stands in a file.
        reserved: words of SQL, which no name may be.

    Example:
        >>> names_of(["Unit Price ($)", "", "Größe", "2024", "unit price", None, "When"], ["when"])
        ['unit_price', 'column_2', 'größe', 'c_2024', 'unit_price_2', 'column_6', 'c_when']
    """
    found: list[str] = []
    taken, words = set[str](), set(reserved)
    for at, header in enumerate(headers, 1):
        plain = re.sub(r"\W+", "_", str("" if header is None else header).strip().lower()).strip("_")
        name = plain or f"column_{at}"
        name = f"c_{name}" if name[0].isdigit() or name in words else name
        made = next(each for each in chain([name], (f"{name}_{n}" for n in range(2, 10**6))) if each not in taken)
        taken.add(made)
        found.append(made)
    return found


def create(database: Any, name: str, source: str) -> dict[str, str]:
    """Make a table of what DuckDB reads from a source; the headers by the names of the columns."""
    headers = [str(row[0]) for row in database.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()]  # noqa: S608
    names = names_of(headers, reserved(database))
    chosen = ", ".join(f"{quoted(header)} AS {quoted(made)}" for header, made in zip(headers, names, strict=True))
    database.execute(f"CREATE OR REPLACE TABLE {quoted(name)} AS SELECT {chosen} FROM {source}")  # noqa: S608 - quoted
    return dict(zip(names, headers, strict=True))


def reserved(database: Any) -> list[str]:
    """The words that are no names in DuckDB's SQL."""
    return [
        row[0]
        for row in database.execute(
            "SELECT keyword_name FROM duckdb_keywords() WHERE keyword_category != 'unreserved'"
        ).fetchall()
    ]


def text_of(text: str | Path) -> str:
    """Text as SQL writes it."""
    return "'" + str(text).replace("'", "''") + "'"


def quoted(name: str) -> str:
    """A name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def duckdb_error(*names: str) -> Any:
    """DuckDB's errors of these names, or all."""
    import duckdb

    return tuple(cast("type[Exception]", getattr(duckdb, each)) for each in names) or duckdb.Error
