"""What a cache is, and what its users have in common: keys, and that equal work is done once."""

from __future__ import annotations

import json
from hashlib import sha256
from threading import Lock
from typing import Any, Protocol, runtime_checkable

from trivium.commander import ThreadEvent

__all__ = ["Cache", "Flights", "hash_json"]


@runtime_checkable
class Cache(Protocol):
    """Keeps texts by key. Each method may be `def` or `async def`; calls come from any thread, at once."""

    def get(self, key: str) -> Any:
        """The text that was set last; None where there is none, or its time is over.

        Raises:
            CacheError: the cache cannot be used.
        """
        ...

    def set(self, key: str, value: str, ttl: float | None = None) -> Any:
        """Keep a text, for so many seconds; None is for ever.

        Raises:
            CacheError: the cache cannot be used.
        """
        ...


def hash_json(*parts: Any) -> str:
    """The SHA-256 of JSON values, in hex: equal for equal values, in whatever order their keys stand.

    Raises:
        TypeError: a part is no JSON value.
        ValueError: a part is NaN or an infinity, or holds itself.
    """
    text = json.dumps(parts, sort_keys=True, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()


class Flights:
    """What is being worked out just now, by key: the first does it, the others wait for the event."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._events: dict[str, ThreadEvent] = {}

    def enter(self, key: str) -> ThreadEvent | None:
        """None for who is to do it, and has to `leave`; else what to wait for."""
        with self._lock:
            event = self._events.get(key)
            if event is None:
                self._events[key] = ThreadEvent()
            return event

    def leave(self, key: str) -> None:
        """It is done, well or not: the others go on."""
        with self._lock:
            event = self._events.pop(key)
        event.set()
