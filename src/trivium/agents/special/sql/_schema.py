"""What a database holds, as a model is told of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

__all__ = ["Column", "Table", "described", "read_tables"]

_SYSTEM = ("information_schema", "mysql", "performance_schema", "sys")


class Column(NamedTuple):
    """A column: its name and type, what it refers to, and what is said about it."""

    name: str
    type: str
    is_key: bool = False
    refers_to: str = ""
    comment: str = ""


class Table(NamedTuple):
    """A table or view. `schema` is "" in the default one."""

    name: str
    schema: str
    columns: tuple[Column, ...] = ()
    comment: str = ""

    @property
    def full_name(self) -> str:
        """The name as a query has it."""
        return f"{self.schema}.{self.name}" if self.schema else self.name


def read_tables(connection: Any, multi_schema: bool) -> tuple[str, list[Table]]:
    """The default schema's name, and the tables and views there are, without their columns."""
    from sqlalchemy import inspect

    inspector: Any = inspect(connection)
    default = inspector.default_schema_name or "main"
    found: list[Table] = []
    schemas: Iterable[str] = inspector.get_schema_names() if multi_schema else (default,)
    for schema in schemas:
        if schema.lower() in _SYSTEM or schema.lower().startswith("pg_"):
            continue
        names = {*inspector.get_table_names(schema), *inspector.get_view_names(schema)}
        if connection.dialect.name == "postgresql":
            names |= {*inspector.get_materialized_view_names(schema)}
        found += [Table(name, "" if schema == default else schema) for name in sorted(names)]
    return default, found


def described(connection: Any, tables: Iterable[Table]) -> list[Table]:
    """The same tables with their columns."""
    from sqlalchemy import inspect
    from sqlalchemy.engine.reflection import ObjectKind

    inspector: Any = inspect(connection)
    by_schema: dict[str, list[Table]] = {}
    for table in tables:
        by_schema.setdefault(table.schema, []).append(table)
    found: list[Table] = []
    for schema, some in by_schema.items():
        of: dict[str, Any] = {
            "schema": schema or None,
            "filter_names": [each.name for each in some],
            "kind": ObjectKind.ANY,
        }
        columns, keys = inspector.get_multi_columns(**of), inspector.get_multi_pk_constraint(**of)
        foreign = inspector.get_multi_foreign_keys(**of)
        for table in some:
            at = (schema or None, table.name)
            key: Any = keys.get(at) or {}
            primary: Collection[str] = key.get("constrained_columns") or ()
            refers = _references(foreign.get(at) or ())
            found.append(
                table._replace(
                    columns=tuple(_column(each, primary, refers, connection) for each in columns.get(at, ()))
                )
            )
    return found


def _references(foreign_keys: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    found: dict[str, str] = {}
    for key in foreign_keys:
        table = ".".join(filter(None, (key.get("referred_schema"), key["referred_table"])))
        for own, other in zip(key["constrained_columns"], key["referred_columns"], strict=False):
            found[own] = f"{table}.{other}"
    return found


def _column(column: Mapping[str, Any], primary: Collection[str], refers: Mapping[str, str], connection: Any) -> Column:
    from sqlalchemy.exc import SQLAlchemyError

    try:
        kind = str(column["type"].compile(dialect=connection.dialect)).partition(" CHARACTER SET")[0]
    except SQLAlchemyError:  # there is none, as in a view, or none that SQLAlchemy knows
        kind = ""
    name = str(column["name"])
    return Column(name, kind, name in primary, refers.get(name, ""), str(column.get("comment") or ""))
