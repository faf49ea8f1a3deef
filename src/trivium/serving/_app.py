"""The routes: a module over HTTP. The guard in front of them authenticates requests."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Collection, Hashable, Mapping
from dataclasses import dataclass, fields
from functools import partial
from time import time
from typing import TYPE_CHECKING, Any, Final, TypedDict, cast

from trivium.commander import AsyncStream, Limits, ThreadEvent, gather, wait
from trivium.events import JSONObject, to_json_value
from trivium.exceptions import ConfigurationError, MissingExtraError
from trivium.module import Module
from trivium.schema import Message
from trivium.schema.lowlevel import positive
from trivium.serving._guard import LOOPBACK, Guard, check_tokens
from trivium.serving._wire import (
    Failure,
    event_json,
    parse_body,
    parse_messages,
    parse_session,
    to_failure,
    too_large,
)

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.requests import Request
    from starlette.responses import Response

__all__ = ["ServeOptions", "Service", "agent_app"]

PING_SECONDS: Final = 15.0
_RESERVED = frozenset({"approve", "context", "limits", "listeners", "message", "session_id", "stream", "timeout"})
_HEADERS = {"cache-control": "no-store", "x-content-type-options": "nosniff"}
_log = logging.getLogger("trivium.serve")

Receive = Callable[[], Awaitable[JSONObject]]
Send = Callable[[JSONObject], Awaitable[None]]


class ServeOptions(TypedDict, total=False):
    """The options of a server.

    Attributes:
        origins: web origins (`"https://app.example"`) whose pages may call the server; default none.
        keywords: names that a client may send beside its message, and that reach the agent's `forward`, as
            `"temperature"`; default none.
        timeout: seconds that a run may take; default None: no limit.
        limits: what each run may spend; default None: no limit.
        max_runs: runs at once; further requests are answered 429. Default 100.
        max_bytes: the largest body of a request in bytes; default 1 MiB.
        max_sessions: sessions that the agent remembers for one user; more are answered 429 until some are forgotten by
            `DELETE /memory/{session}`. Default 10,000.
        structured: accept contents that are not text; default False. An executor among the agents runs such a content
            as a call, so it stays off unless the agents are made for it.
    """

    origins: Collection[str]
    keywords: Collection[str]
    timeout: float | None
    limits: Limits | None
    max_runs: int
    max_bytes: int
    max_sessions: int
    structured: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The same with their defaults."""

    origins: Collection[str] = ()
    keywords: Collection[str] = ()
    timeout: float | None = None
    limits: Limits | None = None
    max_runs: int = 100
    max_bytes: int = 1 << 20
    max_sessions: int = 10_000
    structured: bool = False

    def __post_init__(self) -> None:
        timeout = 1.0 if self.timeout is None else self.timeout
        positive(timeout=timeout, max_runs=self.max_runs, max_bytes=self.max_bytes, max_sessions=self.max_sessions)


def agent_app(
    agent: Module,
    *,
    token: str | Mapping[str, str],
    hosts: Collection[str] | None = LOOPBACK,
    options: ServeOptions | None = None,
) -> Starlette:
    """Return the ASGI application that serves a module, for a server of your own; `AgentServer` brings one.

    `POST /chat_completion` calls the agent, and streams its events where the body says `"stream": true`;
    `GET /memory/{session}` shows what it remembers and `DELETE` forgets it; `GET /health_check` needs no token.
    When a client disconnects, its run is killed.

    Args:
        agent: an agent, a task, or any other module, sync or async.
        token: the token that clients send as `Authorization: Bearer …`; `""` admits all requests. A dict gives each
            user, by name, a token and separate sessions.
        hosts: the names that a request's Host header may have; None: any, for a server behind a known name.
        options: see `ServeOptions`.

    Raises:
        ConfigurationError: a token, a user's name or an option cannot be used.
        MissingExtraError: the packages of the extra `serve` are not installed.
    """
    return Service(agent, token, hosts, options or {}).app


