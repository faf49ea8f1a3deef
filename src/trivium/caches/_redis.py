"""A cache on a Redis server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, cast
from urllib.parse import urlsplit
from weakref import finalize

from trivium.exceptions import CacheError, ConfigurationError, MissingExtraError
from trivium.schema.lowlevel import checked

__all__ = ["RedisCache"]

SECONDS: Final = 5.0


class RedisCache:
    """Stores texts on a Redis server, for processes of many machines; the server bounds its size.

    Args:
        url: the server: redis://HOST:PORT/NUMBER, rediss:// or unix://; its password is never displayed.
        prefix: the beginning of every key.

    Raises:
        MissingExtraError: the package is not installed; it comes with the extra "redis".
        ConfigurationError: the URL is not a Redis URL.

    Example::

        cache = RedisCache("redis://localhost:6379/0")
    """

    @checked
    def __init__(self, url: str, *, prefix: str = "trivium:cache:") -> None:
        what = "a Redis cache has a URL: redis://HOST:PORT/NUMBER, rediss:// or unix://"
        self._client, self._shown = redis_client(self, url, what, SECONDS)
        self._prefix = prefix

    def __repr__(self) -> str:
        return f"RedisCache({self._shown!r})"

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

    def close(self) -> None:
        """Close the connections; the next use opens one again."""
        self._client.close()

    def _run(self, command: Callable[..., object], *args: object, **options: object) -> Any:
        from redis import RedisError

        try:
            return command(*args, **options)
        except (RedisError, OSError) as error:
            raise CacheError(
                f"the cache at {self._shown} cannot be used ({error}): check that the Redis server runs and that the "
                "URL is right",
                self._shown,
            ) from error


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
