"""The client: connections to servers, direct or through a proxy, kept for each event loop and closed with it."""

from __future__ import annotations

import asyncio
import logging
import re
import ssl
from collections.abc import AsyncGenerator, Callable, Mapping
from functools import partial
from typing import Any, Final
from urllib.request import getproxies
from weakref import WeakKeyDictionary, finalize, ref

from trivium.http._bodies import ACCEPTED, pieces_of_body
from trivium.http._connection import Connection
from trivium.http._messages import ConnectFailedError, HTTPRequest, HTTPResponse, InvalidRequestError
from trivium.http._proxies import login_of, proxy_for
from trivium.http._urls import URL

__all__ = ["HTTPClient"]

LONGEST_IDLE: Final = 5.0
"""Seconds after which an idle connection is not used again: many servers close theirs then."""
CONNECT_SECONDS: Final = 10.0
_LINE_END: Final = re.compile(r"[\r\n\0]")
_logger = logging.getLogger("trivium.http")


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
        self._proxies, self._certificates, self._connect_timeout = proxies, certificates, connect_timeout
        self._pools: WeakKeyDictionary[asyncio.AbstractEventLoop, _Pool] = WeakKeyDictionary()

    async def send(self, request: HTTPRequest) -> HTTPResponse:
        """Send a request and return the response, once its head has arrived.

        Raises:
            InvalidRequestError: the address or a header is not valid.
            ConnectFailedError: no connection could be made.
            ConnectionLostError: the connection broke.
            ServerSilentError: the server sent nothing in time.
        """
        url = URL.parse(request.url)
        if self._proxies is None:
            self._proxies = getproxies()
        proxy = proxy_for(url, self._proxies)
        data = _head(request, url, proxy) + request.content
        pool = await self._pool()
        place = (url.scheme, url.host, url.port, request.address, proxy)
        connection = pool.take(place) or await self._connect(url, proxy, request)
        try:
            status = await connection.send(data, request.timeout, has_body=request.method != "HEAD")
        except BaseException:
            connection.end()
            raise
        _logger.debug("%s %s://%s%s: %d", request.method, url.scheme, url.authority, url.path, status)
        is_kept = request.headers.get("connection") != "close"
        on_close = partial(pool.put_back, place, connection) if is_kept else connection.close
        body = pieces_of_body(connection, request.is_raw)
        return HTTPResponse(status, connection.headers, body, connection.reason, on_close)

    async def _pool(self) -> _Pool:
        loop = asyncio.get_running_loop()
        pool = self._pools.get(loop)
        if pool is None:
            pool = self._pools[loop] = _Pool()
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
            self._certificates = ssl.create_default_context()
        return self._certificates

    async def _connect(self, url: URL, proxy: URL | None, request: HTTPRequest) -> Connection:
        seconds = min(request.timeout, self._connect_timeout)
        try:
            async with asyncio.timeout(seconds):
                if proxy is None:
                    return await self._open(url, request.address)
                connection = await self._open(proxy, None)
                return connection if url.scheme == "http" else await self._tunnel(connection, url, proxy)
        except TimeoutError as error:
            raise ConnectFailedError(f"no connection within {seconds:g} s") from error
        except (OSError, UnicodeError) as error:
            raise ConnectFailedError(str(error) or type(error).__name__) from error

    async def _open(self, url: URL, address: str | None) -> Connection:
        host = url.host
        is_literal = ":" in host or host.rpartition(".")[2].isdecimal()
        options: dict[str, Any] = {} if address or is_literal else {"happy_eyeballs_delay": 0.25}
        if url.scheme == "https":
            options |= {"ssl": self._verified(), "server_hostname": host.removesuffix(".")}
        _, connection = await asyncio.get_running_loop().create_connection(
            Connection, address or host, url.port, **options
        )
        return connection

    async def _tunnel(self, connection: Connection, url: URL, proxy: URL) -> Connection:
        """Make the proxy connect to the server, and speak TLS with that."""
        target = url.host_and_port
        head = f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n"
        login = login_of(proxy.userinfo)
        head += f"Proxy-Authorization: {login}\r\n\r\n" if login else "\r\n"
        try:
            status = await connection.send(head.encode("latin-1"), CONNECT_SECONDS, has_body=False)
            if not 200 <= status < 300:
                raise ConnectFailedError(f"the proxy answered {status} {connection.reason}".rstrip())
            inner = Connection()
            transport = await asyncio.get_running_loop().start_tls(
                connection.release(), inner, self._verified(), server_hostname=url.host.removesuffix(".")
            )
        except BaseException:
            connection.close()
            raise
        if transport is None:
            raise ConnectFailedError("the proxy closed the connection")
        inner.connection_made(transport)
        return inner


class _Pool:
    """The idle connections of one event loop."""

    def __init__(self) -> None:
        self._idle: dict[object, list[Connection]] = {}

    def take(self, place: object) -> Connection | None:
        """Return an idle connection to a place, the one used last; None if there is none."""
        idle = self._idle.get(place)
        while idle:
            connection = idle.pop()
            if connection.is_usable(LONGEST_IDLE):
                return connection
            connection.close()
        return None

    def put_back(self, place: object, connection: Connection) -> None:
        """Take back a connection whose exchange has ended."""
        if connection.end():
            idle = self._idle.setdefault(place, [])
            while idle and not idle[0].is_usable(LONGEST_IDLE):
                idle.pop(0).close()
            idle.append(connection)

    async def keep(self, roots: list[finalize[..., Any]], forget: Callable[[], None]) -> AsyncGenerator[None]:
        """Wait until the loop ends or the client is gone, and close all."""
        try:
            yield
        finally:
            for connection in (each for idle in self._idle.values() for each in idle):
                connection.close()
            self._idle.clear()
            roots.pop().detach()
            forget()
            await asyncio.sleep(0)  # what is closed tells it in the loop's next turn


def _forget(owner: ref[HTTPClient], loop: ref[asyncio.AbstractEventLoop]) -> None:
    """Drop the connections of a loop that ends: they refer to their loop, which would never go."""
    client, ended = owner(), loop()
    if client is not None and ended is not None:
        client.drop(ended)


def _let_go(keeper: AsyncGenerator[None]) -> None:
    """Drop the last reference to a generator; its loop then closes it."""


def _head(request: HTTPRequest, url: URL, proxy: URL | None) -> bytes:
    """Return the head of a request as it is sent."""
    target = url.target
    own = {"host": url.authority, "accept": "*/*", "accept-encoding": ACCEPTED, "user-agent": "trivium"}
    if (login := login_of(url.userinfo)) is not None:
        own["authorization"] = login
    if proxy is not None and url.scheme == "http":
        target = repr(url)  # without the user
        if (login := login_of(proxy.userinfo)) is not None:
            own["proxy-authorization"] = login
    headers = own | {name.lower(): value for name, value in request.headers.items()}
    if request.content or request.method in ("POST", "PUT", "PATCH"):
        headers["content-length"] = str(len(request.content))
    for name, value in headers.items():
        if _LINE_END.search(name) or _LINE_END.search(value):
            raise InvalidRequestError(f"the header {name.split()[0]!r} has a line break")
    lines = [f"{request.method} {target} HTTP/1.1", *[f"{name}: {value}" for name, value in headers.items()], "", ""]
    try:
        return "\r\n".join(lines).encode("latin-1")
    except UnicodeEncodeError as error:
        wrong = error.object[error.start]
        raise InvalidRequestError(f"a header has a character that cannot be sent: {wrong!r}") from None
