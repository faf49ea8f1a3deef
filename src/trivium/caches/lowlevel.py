"""Parts of caches for trivium's own packages and for authors of extensions: stable, but not for everyday programs.

Each name is imported when it is first used, so that this module costs nothing by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trivium.lazy import lazy_names

if TYPE_CHECKING:
    from trivium.caches._cache import Flights, hash_json
    from trivium.caches._connections import SQLiteConnections
    from trivium.caches._redis import redis_client

__all__ = [
    "Flights",
    "SQLiteConnections",
    "hash_json",
    "redis_client",
]

_HOMES = {
    "Flights": "_cache",
    "SQLiteConnections": "_connections",
    "hash_json": "_cache",
    "redis_client": "_redis",
}
lazy_names(__name__, _HOMES, __all__, below="trivium.caches")
