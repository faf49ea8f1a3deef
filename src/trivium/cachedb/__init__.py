"""Caches at Langroid's import paths."""

from trivium.cachedb import redis_cachedb as redis_cachedb

__all__: list[str] = []
