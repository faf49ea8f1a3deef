"""API keys in turn, and the header that takes one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from trivium.commander.lowlevel import lock
from trivium.exceptions import ConfigurationError


class Keys:
    """API keys that are used in turn. A refused key is not used again, unless it is the last.

    Args:
        keys: the keys.
        default: returns the key if there are none, at each request; "" for no key.
    """

    def __init__(self, keys: Sequence[str] = (), default: Callable[[], str] = str) -> None:
        if not all(isinstance(key, str) for key in keys if key):  # type: ignore[unnecessary] - users pass anything
            raise ConfigurationError("an API key is a text; several are a list of texts")
        self.all = self._keys = tuple(dict.fromkeys(key.strip() for key in keys if key))
        self._default = default
        self._turn = 0

    def next_key(self) -> str:
        """Return the next key.

        Raises:
            ConfigurationError: the key has invalid characters.
        """
        with lock:
            keys, turn = self._keys, self._turn
            self._turn += 1
        key = keys[turn % len(keys)] if keys else self._default()
        if not isinstance(key, str):  # type: ignore[unnecessary] - a function of users returns anything
            kind = type(key).__name__  # and not the value, which may hold the key
            raise ConfigurationError(f"the function of the API key returned a {kind}: let it return the key, a text")
        key = key.strip()
        if not key.isascii() or not key.isprintable():
            raise ConfigurationError("the API key has characters that no API key has: copy it again")
        return key

    def refuse(self, key: str) -> bool:
        """Drop a refused key, and tell whether there is another."""
        with lock:
            others = tuple(each for each in self._keys if each != key)
            self._keys = others or self._keys
        return bool(others)


def bearer(key: str) -> dict[str, str]:
    """Return the header that most servers expect."""
    return {"authorization": f"Bearer {key}"} if key else {}
