"""Limits of a server's connections, so that idle and slow clients cannot block others."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from types import TracebackType
from typing import Any, Final, Protocol

from trivium.schema.lowlevel import positive
from trivium.serving._wire import Failure

_MOST_FAULTS: Final = 1000
_MOST_NETWORKS: Final = 4096
LEAST_WAITING: Final = 32
"""The connections that may always be accepted and not begun."""
MOST_WAITING: Final = 2048
"""The connections that may wait to be accepted: beyond these, a client tries again after a second or more."""
_CLIENT_LEFT: Final = "socket.send() raised exception."
"""What asyncio logs of each further event of a stream whose client has left, which is no fault."""
_LOGGERS: Final = ("asyncio", "trivium.serve", "uvicorn.error")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionLimits:
    """The limits of a server's connections.

    Where there are as many as may be, a new one takes the place of the one that has waited longest without a request
    that is being answered; if all are being answered, the new one is refused with status 503.

    Args:
        total: connections at once; never more than half of the files that the process may open.
        per_address: connections from one address (of IPv6, from one network of 64 bits). Raise it behind a proxy, from
            which all come.
        header_bytes: bytes of the headers of a request; more are answered with status 400.
        body_chunks: chunks of less than 1 KiB in the body of a request; more are answered with status 413.
        header_seconds: time for the headers of a request, then the connection is closed with status 408.
        body_seconds: time for the body of a request, then the connection is closed with status 408.

    Raises:
        ConfigurationError: one of them is not more than 0.
    """

    total: int = 1000
    per_address: int = 200
    header_bytes: int = 32 << 10
    body_chunks: int = 250
    header_seconds: float = 10.0
    body_seconds: float = 60.0

    def __post_init__(self) -> None:
        positive(
            total=self.total, per_address=self.per_address, header_bytes=self.header_bytes,
            body_chunks=self.body_chunks, header_seconds=self.header_seconds, body_seconds=self.body_seconds,
        )  # fmt: skip

    def most(self) -> int:
        """Return the number of connections for which this process has descriptors."""
        return max(1, min(self.total, most_files() // 2))


def most_files() -> int:
    """Return the number of files that this process may have open."""
    with suppress(ImportError, OSError):
        import resource

        files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        return sys.maxsize if files == resource.RLIM_INFINITY else files
    return sys.maxsize


class Connected(Protocol):
    """The interface of a connection for `Connections`."""

    address: str

    def refuse(self, failure: Failure) -> None:
        """Close it with an error."""

    def show_life(self) -> None:
        """Send a sign of life if a stream of events is open."""

    def read_on(self) -> None:
        """Read what its client sends after a rest."""


class Connections:
    """The connections of one server, in the order of their arrival, and those that wait for a request."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self._most, self._per_address = limits.most(), limits.per_address
        self._by_address: dict[str, dict[Connected, None]] = {}
        self._waiting: dict[Connected, None] = {}
        self._count = 0

    def enter(self, new: Connected) -> None:
        """Note a connection; where there are too many, one is refused."""
        mine = self._by_address.setdefault(new.address, {})
        limit, most, victim = "", 0, new
        if len(mine) >= self._per_address:
            limit, most = "per_address", self._per_address
            victim = next((each for each in mine if each in self._waiting), new)
        elif self._count >= self._most:
            limit, most = "total", self._most
            victim = next(iter(self._waiting), new)
        mine[new] = self._waiting[new] = None
        self._count += 1
        if limit:
            self.leave(victim)
            text = f"the server has {most} connections, as many as may be ({limit}): try again later, with fewer"
            victim.refuse(Failure(503, "TooManyConnections", text, limit, most, retry_after=1))

    def leave(self, gone: Connected) -> None:
        """Forget a connection, if it is known."""
        self._waiting.pop(gone, None)
        mine = self._by_address.get(gone.address, {})
        if gone in mine:
            del mine[gone]
            self._count -= 1
            if not mine:
                del self._by_address[gone.address]

    def wait(self, connection: Connected, waits: bool) -> None:
        """Note that a connection waits for a request, from now on, or no longer."""
        if not waits:
            self._waiting.pop(connection, None)
        elif connection in self._by_address.get(connection.address, {}):
            self._waiting.setdefault(connection)


def network_of(client: tuple[Any, ...] | None) -> str:
    """Return the address for which connections are counted.

    >>> network_of(("192.0.2.1", 99)), network_of(("2001:db8::1", 99)), network_of(("::ffff:192.0.2.1", 99))
    ('192.0.2.1', '2001:db8::', '192.0.2.1')
    """
    return "" if client is None else _network_of(client[0])


@lru_cache(_MOST_NETWORKS)
def _network_of(host: str) -> str:
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if not isinstance(address, IPv6Address):
        return str(address)
    return str(address.ipv4_mapped or IPv6Address(int(address) >> 64 << 64))


class OncePerSecond(logging.Filter):
    """Passes one record a second for each fault; the next one has the number of those left out.

    Records are of one fault if they come from one line of code, with an exception of one class from one line.
    """

    def __init__(self) -> None:
        super().__init__()
        self._last: dict[tuple[object, ...], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Tell that a record may pass."""
        if record.msg == _CLIENT_LEFT:
            return False
        kind, _, trace = record.exc_info or (None, None, None)
        key = (record.pathname, record.lineno, kind, _raised_at(trace))
        at, left_out = self._last.get(key, (-1.0, 0))
        now = time.monotonic()
        if now - at < 1:
            self._last[key] = (at, left_out + 1)
            return False
        if left_out:
            record.msg, record.args = f"{record.getMessage()} ({left_out} more like this were left out)", ()
        if len(self._last) >= _MOST_FAULTS:
            self._last.clear()
        self._last[key] = (now, 0)
        return True


def _raised_at(trace: TracebackType | None) -> tuple[str, int]:
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return ("", 0) if trace is None else (trace.tb_frame.f_code.co_filename, trace.tb_lineno)


@contextmanager
def bounded_log() -> Generator[None]:
    """Limit the log records of connections and runs while a server runs."""
    once = OncePerSecond()
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(once)
    try:
        yield
    finally:
        for name in _LOGGERS:
            logging.getLogger(name).removeFilter(once)
