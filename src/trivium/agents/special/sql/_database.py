"""A database that can only be read: queries are checked, run in a transaction that cannot write, capped and timed."""

from __future__ import annotations

import re
from collections.abc import Collection, Generator
from contextlib import ExitStack, closing, contextmanager
from typing import TYPE_CHECKING, Any, Final

from trivium.agents.special.sql._bare import quote_bare
from trivium.agents.special.sql._dialects import RESERVED
from trivium.agents.special.sql._engines import (
    DIALECTS,
    cause_of,
    database_errors,
    is_shared_in_transaction,
    is_timeout,
    keep_values,
    missing_driver,
    open_engine,
    scrub,
    session_settings,
    written_name,
)
from trivium.agents.special.sql._guard import check_query
from trivium.agents.special.sql._rows import Rows
from trivium.agents.special.sql._rules import UNKNOWN_COLUMN, UNKNOWN_TABLE, UNREADABLE
from trivium.agents.special.sql._schema import Table, check_spelled, read_columns, read_tables
from trivium.agents.special.sql._sqlite import read_only_guard
from trivium.exceptions import (
    ConfigurationError,
    DatabaseConnectionError,
    DatabaseError,
    QueryError,
    QueryRefusedError,
    QueryTimeoutError,
)  # fmt: skip
from trivium.schema.lowlevel import checked

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

_WORDS: Final = re.compile(r"[^\W\d]\w*(?: \w+)+")
"""A name of several words, which can be nothing else in a query."""


