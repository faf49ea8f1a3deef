"""Caches: texts by key, stored in a file or on a server, for any number of processes."""

from trivium.caches._cache import Cache
from trivium.caches._redis import RedisCache, RedisCacheConfig
from trivium.caches._sqlite import SQLiteCache

__all__ = ["Cache", "RedisCache", "RedisCacheConfig", "SQLiteCache"]
