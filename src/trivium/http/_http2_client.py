"""The client of HTTP/2, which needs h2 only when one is made, so that `trivium.http` can be listed without it."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from importlib.util import find_spec

from trivium.exceptions import MissingExtraError
from trivium.http._certificates import system_certificates
from trivium.http._client import CONNECT_SECONDS, ConnectionPool, HTTPClient, ServerAddress
from trivium.http._clock import TimeLimit
from trivium.http._exchange import Exchange
from trivium.http._messages import ConnectFailedError, HTTPRequest
from trivium.http._urls import URL


class HTTP2Client(HTTPClient):
    """An `HTTPClient` that speaks HTTP/2 with servers that do, and HTTP/1.1 with others: the extra `http2`.

    The requests to a server share a few connections. With one connection for each request, as an `HTTPClient` has
    them, they take less processor time; so this is for servers or networks that allow few connections.

    Args:
        proxies: as for `HTTPClient`.
        certificates: as for `HTTPClient`; it is changed to offer HTTP/2.
        connect_timeout: as for `HTTPClient`.

    Raises:
        MissingExtraError: the extra `http2` is not installed.

    Example::

        OpenAIModel("m", base_url="https://gateway.example/v1", client=HTTP2Client())
    """

    def __init__(
        self,
        *,
        proxies: Mapping[str, str] | None = None,
        certificates: ssl.SSLContext | None = None,
        connect_timeout: float = CONNECT_SECONDS,
    ) -> None:
        if find_spec("h2") is None:
            raise MissingExtraError("h2", "http2")
        super().__init__(proxies=proxies, certificates=certificates, connect_timeout=connect_timeout)
        self._certificates = certificates or system_certificates()
        self._certificates.set_alpn_protocols(["h2", "http/1.1"])
        self._of_http1 = set[ServerAddress]()

    async def _exchange(self, pool: ConnectionPool, place: ServerAddress, url: URL, request: HTTPRequest) -> Exchange:
        from trivium.http._http2 import HTTP2Connection, HTTP2Exchange, NewConnection

        if url.scheme == "http" or place in self._of_http1:
            return await super()._exchange(pool, place, url, request)
        try:
            # One connection is made at a time: it may have room for all who wait.
            lock = pool.locks.setdefault(place, asyncio.Lock())
            async with TimeLimit(min(request.timeout, self._connect_timeout)), lock:
                sessions = pool.sessions.setdefault(place, [])
                sessions[:] = [each for each in sessions if not each.is_closed]
                session = next((each for each in sessions if each.has_room), None)
                if session is None:
                    made = (await self._connect(url, place, request, NewConnection)).chosen
                    if not isinstance(made, HTTP2Connection):
                        self._of_http1.add(place)
                        return made
                    sessions.append(session := made)
                return HTTP2Exchange(session)
        except TimeoutError as error:
            raise ConnectFailedError("no connection in time") from error