class Service:
    """A served module with its options and the runs that are going on."""

    def __init__(
        self,
        agent: Module,
        token: str | Mapping[str, str],
        hosts: Collection[str] | None,
        options: ServeOptions,
    ) -> None:
        known = sorted(each.name for each in fields(Chosen))
        unknown = [name for name in options if name not in known]
        if unknown:
            raise ConfigurationError(f"there is no option {unknown[0]!r}; there are {', '.join(known)}")
        self.agent, self.options = agent, Chosen(**options)
        if reserved := _RESERVED.intersection(self.options.keywords):
            raise ConfigurationError(f"no client may set {', '.join(sorted(reserved))}: leave it out of keywords")
        self.runs: set[RunResponse] = set()
        self.sessions: dict[str, set[Hashable]] = {}
        self.app = self.build(check_tokens(token), hosts)

    def build(self, tokens: Mapping[str, str], hosts: Collection[str] | None) -> Starlette:
        """Build the application: the routes behind the guard."""
        try:
            from starlette.applications import Starlette
            from starlette.middleware import Middleware
            from starlette.middleware.cors import CORSMiddleware
            from starlette.routing import Route
        except ImportError:
            raise MissingExtraError("starlette", "serve") from None
        origins = list(self.options.origins)
        methods = ["GET", "POST", "DELETE"]
        headers = ["authorization", "content-type"]
        cors = Middleware(CORSMiddleware, allow_origins=origins, allow_methods=methods, allow_headers=headers)
        guard = Middleware(Guard, tokens=tokens, hosts=hosts, origins=origins, max_bytes=self.options.max_bytes)
        no_route = partial(refuse_route, text="there is no such route")
        no_method = partial(refuse_route, text="this route does not take that method")
        handlers: dict[Any, Any] = {404: no_route, 405: no_method, Failure: refuse, Exception: refuse}
        return Starlette(
            routes=[
                Route("/health_check", self.health_check, methods=["GET"]),
                Route("/chat_completion", self.chat_completion, methods=["POST"]),
                Route("/memory/{session_id:path}", self.memory, methods=["GET", "DELETE"]),
            ],
            middleware=[cors, guard] if origins else [guard],
            exception_handlers=handlers,
        )

    async def end_runs(self, grace: float, over: ThreadEvent) -> None:
        """Kill the runs that have not ended after that many seconds."""
        await wait(grace, event=over)
        for run in list(self.runs):
            run.kill("the server is shutting down")

    # ---- the routes
    async def health_check(self, request: Request) -> Response:
        """Say that the server is there."""
        return _json({"status": "success", "timestamp": time()})

    async def chat_completion(self, request: Request) -> Response:
        """Call the agent with the messages of the body."""
        options = self.options
        body = parse_body(await _read_body(request, options.max_bytes))
        if not isinstance(body, dict) or "message" not in body:
            raise Failure(422, "InvalidRequest", 'the body is an object with "message"')
        given = cast("JSONObject", body)
        modules = [module for _, module in self.agent.named_modules()]
        names = [module.name for module in modules]
        messages = parse_messages(given.pop("message"), names, options.structured)
        session_id = _session(request, given.pop("session_id", 0))
        streamed = given.pop("stream", False) is True or "text/event-stream" in request.headers.get("accept", "")
        allowed = sorted(options.keywords)
        if refused := [name for name in given if name not in allowed]:
            known = f"the server takes {', '.join(allowed) or 'none'}"
            raise Failure(422, "InvalidRequest", f"{refused[0][:100]!r} is no keyword of a call here; {known}")
        if len(self.runs) >= options.max_runs:
            text = f"the server runs as much as it may ({options.max_runs} runs, its max_runs); try again later"
            raise Failure(429, "Overloaded", text, "max_runs", options.max_runs)
        if any(module.memory is not None for module in modules):
            self.enter_session(request.scope["trivium.user"], session_id)
        settings = {"timeout": options.timeout, "limits": options.limits}
        call = self.agent.open(*messages, session_id=session_id, **settings, **given)
        return cast("Response", RunResponse(self.runs, call, streamed))

    def enter_session(self, user: str, session_id: Hashable) -> None:
        """Note a session; raise a Failure if its user has too many."""
        most, mine = self.options.max_sessions, self.sessions.setdefault(user, set())
        if session_id not in mine and len(mine) >= most:
            text = (
                f"there are {most} sessions, as many as the server takes (max_sessions): forget some by DELETE /memory"
            )
            raise Failure(429, "TooManySessions", text, "max_sessions", most)
        mine.add(session_id)

    async def memory(self, request: Request) -> Response:
        """Return or delete the agent's memory of a session."""
        session_id = _session(request, request.path_params["session_id"])
        memories = [module.memory for _, module in self.agent.named_modules() if module.memory is not None]
        if all(memory.get(session_id) is None for memory in memories):
            raise Failure(404, "UnknownSession", "nothing was said in that session")
        if request.method == "DELETE":
            self.agent.reset(session_id, recursive=True)
            self.sessions.get(request.scope["trivium.user"], set()).discard(session_id)
            return _json({"status": "success"})
        return _json(to_json_value(self.agent.state_dict(session_id)))


