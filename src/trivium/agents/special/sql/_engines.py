"""Engines of SQLAlchemy for the databases that are known, their errors, and their settings for reading."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from trivium.agents.special.sql._sqlite import connect_read_only
from trivium.exceptions import ConfigurationError, MissingExtraError

if TYPE_CHECKING:
    from sqlalchemy import URL, Dialect, Engine

DIALECTS: Final = {"sqlite": "sqlite", "postgresql": "postgres", "mysql": "mysql", "mariadb": "mysql"}
"""The dialect of `check_query` for each kind of database, as SQLAlchemy names it."""

_DRIVERS: Final = {
    "postgres": "postgresql+psycopg", "postgresql": "postgresql+psycopg", "mysql": "mysql+pymysql",
    "mariadb": "mariadb+pymysql",
}  # fmt: skip
_CONNECT_SECONDS: Final = 10
_TIMEOUTS: Final = ("interrupted", "57014", "1969", "3024")  # of SQLite, PostgreSQL, MariaDB and MySQL
_SQL_MODE: Final = "STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION"
_PLACE: Final = re.compile(r"\nLINE \d+: .*\n *\^")
"""PostgreSQL's place of an error: it shows the text that the driver sent, which no model has written."""
_SECRET_PARAMETER: Final = re.compile(r"pass|pwd|secret|token|key", re.IGNORECASE)


def open_engine(source: Any, timeout: float) -> Engine:
    """Return the engine of a source; of a URL a new one, whose connections are not shared.

    Args:
        source: a URL, an SQLAlchemy engine, connection or session.
        timeout: seconds for a query.

    Raises:
        ConfigurationError: the source is no known kind of database, or is no file.
        MissingExtraError: SQLAlchemy or the database's driver is not installed.
    """
    try:
        import sqlalchemy
        from sqlalchemy.exc import ArgumentError
        from sqlalchemy.pool import NullPool
    except ImportError:
        raise MissingExtraError("sqlalchemy", "sql") from None
    if not isinstance(source, str):
        engine = source.get_bind() if hasattr(source, "get_bind") else source
        engine = engine.engine if isinstance(engine, sqlalchemy.Connection) else engine
        if not isinstance(engine, sqlalchemy.Engine):
            raise ConfigurationError(f"{type(source).__name__} is no database: give a URL, an engine or a session")
        _check_kind(engine.dialect.name)
        return engine
    try:
        url = sqlalchemy.make_url(source)
        url = url.set(drivername=_DRIVERS.get(url.drivername, url.drivername))
        _check_kind(url.get_backend_name())  # before its driver is imported
        return sqlalchemy.create_engine(url, poolclass=NullPool, **engine_options(url, timeout))
    except ImportError as error:
        raise missing_driver(error) from None
    except ConfigurationError:
        raise
    except (ArgumentError, ValueError):  # its text may hold the password
        raise ConfigurationError(
            "the URL of the database cannot be read: it is like sqlite:///shop.db or "
            "postgresql://user:password@host/shop"
        ) from None


def is_shared_in_transaction(engine: Engine) -> bool:
    """Test whether a transaction is open on the one connection that all users of an engine share.

    A database in memory has such a connection. To give it back to the pool would roll the transaction back, so it is
    looked at without that.
    """
    from sqlalchemy.pool import SingletonThreadPool, StaticPool

    raw: Any = None
    if isinstance(engine.pool, StaticPool):
        raw = engine.pool.connection.driver_connection
    elif isinstance(engine.pool, SingletonThreadPool):
        with engine.connect() as connection:  # nothing is run on it: the pool counts one user less afterwards
            raw = connection.connection.driver_connection
    return engine.dialect.name == "sqlite" and raw is not None and raw.in_transaction


def _check_kind(name: str) -> None:
    if name not in DIALECTS:
        raise ConfigurationError(f"{name} is not supported: use one of {', '.join(sorted(DIALECTS))}")


def engine_options(url: URL, timeout: float) -> dict[str, Any]:
    """Return the options of `create_engine`: SQLite's connection, and the time limits of drivers.

    Raises:
        ConfigurationError: the URL names an SQLite database in memory.
    """
    if url.get_backend_name() == "sqlite":
        path = url.database or ""
        if path in ("", ":memory:"):
            raise ConfigurationError("a database in memory has no URL: give the engine that holds it")
        return {"creator": lambda: connect_read_only(path.removeprefix("file:").partition("?")[0], timeout)}
    if url.drivername.endswith("+pymysql"):
        late = int(timeout) + _CONNECT_SECONDS  # for a server that is gone and cannot stop the query itself
        arguments: dict[str, Any] = {"connect_timeout": _CONNECT_SECONDS, "read_timeout": late}
        if "unix_socket" in url.query and not any(name.startswith("ssl") for name in url.query):
            arguments["ssl_disabled"] = True  # or each connection would read all certificates of the system for nothing
        return {"connect_args": arguments}
    if url.drivername.endswith("+psycopg"):
        return {"connect_args": {"connect_timeout": _CONNECT_SECONDS}}
    return {}


