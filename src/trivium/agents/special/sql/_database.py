"""A database that can only be read: queries are checked, run in a transaction that cannot write, capped and timed."""

from __future__ import annotations

import re
from collections.abc import Collection, Generator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Final

from trivium._arguments import checked
from trivium.agents.special.sql._guard import check_query
from trivium.agents.special.sql._rows import Rows
from trivium.agents.special.sql._rules import UNKNOWN_COLUMN, UNKNOWN_TABLE
from trivium.agents.special.sql._schema import Table, read_tables
from trivium.agents.special.sql._schema import described as described_tables
from trivium.agents.special.sql._sqlite import connect_read_only, guarded
from trivium.exceptions import (
    ConfigurationError,
    DatabaseConnectionError,
    DatabaseError,
    MissingExtraError,
    QueryError,
    QueryRefusedError,
    QueryTimeoutError,
)  # fmt: skip

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

__all__ = ["ReadOnlyDatabase"]

_DIALECTS: Final = {"sqlite": "sqlite", "postgresql": "postgres", "mysql": "mysql", "mariadb": "mysql"}
_DRIVERS: Final = {
    "postgres": "postgresql+psycopg", "postgresql": "postgresql+psycopg", "mysql": "mysql+pymysql",
    "mariadb": "mariadb+pymysql",
}  # fmt: skip
_CONNECT_SECONDS: Final = 10
_STOPPED: Final = ("interrupted", "57014", "1969", "3024")  # what SQLite, PostgreSQL, MariaDB, MySQL call a time-out
_SQL_MODE: Final = "STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION"


