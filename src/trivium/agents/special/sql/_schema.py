"""The tables and columns of a database, read for their description to a model."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from logging import getLogger
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from warnings import catch_warnings, simplefilter

from trivium.agents.special.sql._engines import cause_of, scrub, written_name
from trivium.agents.special.sql._sqlite import virtual_tables
from trivium.exceptions import ArgumentTypeError

if TYPE_CHECKING:
    from sqlalchemy import Connection
    from sqlalchemy.engine.interfaces import ReflectedColumn, ReflectedForeignKeyConstraint

_logger = getLogger("trivium.agents")
_SYSTEM = ("information_schema", "mysql", "performance_schema", "sys")


class Column(NamedTuple):
    """A column: its name and type, the column that it refers to, and its description."""

    name: str
    type: str
    is_key: bool = False
    refers_to: str = ""
    comment: str = ""


class Table(NamedTuple):
    """A table or view; its schema is "" if it is the default one.

    A partition is part of another table, which has its rows too. `problem` says why its columns cannot be read, as
    those of a view of a table that is gone.
    """

    name: str
    schema: str
    columns: tuple[Column, ...] = ()
    comment: str = ""
    problem: str = ""
    is_partition: bool = False

    @property
    def full_name(self) -> str:
        """The name with its schema."""
        return self.written(str)

    def written(self, write: Callable[[str], str]) -> str:
        """Return the same, with both names written by a function."""
        return ".".join(write(name) for name in (self.schema, self.name) if name)


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
        parts = set[str]()
        names = {*inspector.get_table_names(schema), *inspector.get_view_names(schema)}
        if connection.dialect.name == "postgresql":
            names |= {*inspector.get_materialized_view_names(schema)}
            parts = _partitions(connection, schema)
        if connection.dialect.name == "sqlite":
            names -= _internal_tables(connection, schema)
        own = "" if schema == default else schema
        found += [Table(name, own, is_partition=name in parts) for name in sorted(names)]
    return default, found


def _partitions(connection: Connection, schema: str) -> set[str]:
    """Return PostgreSQL's tables that are parts of another one."""
    from sqlalchemy import text

    of_schema = "SELECT oid FROM pg_namespace WHERE nspname = :schema"
    asked = text(f"SELECT relname FROM pg_class WHERE relispartition AND relnamespace = ({of_schema})")  # noqa: S608
    return {str(name) for (name,) in connection.execute(asked, {"schema": schema})}


def _internal_tables(connection: Connection, schema: str) -> set[str]:
    """Return SQLite's tables in which it keeps virtual ones, and the virtual ones of a kind that cannot be read."""
    quoted = schema.replace('"', '""')
    made = connection.exec_driver_sql(f'SELECT name, sql FROM "{quoted}".sqlite_master')  # noqa: S608 - quoted
    found = virtual_tables((str(name), sql) for name, sql in made)
    return {part for name, parts in found.items() for part in ([name] if parts is None else parts)}


def read_columns(connection: Connection, tables: Iterable[Table]) -> list[Table]:
    """Return the same tables with their columns; one that cannot be read says why.

    Raises:
        SQLAlchemyError: none can be read.
    """
    from sqlalchemy.exc import SQLAlchemyError

    by_schema: dict[str, list[Table]] = {}
    for table in tables:
        by_schema.setdefault(table.schema, []).append(table)
    found: list[Table] = []
    for some in by_schema.values():
        try:
            found += _read_together(connection, some)
        except SQLAlchemyError as error:
            apart = [_read_alone(connection, each) for each in some]
            if len(some) > 1 and all(each.problem for each in apart):
                raise error from None
            found += apart
    return found


def _read_alone(connection: Connection, table: Table) -> Table:
    from sqlalchemy.exc import SQLAlchemyError

    try:
        return _read_together(connection, [table])[0]
    except SQLAlchemyError as error:
        with suppress(SQLAlchemyError):
            return table._replace(columns=_named_columns(connection, table))
        problem = scrub(cause_of(error), connection.engine.url)
        _logger.warning("%s is described without columns, since it cannot be read: %s", table.full_name, problem)
        return table._replace(problem=problem)


