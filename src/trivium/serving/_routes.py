"""The base of the routes of each protocol."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from trivium.serving._runs import Runs

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

Handled: TypeAlias = "tuple[str, str, Callable[[Request], Awaitable[Response]]]"
"""The methods of a route, separated by spaces, its path, and the function that answers."""


class Routes:
    """The routes of a protocol.

    Args:
        runs: the runs.
        max_bytes: the largest body of a request.
    """

    def __init__(self, runs: Runs, max_bytes: int) -> None:
        self._runs, self._max_bytes = runs, max_bytes

    def handled(self) -> Sequence[Handled]:
        """Return what is handled; each protocol has its own."""
        raise NotImplementedError

    def routes(self) -> list[Route]:
        """Return the routes for starlette."""
        from starlette.routing import Route

        return [Route(path, answer, methods=methods.split()) for methods, path, answer in self.handled()]


class Endpoint(Protocol):
    """A further protocol of a server, on a path of its own: an ASGI application behind the guard.

    Attributes:
        path: the path.
        methods: the methods that it takes.
    """

    path: str
    methods: Sequence[str]

    def attach(self, runs: Runs, max_bytes: int) -> None:
        """Serve the objects of a server, whose runs these are.

        Args:
            runs: the runs.
            max_bytes: the largest body of a request.
        """

    async def close(self) -> None:
        """End what is open, as the server ends."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request."""
