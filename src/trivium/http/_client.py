"""The client: connections to servers, direct or through a proxy, kept for each event loop and closed with it."""

from __future__ import annotations

import asyncio
import logging
import re
import ssl
from collections.abc import AsyncGenerator, Callable, Mapping
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar
from urllib.request import getproxies
from weakref import WeakKeyDictionary, finalize, ref

from trivium.exceptions import ConfigurationError
from trivium.http._bodies import ACCEPTED, pieces_of_body
from trivium.http._certificates import system_certificates
from trivium.http._clock import TimeLimit
from trivium.http._connection import Connection
from trivium.http._exchange import Outgoing
from trivium.http._messages import (
    ConnectFailedError,
    ConnectionLostError,
    HTTPRequest,
    HTTPResponse,
    InvalidRequestError,
    ServerSilentError,
)
from trivium.http._proxies import login_of, proxy_for
from trivium.http._urls import URL

if TYPE_CHECKING:
    from trivium.http._exchange import Exchange
    from trivium.http._http2 import HTTP2Connection

LONGEST_IDLE: Final = 5.0
"""Seconds after which an idle connection is not used again: many servers close theirs then."""
CONNECT_SECONDS: Final = 10.0
_LINE_END: Final = re.compile(r"[\r\n\0]")
_NO_NAME: Final = re.compile(r"[^!#$%&'*+.^_`|~0-9A-Za-z-]")
_logger = logging.getLogger("trivium.http")
P = TypeVar("P", bound=asyncio.Protocol)


class ServerAddress(NamedTuple):
    """The other end of connections that serve one another's requests."""

    scheme: str
    host: str
    port: int
    address: str | None
    proxy: URL | None


class _Way(NamedTuple):
    """The way to an address: the proxy, and what of a request is the same for all that go there.

    Args:
        address: the address as it was given.
        url: the address.
        proxy: the proxy; None for none.
        target: the path and the query, or the whole address for a proxy.
        headers: the headers that a request may replace.
    """

    address: str
    url: URL
    proxy: URL | None
    target: str
    headers: dict[str, str]

    @classmethod
    def to(cls, address: str, proxies: Mapping[str, str]) -> _Way:
        """Find the way to an address."""
        url = URL.parse(address)
        proxy, target = proxy_for(url, proxies), url.target
        own = {"host": url.authority, "accept": "*/*", "accept-encoding": ACCEPTED, "user-agent": "trivium"}
        if (login := login_of(url.userinfo)) is not None:
            own["authorization"] = login
        if proxy is not None and url.scheme == "http":
            target = repr(url)  # without the user
            if (login := login_of(proxy.userinfo)) is not None:
                own["proxy-authorization"] = login
        return cls(address, url, proxy, target, own)


