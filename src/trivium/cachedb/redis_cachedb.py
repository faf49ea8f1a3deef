"""The cache on a Redis server, at the documented path."""

from trivium.caches import RedisCache, RedisCacheConfig

__all__ = ["RedisCache", "RedisCacheConfig"]
