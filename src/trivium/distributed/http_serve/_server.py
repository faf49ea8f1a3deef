"""A server for one module: uvicorn, with a token and an end that loses nothing."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Protocol, Self, Unpack

from trivium._arguments import checked, positive
from trivium.commander import ThreadEvent, driver_neutral, gather, sync_method, wait
from trivium.commander.lowlevel import capture, enter_worker, run_on_loop, submit
from trivium.distributed.http_serve._app import ServeOptions, Service
from trivium.distributed.http_serve._guard import LOOPBACK, is_loopback
from trivium.exceptions import ConfigurationError, MissingExtraError
from trivium.module import Module

__all__ = ["AgentServer", "HTTPServing"]


class Served(Protocol):
    """What listens: an ASGI application, and how its runs are ended."""

    @property
    def app(self) -> Any:
        """The application."""

    async def end_runs(self, grace: float, over: ThreadEvent) -> None:
        """Kill the runs that are not over after that many seconds."""


class HTTPServing:
    """Listens for an application: in the background as a context manager, or in place with `serve`.

    Args:
        host: where to listen.
        port: 0 takes a free one.
        token: what clients must show, as `AgentServer` takes it.
        grace: seconds that runs have to end.

    Raises:
        ConfigurationError: anybody could come in from other machines.
    """

    _service: Served

    def __init__(self, host: str, port: int, token: str | Mapping[str, str] | None, grace: float) -> None:
        positive(grace=grace or 1)
        given = os.environ.get("TRIVIUM_SERVE_TOKEN") or None if token is None else token
        self.token_is_made = given is None
        self._chosen = secrets.token_urlsafe(32) if given is None else given
        if not self._chosen and not is_loopback(host):
            raise ConfigurationError(f"{host} can be reached from other machines: give a token")
        self.host, self.port, self.grace = host, port, grace
        self.token = self._chosen if isinstance(self._chosen, str) else ""
        self._hosts = (*LOOPBACK, host) if is_loopback(host) else None
        self._server: Any = None
        self._stopped = False
        self._over: ThreadEvent | None = None

    @property
    def url(self) -> str:
        """Where it is reached."""
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"

    def serve(self, ready: Callable[[], object] = bool) -> None:
        """Serve until `stop`, SIGINT or SIGTERM; the signal is raised again when all has ended.

        Args:
            ready: called when the server listens.

        Raises:
            ConfigurationError: it cannot listen there.
        """
        run_on_loop(partial(self.serve_async, ready))

    async def serve_async(self, ready: Callable[[], object] = bool) -> None:
        """The same on a loop of yours."""
        listener = self._listen()
        with listener:
            self.port = listener.getsockname()[1]
            self._server = _uvicorn(self._service, self.grace, ready)
            if not self._stopped:
                await self._server.serve(sockets=[listener])

    def _listen(self) -> socket.socket:
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        try:
            return socket.create_server((self.host, self.port), family=family)
        except (OSError, OverflowError) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise ConfigurationError(
                f"cannot listen at {self.host}:{self.port} ({why}); choose another port, 0 for a free one"
            ) from None

    def stop(self) -> None:
        """End it from any thread: no new runs, `grace` for those that go on. Returns at once."""
        self._stopped = True
        if self._server is not None:
            self._server.should_exit = True

    # ---- in the background
    @driver_neutral
    async def start_async(self) -> None:
        """Serve in a worker; returns when the server listens."""
        ready = ThreadEvent()
        self._over = over = ThreadEvent()
        failed: list[BaseException] = []

        def body() -> None:
            enter_worker(None, 0)
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
        """Stop it, and wait for its end."""
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
        agent: what is served: an agent, a task or any other module.
        host: where to listen; the default is reached from this machine only.
        port: 0 takes a free one.
        token: what clients must show; default `$TRIVIUM_SERVE_TOKEN`, else one is made. `""` lets in everybody, on
            this machine only. A dict gives each user, by name, a token and sessions of his own.
        grace: seconds that runs have to end when the server stops; then they are killed.
        **options: see `ServeOptions`.

    Attributes:
        token: the token, where there is one for all.
        token_is_made: whether it was made here, so that somebody has to be told.
        port: where it listens, once it runs.

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
        agent: Module,
        host: str = "127.0.0.1",
        port: int = 8090,
        *,
        token: str | Mapping[str, str] | None = None,
        grace: float = 5.0,
        **options: Unpack[ServeOptions],
    ) -> None:
        super().__init__(host, port, token, grace)
        self.agent = agent
        self._service = Service(agent, self._chosen, self._hosts, options)

    def __repr__(self) -> str:
        return f"AgentServer({self.agent.name!r}, {self.url!r})"


def _uvicorn(service: Served, grace: float, ready: Callable[[], object]) -> Any:
    """A uvicorn that says when it listens, and that kills what runs too long after it was stopped."""
    try:
        import uvicorn
    except ImportError:
        raise MissingExtraError("uvicorn", "serve") from None

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            ready()

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            over = ThreadEvent()
            await gather(partial(self._close, sockets, over), partial(service.end_runs, grace, over))

        async def _close(self, sockets: list[socket.socket] | None, over: ThreadEvent) -> None:
            try:
                await super().shutdown(sockets)
            finally:
                over.set()

    config = uvicorn.Config(
        service.app,
        http="h11",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=int(grace) + 10,  # the last resort: the runs themselves are killed before
    )
    return Server(config)