class RunResponse:
    """One call as the response that starlette sends: it runs while the client is connected."""

    def __init__(self, runs: set[RunResponse], call: AsyncStream[Message], streamed: bool) -> None:
        self._runs, self._call, self._streamed = runs, call, streamed
        self.kill = call.node.kill
        runs.add(self)

    async def __call__(self, scope: object, receive: Receive, send: Send) -> None:
        over = ThreadEvent()

        async def kill_on_disconnect() -> None:  # a client that has its answer counts as disconnected
            while (await receive())["type"] != "http.disconnect":
                pass
            self.kill("the client has left")

        async def ping() -> None:  # signs of life while nothing is sent, so that no proxy and no client gives up
            while not over.is_set():
                await wait(PING_SECONDS, event=over)
                if not over.is_set():
                    await send({"type": "http.response.body", "body": b": ping\n\n", "more_body": True})

        works = [partial(self.answer, send, over), kill_on_disconnect]
        if self._streamed:
            headers = {"content-type": "text/event-stream; charset=utf-8", "x-accel-buffering": "no", **_HEADERS}
            pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
            await send({"type": "http.response.start", "status": 200, "headers": pairs})
            works.append(ping)
        try:
            await gather(*works)
        finally:
            self._runs.discard(self)

    async def answer(self, send: Send, over: ThreadEvent) -> None:
        """Send the events, if the client wants them, and the outcome."""
        try:
            async with self._call as events:
                async for event in events:
                    if self._streamed and (sent := event_json(event)) is not None:
                        await _send_event(send, sent)
            status, last = 200, to_json_value(self._call.result)
        except Exception as error:
            failure = to_failure(error)
            status, last = failure.status, failure.body()
            if status in (500, 502):
                _log.error("a run failed", exc_info=error)
        finally:
            over.set()
        if self._streamed:
            failed = {"type": "error", "status": status, **last}
            done = {"type": "message", "message": last} if status == 200 else failed
            await _send_event(send, done)
            await send({"type": "http.response.body", "body": b"data: [DONE]\n\n"})
        else:
            response = _json(last, status)
            await send({"type": "http.response.start", "status": status, "headers": response.raw_headers})
            await send({"type": "http.response.body", "body": response.body})


async def _read_body(request: Request, most: int) -> bytes:
    from starlette.requests import ClientDisconnect

    content = bytearray()
    try:
        async for piece in request.stream():
            content += piece
            if len(content) > most:
                raise too_large(most)
    except ClientDisconnect:  # or its time was over
        raise Failure(408, "Disconnected", "the body did not arrive") from None
    return bytes(content)


def _session(request: Request, value: object) -> Hashable:
    """Return the session inside the server: each user has separate sessions."""
    session_id, user = parse_session(value), request.scope["trivium.user"]
    return f"{user}:{session_id}" if user else session_id


async def _send_event(send: Send, event: JSONObject) -> None:
    body = b"data: " + json.dumps(event, ensure_ascii=False).encode("utf-8", "replace") + b"\n\n"
    await send({"type": "http.response.body", "body": body, "more_body": True})


def _json(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    from starlette.responses import Response

    body = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
    return Response(body, status, {**_HEADERS, **(headers or {})}, "application/json")


async def refuse(request: Request, error: Exception) -> Response:
    """Answer with an error."""
    failure = to_failure(error)
    return _json(failure.body(), failure.status, {"retry-after": "1"} if failure.status == 429 else None)


async def refuse_route(request: Request, error: HTTPException, text: str) -> Response:
    """Answer a request that fits no route."""
    return _json(Failure(error.status_code, "InvalidRequest", text).body(), error.status_code, error.headers)
