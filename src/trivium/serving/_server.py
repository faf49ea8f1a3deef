"""A server for one module: uvicorn, with a token and a graceful shutdown."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Protocol, Self, Unpack

from trivium.commander import ThreadEvent, driver_neutral, sync_method, wait
from trivium.commander.lowlevel import capture, submit
from trivium.exceptions import ConfigurationError, MissingExtraError
from trivium.http.lowlevel import is_loopback
from trivium.module import Module
from trivium.schema.lowlevel import checked, positive
from trivium.serving._app import ServeOptions, Service
from trivium.serving._connections import (
    ConnectionLimits,
    bounded_log,
)
from trivium.serving._guard import LOOPBACK, public_address
from trivium.serving._last_resort import LAST_SECONDS, LastResort
from trivium.serving._tasks import run_to_end


class Served(Protocol):
    """A service to listen for: an ASGI application, and a way to end its runs."""

    @property
    def app(self) -> Callable[..., Any]:
        """The application."""
        ...

    async def begin(self) -> None:
        """Begin, when the address is there: go on with the runs that a server before this one has left."""
        ...

    async def end_runs(self, grace: float, last: float | None) -> None:
        """Stop the runs that have not ended after `grace` seconds, and wait for their end, at most `last` seconds."""

    def left(self) -> list[str]:
        """Return the runs at work, each with what it is at, for the log."""
        ...

    async def close(self) -> None:
        """Close what the service has open."""


class HTTPServing:
    """Listens for an application: in the background as a context manager, or in place with `serve`.

    Args:
        host: where to listen.
        port: 0: any free port.
        token: the token that clients send, as for `AgentServer`.
        grace: seconds that runs have to end; see `AgentServer`.
        connections: the limits of its connections.
        public_url: the address by which others know the server; "": the one where it listens.

    Raises:
        ConfigurationError: there is no token, and other machines can reach the server; or the address is no origin.
    """

    _service: Served

    def __init__(
        self,
        host: str,
        port: int,
        token: str | Mapping[str, str] | None,
        grace: float,
        connections: ConnectionLimits | None = None,
        public_url: str = "",
    ) -> None:
        positive(grace=grace or 1)
        self.public_url = public_address(public_url) if public_url else ""
        given = os.environ.get("TRIVIUM_SERVE_TOKEN") or None if token is None else token
        self.token_is_made = given is None
        self._chosen = secrets.token_urlsafe(32) if given is None else given
        if not self._chosen and not is_loopback(host):
            raise ConfigurationError(f"{host} can be reached from other machines: give a token")
        self.host, self.port, self.grace = host, port, grace
        self.connections = connections or ConnectionLimits()
        self.is_open = not self._chosen
        self.token = self._chosen if isinstance(self._chosen, str) else ""
        self._hosts = (*LOOPBACK, host) if is_loopback(host) else None
        self._server: Any = None
        self._stopped = False
        self._over: ThreadEvent | None = None

    @property
    def url(self) -> str:
        """The address of the server."""
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"

    def serve(self, ready: Callable[[], object] = bool) -> None:
        """Serve until `stop`, SIGINT or SIGTERM; the signal is raised again after the shutdown.

        Where the shutdown takes longer than `grace` and ten seconds, since a tool blocks the loop or a thread, the
        process ends as it is, and at a second signal at once; its status is 128 and the number of the signal.

        Args:
            ready: called when the server listens.

        Raises:
            ConfigurationError: the address cannot be used.
        """
        with LastResort(self.grace, self._service.left) as last_resort:
            run_to_end(partial(self._serve, ready, last_resort))

    async def serve_async(self, ready: Callable[[], object] = bool) -> None:
        """Serve as `serve` does, on the running loop."""
        with LastResort(self.grace, self._service.left) as last_resort:
            await self._serve(ready, last_resort)

    async def _serve(self, ready: Callable[[], object], last_resort: LastResort) -> None:
        try:
            from trivium.serving._uvicorn import UvicornServer
        except ImportError:
            raise MissingExtraError("uvicorn", "serve") from None
        listener = self._listen()
        with listener, bounded_log():
            self.port = listener.getsockname()[1]
            self._server = UvicornServer(self._service, self.grace, self.connections, ready, last_resort)
            try:
                await self._service.begin()
                if not self._stopped:
                    await self._server.serve(sockets=[listener])
            finally:
                await self._service.end_runs(0.0, LAST_SECONDS)  # which it has not done where it did not get to serve
                await self._service.close()

    def _listen(self) -> socket.socket:
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        try:
            listener = socket.create_server((self.host, self.port), family=family)
        except (OSError, OverflowError) as error:
            why = (error.strerror if isinstance(error, OSError) else None) or str(error)
            why = why.partition(" (while ")[0]  # as socket adds
            raise ConfigurationError(
                f"cannot listen at {self.host}:{self.port} ({why}); choose another host or port, 0 for a free one"
            ) from None
        # Connections inherit it; asyncio sets it only where a socket names its protocol. Without, a client that keeps
        # its connection waits 40 ms for the second part of each answer.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listener

    def stop(self) -> None:
        """Stop the server, from any thread: no new runs, and `grace` seconds for those that go on. Returns at once."""
        self._stopped = True
        if self._server is not None:
            self._server.should_exit = True

    # ---- in the background
    @driver_neutral
    async def start_async(self) -> None:
        """Serve in a worker thread; return when the server listens."""
        ready = ThreadEvent()
        self._over = over = ThreadEvent()
        failed: list[BaseException] = []

        def body() -> None:
            _, error = capture(partial(self.serve, ready.set))
            failed.extend([error] if error is not None else ())
            ready.set()
            over.set()

        submit(body)
        await wait(event=ready)
        if failed:
            raise failed[0]

    start = sync_method(start_async)

    @driver_neutral
    async def close_async(self) -> None:
        """Stop the server, and wait for its end."""
        self.stop()
        if self._over is not None:
            await wait(event=self._over)

    close = sync_method(close_async)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        await self.start_async()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close_async()


class AgentServer(HTTPServing):
    """Serves a module over HTTP: in the background as a context manager, or in place with `serve`.

    Args:
        agent: an agent, a task or any other module; or several by their names.
        host: where to listen; only this machine can reach the default.
        port: 0: any free port.
        token: the token that clients send; default `$TRIVIUM_SERVE_TOKEN`, else one is made. `""` admits everybody, on
            this machine only. A dict gives each user, by name, a token and sessions of their own.
        grace: seconds that runs have to end when the server stops; then they are stopped, and go on after the restart.
            A sync tool cannot be: `close` waits for it, and after a signal it ends with the process.
        connections: the limits of its connections; default `ConnectionLimits()`.
        **options: see `ServeOptions`.

    Attributes:
        token: the token, if there is one for all.
        is_open: True if everybody on this machine may call.
        token_is_made: True if it was made here, so that its users do not know it.
        port: the port, once the server listens.

    Raises:
        ConfigurationError: the token or an option cannot be used.
        MissingExtraError: the packages of the extra `serve` are not installed.

    Example:
        >>> from trivium import Agent
        >>> from trivium.distributed import HTTPAgentClient
        >>> from trivium.testing import ScriptedModel
        >>> with AgentServer(Agent(ScriptedModel(["hello"])), port=0) as server:
        ...     HTTPAgentClient(port=server.port, token=server.token)("hi").content
        'hello'
    """

    @checked
    def __init__(
        self,
        agent: Module | Mapping[str, Module],
        host: str = "127.0.0.1",
        port: int = 8090,
        *,
        token: str | Mapping[str, str] | None = None,
        grace: float = 5.0,
        connections: ConnectionLimits | None = None,
        **options: Unpack[ServeOptions],
    ) -> None:
        super().__init__(host, port, token, grace, connections, options.get("public_url", ""))
        self.agent = agent
        self._service = self._runs = Service(agent, self._chosen, self._hosts, options)

    def __repr__(self) -> str:
        return f"AgentServer({', '.join(self._runs.runs.served)}, {self.url!r})"
