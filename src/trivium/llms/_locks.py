"""A lock that does not keep its owner from being copied and sent to other processes."""

from __future__ import annotations

from threading import Lock


class OwnLock:
    """A lock of one object: a copy of the object has another one, and so has the object in another process."""

    __slots__ = ("_lock",)

    def __init__(self) -> None:
        self._lock = Lock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def __reduce__(self) -> tuple[type[OwnLock], tuple[()]]:
        return OwnLock, ()