class HTTPClient:
    """Sends HTTP requests under asyncio.

    Args:
        proxies: the proxy for each scheme; None: those of the environment at the first request.
        certificates: how servers are verified, and the client's own certificate; default: by the system's certificates,
            or those of `SSL_CERT_FILE`.
        connect_timeout: seconds for making a connection, or less where the request allows less.
    """

    def __init__(
        self,
        *,
        proxies: Mapping[str, str] | None = None,
        certificates: ssl.SSLContext | None = None,
        connect_timeout: float = CONNECT_SECONDS,
    ) -> None:
        self._given = None if proxies is None else dict(proxies), certificates
        self._proxies, self._certificates, self._connect_timeout = proxies, certificates, connect_timeout
        self._last: _Way | None = None
        self._pools: WeakKeyDictionary[asyncio.AbstractEventLoop, ConnectionPool] = WeakKeyDictionary()

    def __deepcopy__(self, memo: object) -> HTTPClient:
        """Return the same client: it serves any number of owners."""
        return self

    def __reduce__(self) -> tuple[Callable[[], HTTPClient], tuple[()]]:
        """Send its options alone: another process has connections, certificates and an environment of its own.

        Raises:
            ConfigurationError: it was given certificates, which cannot be sent.
        """
        proxies, certificates = self._given
        if certificates is not None:
            raise ConfigurationError("an HTTPClient(certificates=…) cannot be pickled: make it where it is used")
        return partial(type(self), proxies=proxies, connect_timeout=self._connect_timeout), ()

    async def send(self, request: HTTPRequest) -> HTTPResponse:
        """Send a request and return the response, once its head has arrived.

        Raises:
            InvalidRequestError: the address or a header is not valid.
            ConnectFailedError: no connection could be made.
            ConnectionLostError: the connection broke.
            ServerSilentError: the server sent nothing in time.
        """
        way = self._way(request.url)
        outgoing, url = _outgoing(request, way), way.url
        pool = await self._pool()
        place = ServerAddress(url.scheme, url.host, url.port, request.address, way.proxy)
        connection = await self._exchange(pool, place, url, request)
        try:
            status = await connection.send(outgoing, request.timeout)
        except BaseException:
            connection.end()
            raise
        _logger.debug("%s %s://%s%s: %d", request.method, url.scheme, way.headers["host"], url.path, status)
        is_kept = request.headers.get("connection") != "close"
        on_close = partial(_end, connection, pool if is_kept else None, place)
        return _Response(status, connection, request.is_raw, on_close)

    def _way(self, address: str) -> _Way:
        """Return the way to an address; that of the last request is kept, for most clients have one address."""
        way = self._last  # other threads may replace it
        if way is None or way.address != address:
            if self._proxies is None:
                self._proxies = getproxies()
            self._last = way = _Way.to(address, self._proxies)
        return way

    async def _pool(self) -> ConnectionPool:
        loop = asyncio.get_running_loop()
        pool = self._pools.get(loop)
        if pool is None:
            pool = self._pools[loop] = ConnectionPool()
            roots: list[finalize[..., Any]] = []
            # The loop closes its asynchronous generators when it ends. Only `finalize` holds this one, so that it goes
            # with the client, at the latest when the interpreter ends and the loop is still whole.
            keeper = pool.keep(roots, partial(_forget, ref(self), ref(loop)))
            roots.append(finalize(self, _let_go, keeper))
            await anext(keeper)
        return pool

    def drop(self, loop: asyncio.AbstractEventLoop) -> None:
        """Drop the connections of a loop that has ended."""
        self._pools.pop(loop, None)

    def _verified(self) -> ssl.SSLContext:
        if self._certificates is None:
            self._certificates = system_certificates()
        return self._certificates

    async def _exchange(self, pool: ConnectionPool, place: ServerAddress, url: URL, request: HTTPRequest) -> Exchange:
        """Return a connection for a request."""
        return pool.take(place) or await self._connect(url, place, request, Connection)

    async def _connect(self, url: URL, place: ServerAddress, request: HTTPRequest, make: Callable[[], P]) -> P:
        seconds = min(request.timeout, self._connect_timeout)
        try:
            async with TimeLimit(seconds):
                if place.proxy is None or url.scheme == "http":
                    return await self._open(place.proxy or url, request.address, make)
                return await self._tunnel(await self._open(place.proxy, None, Connection), url, place.proxy, make)
        except TimeoutError as error:
            raise _failed(f"no connection within {seconds:g} s", place.proxy) from error
        except (OSError, UnicodeError, ConnectionLostError, ServerSilentError) as error:  # the last two are a proxy's
            raise _failed(str(error) or type(error).__name__, place.proxy) from error

    async def _open(self, url: URL, address: str | None, make: Callable[[], P]) -> P:
        host = url.host
        is_literal = ":" in host or host.rpartition(".")[2].isdecimal()
        loop = asyncio.get_running_loop()
        has_race = not (address or is_literal) and isinstance(loop, asyncio.BaseEventLoop)  # uvloop's loop has none
        options: dict[str, Any] = {"happy_eyeballs_delay": 0.25} if has_race else {}
        if url.scheme == "https":
            options |= {"ssl": self._verified(), "server_hostname": host.removesuffix(".")}
        return (await loop.create_connection(make, address or host, url.port, **options))[1]

    async def _tunnel(self, connection: Connection, url: URL, proxy: URL, make: Callable[[], P]) -> P:
        """Make the proxy connect to the server, and speak TLS with that."""
        target, login = url.host_and_port, login_of(proxy.userinfo)
        headers = {"Host": target} if login is None else {"Host": target, "Proxy-Authorization": login}
        try:
            status = await connection.send(Outgoing("CONNECT", "http", target, headers, b""), CONNECT_SECONDS)
            if not 200 <= status < 300:
                raise _failed(f"it answered {status} {connection.reason}".rstrip(), proxy)
            inner = make()
            transport = await asyncio.get_running_loop().start_tls(
                connection.release(), inner, self._verified(), server_hostname=url.host.removesuffix(".")
            )
        except BaseException:
            connection.close()
            raise
        if transport is None:
            raise _failed("it closed the connection", proxy)
        inner.connection_made(transport)
        return inner


