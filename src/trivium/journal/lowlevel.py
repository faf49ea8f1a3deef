"""Parts of the journal for trivium's own packages; each name is imported when it is first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trivium.lazy import lazy_names

if TYPE_CHECKING:
    from trivium.journal._codec import Codec
    from trivium.journal._journal import attempt_of
    from trivium.journal._store import SQLiteStore

__all__ = ["Codec", "SQLiteStore", "attempt_of"]

_HOMES = {"Codec": "_codec", "SQLiteStore": "_store", "attempt_of": "_journal"}
__getattr__, __dir__ = lazy_names(__name__, _HOMES, __all__, below="trivium.journal")
