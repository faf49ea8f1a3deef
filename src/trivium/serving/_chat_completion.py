"""Lagent's routes: one call of an agent, whose run ends with its client."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection
from functools import partial
from time import time
from typing import TYPE_CHECKING, cast

from trivium.events import JSONObject
from trivium.exceptions import RunKilledError
from trivium.serving._http import json_response, owner_of, read_object
from trivium.serving._log import ENDS
from trivium.serving._runs import Runs, ServedRun
from trivium.serving._streams import PING, PING_SECONDS, Awaited, Streamed, server_event
from trivium.serving._wire import Failure, parse_session, to_failure

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

__all__ = ["ChatCompletion"]


class ChatCompletion:
    """`/chat_completion`, `/memory/{session}` and `/health_check`.

    Args:
        runs: the runs.
        keywords: names that a client may send beside its message.
        max_bytes: the largest body of a request.
    """

    def __init__(self, runs: Runs, keywords: Collection[str], max_bytes: int) -> None:
        self._runs, self._keywords, self._max_bytes = runs, sorted(keywords), max_bytes

    def routes(self) -> list[Route]:
        """Return the routes."""
        from starlette.routing import Route

        return [
            Route("/health_check", self.health_check, methods=["GET"]),
            Route("/chat_completion", self.call, methods=["POST"]),
            Route("/memory/{session_id:path}", self.memory, methods=["GET", "DELETE"]),
        ]

    async def health_check(self, request: Request) -> Response:
        """Say that the server is there."""
        return json_response({"status": "success", "timestamp": time()})

    async def call(self, request: Request) -> Response:
        """Call the agent with the messages of the body."""
        given = await read_object(request, self._max_bytes)
        if "message" not in given:
            raise Failure(422, "InvalidRequest", 'the body is an object with "message"')
        message, session = given.pop("message"), str(parse_session(given.pop("session_id", 0)))
        streamed = given.pop("stream", False) is True or "text/event-stream" in request.headers.get("accept", "")
        if refused := [name for name in given if name not in self._keywords]:
            known = f"the server takes {', '.join(self._keywords) or 'none'}"
            raise Failure(422, "InvalidRequest", f"{refused[0][:100]!r} is no keyword of a call here; {known}")
        run = await self._runs.start(
            owner_of(request), "", message, session=str(session), options=given, of_client=True, asks=False
        )
        leave = partial(self._runs.leave, run)
        if streamed:
            return cast("Response", Streamed(_events(run), on_gone=leave))
        return cast("Response", Awaited(partial(_outcome, run), leave))

    async def memory(self, request: Request) -> Response:
        """Return or delete the agent's memory of a session."""
        session = str(parse_session(request.path_params["session_id"]))
        owner = owner_of(request)
        if request.method == "DELETE":
            await self._runs.forget_session(owner, session)
            return json_response({"status": "success"})
        return json_response(await self._runs.state_of(owner, session))


async def _outcome(run: ServedRun) -> Response:
    async for event in run.log.follow():
        if event is not None and event["kind"] in ENDS:
            status, body = _last(event)
            return json_response(body, status)
    raise Failure(503, "ShuttingDown", "the server is shutting down")


async def _events(run: ServedRun) -> AsyncGenerator[bytes]:
    async for event in run.log.follow(seconds=PING_SECONDS):
        if event is None:
            yield PING
        elif event["kind"] in ENDS:
            status, body = _last(event)
            done = {"type": "message", "message": body}
            yield server_event(done if status == 200 else {"type": "error", "status": status, **body})
        elif event["kind"] in ("delta", "reasoning"):
            yield server_event({"type": event["kind"], **event, "kind": "delta", "node": "model"})
        elif "path" in event and event["kind"] != "answered":
            yield server_event(
                {"type": event["kind"], **event, "node": event["path"].rpartition("/")[2].partition("#")[0]}
            )
    yield b"data: [DONE]\n\n"


def _last(event: JSONObject) -> tuple[int, JSONObject]:
    """Return the status and the body for the end of a run."""
    if event["kind"] == "done":
        return 200, event["message"]
    if event["kind"] == "failed":
        return event["status"], {"error": event["error"]}
    stopped = to_failure(RunKilledError(""))
    return stopped.status, stopped.body()