def _named_columns(connection: Connection, table: Table) -> tuple[Column, ...]:
    """Return the names of the columns by a query without rows: MySQL tells a role that may only read no more of a view.

    Raises:
        SQLAlchemyError: it cannot be queried.
    """
    import sqlalchemy

    source = sqlalchemy.table(table.name, schema=table.schema or None)
    asked = sqlalchemy.select(sqlalchemy.text("*")).select_from(source).limit(0)
    names = connection.execute(asked).keys()
    return tuple(Column(name, "") for name in names)


def _read_together(connection: Connection, some: list[Table]) -> list[Table]:
    """Read the columns of tables of one schema; any that cannot be read raises an error."""
    from sqlalchemy import inspect
    from sqlalchemy.engine.reflection import ObjectKind
    from sqlalchemy.exc import SAWarning

    inspector = inspect(connection)
    names, within, kind = [each.name for each in some], some[0].schema or None, ObjectKind.ANY
    with catch_warnings():
        simplefilter("ignore", SAWarning)  # of types that it does not know: they are listed without one
        columns = inspector.get_multi_columns(schema=within, filter_names=names, kind=kind)
    keys = inspector.get_multi_pk_constraint(schema=within, filter_names=names, kind=kind)
    foreign = inspector.get_multi_foreign_keys(schema=within, filter_names=names, kind=kind)
    has_comments = connection.dialect.supports_comments
    comments = inspector.get_multi_table_comment(within, names, kind) if has_comments else {}
    found: list[Table] = []
    for table in some:
        at = (within, table.name)
        said = str((comments.get(at) or {}).get("text") or "")
        key = keys.get(at)
        primary = key["constrained_columns"] if key else ()
        refers = _references(foreign.get(at) or (), connection)
        # MySQL leaves out a broken view above, and says here what is wrong with it.
        own = columns[at] if at in columns else inspector.get_columns(table.name, within)
        described = tuple(_column(each, primary, refers, connection) for each in own)
        found.append(table._replace(columns=described, comment=said))
    return found


def check_spelled(names: Iterable[str], known: Collection[str], text: str) -> None:
    """Check that names are known.

    Raises:
        ArgumentTypeError: one is not; its text is followed by the name, and by the closest that is.
    """
    for name in names:
        if name not in known:
            raise ArgumentTypeError.unknown(name, known, text)


def check_descriptions(descriptions: Mapping[str, Any], tables: Iterable[Table], others: Iterable[str] = ()) -> None:
    """Check that there are the tables and columns that a program describes.

    Args:
        descriptions: the descriptions, as `context_descriptions`.
        tables: the tables, with their columns.
        others: the names of tables whose columns are not checked.

    Raises:
        ArgumentTypeError: there is no such table, or no such column.
    """
    known = {name: each for each in tables for name in (each.full_name, each.name)}
    check_spelled(descriptions, {**known, **dict.fromkeys(others)}, "context_descriptions: there is no table")
    for name, table in known.items():
        about = descriptions.get(name)
        if isinstance(about, Mapping) and not table.problem:
            text = f"context_descriptions: the table {name} has no column"
            columns = cast("Mapping[str, Any]", about).get("columns") or ()
            check_spelled(columns, [each.name for each in table.columns], text)


def _references(foreign_keys: Iterable[ReflectedForeignKeyConstraint], connection: Connection) -> dict[str, str]:
    found: dict[str, str] = {}
    for key in foreign_keys:
        table = [key.get("referred_schema"), key["referred_table"]]
        for own, other in zip(key["constrained_columns"], key["referred_columns"], strict=False):
            found[own] = ".".join(written_name(name, connection.dialect) for name in (*table, other) if name)
    return found


def _column(
    column: ReflectedColumn, primary: Collection[str], refers: Mapping[str, str], connection: Connection
) -> Column:
    from sqlalchemy.exc import SQLAlchemyError

    try:
        kind = str(column["type"].compile(dialect=connection.dialect)).partition(" CHARACTER SET")[0]
    except SQLAlchemyError:  # there is none, as in a view, or none that SQLAlchemy knows
        kind = ""
    if (values := getattr(column["type"], "enums", None)) and "(" not in kind:  # MySQL lists them itself
        texts = ("'{}'".format(str(each).replace("'", "''")) for each in values)
        kind = f"{kind} ({', '.join(texts)})"
    name = str(column["name"])
    return Column(name, kind, name in primary, refers.get(name, ""), str(column.get("comment") or ""))
