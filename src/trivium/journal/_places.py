"""Where a journal is kept: an SQLite file, or a PostgreSQL database."""

from __future__ import annotations

import re
from collections.abc import Callable
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
    elif not str(place):
        raise ConfigurationError("the place of a journal is an empty text: name a file, as 'runs.db'")
    elif "\0" in str(place):
        raise ConfigurationError(f"{place!r} is the name of no file: a name has no null character")
    elif found := _ADDRESS.search(str(place)):
        given = f"{found[0].strip()}…"
    elif is_there(place, Path.is_dir):
        raise ConfigurationError(f"{place} is a folder: name a file in it, as runs.db, for the journal")
    else:
        return SQLiteRunStore(file_at(place), seal)
    raise ConfigurationError(
        f"a journal is an SQLite file, as 'runs.db', or a PostgreSQL database, as 'postgresql://…', not {given}"
    )


def file_at(place: str | PathLike[str]) -> Path:
    """Return the file of a journal; "~" stands for the folder of a user.

    Raises:
        ConfigurationError: there is no such user.
    """
    try:
        return Path(place).expanduser()
    except RuntimeError:
        text = f"{place} is in the folder of a user who is not known: write ./{place} for a file of this name"
        raise ConfigurationError(text) from None


def is_there(place: str | PathLike[str], kind: Callable[[Path], bool]) -> bool:
    """Return whether a file, or a folder, is at a place.

    Args:
        place: the place.
        kind: `Path.is_file` or `Path.is_dir`.

    Raises:
        ConfigurationError: this user may not look there.
    """
    path = file_at(place)
    try:
        return kind(path)
    except PermissionError:
        raise ConfigurationError(f"{place} cannot be opened: this user may not read the folder {path.parent}") from None
