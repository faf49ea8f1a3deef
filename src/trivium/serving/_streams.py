"""Responses that are streams of events: they end with the client, and leave its run alone."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from trivium.events import JSONObject
from trivium.serving._log import STOPS
from trivium.serving._served_run import ServedRun, followed
from trivium.serving._tasks import while_connected, with_signs
from trivium.serving._wire import Failure

if TYPE_CHECKING:
    from starlette.responses import Response

HEADERS: Final = {"cache-control": "no-store", "x-content-type-options": "nosniff"}
PING: Final = b": ping\n\n"
PING_SECONDS: Final = 20.0
"""The time between two signs of life of a stream: proxies end what is silent for 30 seconds (HAProxy, in its examples)
or 60 (nginx, AWS), others later."""
IS_STREAM: Final = "trivium.is_stream"
"""The entry of a request's scope that says so. The connection sends the signs of life: one timer is that of all, and a
stream that waits for its next event has nothing but its socket."""
SHOWS_LIFE: Final = "trivium.shows_life"
"""The entry of a request's state that says that its connection does so; in other servers each stream has a timer."""

Receive = Callable[[], Awaitable[JSONObject]]
Send = Callable[[JSONObject], Awaitable[None]]


def server_event(data: object, *, number: int | None = None, kind: str = "") -> bytes:
    r"""Return a server-sent event with JSON.

    >>> server_event({"a": 1}, number=2)
    b'id: 2\ndata: {"a": 1}\n\n'
    """
    head = (f"id: {number}\n" if number is not None else "") + (f"event: {kind}\n" if kind else "")
    return f"{head}data: {json.dumps(data, ensure_ascii=False)}\n\n".encode("utf-8", "replace")


async def follow_as(
    run: ServedRun,
    after: int,
    read: Callable[[JSONObject], Iterable[JSONObject]],
    until: tuple[str, ...] = STOPS,
    frame: Callable[[JSONObject], bytes] = server_event,
    tell: Callable[[Failure], Iterable[JSONObject]] = lambda failure: (),
) -> AsyncGenerator[bytes]:
    """Yield what the events of a run are to a client.

    Args:
        run: the run.
        after: the number of the last event that is known.
        read: returns what an event is to the client.
        until: the kinds of events that are the last one.
        frame: writes one of these.
        tell: returns what a failure of `read` is to the client, or that the server shuts down; default: nothing, for a
            protocol in which a stream that ends before its run is taken up again.
    """
    try:
        async for event in followed(run, after, until):
            for each in read(event):
                yield frame(each)
    except Failure as failure:
        for each in tell(failure):
            yield frame(each)


class Streamed:
    """A response that is sent while something goes on, and ends with its client; an ASGI application.

    Args:
        pieces: the body of a stream of events; it is closed when the client leaves.
        headers: further headers.
        on_gone: called when the client has left before the end.
    """

    def __init__(
        self,
        pieces: AsyncGenerator[bytes],
        headers: Mapping[str, str] | None = None,
        on_gone: Callable[[], object] | None = None,
    ) -> None:
        self._pieces, self._on_gone = pieces, on_gone
        self._headers = {
            "content-type": "text/event-stream; charset=utf-8", "x-accel-buffering": "no", **HEADERS, **(headers or {})
        }  # fmt: skip

    async def __call__(self, scope: JSONObject, receive: Receive, send: Send) -> None:
        scope[IS_STREAM] = scope["method"] != "HEAD"
        is_shown = SHOWS_LIFE in scope.get("state", ())
        pieces = self._pieces if is_shown else with_signs(self._pieces, PING, PING_SECONDS)
        await while_connected(receive, self._send(pieces, send), self._on_gone)

    async def _send(self, pieces: AsyncGenerator[bytes], send: Send) -> None:
        pairs = [(name.encode(), value.encode()) for name, value in self._headers.items()]
        await send({"type": "http.response.start", "status": 200, "headers": pairs})
        try:
            async for piece in pieces:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        finally:
            await pieces.aclose()
            await self._pieces.aclose()


class Awaited:
    """A response that is made when something has ended; an ASGI application.

    Args:
        work: begins to make the response.
        on_gone: called when the client has left before that.
    """

    def __init__(self, work: Callable[[], Awaitable[Response]], on_gone: Callable[[], object] | None = None) -> None:
        self._work, self._on_gone = work, on_gone

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async def answer() -> None:
            response = await self._work()
            await response(scope, receive, send)

        await while_connected(receive, answer(), self._on_gone)
