"""Tools, agents and tasks as an MCP server: over stdin and stdout, or over HTTP behind the guard."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Mapping
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, cast

from trivium.actions import Tool
from trivium.commander import ThreadEvent, wait
from trivium.commander.lowlevel import run_on_loop, submit
from trivium.exceptions import ConfigurationError
from trivium.mcp._http import http_app
from trivium.mcp._materials import ResourceValue
from trivium.mcp._offers import Offers
from trivium.schema.lowlevel import checked, positive
from trivium.serving import ConnectionLimits, OwnerLimits
from trivium.serving.lowlevel import LAST_SECONDS, Guard, HTTPServing, LastResort, check_tokens

_PATH: Final = "/mcp"


class ToolServer(HTTPServing):
    """Serves tools, agents and tasks as MCP over HTTP: in the background as a context manager, or with `serve`.

    Requests that come for another Host, from a page of another origin, or without the token are refused. An agent is
    one tool, called by its name, with a `message` and, if wanted, a `session`; a session of the protocol is a
    conversation of its own. Clients that want progress are told what its models say. A client that cancels has its run
    killed.

    Args:
        what: a tool, a function, an action or toolkit, an agent, a task; or a list of them.
        host: where to listen; the default is reached from this machine only.
        port: 0 takes a free one.
        token: what clients must show as `Authorization: Bearer …`; default `$TRIVIUM_SERVE_TOKEN`, else one is made.
            `""` lets in everybody, on this machine only. A dict gives each user, by name, a token, and conversations
            and runs of their own.
        name: how the server calls itself.
        origins: web origins whose pages may call it; default none.
        public_url: the address by which others know the server, as `"https://tools.example.org"` of a proxy before it:
            requests may name it as their Host. Default: none.
        timeout: seconds that a call may take; None: no limit.
        max_bytes: size of a request's body.
        grace: seconds that calls have to end when the server stops.
        connections: the limits of its connections; default `ConnectionLimits()`.
        resources: what clients may read, by address: text, bytes, an `MCPContent`, or a function that returns one of
            them. Names in braces of an address are the parameters of its function.
        prompts: functions of texts that return a text, a `Message`, an `MCPContent`, or a list of these.
        journal: where the runs of agents are written down: an SQLite file, or the URL of a PostgreSQL database.
            Default: a file that is deleted with the server.
        owner_limits: what each user may have and spend; default None: no limit.
        max_runs: runs of agents at once; further calls fail.

    Raises:
        ConfigurationError: there is nothing to serve, or an option cannot be used.
        MissingExtraError: the packages of the extra `mcp` are not installed.

    Example:
        >>> from trivium.mcp import MCPServer
        >>> def add(a: int, b: int) -> int:
        ...     "Add two numbers."
        ...     return a + b
        >>> with ToolServer(add, port=0) as server:
        ...     with MCPServer(server.endpoint, headers=server.headers) as client:
        ...         client({"a": 1, "b": 2}, "add").format_result()
        '3'
    """

    @checked
    def __init__(
        self,
        what: Any,
        host: str = "127.0.0.1",
        port: int = 8091,
        *,
        token: str | Mapping[str, str] | None = None,
        name: str = "trivium",
        origins: Collection[str] = (),
        public_url: str = "",
        timeout: float | None = None,
        max_bytes: int = 4 << 20,
        grace: float = 5.0,
        connections: ConnectionLimits | None = None,
        resources: Mapping[str, ResourceValue] | None = None,
        prompts: Collection[Callable[..., Any] | Tool] = (),
        journal: str | Path = "",
        owner_limits: OwnerLimits | None = None,
        max_runs: int = 100,
    ) -> None:
        super().__init__(host, port, token, grace, connections, public_url)
        positive(timeout=1.0 if timeout is None else timeout, max_bytes=max_bytes, max_runs=max_runs)
        self.name = name
        guard = partial(
            Guard, tokens=check_tokens(self._chosen), hosts=self._hosts, origins=origins, max_bytes=max_bytes,
            public_url=self.public_url,
        )  # fmt: skip
        of_runs: dict[str, Any] = {"journal": journal, "owner_limits": owner_limits, "max_runs": max_runs}
        self._service = self._mcp = _Service(
            Offers(what, timeout, resources, prompts, **of_runs), name, guard, list(origins), max_bytes
        )

    def __repr__(self) -> str:
        return f"ToolServer({self.name!r}, {self.url!r})"

    @property
    def endpoint(self) -> str:
        """The URL for clients."""
        return self.url + _PATH

    @property
    def headers(self) -> dict[str, str]:
        """The headers of each request of a client."""
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}

    async def _serve(self, ready: Callable[[], object], last_resort: LastResort) -> None:
        failed: Exception | KeyboardInterrupt | None = None
        async with self._mcp.sessions():
            try:
                await super()._serve(ready, last_resort)
            except (Exception, KeyboardInterrupt) as error:  # the SDK's task group would wrap it
                failed = error
        if failed is not None:
            raise failed


class _Service:
    """The SDK's application behind the guard."""

    def __init__(
        self, offers: Offers, name: str, guard: Callable[[Any], Guard], origins: list[str], max_bytes: int
    ) -> None:
        self._offers, self._name, self._guard = offers, name, guard
        self._origins, self._max_bytes = origins, max_bytes
        self.app: Any = None
        offers.server(name)  # what is missing shows now

    def sessions(self) -> Any:
        """The SDK's sessions, which last as long as the block; each time the server runs has its own."""
        from starlette.middleware.cors import CORSMiddleware

        server = self._offers.server(self._name)
        app: Any = self._guard(http_app(server, _PATH, self._max_bytes))
        if self._origins:
            given: dict[str, Any] = {"allow_methods": ["GET", "POST", "DELETE"], "allow_headers": ["*"]}
            app = CORSMiddleware(app, allow_origins=self._origins, expose_headers=["mcp-session-id"], **given)
        self.app = app
        return server.session_manager.run()

    async def begin(self) -> None:
        """Begin with the runs of this time."""
        await self._offers.begin()

    async def end_runs(self, grace: float, last: float | None) -> None:
        """Stop the runs that have not ended after `grace` seconds, and wait for their end, at most `last` seconds."""
        await self._offers.end(grace, last)

    def left(self) -> list[str]:
        """Return the runs at work, for the log."""
        return self._offers.left()

    async def close(self) -> None:
        """Close what the runs have open."""
        self._offers.close()


