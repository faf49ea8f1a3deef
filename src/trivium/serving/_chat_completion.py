"""Lagent's routes: one call of an agent, whose run ends with its client."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Iterator, Sequence
from functools import partial
from time import time
from typing import TYPE_CHECKING, cast

from trivium.events import JSONObject
from trivium.serving._http import json_response, owner_of, read_object, text_field
from trivium.serving._log import ENDS
from trivium.serving._routes import Handled, Routes
from trivium.serving._runs import Runs
from trivium.serving._served_run import ServedRun, done, ended
from trivium.serving._streams import Awaited, Streamed, follow_as
from trivium.serving._wire import Failure, parse_session

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response


class ChatCompletion(Routes):
    """`/chat_completion`, `/memory/{session}` and `/health_check`.

    Args:
        runs: the runs.
        keywords: names that a client may send beside its message.
        max_bytes: the largest body of a request.
    """

    def __init__(self, runs: Runs, keywords: Collection[str], max_bytes: int) -> None:
        super().__init__(runs, max_bytes)
        self._keywords = sorted(keywords)

    def handled(self) -> Sequence[Handled]:
        """Return the routes of the protocol."""
        return [
            ("GET", "/health_check", self.health_check),
            ("POST", "/chat_completion", self.call),
            ("GET DELETE", "/memory/{session_id:path}", self.memory),
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
        streamed = given.pop("stream", False)
        if not isinstance(streamed, bool):
            raise Failure(422, "InvalidRequest", "stream is true or false")
        streamed = streamed or "text/event-stream" in request.headers.get("accept", "")
        named = {} if "model" in self._keywords else {"model": given.pop("model", None)}
        name = text_field(named, "model")
        if refused := [name for name in given if name not in self._keywords]:
            known = f"the server takes {', '.join(self._keywords) or 'none'}"
            raise Failure(422, "InvalidRequest", f"{refused[0][:100]!r} is no keyword of a call here; {known}")
        run = await self._runs.start(
            owner_of(request), name, message, session=session, options=given, of_client=True, asks=False
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
    return json_response((await ended(run))["message"])


async def _events(run: ServedRun) -> AsyncGenerator[bytes]:
    async for piece in follow_as(run, 0, _read, ENDS, tell=_told):
        yield piece
    yield b"data: [DONE]\n\n"


def _read(event: JSONObject) -> Iterator[JSONObject]:
    if event["kind"] in ENDS:
        yield {"type": "message", "message": done(event)["message"]}
    elif event["kind"] in ("delta", "reasoning"):
        yield {"type": event["kind"], **event, "kind": "delta", "node": "model"}
    elif "path" in event and event["kind"] != "answered":
        yield {"type": event["kind"], **event, "node": event["path"].rpartition("/")[2].partition("#")[0]}


def _told(failure: Failure) -> Iterator[JSONObject]:
    yield {"type": "error", "status": failure.status, **failure.body()}
