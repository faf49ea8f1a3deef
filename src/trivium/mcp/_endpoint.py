"""MCP beside the other protocols of a server: what it serves, as tools with its runs."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from trivium.commander import ThreadEvent, wait
from trivium.commander.lowlevel import run_in_worker
from trivium.exceptions import MissingExtraError
from trivium.mcp._http import http_app
from trivium.mcp._offers import Offers
from trivium.serving.lowlevel import Background, Runs, shutting_down


class MCPEndpoint:
    """MCP over HTTP at `/mcp` of an `AgentServer`: each object that it serves is a tool, whose calls are its runs.

    The token, owners, limits and the journal are those of the server. The SDK is imported with the first request.

    Args:
        name: how the server calls itself.

    Raises:
        MissingExtraError: the packages of the extra `mcp` are not installed.

    Example:
        >>> from trivium import Agent
        >>> from trivium.mcp import MCPEndpoint, MCPServer
        >>> from trivium.serving import AgentServer
        >>> from trivium.testing import ScriptedModel
        >>> writer = Agent(ScriptedModel(["It rains."]), name="writer")
        >>> with AgentServer(writer, port=0, token="secret", endpoints=[MCPEndpoint()]) as server:
        ...     headers = {"Authorization": "Bearer secret"}
        ...     with MCPServer(f"{server.url}/mcp", headers=headers) as client:
        ...         client({"message": "Begin."}, "writer").format_result()
        'It rains.'
    """

    path: str = "/mcp"
    methods: Sequence[str] = ("GET", "POST", "DELETE")

    def __init__(self, name: str = "trivium") -> None:
        if find_spec("mcp") is None:
            raise MissingExtraError("mcp", "mcp")
        self._name = name
        self._app: Any = None
        self._sessions: Background | None = None
        self._is_open, self._is_closed = ThreadEvent(), False

    def attach(self, runs: Runs, max_bytes: int) -> None:
        """Serve the objects of a server, whose runs these are."""
        self._offers, self._max_bytes = Offers(runs.served, runs=runs), max_bytes

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request."""
        if not self._is_closed:
            self._sessions = self._sessions or Background(self._hold_sessions)
            await wait(event=self._is_open)
        if self._is_closed:
            raise shutting_down()
        await self._app(scope, receive, send)

    async def _hold_sessions(self) -> None:
        """Hold the sessions of the SDK open until the server ends."""
        try:
            server = await run_in_worker(self._make)
            async with server.session_manager.run():
                self._is_open.set()
                await wait()
        finally:
            self._is_open.set()

    def _make(self) -> Any:
        server = self._offers.server(self._name)
        self._app = http_app(server, self.path, self._max_bytes)
        return server

    async def close(self) -> None:
        """End the sessions, as the server ends."""
        self._is_closed = True
        if self._sessions is not None:
            self._sessions.cancel("the server is shutting down")
            await self._sessions.ended()