class _Response(HTTPResponse):
    """A response whose body is read from its exchange."""

    def __init__(self, status: int, exchange: Exchange, is_raw: bool, on_close: Callable[[], object]) -> None:
        super().__init__(status, exchange.headers, pieces_of_body(exchange, is_raw), exchange.reason, on_close)
        self._exchange = exchange

    @property
    def has_arrived(self) -> bool:
        """Whether all of the body is there, so that reading it does not wait."""
        return self._exchange.is_complete


def _failed(why: str, proxy: URL | None) -> ConnectFailedError:
    if proxy is None:
        return ConnectFailedError(why)
    return ConnectFailedError(f"through the proxy {proxy.host_and_port}: {why}", proxy.host_and_port)


class ConnectionPool:
    """The connections of one event loop that are idle, or that several requests share.

    Attributes:
        sessions: those that are shared.
        locks: a lock for each place to which only one connection is made at a time.
    """

    def __init__(self) -> None:
        self._idle: dict[ServerAddress, list[Connection]] = {}
        self.sessions: dict[ServerAddress, list[HTTP2Connection]] = {}
        self.locks: dict[ServerAddress, asyncio.Lock] = {}

    def take(self, place: ServerAddress) -> Connection | None:
        """Return an idle connection to a place, the one used last; None if there is none."""
        idle = self._idle.get(place)
        while idle:
            connection = idle.pop()
            if connection.is_usable(LONGEST_IDLE):
                return connection
            connection.close()
        return None

    def put_back(self, place: ServerAddress, connection: Connection) -> None:
        """Take back a connection that can be used again."""
        idle = self._idle.setdefault(place, [])
        while idle and idle[0].was_idle(LONGEST_IDLE):
            idle.pop(0).close()
        idle.append(connection)

    async def keep(self, roots: list[finalize[..., Any]], forget: Callable[[], None]) -> AsyncGenerator[None]:
        """Wait until the loop ends or the client is gone, and close all."""
        try:
            yield
        finally:
            for connection in chain(*self._idle.values(), *self.sessions.values()):
                connection.close()
            self._idle.clear()
            self.sessions.clear()
            roots.pop().detach()
            forget()
            await asyncio.sleep(0)  # what is closed tells it in the loop's next turn


def _end(exchange: Exchange, pool: ConnectionPool | None, place: ServerAddress) -> None:
    """End an exchange, and give its connection to the pool if it can be used again."""
    if exchange.end() and isinstance(exchange, Connection):
        if pool is None:
            exchange.close()
        else:
            pool.put_back(place, exchange)


def _forget(owner: ref[HTTPClient], loop: ref[asyncio.AbstractEventLoop]) -> None:
    """Drop the connections of a loop that ends: they refer to their loop, which would never go."""
    client, ended = owner(), loop()
    if client is not None and ended is not None:
        client.drop(ended)


def _let_go(keeper: AsyncGenerator[None]) -> None:
    """Drop the last reference to a generator; its loop then closes it."""


def _outgoing(request: HTTPRequest, way: _Way) -> Outgoing:
    """Return a request as it is sent.

    Raises:
        InvalidRequestError: a header cannot be sent.
    """
    headers = way.headers | {name.lower(): value for name, value in request.headers.items()}
    if request.content or request.method in ("POST", "PUT", "PATCH"):
        headers["content-length"] = str(len(request.content))
    names, values = "".join(headers), "".join(headers.values())
    if _NO_NAME.search(names) or _LINE_END.search(values):
        wrong = next(name for name, value in headers.items() if _NO_NAME.search(name) or _LINE_END.search(value))
        raise InvalidRequestError(f"the header {wrong!r} has a character that cannot be sent")
    try:
        values.encode("latin-1")
    except UnicodeEncodeError as error:
        wrong = error.object[error.start]
        raise InvalidRequestError(f"a header has a character that cannot be sent: {wrong!r}") from None
    return Outgoing(request.method, way.url.scheme, way.target, headers, request.content)
