"""Caches at the module paths of the documents."""

from trivium.cachedb import redis_cachedb as redis_cachedb

__all__: list[str] = []
