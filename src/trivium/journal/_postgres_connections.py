"""Connections to a PostgreSQL database: opened when they are needed, and used again."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from queue import Empty, SimpleQueue
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, cast

from trivium.exceptions import (
    ConfigurationError,
    JournalDamagedError,
    JournalError,
    JournalNameError,
    MissingExtraError,
)
from trivium.journal._store import no_text

if TYPE_CHECKING:
    from psycopg import Connection

# Both ends of a connection give up half a minute after the last that they heard of each other, also where they sent
# something meanwhile: so a wait ends, and a lease of a machine that is gone is free, but that of a long act is kept.
_DEFAULTS: Final = {
    "connect_timeout": 10, "application_name": "trivium", "tcp_user_timeout": 30_000,
    "keepalives_idle": 15, "keepalives_interval": 5, "keepalives_count": 3,
}  # fmt: skip
_SETTINGS: Final = {
    "statement_timeout": "30s",
    "tcp_user_timeout": "30s",
    "tcp_keepalives_idle": "15",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
    "idle_session_timeout": "0",
}

_AT_ONCE: Final = 8
"""Connections that threads of a process use at once, before they wait for each other."""
_NESTED: Final = 1.0
"""Seconds of that wait: who waits may be within the use of another connection."""


class PostgresConnections:
    """Connections to the first schema of a PostgreSQL connection, each for one thread at a time.

    Args:
        url: "postgresql://user:password@host:5432/database"; libpq's defaults hold for the parts that are not given.
        prepare: prepares a new connection: creates the tables, if there are none.
        settings: settings of each connection, beside those that all have.

    Attributes:
        parameters: how a connection is opened, by the names of libpq; the password is among them.

    Raises:
        ConfigurationError: the URL is not valid.
        MissingExtraError: the extra `postgres` is missing.
    """

    def __init__(
        self, url: str, prepare: Callable[[Connection[Any]], object], settings: Mapping[str, str] | None = None
    ) -> None:
        self.parameters: dict[str, Any] = {**_DEFAULTS, **postgres_parameters(url)}
        self._prepare, self._settings = prepare, {**_SETTINGS, **(settings or {})}
        self._idle = _Idle()

    @property
    def place(self) -> str:
        """The URL of the database, without the password."""
        return postgres_place(self.parameters)

    @contextmanager
    def use(self, run_id: str = "", *, is_kept: bool = False) -> Generator[Connection[Any]]:
        """A connection for this thread alone; it is closed where the block fails, and else unused again.

        Args:
            run_id: the run, for errors.
            is_kept: whether it stays in use after the block; `release` ends that.
        """
        with nullcontext() if is_kept else self._idle.slot():
            with self.typed_errors(run_id):
                connection = self._idle.take() or self.open()
                try:
                    yield connection
                except BaseException:
                    connection.close()
                    raise
            if not is_kept:
                self._idle.put(connection)

    def release(self, connection: Connection[Any]) -> None:
        """Note that a connection is unused again."""
        self._idle.put(connection)

    def close(self) -> None:
        """Close unused connections; the next use opens one again."""
        self._idle.close()

    def open(self) -> Connection[Any]:
        """Open a connection for whoever asks, who closes it.

        Raises:
            psycopg.Error: the server cannot be reached, or refuses.
        """
        import psycopg

        connection: Connection[Any] = psycopg.connect(autocommit=True, **self.parameters)
        try:
            connection.execute(
                "SELECT set_config(name, value, false) FROM jsonb_each_text(%s::jsonb) AS new (name, value) "
                "WHERE name IN (SELECT name FROM pg_settings)",
                (json.dumps(self._settings),),
            )
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def said(self, error: BaseException) -> str:
        """Return the first line of an error of the server or the connection, without the password."""
        said = str(error).strip().partition("\n")[0]
        password = self.parameters.get("password")
        return said.replace(str(password), "…") if password else said

    @contextmanager
    def typed_errors(self, run_id: str) -> Generator[None]:
        """Turn the errors of the server and of the connection into `JournalError`."""
        import psycopg

        try:
            yield
        except UnicodeEncodeError as error:
            raise no_text(error, run_id) from None
        except psycopg.Error as error:
            said = self.said(error)
            state = error.sqlstate or ""
            if isinstance(error, psycopg.DataError):  # by the server, or by psycopg before it asks
                advice = "the ids of runs, and the names of modules and steps, are text without NUL characters"
                raise JournalNameError(f"the journal {self.place} cannot hold it ({said}): {advice}", run_id) from error
            if state in _DAMAGED:
                raise JournalDamagedError(
                    f"the journal {self.place} is damaged ({said}): restore it from a copy, or give another database",
                    run_id,
                ) from error
            advice = next((each for start, each in _ADVICE.items() if state.startswith(start)), _ADVICE[""])
            text = f"the journal {self.place} cannot be used ({said}): {advice}"
            raise JournalError(text, run_id, self.place) from error


def is_lost(error: JournalError) -> bool:
    """Return whether an error is one of the server or the connection, and none of what was written."""
    import psycopg

    return isinstance(error.__cause__, psycopg.OperationalError)


class _Idle:
    """Unused connections. A child process has none; psycopg leaves those of its parent alone."""

    def __init__(self) -> None:
        self._lock, self._pid = Lock(), os.getpid()
        self._connections: list[Connection[Any]] = []
        self._slots = _slots()

    @contextmanager
    def slot(self) -> Generator[None]:
        """Wait until few others use a connection, so that many threads share some; for a moment, as uses may nest."""
        with self._own():
            slots = self._slots
        is_mine = True
        try:
            slots.get(timeout=_NESTED)
        except Empty:
            is_mine = False
        try:
            yield
        finally:
            if is_mine:
                slots.put(None)

    def take(self) -> Connection[Any] | None:
        """Return one that the server has not closed."""
        while True:
            with self._own():
                connection = self._connections.pop() if self._connections else None
            if connection is None:
                return None
            with suppress(Exception):
                connection.pgconn.consume_input()  # the server's last word, if it has said one
                connection.pgconn.consume_input()  # and the end of the connection
                if not connection.closed:
                    return connection
            connection.close()

    def put(self, connection: Connection[Any]) -> None:
        with self._own():
            self._connections.append(connection)

    def close(self) -> None:
        while (connection := self.take()) is not None:
            connection.close()

    @contextmanager
    def _own(self) -> Generator[None]:
        if self._pid != os.getpid():  # a new child has one thread; the lock may have been held at the fork
            self._lock, self._pid, self._connections, self._slots = Lock(), os.getpid(), [], _slots()
        with self._lock:
            yield


def _slots() -> SimpleQueue[None]:
    slots = SimpleQueue[None]()
    for _ in range(_AT_ONCE):
        slots.put(None)
    return slots


_DAMAGED: Final = ("XX001", "XX002", "42P01", "42703")
_ADVICE: Final = {
    "53100": "its disk is full: make room there, then resume the run",
    "25006": "it can only be read: give the URL of the primary server",
    "42501": "give this user the right to create tables and write them in the first schema of its search path",
    "57014": "it took too long: see what the server does, then resume the run",
    "": "check the URL, see that it runs and has connections free, then try again",
}


def postgres_parameters(url: str) -> dict[str, Any]:
    """Return the parameters of a URL for libpq; an invalid one is not in the error, because it may hold a password.

    Raises:
        ConfigurationError: it is not valid, or part of its password would be taken for something else.
        MissingExtraError: the extra `postgres` is missing.
    """
    try:
        from psycopg import ProgrammingError
        from psycopg.conninfo import conninfo_to_dict
    except ImportError:
        raise MissingExtraError("psycopg", "postgres") from None
    authority, _, path = url.partition("://")[2].partition("/")
    is_split = authority.count("@") > 1 or "@" in path.partition("?")[0]  # at a character of the password
    with suppress(ProgrammingError):
        found = cast("dict[str, Any]", conninfo_to_dict(url))
        ports = [each for each in str(found.get("port", "")).split(",") if each]  # libpq looks at them when it connects
        if not is_split and all(each.isdecimal() and 0 < int(each) < 1 << 16 for each in ports):
            return found
    raise ConfigurationError(
        "the URL of the database is not valid: give postgresql://user:password@host:5432/name, with special characters "
        "of the password percent-encoded (@ as %40, / as %2F)"
    )


def postgres_place(parameters: Mapping[str, Any]) -> str:
    """Return the URL of a database without the password, by the parameters for libpq."""
    user = f"{parameters['user']}@" if "user" in parameters else ""
    port = f":{parameters['port']}" if "port" in parameters else ""
    return f"postgresql://{user}{parameters.get('host', '')}{port}/{parameters.get('dbname', '')}"