class ReadOnlyDatabase:
    """Runs queries that a model wrote, and lets them do nothing but read.

    There are two lines of defence. `check_query` refuses queries that do more than read, and sends text of its own.
    Behind it the database itself cannot write: an SQLite file is opened for reading and asks an authorizer about
    each table and function; PostgreSQL, MySQL and MariaDB run a read-only transaction, which is always rolled back.
    Rows, and the time of a query, are limited. Each query has a connection of its own.

    Use a role that may only SELECT: a role with all rights can do on its server what no transaction undoes, which
    leaves one line of defence.

    Args:
        source: a URL as `sqlite:///shop.db` or `postgresql://reader:…@host/shop`, an SQLAlchemy engine, or a session,
            of which the engine is used.
        tables: the tables and views that may be read, as `table` or `schema.table`; None: all.
        functions: functions that queries may call beside the built-in ones that only compute.
        multi_schema: read the tables of all schemas, as `schema.table`, not those of the default one alone.
        max_rows: the most rows of an answer.
        timeout: seconds for a query.

    Raises:
        ConfigurationError: the source is no known kind of database, or is no file.
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
        source: object,
        *,
        tables: Collection[str] | None = None,
        functions: Collection[str] = (),
        multi_schema: bool = False,
        max_rows: int = 50,
        timeout: float = 30.0,
    ) -> None:
        if max_rows < 1 or not 0 < timeout < float("inf"):
            raise ConfigurationError("max_rows is at least 1, and timeout more than 0 seconds")
        self._is_own = isinstance(source, str)
        self._timeout = timeout
        self.engine: Engine = open_engine(source, timeout)
        self.dialect = DIALECTS[self.engine.dialect.name]
        self.max_rows = max_rows
        self._allowed, self._functions, self._multi_schema = tables, tuple(functions), multi_schema
        self._found: list[Table] | None = None
        self._there: list[Table] = []
        self._default_schema = ""

    def __repr__(self) -> str:
        return f"ReadOnlyDatabase({str(self)!r})"

    def __str__(self) -> str:
        return self.engine.url.set(query={}).render_as_string(hide_password=True)  # drivers take passwords there too

    # ---- queries
    def query(self, sql: str, *, max_rows: int | None = None) -> Rows:
        """Run a query and return its rows.

        Args:
            sql: the query.
            max_rows: fewer rows than the database returns otherwise; None: its `max_rows`.

        Raises:
            QueryRefusedError: it is not a query that only reads.
            QueryTimeoutError: it took too long, and was stopped.
            QueryError: the database does not run it; the text is the database's.
            DatabaseConnectionError: the database cannot be reached.
        """
        rows = self.max_rows if max_rows is None else min(max_rows, self.max_rows)
        try:
            return self._run(self._sent(sql, rows), rows)
        except (QueryRefusedError, QueryTimeoutError):
            raise
        except QueryError as error:
            bare = quote_bare(sql, self._quoted_names())[1]
            advice = f"; write {', '.join(bare)} with the quotes" if bare else ""
            raise QueryError(f"{error}{advice}", error.database, error.query) from None

    def _sent(self, sql: str, rows: int) -> str:
        """Return the text to send for a query."""
        try:
            return self._check(sql, rows)
        except QueryRefusedError as error:
            if error.reason.startswith(UNREADABLE):
                of_words = {name: text for name, text in self._quoted_names().items() if _WORDS.fullmatch(name)}
                quoted, found = quote_bare(sql, of_words)
                if found:
                    return self._check(quoted, rows)
            before = self._readable()
            if error.reason.startswith((UNKNOWN_TABLE, UNKNOWN_COLUMN)):
                self._found = None  # the table may have been made since the tables were read
            if self._readable() == before:
                raise
            return self._check(sql, rows)

    def _check(self, sql: str, rows: int) -> str:
        tables = self._readable()
        return check_query(sql, self.dialect, tables=tables, functions=self._functions, max_rows=rows + 1)

    def _quoted_names(self) -> dict[str, str]:
        """Return the names of tables and columns that need quotes, with them.

        Reserved words are left out: the guard quotes them, or they stand in a query as what they are.
        """
        tables = self.tables(described=self.dialect == "sqlite")  # of the others the columns are known
        names = {name for table in tables for name in (table.name, *(each.name for each in table.columns))}
        written = {name: self.written(name) for name in sorted(names) if name.lower() not in RESERVED}
        return {name: text for name, text in written.items() if text != name}

    def _run(self, sql: str, rows: int) -> Rows:
        """Run this text unchanged: here the second line of defence is alone."""
        with self._connection() as connection, self._read_only(connection):
            try:
                is_streamed = self.dialect == "postgres" and not sql.startswith("EXPLAIN")  # a plan has no cursor
                options = {"no_parameters": True, "stream_results": is_streamed}
                with closing(connection.exec_driver_sql(sql, execution_options=options)) as result:
                    if not result.returns_rows:
                        raise QueryError("it gives no rows", str(self), sql)
                    found = [tuple(row) for row in result.fetchmany(rows + 1)]
                    return Rows(tuple(result.keys()), found[:rows], len(found) > rows)
            except database_errors() as error:
                raise self._error(error, sql) from None
            except ValueError as error:
                if isinstance(error, DatabaseError):
                    raise
                raise QueryError(f"a value cannot be read: {error}", str(self), sql) from None

    # ---- tables
    def written(self, name: str) -> str:
        """Return a name as a query writes it: in quotes if it needs them."""
        return written_name(name, self.engine.dialect)

    def tables(self, names: Collection[str] | None = None, *, described: bool = False) -> list[Table]:
        """Return the tables and views that may be read.

        Args:
            names: the names of those to return; None: all.
            described: include their columns.

        Raises:
            QueryError: one of these names is not among them.
            ArgumentTypeError: the database has none of a name in its `tables`.
            DatabaseConnectionError: the database cannot be reached.
        """
        found = self._known_tables()
        if names is not None:
            by_name = {name.lower(): each for each in found for name in (each.full_name, each.written(self.written))}
            if unknown := [each for each in names if each.lower() not in by_name]:
                known = ", ".join(each.full_name for each in found[:50])
                raise QueryError(f"there is no table {', '.join(unknown)}; there are {known}", str(self))
            found = [by_name[each.lower()] for each in names]
        if not (described and found):
            return found
        with self._connection() as connection, self._database_says():
            return read_columns(connection, found)

    def all_names(self) -> list[str]:
        """Return the names of all tables and views of the database, also of those that may not be read."""
        self._known_tables()
        return [each.full_name for each in self._there]

    def _known_tables(self) -> list[Table]:
        if self._found is None:
            with self._connection() as connection, self._database_says():
                self._default_schema, there = read_tables(connection, self._multi_schema)
                found = [each for each in there if not each.is_partition]
                if self._allowed is not None:
                    allowed = {each.lower() for each in self._allowed}
                    if not self._there:  # later a model would read of the tables that it may not read
                        known = sorted({name.lower() for each in there for name in self._names(each)})
                        check_spelled(sorted(allowed), known, "there is no table")
                    found = [each for each in there if allowed & {name.lower() for name in self._names(each)}]
                self._there = there
                self._found = found if self.dialect == "sqlite" else read_columns(connection, found)
        return self._found

    def _names(self, table: Table) -> set[str]:
        return {table.full_name, table.full_name if table.schema else f"{self._default_schema}.{table.name}"}

    def _readable(self) -> dict[str, list[str]]:
        """Return the names that may be read, and, but for SQLite, the columns of each."""
        return {name: [c.name for c in each.columns] for each in self._known_tables() for name in self._names(each)}

    def _error(self, error: Exception, sql: str) -> QueryError:
        if is_timeout(error):
            text = f"it took longer than {self._timeout:g} seconds and was stopped: read fewer rows, or raise timeout=…"
            return QueryTimeoutError(text, str(self), sql, self._timeout)
        said = scrub(cause_of(error), self.engine.url)
        _, is_column, name = str(cause_of(error)).partition("no such column: ")
        if is_column and f"`{name}`" in sql:  # SQLite's text of 3.41 says so
            said += "; a text stands in '…', a name alone in double quotes"
        return QueryError(f"the database says: {said}", str(self), sql)

    @contextmanager
    def _database_says(self) -> Generator[None]:
        """Raise errors of the database as a `QueryError`."""
        try:
            yield
        except database_errors() as error:
            raise self._error(error, "") from None

    # ---- connections
    @contextmanager
    def _connection(self) -> Generator[Connection]:
        """Open a connection of its own, whose transaction is rolled back."""
        try:
            if not self._is_own and is_shared_in_transaction(self.engine):
                raise DatabaseConnectionError(
                    f"a transaction is open on the connection to {self}, and to read would roll it back: commit it "
                    "first, or give the engine of a database in a file, made without poolclass=…",
                    str(self),
                )
            connection = self.engine.connect()
        except ImportError as error:
            raise missing_driver(error) from None
        except DatabaseError:
            raise
        except database_errors() as error:
            cause = scrub(cause_of(error), self.engine.url)
            raise DatabaseConnectionError(
                f"the database {self} cannot be reached ({cause}): is it there, and may it be read?", str(self)
            ) from None
        try:
            if not self._is_own and self.dialect != "sqlite":
                connection.detach()  # settings of the session must not reach others: it is closed afterwards
            yield connection
        finally:
            try:
                connection.close()
            except database_errors():
                connection.invalidate()

    @contextmanager
    def _read_only(self, connection: Connection) -> Generator[None]:
        """Make the connection unable to write while the block runs."""
        with ExitStack() as stack:
            with self._database_says():
                for statement in session_settings(connection.dialect, self._timeout):
                    connection.exec_driver_sql(statement)
                raw: Any = connection.connection.dbapi_connection
                if connection.dialect.driver == "psycopg":
                    keep_values(raw)
                if self.dialect == "sqlite":
                    tables = [each.name for each in self._known_tables()]
                    stack.enter_context(read_only_guard(raw, tables, self._functions, self._timeout))
            yield
