"""What goes wrong between an agent and a database that it asks."""

from __future__ import annotations

from trivium.exceptions._root import LimitError, TriviumError


class DatabaseError(TriviumError):
    """A database cannot be opened or asked. `database` is its place, without its password."""

    def __init__(self, message: str, database: str = "") -> None:
        super().__init__(message)
        self.database = database


class DatabaseConnectionError(DatabaseError, ConnectionError):
    """Its file is not there, its server cannot be reached or refuses, or the connection broke or is in use."""


class QueryError(DatabaseError, ValueError):
    """The database does not run a query. `query` is its text."""

    def __init__(self, message: str, database: str = "", query: str = "") -> None:
        super().__init__(message, database)
        self.query = query


class QueryRefusedError(QueryError):
    """A query could do more than read, or cannot be read for sure; it was not sent.

    `reason` says what is wrong with it, `allowed` what to write instead.
    """

    def __init__(self, reason: str, allowed: str = "", query: str = "") -> None:
        super().__init__(f"refused: {reason}; allowed: {allowed}", "", query)
        self.reason, self.allowed = reason, allowed


class QueryTooLargeError(QueryError, LimitError):
    """A query takes more memory than it may; it was stopped. `value` is in bytes."""

    def __init__(self, message: str, database: str = "", query: str = "", limit: str = "", value: float = 0) -> None:
        super().__init__(message, database, query)
        self.limit, self.value = limit, value


class QueryTimeoutError(QueryError, LimitError, TimeoutError):
    """A query took too long; it was stopped. `seconds` is what it was given."""

    def __init__(self, message: str, database: str = "", query: str = "", seconds: float = 0.0) -> None:
        super().__init__(message, database, query)
        self.seconds = seconds
        self.limit, self.value = "timeout", seconds
