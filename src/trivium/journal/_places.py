"""Where a journal is kept: an SQLite file, or a PostgreSQL database."""

from __future__ import annotations

import re
from os import PathLike
from pathlib import Path
from typing import Final

from trivium.exceptions import ConfigurationError
from trivium.journal._seals import Seal
from trivium.journal._sqlite import SQLiteRunStore
from trivium.journal._store import Store

_ADDRESS: Final = re.compile(
    r"(^|\s)(host|hostaddr|dbname|user|password|service)\s*=|^postgres(ql)?:(?!//)|[\w+.-]*://", re.IGNORECASE
)
"""The beginning of what is the address of a database, in a form that is not taken, or of another kind."""


def run_store_at(place: str | PathLike[str] | Store, seal: Seal) -> Store:
    """Return the store at a place.

    Raises:
        ConfigurationError: it is neither a file nor the URL of a database; it is not shown, as it may have a password.
    """
    if isinstance(place, str) and place.startswith(("postgresql://", "postgres://")):
        from trivium.journal._postgres import PostgresRunStore

        return PostgresRunStore(place, seal)
    if not isinstance(place, str | PathLike):
        if hasattr(place, "append_all"):
            return place
        given = repr(place)
    elif found := _ADDRESS.search(str(place)):
        given = f"{found[0].strip()}…"
    elif Path(place).expanduser().is_dir():
        raise ConfigurationError(f"{place} is a folder: name a file in it, as runs.db, for the journal")
    else:
        return SQLiteRunStore(place, seal)
    raise ConfigurationError(
        f"a journal is an SQLite file, as 'runs.db', or a PostgreSQL database, as 'postgresql://…', not {given}"
    )
