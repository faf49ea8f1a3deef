"""The contract of a cache, keys of JSON values, and work that is done once for equal keys."""

from __future__ import annotations

import json
import os
from hashlib import sha256
from typing import Any, Protocol, runtime_checkable

from trivium.commander import ThreadEvent


@runtime_checkable
class Cache(Protocol):
    """Stores texts by key. Each method may be `def` or `async def`; calls come from any thread, at once."""

    def get(self, key: str) -> Any:
        """Return the text that was set last; None if there is none, or it has expired.

        Raises:
            CacheError: the cache cannot be used.
        """
        ...

    def set(self, key: str, value: str, ttl: float | None = None) -> Any:
        """Store a text, for `ttl` seconds; None: without end.

        Raises:
            CacheError: the cache cannot be used.
        """
        ...


def hash_json(*parts: object) -> str:
    """Return the SHA-256 of JSON values, in hex; the order of keys does not matter.

    Raises:
        TypeError: a part is not a JSON value.
        ValueError: a part is NaN or an infinity, or holds itself.
    """
    text = json.dumps(parts, sort_keys=True, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()


class Flights:
    """Work in progress by key: the first caller does it, the others of its process wait for its event."""

    def __init__(self) -> None:
        self._events: dict[tuple[int, str], ThreadEvent] = {}

    def __reduce__(self) -> tuple[type[Flights], tuple[()]]:  # a copy does its own work
        return Flights, ()

    def enter(self, key: str) -> ThreadEvent | None:
        """Return None for the caller that does the work and must call `leave`; otherwise the event to wait for."""
        own = ThreadEvent()  # a forked child has none of its parent's threads
        event = self._events.setdefault((os.getpid(), key), own)  # atomic
        return None if event is own else event

    def leave(self, key: str) -> None:
        """End the work, successful or not: the others continue."""
        self._events.pop((os.getpid(), key)).set()
