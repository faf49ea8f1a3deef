"""Tables in DuckDB, with names that need no quotes."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, Final, TypeAlias

from trivium.agents.special.sql._dialects import MISREAD

Execute: TypeAlias = Callable[[str], list[Any]]
"""Runs a statement in DuckDB and returns its rows."""

_logger = logging.getLogger("trivium.agents")
_VALUES: Final = {
    **dict.fromkeys(("DATE", "TIMESTAMP"), re.compile(r"\d{4}-\d\d-\d\d.*|\d{1,2}[./-]\d{1,2}[./-]\d{2,4}.*")),
    **dict.fromkeys(("BIGINT", "DOUBLE"), re.compile(r"(?!(?:19|20)\d\d\Z)[+-]?\d+(?:[.,]\d+)*")),
}
"""The look of headers that are values of their column's type; a year is a header of numbers."""


def plain_names(headers: Iterable[object]) -> list[str]:
    """Return a name for each header, or each file, that needs no quotes; no two are alike.

    Example:
        >>> plain_names(["Unit Price ($)", "", "Größe", "2024", "unit price", None, "When"])
        ['unit_price', 'column_2', 'größe', 'c_2024', 'unit_price_2', 'column_6', 'c_when']
    """
    found: list[str] = []
    used, words = set[str](), reserved_words()
    for at, header in enumerate(headers, 1):
        plain = re.sub(r"\W+", "_", str("" if header is None else header).strip().lower()).strip("_")
        name = plain or f"column_{at}"
        name = f"c_{name}" if name[0].isdigit() or name in words else name
        free = next(each for each in chain([name], (f"{name}_{n}" for n in range(2, 10**6))) if each not in used)
        used.add(free)
        found.append(free)
    return found


def create_table(execute: Execute, name: str, source: str, described: str = "") -> dict[str, str]:
    """Make a table of a source that DuckDB reads; return its headers by the names of the columns.

    Args:
        execute: runs statements in DuckDB.
        name: the table's name.
        source: what stands in FROM.
        described: a source with the same headers that takes less time; "" is the source.
    """
    headers = [str(row[0]) for row in execute(f"DESCRIBE SELECT * FROM {described or source}")]  # noqa: S608
    names = plain_names(headers)
    chosen = ", ".join(f"{sql_name(header)} AS {sql_name(made)}" for header, made in zip(headers, names, strict=True))
    execute(f"CREATE OR REPLACE TABLE {sql_name(name)} AS SELECT {chosen} FROM {source}")  # noqa: S608 - quoted
    return dict(zip(names, headers, strict=True))


def warn_of_values_as_headers(execute: Execute, name: str, headers: Mapping[str, str], file: Path) -> None:
    """Report a file whose first line seems to have been a row of data, to the log and in the columns' comments."""
    kinds = {str(row[0]): str(row[1]) for row in execute(f"DESCRIBE {sql_name(name)}")}
    found = [each for each, kind in kinds.items() if kind in _VALUES and _VALUES[kind].fullmatch(headers[each])]
    for column in found:
        comment = sql_text("its header looks like a value: the file may have no headers, and its first row is missing")
        execute(f"COMMENT ON COLUMN {sql_name(name)}.{sql_name(column)} IS {comment}")
    if found:
        text = "%s: its first line was read as headers, but looks like data (%s): write a line of headers above it"
        _logger.warning(text, file, headers[found[0]])


@cache
def reserved_words() -> frozenset[str]:
    """Return the words that cannot be names in DuckDB's SQL, or not to the guard."""
    import duckdb

    query = "SELECT keyword_name FROM duckdb_keywords() WHERE keyword_category != 'unreserved'"
    with duckdb.connect(config={"threads": 1, "async_threads": 0}) as database:
        return MISREAD.union(row[0] for row in database.execute(query).fetchall())


def sql_text(text: str | Path) -> str:
    """Quote a text for SQL."""
    return "'" + str(text).replace("'", "''") + "'"


def sql_name(name: str) -> str:
    """Quote a name for SQL."""
    return '"' + name.replace('"', '""') + '"'