class ReadOnlyDatabase:
    """Runs queries that somebody else wrote, and lets them do nothing but read.

    Two walls stand one behind the other. `check_query` refuses what is more than reading, and sends text of its own.
    Behind it the database itself cannot write: an SQLite file is opened for reading and asks an authorizer about
    each table and function; PostgreSQL, MySQL and MariaDB run a read-only transaction, which is always rolled back.
    Rows, and the time of a query, are capped. Each query has a connection of its own.

    Let it log in with a role that may only SELECT: a role with all rights can do on its server what no transaction
    undoes, and then there is one wall less.

    Args:
        source: a URL as `sqlite:///shop.db` or `postgresql://reader:…@host/shop`, an SQLAlchemy engine, or a session,
            of which the engine is used.
        tables: the tables and views that may be read, as `table` or `schema.table`; None is all.
        functions: functions that queries may call beside the built-in ones that only compute.
        multi_schema: read the tables of all schemas, as `schema.table`, not those of the default one alone.
        max_rows: of an answer.
        timeout: seconds for a query.

    Raises:
        ConfigurationError: the source is no database that is known, or is no file.
        MissingExtraError: SQLAlchemy or the database's driver is not installed.

    Example:
        >>> import sqlite3, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> made = sqlite3.connect(f"{folder.name}/shop.db")
        >>> _ = made.executescript("CREATE TABLE item (name TEXT); INSERT INTO item VALUES ('pen'), ('ink')")
        >>> made.close()
        >>> shop = ReadOnlyDatabase(f"sqlite:///{folder.name}/shop.db")
        >>> shop.query("SELECT count(*) AS items FROM item").rows
        [(2,)]
        >>> try:
        ...     shop.query("DROP TABLE item")
        ... except QueryRefusedError as error:
        ...     print(error.reason)
        DROP begins no query
        >>> folder.cleanup()
    """

    @checked
    def __init__(
        self,
        source: Any,
        *,
        tables: Collection[str] | None = None,
        functions: Collection[str] = (),
        multi_schema: bool = False,
        max_rows: int = 50,
        timeout: float = 30.0,
    ) -> None:
        if max_rows < 1 or timeout <= 0:
            raise ConfigurationError("max_rows is at least 1, and timeout more than 0 seconds")
        self._secrets: frozenset[str] = frozenset()
        self._is_own = isinstance(source, str)
        self._timeout = timeout
        self.engine: Engine = self._engine_of(source)
        _check_kind(self.engine.dialect.name)
        self.dialect = _DIALECTS[self.engine.dialect.name]
        self.max_rows = max_rows
        self._allowed, self._functions, self._multi_schema = tables, tuple(functions), multi_schema
        self._found: list[Table] | None = None
        self._default_schema = ""

    def __repr__(self) -> str:
        return f"ReadOnlyDatabase({str(self)!r})"

    def __str__(self) -> str:
        return self.engine.url.set(query={}).render_as_string(hide_password=True)  # drivers take passwords there too

    # ---- queries
    def query(self, sql: str, *, max_rows: int | None = None) -> Rows:
        """Run a query and return what it gave.

        Args:
            sql: the query.
            max_rows: fewer rows than the database gives otherwise.

        Raises:
            QueryRefusedError: it is not one that only reads.
            QueryTimeoutError: it took too long, and was stopped.
            QueryError: the database does not run it; the text is the database's.
            DatabaseConnectionError: the database cannot be reached.
        """
        rows = self.max_rows if max_rows is None else min(max_rows, self.max_rows)
        try:
            sent = self._checked(sql, rows)
        except QueryRefusedError as error:
            before = self._readable()
            if error.reason.startswith((UNKNOWN_TABLE, UNKNOWN_COLUMN)):
                self._found = None  # it may have been made since they were read
            if self._readable() == before:
                raise
            sent = self._checked(sql, rows)
        return self._run(sent, rows)

    def _checked(self, sql: str, rows: int) -> str:
        tables = self._readable()
        return check_query(sql, self.dialect, tables=tables, functions=self._functions, max_rows=rows + 1)

    def _run(self, sql: str, rows: int) -> Rows:
        """Run this text as it is: here the second wall stands alone."""
        with self._connection() as connection, self._behind(connection):
            try:
                options = {"no_parameters": True, "stream_results": self.dialect == "postgres"}
                with closing(connection.exec_driver_sql(sql, execution_options=options)) as result:
                    if not result.returns_rows:
                        raise QueryError("it gives no rows", str(self), sql)
                    found = [tuple(row) for row in result.fetchmany(rows + 1)]
                    return Rows(tuple(result.keys()), found[:rows], len(found) > rows)
            except self._errors() as error:
                raise self._failed(error, sql) from None
            except ValueError as error:
                if isinstance(error, DatabaseError):
                    raise
                raise QueryError(f"a value cannot be read: {error}", str(self), sql) from None

    # ---- tables
    def tables(self, names: Collection[str] | None = None, *, described: bool = False) -> list[Table]:
        """The tables and views that may be read.

        Args:
            names: which; None is all.
            described: with their columns.

        Raises:
            QueryError: one of these names is not among them.
            DatabaseConnectionError: the database cannot be reached.
        """
        found = self._tables_found()
        if names is not None:
            by_name = {each.full_name.lower(): each for each in found}
            if unknown := [each for each in names if each.lower() not in by_name]:
                known = ", ".join(each.full_name for each in found[:50])
                raise QueryError(f"there is no table {', '.join(unknown)}; there are {known}", str(self))
            found = [by_name[each.lower()] for each in names]
        if not described:
            return found
        with self._connection() as connection:
            try:
                return described_tables(connection, found)
            except self._errors() as error:
                raise self._failed(error, "") from None

    def _tables_found(self) -> list[Table]:
        if self._found is None:
            with self._connection() as connection:
                try:
                    self._default_schema, found = read_tables(connection, self._multi_schema)
                    found = [each for each in found if self._is_allowed(each)]
                    self._found = described_tables(connection, found) if self.dialect == "postgres" else found
                except self._errors() as error:
                    raise self._failed(error, "") from None
        return self._found

    def _is_allowed(self, table: Table) -> bool:
        allowed = self._allowed
        return allowed is None or bool({e.lower() for e in allowed} & {e.lower() for e in self._names(table)})

    def _names(self, table: Table) -> set[str]:
        return {table.full_name, table.full_name if table.schema else f"{self._default_schema}.{table.name}"}

    def _readable(self) -> dict[str, list[str]]:
        """The names that may be read, and, for PostgreSQL, the columns of each."""
        return {name: [c.name for c in each.columns] for each in self._tables_found() for name in self._names(each)}

    def _failed(self, error: Any, sql: str) -> QueryError:
        cause = getattr(error, "orig", None) or error
        codes = (str(cause), str(getattr(cause, "sqlstate", "")), str(next(iter(getattr(cause, "args", ())), "")))
        if any(code in _STOPPED for code in codes):
            text = f"it took longer than {self._timeout:g} seconds and was stopped: read fewer rows, or join less"
            return QueryTimeoutError(text, str(self), sql, self._timeout)
        return QueryError(f"the database says: {self._scrubbed(cause)}", str(self), sql)

    # ---- connections
    @contextmanager
    def _connection(self) -> Generator[Connection]:
        """A connection of its own; what it did is rolled back."""
        try:
            connection = self.engine.connect()
        except ImportError as error:
            raise self._missing(error) from None
        except DatabaseError:
            raise
        except self._errors() as error:
            cause = getattr(error, "orig", None) or error
            raise DatabaseConnectionError(
                f"the database {self} cannot be reached ({self._scrubbed(cause)}): is it there, and may it be read?",
                str(self),
            ) from None
        try:
            if not self._is_own and self.dialect != "sqlite":
                connection.detach()  # what is set for the session must not reach others: it is closed afterwards
            yield connection
        finally:
            try:
                connection.close()
            except self._errors():
                connection.invalidate()

    @contextmanager
    def _behind(self, connection: Connection) -> Generator[None]:
        """What runs here cannot write, whatever it is."""
        try:
            for statement in self._preparations(connection):
                connection.exec_driver_sql(statement)
            wall: AbstractContextManager[None] = nullcontext()
            if self.dialect == "sqlite":
                raw = connection.connection.driver_connection
                wall = guarded(raw, self._readable(), self._functions, self._timeout)
        except self._errors() as error:
            raise self._failed(error, "") from None
        with wall:
            yield

    def _preparations(self, connection: Connection) -> list[str]:
        milliseconds = max(1, round(self._timeout * 1000))
        if self.dialect == "postgres":
            return [
                "SET TRANSACTION READ ONLY",
                "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY",
                f"SET statement_timeout = {milliseconds}",
                f"SET lock_timeout = {milliseconds}",
                "SET standard_conforming_strings = on",
            ]
        if self.dialect == "mysql":
            is_mariadb = getattr(connection.dialect, "is_mariadb", False)
            limit = f"max_statement_time = {self._timeout}" if is_mariadb else f"max_execution_time = {milliseconds}"
            return [
                f"SET SESSION sql_mode = '{_SQL_MODE}'",  # so that quotes and backslashes mean what the guard takes
                "SET NAMES utf8mb4",
                f"SET SESSION {limit}",
                "SET SESSION TRANSACTION READ ONLY",
                "START TRANSACTION READ ONLY",
            ]
        return []

    def _engine_of(self, source: Any) -> Engine:
        try:
            import sqlalchemy
            from sqlalchemy.exc import ArgumentError
            from sqlalchemy.pool import NullPool
        except ImportError:
            raise MissingExtraError("sqlalchemy", "sql") from None
        if not isinstance(source, str):
            engine = source.get_bind() if hasattr(source, "get_bind") else source
            engine = getattr(engine, "engine", engine)
            if not isinstance(engine, sqlalchemy.Engine):
                raise ConfigurationError(f"{type(source).__name__} is no database: give a URL, an engine or a session")
            self._secrets = _secrets_of(engine.url)
            return engine
        try:
            url = sqlalchemy.make_url(source)
            url = url.set(drivername=_DRIVERS.get(url.drivername, url.drivername))
            _check_kind(url.get_backend_name())  # before its driver is looked for
            self._secrets = _secrets_of(url)
            return sqlalchemy.create_engine(url, poolclass=NullPool, **self._options(url))
        except ImportError as error:
            raise self._missing(error) from None
        except ConfigurationError:
            raise
        except (ArgumentError, ValueError):  # its text may hold the password
            raise ConfigurationError(
                "the URL of the database cannot be read: it is like sqlite:///shop.db or postgresql://user:password@host/shop"
            ) from None

    def _options(self, url: Any) -> dict[str, Any]:
        kind = url.get_backend_name()
        if kind == "sqlite":
            path = url.database or ""
            if path in ("", ":memory:"):
                raise ConfigurationError("a database in memory has no URL: give the engine that holds it")
            return {"creator": lambda: connect_read_only(path.removeprefix("file:").partition("?")[0])}
        if url.drivername.endswith("+pymysql"):
            late = int(self._timeout) + _CONNECT_SECONDS  # for a server that is gone and cannot stop the query itself
            return {"connect_args": {"connect_timeout": _CONNECT_SECONDS, "read_timeout": late}}
        if url.drivername.endswith("+psycopg"):
            return {"connect_args": {"connect_timeout": _CONNECT_SECONDS}}
        return {}

    @staticmethod
    def _missing(error: ImportError) -> MissingExtraError:
        return MissingExtraError(error.name or "the database's driver", "sql")

    @staticmethod
    def _errors() -> tuple[type[Exception], ...]:
        import sqlite3

        from sqlalchemy.exc import SQLAlchemyError

        return SQLAlchemyError, sqlite3.Error, OSError

    def _scrubbed(self, error: Any) -> str:
        """What an error says, without the password."""
        from urllib.parse import quote, quote_plus

        said = error.args[1] if len(getattr(error, "args", ())) == 2 else error  # number and text of MySQL
        text = " ".join(str(said).split())
        for secret in self._secrets:
            for written in (secret, quote(secret, safe=""), quote_plus(secret)):
                text = text.replace(written, "***")
        return text


def _check_kind(name: str) -> None:
    if name not in _DIALECTS:
        raise ConfigurationError(f"{name} is not read here: {', '.join(sorted(_DIALECTS))} are")


def _secrets_of(url: Any) -> frozenset[str]:
    """What of a URL nobody may see: the password, wherever it stands."""
    asked = (str(value) for name, value in url.query.items() if re.search(r"pass|pwd|secret|token|key", name, re.I))
    return frozenset(each for each in (str(url.password or ""), *asked) if each)
