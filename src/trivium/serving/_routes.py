"""The base of the routes of each protocol."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from trivium.serving._runs import Runs

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

__all__ = ["Handled", "Routes"]

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
