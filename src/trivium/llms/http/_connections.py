"""Connections to a server: pools for each event loop, closed with it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.request import getproxies
from weakref import WeakKeyDictionary, finalize, ref

from trivium.commander.lowlevel import running_loop

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from ssl import SSLContext

    from httpx2 import AsyncClient

__all__ = ["ClientPools"]

CONNECT_SECONDS = 10.0
# A model takes its time: many wait for it at once, and none may wait for another's connection. A pool looks through
# all of its connections at each request, so many requests share several pools.
MOST_IN_POOL = 16


class ClientPools:
    """Clients for each event loop that asks; they are closed when their loop ends, or when this object is gone.

    Args:
        scheme: "http" or "https".
        auth: the name and the password in the address, or None.
        timeout: seconds without a byte from the server after which it is given up.
        proxies: the proxy for each scheme; None takes what the environment says.
    """

    def __init__(
        self, scheme: str, auth: tuple[str, str] | None, timeout: float, proxies: Mapping[str, str] | None
    ) -> None:
        self._scheme, self._auth, self._timeout, self._proxies = scheme, auth, timeout, proxies
        self._ssl: SSLContext | None = None
        self._clients: WeakKeyDictionary[AbstractEventLoop, list[_Client]] = WeakKeyDictionary()

    @asynccontextmanager
    async def client(self) -> AsyncGenerator[AsyncClient]:
        """A client of the loop that runs, with a connection free for one request at a time."""
        loop = running_loop()
        assert loop is not None, "a coroutine of asyncio runs this"
        clients = self._clients.setdefault(loop, [])
        held = next((each for each in clients if each.requests < MOST_IN_POOL), None)
        if held is None:
            # The loop closes its asynchronous generators when it ends, and so the client that one holds.
            held = _Client(self, loop, self._new_client())
            clients.append(held)
            await anext(held.keeper)
        held.requests += 1
        try:
            yield held.client
        finally:
            held.requests -= 1

    def drop(self, loop: AbstractEventLoop) -> None:
        """Drop the clients of a loop that has ended."""
        self._clients.pop(loop, None)

    def _new_client(self) -> AsyncClient:
        import httpx2

        if self._ssl is None and self._scheme == "https":
            self._ssl = httpx2.create_ssl_context()
        timeout = httpx2.Timeout(self._timeout, connect=min(self._timeout, CONNECT_SECONDS), pool=None)
        limits = httpx2.Limits(max_connections=MOST_IN_POOL, max_keepalive_connections=MOST_IN_POOL)
        given = self._proxies or {}
        proxy = given.get(self._scheme) or given.get(f"{self._scheme}://") or given.get("all") or given.get("all://")
        environment = self._proxies is None
        # Certificates take longer to load than all else: they are for https alone, and for the way to a proxy.
        verify = self._ssl or proxy is not None or bool(environment and getproxies())
        return httpx2.AsyncClient(
            timeout=timeout, limits=limits, verify=verify, auth=self._auth, proxy=proxy, trust_env=environment
        )


class _Client:
    """A client and the generator that closes it, when its loop ends or its owner is gone."""

    def __init__(self, owner: ClientPools, loop: AbstractEventLoop, client: AsyncClient) -> None:
        self.client, self.requests = client, 0
        roots: list[finalize[..., Any]] = []
        self.keeper = self._keep(client, roots, partial(_forget, ref(owner), ref(loop)))
        # An owner may go with a circle of objects, as of an error: its sockets must not go with them, unclosed.
        roots.append(finalize(owner, _let_go, self.keeper))
        roots[0].atexit = False

    @staticmethod
    async def _keep(
        client: AsyncClient, roots: list[finalize[..., object]], forget: Callable[[], None]
    ) -> AsyncGenerator[None]:
        try:
            async with client:
                yield
        finally:
            roots.pop().detach()
            forget()


def _forget(owner: ref[ClientPools], loop: ref[AbstractEventLoop]) -> None:
    """Drop the clients of a loop that ends: they refer to their loop, which would never go."""
    connections, ended = owner(), loop()
    if connections is not None and ended is not None:
        connections.drop(ended)


def _let_go(keeper: AsyncGenerator[None]) -> None:
    """Drop the last reference to a generator; its loop then closes it."""