def session_settings(dialect: Dialect, timeout: float) -> list[str]:
    """Return the statements after which a session of PostgreSQL, MySQL or MariaDB can only read, for a limited time."""
    milliseconds = max(1, round(timeout * 1000))
    if dialect.name == "postgresql":
        return [
            "SET TRANSACTION READ ONLY",
            "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY",
            f"SET statement_timeout = {milliseconds}",
            f"SET lock_timeout = {milliseconds}",
            "SET standard_conforming_strings = on",
        ]
    if DIALECTS[dialect.name] == "mysql":
        from sqlalchemy.dialects.mysql.base import MySQLDialect

        is_mariadb = isinstance(dialect, MySQLDialect) and dialect.is_mariadb
        limit = f"max_statement_time = {timeout}" if is_mariadb else f"max_execution_time = {milliseconds}"
        return [
            f"SET SESSION sql_mode = '{_SQL_MODE}'",  # so that quotes and backslashes mean the same as to the guard
            "SET NAMES utf8mb4",
            f"SET SESSION {limit}",
            "SET SESSION TRANSACTION READ ONLY",
            "START TRANSACTION READ ONLY",
        ]
    return []


def keep_values(connection: Any) -> None:
    """Let a connection of psycopg return as text what Python has no value for.

    These are dates and times beyond Python's, as `infinity`, all intervals, of which Python would take a month for 30
    days, and JSON, whose numbers it would round.
    """
    for kind, loader in _loaders():
        connection.adapters.register_loader(kind, loader)


@cache
def _loaders() -> Sequence[tuple[str, type[Any]]]:
    """Return the loaders of `keep_values`, by the types of the database."""
    from psycopg import DataError
    from psycopg.types import datetime, string

    made: list[tuple[str, type[Any]]] = [(kind, string.TextLoader) for kind in ("interval", "json", "jsonb")]
    for loader, kind in (
        (datetime.DateLoader, "date"),
        (datetime.TimestampLoader, "timestamp"),
        (datetime.TimestamptzLoader, "timestamptz"),
        (datetime.TimeLoader, "time"),
        (datetime.TimetzLoader, "timetz"),
    ):

        def load(own: Any, data: bytes, loader: type[Any] = loader) -> object:
            try:
                return loader.load(own, data)
            except DataError:
                return bytes(data).decode()

        made.append((kind, type(loader.__name__, (loader,), {"load": load})))
    return made


def written_name(name: str, dialect: Dialect) -> str:
    """Return a name as a query writes it: in quotes if it needs them.

    For SQLite these are backticks: small models end the JSON of their call at a double quote.
    """
    quoting = dialect.identifier_preparer
    plain = name if dialect.name == "postgresql" else name.lower()  # the others keep capitals without quotes
    if quoting.quote(plain) == plain:
        return name
    return f"`{name.replace('`', '``')}`" if dialect.name == "sqlite" else quoting.quote_identifier(name)


def missing_driver(error: ImportError) -> MissingExtraError:
    """Return the error for a driver that is not installed."""
    return MissingExtraError(error.name or "the database's driver", "sql")


def database_errors() -> tuple[type[Exception], ...]:
    """Return the classes of errors that databases and their drivers raise."""
    import sqlite3

    from sqlalchemy.exc import SQLAlchemyError

    return SQLAlchemyError, sqlite3.Error, OSError


def cause_of(error: Exception) -> BaseException:
    """Return the driver's error that SQLAlchemy has wrapped, or the error itself."""
    from sqlalchemy.exc import StatementError

    return (error.orig if isinstance(error, StatementError) else None) or error


def is_timeout(error: Exception) -> bool:
    """Test whether an error says that a query took too long and was stopped."""
    cause = cause_of(error)
    state = str(getattr(cause, "sqlstate", ""))
    return any(code in _TIMEOUTS for code in (str(cause), state, *map(str, cause.args[:1])))


def scrub(error: BaseException, url: URL) -> str:
    """Return the text of an error on one line, without the secrets of the URL, however they are encoded."""
    from urllib.parse import quote, quote_plus

    said = error.args[1] if len(error.args) == 2 else error  # MySQL's errors are a number and a text
    text = " ".join(_PLACE.sub("", str(said)).split())
    query = (str(value) for name, value in url.query.items() if _SECRET_PARAMETER.search(name))
    for secret in filter(None, (str(url.password or ""), *query)):
        for written in (secret, quote(secret, safe=""), quote_plus(secret)):
            text = text.replace(written, "***")
    return text
