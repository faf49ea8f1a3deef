"""The tables and columns of a database, read for their description to a model."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from sqlalchemy import Connection
    from sqlalchemy.engine.interfaces import ReflectedColumn, ReflectedForeignKeyConstraint

_SYSTEM = ("information_schema", "mysql", "performance_schema", "sys")


class Column(NamedTuple):
    """A column: its name and type, the column that it refers to, and its description."""

    name: str
    type: str
    is_key: bool = False
    refers_to: str = ""
    comment: str = ""


class Table(NamedTuple):
    """A table or view; its schema is "" if it is the default one."""

    name: str
    schema: str
    columns: tuple[Column, ...] = ()
    comment: str = ""

    @property
    def full_name(self) -> str:
        """The name as a query writes it."""
        return f"{self.schema}.{self.name}" if self.schema else self.name


def read_tables(connection: Connection, multi_schema: bool) -> tuple[str, list[Table]]:
    """Return the name of the default schema, and its tables and views (or those of all schemas), without columns."""
    from sqlalchemy import inspect

    inspector = inspect(connection)
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


def read_columns(connection: Connection, tables: Iterable[Table]) -> list[Table]:
    """Return the same tables with their columns."""
    from sqlalchemy import inspect
    from sqlalchemy.engine.reflection import ObjectKind

    inspector = inspect(connection)
    by_schema: dict[str, list[Table]] = {}
    for table in tables:
        by_schema.setdefault(table.schema, []).append(table)
    found: list[Table] = []
    for schema, some in by_schema.items():
        names, within, kind = [each.name for each in some], schema or None, ObjectKind.ANY
        columns = inspector.get_multi_columns(schema=within, filter_names=names, kind=kind)
        keys = inspector.get_multi_pk_constraint(schema=within, filter_names=names, kind=kind)
        foreign = inspector.get_multi_foreign_keys(schema=within, filter_names=names, kind=kind)
        for table in some:
            at = (within, table.name)
            key = keys.get(at)
            primary = key["constrained_columns"] if key else ()
            refers = _references(foreign.get(at) or ())
            described = tuple(_column(each, primary, refers, connection) for each in columns.get(at, ()))
            found.append(table._replace(columns=described))
    return found


def _references(foreign_keys: Iterable[ReflectedForeignKeyConstraint]) -> dict[str, str]:
    found: dict[str, str] = {}
    for key in foreign_keys:
        table = ".".join(filter(None, (key.get("referred_schema"), key["referred_table"])))
        for own, other in zip(key["constrained_columns"], key["referred_columns"], strict=False):
            found[own] = f"{table}.{other}"
    return found


def _column(
    column: ReflectedColumn, primary: Collection[str], refers: Mapping[str, str], connection: Connection
) -> Column:
    from sqlalchemy.exc import SQLAlchemyError

    try:
        kind = str(column["type"].compile(dialect=connection.dialect)).partition(" CHARACTER SET")[0]
    except SQLAlchemyError:  # there is none, as in a view, or none that SQLAlchemy knows
        kind = ""
    name = str(column["name"])
    return Column(name, kind, name in primary, refers.get(name, ""), str(column.get("comment") or ""))
