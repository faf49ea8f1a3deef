"""API keys in turn, and the header that takes one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from threading import Lock

from trivium.exceptions import ConfigurationError

__all__ = ["Keys", "bearer"]


class Keys:
    """API keys that are used in turn. One that a server refuses is left out from then on, but for the last.

    Args:
        keys: the keys; none of them is shown.
        default: gives the key where there are none, at each request; "" for no key.
    """

    def __init__(self, keys: Sequence[str] = (), default: Callable[[], str] = str) -> None:
        if not all(isinstance(key, str) for key in keys if key):  # type: ignore[unnecessary] - users pass anything
            raise ConfigurationError("an API key is a text; several are a list of texts")
        self.all = self._keys = tuple(dict.fromkeys(key.strip() for key in keys if key))
        self._default = default
        self._turn, self._lock = count(), Lock()

    def take(self) -> str:
        """The next key.

        Raises:
            ConfigurationError: it cannot be a key.
        """
        keys = self._keys
        key = keys[next(self._turn) % len(keys)] if keys else self._default().strip()
        if not key.isascii() or not key.isprintable():
            raise ConfigurationError("the API key has characters that no API key has: copy it again")
        return key

    def refuse(self, key: str) -> bool:
        """Leave a key out, and tell whether there is another."""
        with self._lock:
            others = tuple(each for each in self._keys if each != key)
            self._keys = others or self._keys
        return bool(others)


def bearer(key: str) -> dict[str, str]:
    """The header that most servers want."""
    return {"authorization": f"Bearer {key}"} if key else {}