@checked
def serve_mcp(
    what: object,
    transport: Literal["stdio", "http"] = "stdio",
    host: str = "127.0.0.1",
    port: int = 8091,
    token: str | None = None,
    *,
    name: str = "trivium",
    timeout: float | None = None,
    resources: Mapping[str, ResourceValue] | None = None,
    prompts: Collection[Callable[..., Any] | Tool] = (),
) -> None:
    """Serve tools, agents and tasks as an MCP server until the client leaves or a signal comes.

    Over stdio nothing but the protocol is written to stdout: what the program prints goes to stderr meanwhile.

    Args:
        what: see `ToolServer`.
        transport: `"stdio"`, for a client that starts this program, or `"http"`.
        host: for HTTP: where to listen.
        port: for HTTP: 0 takes a free one.
        token: for HTTP: what clients must show; see `ToolServer`.
        name: how the server calls itself.
        timeout: seconds that a call may take; None: no limit.
        resources: see `ToolServer`.
        prompts: see `ToolServer`.

    Raises:
        ConfigurationError: there is nothing to serve, or an option cannot be used.
        MissingExtraError: the packages of the extra `mcp` are not installed.

    Example::

        serve_mcp([add, agent], "stdio")
    """
    if transport == "http":
        options: dict[str, Any] = {"name": name, "timeout": timeout, "resources": resources, "prompts": prompts}
        ToolServer(what, host, port, token=token, **options).serve()
    elif transport == "stdio":
        run_on_loop(partial(serve_stdio, Offers(what, timeout, resources, prompts), name))
    else:
        raise ConfigurationError(f"there is no transport {transport!r}; there are stdio and http")


async def serve_stdio(offers: Offers, name: str) -> None:
    """Serve over stdin and stdout until the client leaves."""
    server = offers.server(name)
    from mcp.server.stdio import stdio_server

    await offers.begin()
    try:
        with _own_stdin() as lines:
            # What is printed would stand in a buffer until the SDK gives stdout back, and go to the client then.
            async with stdio_server(stdin=cast("Any", lines)) as (reader, writer):
                with redirect_stdout(sys.stderr):
                    await server.run(reader, writer, server.create_initialization_options())
    finally:
        await offers.end(0.0, LAST_SECONDS)
        offers.close()


class _own_stdin:
    """The lines of stdin, read so that Ctrl-C need not wait for the next one; other readers of stdin find its end."""

    def __enter__(self) -> _own_stdin:
        self._file = os.fdopen(os.dup(0), encoding="utf-8", errors="replace", closefd=False)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        return self

    def __exit__(self, *exc: object) -> None:
        os.dup2(self._file.fileno(), 0)

    def __aiter__(self) -> _own_stdin:
        return self

    async def __anext__(self) -> str:
        event, lines = ThreadEvent(), list[str]()

        def read() -> None:
            try:
                lines.append(self._file.readline())
            finally:
                event.set()

        submit(read)
        await wait(event=event)
        if not lines or not lines[0]:
            raise StopAsyncIteration
        return lines[0]
