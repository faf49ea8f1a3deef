"""Connections that arrive at a server: they leave the kernel's queue at once, and begin in turn."""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar

from trivium.serving._connections import network_of

_ACCEPTED_AT_ONCE: Final = 512
"""The connections that are accepted before one begins, which costs some fifty times as much."""
_LEAST_PAUSE: Final = 0.001
_MOST_PAUSE: Final = 0.05
"""Bounds of the pause after a connection that others wait behind: it is as long as that one took, so that at least half
of the time is left to what has begun before."""
_RETRY_SECONDS: Final = 1.0
"""The wait after the system has no more files."""

T = TypeVar("T")


class Arrivals(Generic[T]):
    """What has arrived from some addresses, of which each has its turn: many of one address delay no other.

    Args:
        most: how much there may be.

    Example:
        >>> arrivals = Arrivals[int](4)
        >>> for address, new in (("a", 1), ("a", 2), ("a", 3), ("b", 4)):
        ...     assert arrivals.add(address, new) is None
        >>> arrivals.add("b", 5)
        1
        >>> [arrivals.take() for _ in range(len(arrivals))]
        [4, 2, 5, 3]
    """

    def __init__(self, most: int) -> None:
        self._by_address: dict[str, deque[T]] = {}
        self._count, self._most = 0, most

    def __len__(self) -> int:
        return self._count

    def add(self, address: str, new: T) -> T | None:
        """Note what has arrived from an address; return the oldest of the address with most if there is too much."""
        self._by_address.setdefault(address, deque()).append(new)
        self._count += 1
        if self._count <= self._most:
            return None
        return self._take_of(max(self._by_address, key=lambda each: len(self._by_address[each])))

    def take(self) -> T:
        """Return the first of the address whose turn it is; there is one."""
        return self._take_of(next(iter(self._by_address)))

    def _take_of(self, address: str) -> T:
        mine = self._by_address.pop(address)
        first = mine.popleft()
        self._count -= 1
        if mine:
            self._by_address[address] = mine
        return first


async def accept_in_turn(listener: socket.socket, make: Callable[[], Any], most: int) -> None:
    """Accept connections until this is cancelled.

    To accept one costs much less than to begin it. So those before a client in the kernel's queue are accepted, and it
    begins after at most one connection of each other address. Where too many have not begun, the oldest of the address
    that has most of them is closed.

    Args:
        listener: where they arrive.
        make: makes the protocol of one.
        most: the connections that may be accepted and not begun.
    """
    loop, arrivals = asyncio.get_running_loop(), Arrivals[socket.socket](most)
    listener.setblocking(False)

    def add(arrived: tuple[socket.socket, Any]) -> None:
        arrived[0].setblocking(False)
        if (left := arrivals.add(network_of(arrived[1]), arrived[0])) is not None:
            left.close()

    try:
        while True:
            try:
                if not arrivals:
                    add(await loop.sock_accept(listener))
                for _ in range(_ACCEPTED_AT_ONCE):
                    add(listener.accept())
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                pass  # there is none
            except OSError as error:
                loop.call_exception_handler({"message": "no connection can be accepted", "exception": error})
                await asyncio.sleep(0 if arrivals else _RETRY_SECONDS)
            if arrivals:
                began = loop.time()
                await _begin(arrivals.take(), make)
                took = loop.time() - began
                await asyncio.sleep(min(max(took, _LEAST_PAUSE), _MOST_PAUSE) if arrivals else 0)
    finally:
        while arrivals:
            arrivals.take().close()


async def _begin(accepted: socket.socket, make: Callable[[], Any]) -> None:
    """Begin a connection, and return when what its client has sent at once was read."""
    loop = asyncio.get_running_loop()
    try:
        await loop.connect_accepted_socket(make, accepted)
    except Exception as error:
        loop.call_exception_handler({"message": "a connection does not begin", "exception": error})
    await asyncio.sleep(0)
    await asyncio.sleep(0)
