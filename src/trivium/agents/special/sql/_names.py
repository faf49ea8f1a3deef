"""Names in a query: the tables that it may read, compared as the dialect compares names."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Final, cast

from trivium.agents.special.sql._dialects import SYSTEM_SCHEMAS, SYSTEM_TABLES

if TYPE_CHECKING:
    from sqlglot.expressions import Expr

_ROW_COLUMNS: Final = frozenset({"key", "value", "ordinality"})
"""The columns of functions that return rows, which have these names without an alias."""


class TableNames:
    """The tables that a query may read.

    Args:
        dialect: the dialect; SQLite and DuckDB ignore case, PostgreSQL takes names without quotes as lower case, MySQL
            is read as if case counted.
        tables: names as `table` or `schema.table`; with their columns, if it is a mapping. None: all but the server's
            own tables.
    """

    def __init__(self, dialect: str, tables: Collection[str] | None) -> None:
        self._dialect, self._ignores_case = dialect, dialect in ("sqlite", "duckdb")
        columns: Mapping[str, Collection[str] | None] = {}
        if isinstance(tables, Mapping):
            columns = cast("Mapping[str, Collection[str] | None]", tables)
        self._tables = None if tables is None else {self.fold(each, True): columns.get(each) for each in tables}

    def __str__(self) -> str:
        if self._tables is None:
            return "tables that are not the server's own"
        listed = sorted(self._tables)[:30]
        return f"the tables {', '.join(listed)}{', …' if len(self._tables) > len(listed) else ''}"

    def fold(self, name: str, is_quoted: bool) -> str:
        """Return the form in which names are compared."""
        return name.lower() if self._ignores_case or (not is_quoted and self._dialect == "postgres") else name

    def key(self, *identifiers: Expr | None) -> str:
        """Return the form in which a name of one or two identifiers is compared."""
        return ".".join(self.fold(str(each.this), bool(each.args.get("quoted"))) for each in identifiers if each)

    def can_read(self, table: Expr) -> bool:
        """Test whether a table is among those that may be read; of the server's own, only one that is listed."""
        schema, name = table.args.get("db"), str(table.this.this)
        in_schema = "" if schema is None else str(schema.this).lower()
        if in_schema in SYSTEM_SCHEMAS or in_schema.startswith("pg_"):
            return False
        if self._tables is not None:
            return self.key(schema, table.this) in self._tables
        is_file = re.search(r"[./\\*?]", name)  # DuckDB reads the file of this name
        return not is_file and not name.lower().startswith(SYSTEM_TABLES)

    def is_column(self, name: str, tables: Collection[str]) -> bool:
        """Test whether one of these tables, in lower case, has a known column of this name, in whatever case."""
        known = (
            columns or () for key, columns in (self._tables or {}).items() if key.rpartition(".")[2].lower() in tables
        )
        return any(each.lower() == name.lower() for columns in known for each in columns)

    def is_common(self, table: Expr) -> bool:
        """Test whether a table is a common table expression for every server; in doubt it is not."""
        key = self.key(table.this)
        return table.args.get("db") is None and any(self.key(each) == key for each in _common_tables_at(table))

    def columns_of(self, source: Expr) -> tuple[str, list[str] | None]:
        """Return the name of an entry of FROM, and its columns; None: they are not known."""
        kind, alias = type(source).__name__, source.args.get("alias")
        inside = source if kind == "Unnest" else source.this
        name = str(alias.this.this) if alias and alias.this else ""
        given = [self.key(each) for each in alias.columns] if alias else []
        if kind == "Subquery" or type(inside).__name__ == "Subquery":
            return name, None
        if type(inside).__name__ != "Identifier":  # a function that returns rows
            name = name or (kind if kind == "Unnest" else str(inside.this))
            return name, [*given, name.lower(), *_ROW_COLUMNS]
        is_common = any(self.key(inside) == self.key(each) for each in _common_tables_at(source))
        known = self._tables or {}
        schema = source.args.get("db")
        columns = None if is_common and schema is None else known.get(self.key(schema, inside))
        return name or str(inside.this), None if columns is None else [*given, *columns]


def _common_tables_at(node: Expr) -> Iterator[Expr]:
    """Yield the identifiers of the common table expressions that a name may refer to at a node.

    Within a common table expression these are the ones before it, and itself only in the recursive part of a recursive
    one: elsewhere its name would be that of a real table.
    """
    below, here = node, node.parent
    while here is not None:
        if type(here).__name__ == "With":
            at = next(at for at, each in enumerate(here.expressions) if each is below)
            yield from (each.args["alias"].this for each in here.expressions[:at])
            union = below.this
            if here.args.get("recursive") and type(union).__name__ == "Union":
                yield from (below.args["alias"].this for each in union.expression.walk() if each is node)
        elif (clause := here.args.get("with_")) is not None and clause is not below:
            yield from (each.args["alias"].this for each in clause.expressions)
        below, here = here, here.parent
