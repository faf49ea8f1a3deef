"""The routes of runs: start one, follow it from any event on, see and decide what waits, cancel it, forget it."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Collection, Sequence
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Final, cast

from trivium.commander.lowlevel import run_in_worker
from trivium.events import JSONObject
from trivium.serving._approvals import Verdict, described
from trivium.serving._http import (
    MOST,
    json_response,
    owner_of,
    page_after,
    page_asked,
    read_object,
    text_field,
    whole_number,
)
from trivium.serving._log import ENDS
from trivium.serving._openapi import openapi
from trivium.serving._routes import Handled, Routes
from trivium.serving._runs import Runs
from trivium.serving._served_run import ServedRun
from trivium.serving._store import RunRequest
from trivium.serving._streams import Streamed, follow_as, server_event
from trivium.serving._wire import MAX_NAME, Failure, parse_session

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

ASKED: Final = ("message", "model", "session_id", "previous_run_id")
"""The keys of a request that say what is to run; the others say how it is answered."""
KEYS: Final = (*ASKED, "request_id", "stream")
_DECISION: Final = 'the body is {"digest": …, "approved": true or false}, and a "reason" if you like'


class RunRoutes(Routes):
    """The routes below `/runs`, and what describes the server.

    Args:
        runs: the runs.
        max_bytes: the largest body of a request.
        keywords: names that a client of Lagent's route may send beside its message.
    """

    def __init__(self, runs: Runs, max_bytes: int, keywords: Collection[str]) -> None:
        super().__init__(runs, max_bytes)
        self._keywords = sorted(keywords)

    def handled(self) -> Sequence[Handled]:
        """Return the routes of the protocol."""
        return [
            ("POST", "/runs", self.start),
            ("GET", "/runs", self.all),
            ("GET", "/runs/{run_id}", self.show),
            ("DELETE", "/runs/{run_id}", self.forget),
            ("GET", "/runs/{run_id}/events", self.events),
            ("POST", "/runs/{run_id}/cancel", self.cancel),
            ("POST", "/runs/{run_id}/approvals", self.decide),
            ("GET", "/approvals", self.approvals),
            ("GET", "/metrics", self.metrics),
            ("GET", "/openapi.json", self.openapi),
        ]

    async def metrics(self, request: Request) -> Response:
        """Return the numbers of the owner's runs."""
        from starlette.responses import PlainTextResponse

        return PlainTextResponse(
            await self._runs.metrics_text(owner_of(request)), media_type="text/plain; version=0.0.4"
        )

    async def openapi(self, request: Request) -> Response:
        """Return the description of these routes."""
        return json_response(openapi(self._runs.keep_days, self._runs.approvals.seconds, self._keywords))

    async def start(self, request: Request) -> Response:
        """Start a run; answer at once with its state, or with its events where `stream` is true."""
        body = await read_object(request, self._max_bytes)
        if unknown := [name for name in body if name not in KEYS]:
            raise Failure(422, "InvalidRequest", f"{unknown[0][:100]!r} is no key here; there are {', '.join(KEYS)}")
        if "message" not in body:
            raise Failure(422, "InvalidRequest", 'the body is an object with "message"')
        if not isinstance(body.get("stream", False), bool):
            raise Failure(422, "InvalidRequest", "stream is true or false")
        run = await self._started(owner_of(request), body)
        place = {"location": f"{request.scope['root_path']}/runs/{run.id}"}
        if body.get("stream") is True:
            return cast("Response", Streamed(_lines(run, 0), place))
        return json_response(await self._described(run), 202, place)

    async def _started(self, owner: str, body: JSONObject) -> ServedRun:
        """Start the run that a client asks for; of a request that it sends again return the run that there is."""
        session = str(parse_session(body["session_id"])) if "session_id" in body else ""
        if session and body.get("previous_run_id"):
            raise Failure(422, "InvalidRequest", "previous_run_id says which conversation it is: leave session_id out")
        name, before = text_field(body, "model"), text_field(body, "previous_run_id")
        begin = partial(self._runs.start, owner, name, body["message"], session=session, before=before)
        if not (request_id := text_field(body, "request_id", MAX_NAME)):
            return await begin()
        run_id, asked = f"run_{_digest([owner, request_id])}", _digest([body.get(each) for each in ASKED])
        async with self._runs.alone(owner, request_id):
            if await run_in_worker(partial(self._runs.store.find, run_id)) is None:
                return await begin(run_id=run_id, asked=asked)
        run = await self._runs.find(owner, run_id)
        if run.request.body.get("asked") != asked:
            text = f"the request {request_id[:100]!r} asked for something else: give the new one an id of its own"
            raise Failure(409, "OtherInput", text)
        return run

    async def all(self, request: Request) -> Response:
        """Return a page of the owner's runs, the latest first, and what asks for the next one, if there is one."""
        most = whole_number(request.query_params.get("limit", "100"), "limit", 1, 1000)
        before = page_asked(request.query_params.get("page"), "page is the next_page of an answer")
        found = await self._runs.of_owner(owner_of(request), most + 1, before)
        page = found[:most]
        following = {"next_page": page_after(page[-1].created, page[-1].id)} if len(found) > most else {}
        return json_response({"runs": [_head(each) for each in page], **following})

    async def show(self, request: Request) -> Response:
        """Return how far a run is, what it asks, and its outcome."""
        run = await self._runs.find_for(owner_of(request), request.path_params["run_id"])
        return json_response(await self._described(run))

    async def events(self, request: Request) -> Response:
        """Stream the events of a run after the one that the client knows, until the run ends."""
        run = await self._run(request)
        given = request.headers.get("last-event-id") or request.query_params.get("after", "0")
        after = whole_number(given, "after, or Last-Event-ID,", 0, MOST)
        return cast("Response", Streamed(_lines(run, after)))

    async def cancel(self, request: Request) -> Response:
        """Cancel a run."""
        run = await self._run(request)
        await self._runs.cancel(run)
        return json_response(await self._described(run))

    async def decide(self, request: Request) -> Response:
        """Approve or refuse a call that waits."""
        user = owner_of(request)
        run = await self._runs.find_for(user, request.path_params["run_id"])
        body = await read_object(request, self._max_bytes)
        decision = Verdict.parse(body, _DECISION, ("digest",))
        if not (digest := text_field(body, "digest")):
            raise Failure(422, "InvalidRequest", _DECISION)
        await self._runs.decide(run, {digest: decision}, by=user, is_part=True)
        return json_response(await self._described(run))

    async def approvals(self, request: Request) -> Response:
        """Return the calls on which the user decides, in the order in which they were asked about."""
        waiting = await self._runs.waiting_for(owner_of(request))
        found = [_asked(run) | call for run, calls in waiting for call in calls]
        return json_response({"approvals": sorted(found, key=lambda each: each["asked"])})

    async def forget(self, request: Request) -> Response:
        """Delete a run that has ended, with all that was written of it."""
        run = await self._run(request)
        await self._runs.forget(run)
        return json_response({"id": run.id, "deleted": True})

    async def _run(self, request: Request) -> ServedRun:
        return await self._runs.find(owner_of(request), request.path_params["run_id"])

    async def _described(self, run: ServedRun) -> JSONObject:
        found = _head(run.request)
        if waiting := await self._runs.approvals.pending(run):
            found["approvals"] = [*map(described, waiting)]
        last = run.log.events[-1] if run.log.is_over else {}
        return {**found, **{name: last[name] for name in ("message", "error", "why") if name in last}}


def _digest(value: object) -> str:
    return sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:32]


def _head(request: RunRequest) -> JSONObject:
    return {
        "id": request.id, "model": request.name, "session_id": request.session, "state": request.state,
        "created": request.created, "ended": request.ended or None,
        "usage": {"tokens": request.tokens, "usd": request.usd},
    }  # fmt: skip


def _asked(run: RunRequest) -> JSONObject:
    """Return what was asked of a run, and by whom, for those who decide on its calls."""
    return {
        "run": run.id, "user": run.owner, "model": run.name, "session_id": run.session, "message": run.said["text"],
    }  # fmt: skip


def _lines(run: ServedRun, after: int) -> AsyncGenerator[bytes]:
    return follow_as(run, after, lambda event: (event,), ENDS, lambda event: server_event(event, number=event["seq"]))
