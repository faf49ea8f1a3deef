"""Connections that arrive at a server: they leave the kernel's queue at once, and begin in turn."""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar

from trivium.serving._connections import network_of

__all__ = ["Arrivals", "accept_in_turn"]

_ACCEPTED_AT_ONCE: Final = 64
_BEGUN_AT_ONCE: Final = 16
"""The connections that are accepted and begin in one turn of the loop, between which others are served."""
_RETRY_SECONDS: Final = 1.0
"""The wait after the system has no more files."""

T = TypeVar("T")


class Arrivals(Generic[T]):
    """What has arrived from some addresses, of which each has its turn: many of one address delay no other.

    Example:
        >>> arrivals = Arrivals[int]()
        >>> for address, new in (("a", 1), ("a", 2), ("a", 3), ("b", 4)):
        ...     arrivals.add(address, new)
        >>> [arrivals.take() for _ in range(len(arrivals))]
        [1, 4, 2, 3]
    """

    def __init__(self) -> None:
        self._by_address: dict[str, deque[T]] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, address: str, new: T) -> None:
        """Note what has arrived from an address."""
        self._by_address.setdefault(address, deque()).append(new)
        self._count += 1

    def take(self) -> T:
        """Return the first of the address whose turn it is; there is one."""
        address = next(iter(self._by_address))
        mine = self._by_address.pop(address)
        first = mine.popleft()
        self._count -= 1
        if mine:
            self._by_address[address] = mine
        return first


async def accept_in_turn(listener: socket.socket, make: Callable[[], Any], most: int) -> None:
    """Accept connections until this is cancelled.

    To accept one costs much less than to begin it. So those before a client in the kernel's queue are accepted, and it
    begins after at most one connection of each other address.

    Args:
        listener: where they arrive.
        make: makes the protocol of one.
        most: the connections that may be accepted and not begun.
    """
    loop, arrivals, beginning = asyncio.get_running_loop(), Arrivals[socket.socket](), set[asyncio.Task[Any]]()
    listener.setblocking(False)

    def add(arrived: tuple[socket.socket, Any]) -> None:
        arrived[0].setblocking(False)
        arrivals.add(network_of(arrived[1]), arrived[0])

    def end(task: asyncio.Task[Any]) -> None:
        beginning.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            loop.call_exception_handler({"message": "a connection does not begin", "exception": error})

    try:
        while True:
            try:
                if not arrivals:
                    add(await loop.sock_accept(listener))
                for _ in range(min(_ACCEPTED_AT_ONCE, most - len(arrivals))):
                    add(listener.accept())
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                pass  # there is none
            except OSError as error:
                loop.call_exception_handler({"message": "no connection can be accepted", "exception": error})
                await asyncio.sleep(0 if arrivals else _RETRY_SECONDS)
            for _ in range(min(_BEGUN_AT_ONCE, len(arrivals))):
                task = loop.create_task(loop.connect_accepted_socket(make, arrivals.take()))
                beginning.add(task)
                task.add_done_callback(end)
            await asyncio.sleep(0)
    finally:
        while arrivals:
            arrivals.take().close()
        if beginning:
            await asyncio.wait(beginning)  # so that the server knows all that it has to end
