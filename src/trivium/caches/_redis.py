"""A cache on a Redis server."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from fnmatch import translate
from functools import partial
from time import monotonic
from typing import Any, Final, cast
from urllib.parse import urlsplit
from weakref import finalize

from trivium.exceptions import CacheError, ConfigurationError, MissingExtraError
from trivium.schema import ConfigModel
from trivium.schema.lowlevel import checked

SECONDS: Final = 5.0


class RedisCacheConfig(ConfigModel):
    """The config of a `RedisCache`: it has a URL, or is fake.

    Args:
        fake: keep everything in the memory of this process; for tests.
        url: the server: redis://HOST:PORT/NUMBER, rediss:// or unix://.
    """

    fake: bool = False
    url: str = ""


class RedisCache:
    """Stores texts on a Redis server, for processes of many machines; the server bounds its size.

    Args:
        url: the server: redis://HOST:PORT/NUMBER, rediss:// or unix://; its password is never displayed. Or a config.
        prefix: the beginning of every key.

    Raises:
        MissingExtraError: the package is not installed; it comes with the extra "redis".
        ConfigurationError: the URL is not a Redis URL.

    Example::

        cache = RedisCache("redis://localhost:6379/0")
    """

    @checked
    def __init__(self, url: str | RedisCacheConfig, *, prefix: str = "trivium:cache:") -> None:
        self.config = RedisCacheConfig(url=url) if isinstance(url, str) else url
        self._client: Any = FakeClient()
        self._shown, self._prefix = "fake", prefix
        if not self.config.fake:
            what = "a Redis cache has a URL: redis://HOST:PORT/NUMBER, rediss:// or unix://"
            self._client, self._shown = redis_client(self, self.config.url, what, SECONDS)

    def __repr__(self) -> str:
        return f"RedisCache({self._shown!r})"

    def __reduce__(self) -> tuple[Callable[[RedisCacheConfig], RedisCache], tuple[RedisCacheConfig]]:
        """Copy and send its options: a copy, or the cache in another process, has a client of its own."""
        return partial(RedisCache, prefix=self._prefix), (self.config,)

    def get(self, key: str) -> str | None:
        """Return the text that was set last; None if there is none, or it has expired.

        Raises:
            CacheError: the server cannot be reached.
        """
        found: bytes | None = self._run(self._client.get, self._prefix + key)
        return None if found is None else found.decode("utf-8", "surrogatepass")

    def set(self, key: str, value: str, ttl: float | None = None) -> None:
        """Store a text, for `ttl` seconds or as long as the server does.

        Raises:
            CacheError: the server cannot be reached.
        """
        lasts = None if ttl is None else max(1, round(ttl * 1000))
        self._run(self._client.set, self._prefix + key, value.encode("utf-8", "surrogatepass"), px=lasts)

    def store(self, key: str, value: Any) -> None:
        """Store a JSON value.

        Raises:
            CacheError: the server cannot be reached.
            TypeError: it is no JSON value.
        """
        self.set(key, json.dumps(value))

    def retrieve(self, key: str) -> Any:
        """Return the JSON value that was stored last; None if there is none.

        Raises:
            CacheError: the server cannot be reached.
        """
        found = self.get(key)
        return None if found is None else json.loads(found)

    def delete_keys(self, keys: Sequence[str]) -> None:
        """Delete what is stored under these keys.

        Raises:
            CacheError: the server cannot be reached.
        """
        if keys:
            self._run(self._client.delete, *(self._prefix + key for key in keys))

    def delete_keys_pattern(self, pattern: str) -> None:
        """Delete what is stored under the keys that fit a pattern, as "a*"; see Redis' command KEYS.

        Raises:
            CacheError: the server cannot be reached.
        """
        prefix = re.sub(r"([*?[\]\\])", r"\\\1", self._prefix)
        keys: list[Any] = self._run(lambda: [*self._client.scan_iter(match=prefix + pattern)])
        if keys:
            self._run(self._client.delete, *keys)

    def clear(self) -> None:
        """Delete all keys of this cache; other keys in the database stay.

        Raises:
            CacheError: the server cannot be reached.
        """
        self.delete_keys_pattern("*")

    def clear_all(self) -> None:
        """Delete all keys of all databases of the server, whoever wrote them.

        Raises:
            CacheError: the server cannot be reached.
        """
        self._run(self._client.flushall)

    def close(self) -> None:
        """Close the connections; the next use opens one again."""
        self._client.close()

    close_all_connections = close

    def _run(self, command: Callable[..., object], *args: object, **options: object) -> Any:
        if self.config.fake:
            return command(*args, **options)
        from redis import RedisError

        try:
            return command(*args, **options)
        except (RedisError, OSError) as error:
            raise CacheError(
                f"the cache at {self._shown} cannot be used ({error}): check that the Redis server runs and that the "
                "URL is right",
                self._shown,
            ) from error


class FakeClient:
    """Keeps values in memory by the methods of a Redis client that the cache calls."""

    def __init__(self) -> None:
        self._values: dict[str, tuple[bytes, float]] = {}  # with the time at which they expire

    def get(self, key: str) -> bytes | None:
        """Return the value of a key; None if there is none, or it has expired."""
        value, ends = self._values.get(key, (None, 0.0))
        return value if monotonic() < ends else None

    def set(self, key: str, value: bytes, px: int | None) -> None:
        """Have a value, for `px` milliseconds or for ever."""
        self._values[key] = value, float("inf") if px is None else monotonic() + px / 1000

    def delete(self, *keys: str) -> None:
        """Forget keys."""
        for key in keys:
            self._values.pop(key, None)

    def scan_iter(self, match: str) -> Iterator[str]:
        """Find the keys that fit a pattern."""
        return filter(re.compile(translate(match)).match, list(self._values))

    def flushall(self) -> None:
        """Forget all keys."""
        self._values.clear()

    def close(self) -> None:
        """Keep what there is, as a server does."""


def redis_client(owner: object, url: str, what: str, seconds: float, **options: object) -> tuple[Any, str]:
    """Return a client of a Redis server, closed with its owner, and its redacted address.

    Args:
        owner: the object that uses the client.
        url: address of the server.
        what: text of the error about another URL.
        seconds: time limit for responses of the server.
        **options: options of the package's client.

    Raises:
        MissingExtraError: the package is not installed; it comes with the extra "redis".
        ConfigurationError: the URL is not a Redis URL.
    """
    try:
        from redis import Redis
    except ImportError:
        raise MissingExtraError("redis", "redis") from None
    limits = {"socket_timeout": seconds, "socket_connect_timeout": seconds}
    try:
        parts = urlsplit(url)
        shown = parts._replace(netloc=parts.netloc.rpartition("@")[2], query="").geturl()
        client: Any = cast("Any", Redis).from_url(url, **limits, **options)
    except (ValueError, TypeError, AttributeError):
        raise ConfigurationError(what) from None
    finalize(owner, client.close).atexit = False
    return client, shown
