"""A2A 1.0 by JSON-RPC: a task is a run, a context a conversation, and a task that needs input one that is paused."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Final, NamedTuple, cast
from urllib.parse import quote

from trivium.commander.lowlevel import run_in_worker
from trivium.events import JSONObject
from trivium.serving._a2a_events import END_STATES, A2AEvents
from trivium.serving._a2a_messages import (
    TaskQuery,
    cut_task,
    history_length,
    object_in,
    parse_decisions,
    parse_message,
    spoken,
)
from trivium.serving._answers import decide_rest
from trivium.serving._http import json_response, owner_of, page_after, read_value, text_field
from trivium.serving._log import STOPS
from trivium.serving._openai import parse_conversation
from trivium.serving._routes import Handled, Routes
from trivium.serving._runs import Runs
from trivium.serving._served_run import ServedRun
from trivium.serving._store import TaskFilter
from trivium.serving._streams import Awaited, Streamed, follow_as, server_event
from trivium.serving._wire import Failure, parse_session

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

_VERSION: Final = "1.0"
_ENDED_AS: Final = {state: ended for ended, state in END_STATES.items()}
_CODES: Final = {
    "TaskNotFound": -32001, "TaskNotCancelable": -32002, "PushNotificationNotSupported": -32003,
    "UnsupportedOperation": -32004, "ContentTypeNotSupported": -32005, "VersionNotSupported": -32009,
    "NoSuchApproval": -32602, "InvalidPayload": -32700, "InvalidCall": -32600, "MethodNotFound": -32601,
}  # fmt: skip
_CODES_OF_STATUS: Final = {404: -32001, 409: -32004, 422: -32602}
_MODES: Final = ("text/plain", "application/json", "image/*", "application/pdf")


class _Call(NamedTuple):
    """A call of JSON-RPC."""

    owner: str
    name: str
    id: object
    params: JSONObject

    def wrap(self, result: JSONObject) -> JSONObject:
        return {"jsonrpc": "2.0", "id": self.id, "result": result}


class A2ARoutes(Routes):
    """`/a2a`, for the first of the served modules, and `/a2a/{name}`, each with its agent card.

    Args:
        runs: the runs.
        max_bytes: the largest body of a request.
        public_url: the address that the cards give; "": that of the request.
    """

    def __init__(self, runs: Runs, max_bytes: int, public_url: str = "") -> None:
        super().__init__(runs, max_bytes)
        self._public_url = public_url
        self._methods: Mapping[str, Callable[[_Call], Awaitable[JSONObject | Response]]] = {
            "SendMessage": self._send, "SendStreamingMessage": self._stream, "GetTask": self._get,
            "ListTasks": self._list, "CancelTask": self._cancel, "SubscribeToTask": self._subscribe,
        }  # fmt: skip

    def handled(self) -> Sequence[Handled]:
        """Return the routes of the protocol."""
        card = "/.well-known/agent-card.json"
        return [
            ("GET", card, self.card),
            ("GET", f"/a2a/{{name:path}}{card}", self.card),
            ("POST", f"/a2a/{{name:path}}{card}", self.refuse),
            ("POST", "/a2a", self.call),
            ("POST", "/a2a/{name:path}", self.call),
        ]

    async def card(self, request: Request) -> Response:
        """Describe a module; no token is needed to read it, so it says no more than the name and what it is for."""
        given = request.path_params.get("name", "")
        module, name = self._runs.module(given), given or next(iter(self._runs.served))
        said = module.description or f"Ask {name}."
        is_safe = request.headers.get("x-forwarded-proto") == "https"
        asked = request.base_url.replace(scheme="https") if is_safe else request.base_url
        url = f"{self._public_url or str(asked).rstrip('/')}/a2a" + (f"/{quote(given)}" if given else "")
        card: JSONObject = {
            "name": name, "description": said, "version": "1", "capabilities": {"streaming": True},
            "supportedInterfaces": [{"url": url, "protocolBinding": "JSONRPC", "protocolVersion": _VERSION}],
            "securitySchemes": {"bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}},
            "securityRequirements": [{"schemes": {"bearer": {"list": list[str]()}}}],
            "defaultInputModes": _MODES, "defaultOutputModes": ["text/plain", "application/json"],
            "skills": [{"id": name, "name": name, "description": said, "tags": ["agent"]}],
        }  # fmt: skip
        mark = sha256(json.dumps(card).encode()).hexdigest()[:32]
        return json_response(card, headers={"cache-control": "private, max-age=60", "etag": f'"{mark}"'})

    async def refuse(self, request: Request) -> Response:
        """Refuse a call of a card, which needs no token."""
        raise Failure(405, "InvalidRequest", "a card is read by GET, and called is the address that it tells")

    async def call(self, request: Request) -> Response:
        """Answer a call of JSON-RPC."""
        name = request.path_params.get("name", "")
        self._runs.module(name)
        call = _Call(owner_of(request), name or next(iter(self._runs.served)), None, {})
        try:
            body = await self._read(request)
            call = call._replace(id=body.get("id"))
            method, params = _checked(body, request)
            act = self._methods.get(method)
            if act is None:
                raise _not_there(method)
            answer = await act(call._replace(params=params))
        except Failure as failure:
            if failure.status in (408, 413):
                raise
            return json_response({"jsonrpc": "2.0", "id": call.id, "error": _error(failure)})
        return json_response(call.wrap(answer)) if isinstance(answer, dict) else answer

    async def _read(self, request: Request) -> JSONObject:
        try:
            body = await read_value(request, self._max_bytes)
        except Failure as failure:
            raise Failure(400, "InvalidPayload", failure.message) if failure.status == 422 else failure from None
        if not isinstance(body, dict):
            raise Failure(400, "InvalidCall", "a call is one object of JSON-RPC 2.0; send several one by one")
        return cast("JSONObject", body)

    # ---- messages
    async def _send(self, call: _Call) -> JSONObject | Response:
        configuration = object_in(call.params, "configuration")
        messages = history_length(configuration)
        run, after = await self._begun(call, configuration)
        if configuration.get("returnImmediately") is True:
            return {"task": cut_task(_events(run, after).task(), messages)}

        async def ended() -> Response:
            async for _ in run.log.follow(after, STOPS):
                pass
            return json_response(call.wrap({"task": cut_task(_events(run).task(), messages)}))

        return cast("Response", Awaited(ended))

    async def _stream(self, call: _Call) -> Response:
        configuration = object_in(call.params, "configuration")
        messages = history_length(configuration)
        return _streamed(call, *await self._begun(call, configuration), messages)

    async def _begun(self, call: _Call, configuration: JSONObject) -> tuple[ServedRun, int]:
        """Start a run, or let one go on; return it, and the number of the event up to which it is told at once."""
        if configuration.get("taskPushNotificationConfig"):
            raise _not_there("PushNotificationConfig")
        message = parse_message(call.params)
        if task_id := message["taskId"]:
            run = await self._find(call, task_id)
            paused = await self._decide(run, message)
            later = (each["seq"] for each in run.log.events[paused:] if each["kind"] == "resumed")
            return run, next(later, paused)
        session = str(parse_session(message["contextId"], "contextId")) if message["contextId"] else ""
        said = parse_conversation([{"role": "user", "content": spoken(message)}], "message")
        run = await self._runs.start(
            call.owner, call.name, said, session=session, is_conversation=True, protocol="a2a", a2a=message
        )
        return run, 1

    async def _decide(self, run: ServedRun, message: JSONObject) -> int:
        request = run.request
        if message["contextId"] not in ("", request.session):
            raise Failure(422, "InvalidParams", "contextId is not that of the task: leave it out")
        if request.state != "paused":
            text = f"the task is {request.state}, and takes no message: begin another one with its contextId"
            raise Failure(409, "UnsupportedOperation", text)
        return await decide_rest(self._runs, run, parse_decisions(message), {"a2a": message})

    # ---- tasks
    async def _get(self, call: _Call) -> JSONObject:
        return cut_task(_events(await self._find(call)).task(), history_length(call.params))

    async def _list(self, call: _Call) -> JSONObject:
        query = TaskQuery.parse(call.params)
        wanted = TaskFilter(
            owner=call.owner, protocol="a2a", name=call.name, session=query.context,
            state=_ENDED_AS.get(query.state, query.state), since=query.since, before=query.before, size=query.size + 1,
        )  # fmt: skip
        ended, going, count = await run_in_worker(partial(self._runs.store.tasks, wanted))
        found = [(each.ended, each.id) for each in ended]
        for each in going:
            events = _events(await self._runs.find(call.owner, each.id))
            if events.status_time >= query.since and query.state in ("", events.status["state"]):
                count += 1
                found.append((events.status_time, each.id))
        rest = sorted((each for each in found if query.before is None or each < query.before), reverse=True)
        page = rest[: query.size]
        runs = [await self._runs.find(call.owner, task_id) for _, task_id in page]
        return {
            "tasks": [cut_task(_events(run).task(), query.messages, query.with_artifacts) for run in runs],
            "nextPageToken": page_after(*page[-1]) if len(rest) > len(page) else "",
            "pageSize": query.size, "totalSize": count,
        }  # fmt: skip

    async def _cancel(self, call: _Call) -> JSONObject:
        run = await self._find(call)
        if run.log.is_over:
            raise Failure(409, "TaskNotCancelable", f"the task is {run.request.state}: it has ended")
        await self._runs.cancel(run)
        return _events(run).task()

    async def _subscribe(self, call: _Call) -> Response:
        run = await self._find(call)
        if run.log.is_over:
            text = f"the task is {run.request.state}, a terminal state: GetTask returns it"
            raise Failure(409, "UnsupportedOperation", text)
        return _streamed(call, run, len(run.log.events))

    async def _find(self, call: _Call, task_id: str = "") -> ServedRun:
        task_id = task_id or text_field(call.params, "id")
        try:
            run = await self._runs.find(call.owner, task_id)
        except Failure:
            run = None
        if run is None or (run.request.protocol, run.request.name) != ("a2a", call.name):
            raise Failure(404, "TaskNotFound", f"you have no task {task_id[:100]!r}: ListTasks lists yours")
        return run


def _events(run: ServedRun, until: int | None = None) -> A2AEvents:
    """Return what the events of a run are, up to the one of a number."""
    events = A2AEvents(run.id, run.request.session)
    events.note(run.request.body["a2a"])
    for event in run.log.events[:until]:
        for _ in events.read(event):
            pass
    return events


def _streamed(call: _Call, run: ServedRun, after: int, messages: int | None = None) -> Response:
    """Stream the task as it is with an event, and then what the later ones are, up to its end or next question."""

    async def pieces() -> AsyncGenerator[bytes]:
        events = _events(run, after)
        yield server_event(call.wrap({"task": cut_task(events.task(), messages)}))
        async for piece in follow_as(run, after, events.read, frame=lambda each: server_event(call.wrap(each))):
            yield piece

    return cast("Response", Streamed(pieces()))


# ---- calls
def _checked(body: JSONObject, request: Request) -> tuple[str, JSONObject]:
    """Return the method and the parameters of a call.

    Raises:
        Failure: it is none of JSON-RPC 2.0, or of another version of A2A.
    """
    method: object = body.get("method")
    is_id = isinstance(body.get("id"), str | int | None) and not isinstance(body.get("id"), bool)
    if body.get("jsonrpc") != "2.0" or not isinstance(method, str) or not method or not is_id:
        raise Failure(400, "InvalidCall", 'a call is {"jsonrpc": "2.0", "id": …, "method": …, "params": {…}}')
    version = request.headers.get("a2a-version") or request.query_params.get("A2A-Version") or "0.3"
    if ".".join(version.split(".")[:2]) != _VERSION:
        text = f"A2A {version[:20]} is not spoken here: send the header A2A-Version: {_VERSION}"
        raise Failure(400, "VersionNotSupported", text)
    return method, object_in(body, "params")


def _not_there(method: str) -> Failure:
    if method.endswith(("PushNotificationConfig", "PushNotificationConfigs")):
        text = "nothing is pushed here: follow the task by SubscribeToTask, or ask by GetTask"
        return Failure(400, "PushNotificationNotSupported", text)
    if method == "GetExtendedAgentCard":
        return Failure(400, "UnsupportedOperation", "there is no card but the public one")
    there = "SendMessage, SendStreamingMessage, GetTask, ListTasks, CancelTask and SubscribeToTask"
    return Failure(400, "MethodNotFound", f"there is no method {method[:50]!r}; there are {there}")


def _error(failure: Failure) -> JSONObject:
    code = _CODES.get(failure.kind) or _CODES_OF_STATUS.get(failure.status, -32603)
    kind = "InvalidParams" if code == -32602 else failure.kind
    reason = re.sub(r"(?<!^)(?=[A-Z])", "_", kind).upper()
    reached = {"limit": failure.limit, "value": f"{failure.value:g}"} if failure.limit else {}
    info: JSONObject = {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason, "domain": "a2a-protocol.org",
        "metadata": reached,
    }  # fmt: skip
    return {"code": code, "message": failure.message, "data": [info]}
