"""The routes: a module behind HTTP. Who may come in is decided by the guard before."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Collection, Hashable, Mapping
from functools import partial
from time import time
from typing import TYPE_CHECKING, Any, Final, TypedDict, cast

from trivium.commander import AsyncStream, Limits, ThreadEvent, gather, wait
from trivium.distributed._wire import Failure, as_dict, as_event, failure_of, incoming, read_json, session_of
from trivium.distributed.http_serve._guard import LOOPBACK, Guard, checked_tokens
from trivium.exceptions import ConfigurationError, MissingExtraError
from trivium.module import Module
from trivium.schema import Message

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

__all__ = ["ServeOptions", "Service", "agent_app"]

PING_SECONDS: Final = 15.0
_OURS = frozenset({"approve", "context", "limits", "listeners", "message", "session_id", "stream", "timeout"})
_HEADERS = {"cache-control": "no-store", "x-content-type-options": "nosniff"}
_log = logging.getLogger("trivium.serve")

Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]


class ServeOptions(TypedDict, total=False):
    """What the owner of a server may choose.

    Attributes:
        origins: web origins (`"https://app.example"`) whose pages may call the server; default none.
        keywords: names that a client may send beside its message, and that reach the agent's `forward`, as
            `"temperature"`; default none.
        timeout: seconds that a run may take; default no end.
        limits: what each run may spend.
        max_runs: runs at once; who comes later is answered 429. Default 100.
        max_bytes: size of a request's body; default 1 MiB.
        structured: take contents that are not text. An executor among the agents runs such a content as a call, so
            it stays off unless the agents are made for it.
    """

    origins: Collection[str]
    keywords: Collection[str]
    timeout: float | None
    limits: Limits | None
    max_runs: int
    max_bytes: int
    structured: bool


_DEFAULTS: Final[ServeOptions] = {
    "origins": (),
    "keywords": (),
    "timeout": None,
    "limits": None,
    "max_runs": 100,
    "max_bytes": 1 << 20,
    "structured": False,
}


def agent_app(
    agent: Module,
    *,
    token: str | Mapping[str, str],
    hosts: Collection[str] | None = LOOPBACK,
    options: ServeOptions | None = None,
) -> Starlette:
    """The ASGI application that serves a module, for a server of your own; `AgentServer` brings one.

    `POST /chat_completion` asks the agent, and streams its events where the body says `"stream": true`;
    `GET /memory/{session}` shows what it remembers and `DELETE` forgets it; `GET /health_check` needs no token.
    A client that leaves has its run killed.

    Args:
        agent: what is asked: an agent, a task, or any other module, sync or async.
        token: what clients must send as `Authorization: Bearer …`; `""` lets in everybody. A dict gives each user,
            by name, a token and sessions of his own.
        hosts: what a request's Host header may name; None is anything, for a server behind a known name.
        options: what else the owner chooses; see `ServeOptions`.

    Raises:
        ConfigurationError: a token, a user's name or an option cannot be used.
        MissingExtraError: the packages of the extra `serve` are not installed.
    """
    return Service(agent, token, hosts, options or {}).app


class Service:
    """A module, what its owner chose, and the runs that are going on."""

    def __init__(
        self,
        agent: Module,
        token: str | Mapping[str, str],
        hosts: Collection[str] | None,
        options: ServeOptions,
    ) -> None:
        unknown = [name for name in options if name not in _DEFAULTS]
        if unknown:
            raise ConfigurationError(f"there is no option {unknown[0]!r}; there are {', '.join(sorted(_DEFAULTS))}")
        self.agent, self.options = agent, cast("ServeOptions", {**_DEFAULTS, **options})
        if reserved := _OURS.intersection(self._option("keywords")):
            raise ConfigurationError(f"no client may set {', '.join(sorted(reserved))}: leave it out of keywords")
        self.runs: set[_Run] = set()
        self.app = self._application(checked_tokens(token), hosts)

    def _option(self, name: str) -> Any:
        return cast("dict[str, Any]", self.options)[name]

    def _application(self, tokens: Mapping[str, str], hosts: Collection[str] | None) -> Starlette:
        try:
            from starlette.applications import Starlette
            from starlette.exceptions import HTTPException
            from starlette.middleware import Middleware
            from starlette.middleware.cors import CORSMiddleware
            from starlette.routing import Route
        except ImportError:
            raise MissingExtraError("starlette", "serve") from None
        origins = list(self._option("origins"))
        methods = ["GET", "POST", "DELETE"]
        headers = ["authorization", "content-type"]
        cors = Middleware(CORSMiddleware, allow_origins=origins, allow_methods=methods, allow_headers=headers)
        guard = Middleware(Guard, tokens=tokens, hosts=hosts, origins=origins, max_bytes=self._option("max_bytes"))
        return Starlette(
            routes=[
                Route("/health_check", self._health, methods=["GET"]),
                Route("/chat_completion", self._chat, methods=["POST"]),
                Route("/memory/{session_id:path}", self._memory, methods=["GET", "DELETE"]),
            ],
            middleware=[cors, guard] if origins else [guard],
            exception_handlers={Failure: _told, HTTPException: _told_by_route, Exception: _told},
        )

    async def end_runs(self, grace: float, over: ThreadEvent) -> None:
        """Kill the runs that are not over after that many seconds."""
        await wait(grace, event=over)
        for run in list(self.runs):
            run.kill("the server is shutting down")

    # ---- the routes
    async def _health(self, request: Request) -> Response:
        return _json({"status": "success", "timestamp": time()})

    async def _chat(self, request: Request) -> Response:
        body = read_json(await _body_of(request, self._option("max_bytes")))
        if not isinstance(body, dict) or "message" not in body:
            raise Failure(422, "InvalidRequest", 'the body is an object with "message"')
        given = cast("dict[str, Any]", body)
        names = [module.name for _, module in self.agent.named_modules()]
        messages = incoming(given.pop("message"), names, self._option("structured"))
        session_id = _session(request, given.pop("session_id", 0))
        streamed = given.pop("stream", False) is True or "text/event-stream" in request.headers.get("accept", "")
        allowed = sorted(self._option("keywords"))
        if refused := [name for name in given if name not in allowed]:
            known = f"the server takes {', '.join(allowed) or 'none'}"
            raise Failure(422, "InvalidRequest", f"{refused[0][:100]!r} is no keyword of a call here; {known}")
        if len(self.runs) >= self._option("max_runs"):
            raise Failure(429, "Overloaded", "the server runs as much as it may; try again later")
        settings = {"timeout": self._option("timeout"), "limits": self._option("limits")}
        call = self.agent.open(*messages, session_id=session_id, **settings, **given)
        return cast("Response", _Run(self.runs, call, streamed))

    async def _memory(self, request: Request) -> Response:
        session_id = _session(request, request.path_params["session_id"])
        if all(memory.get(session_id) is None for _, memory in self.agent._memories()):
            raise Failure(404, "UnknownSession", "nothing was said in that session")
        if request.method == "DELETE":
            self.agent.reset(session_id, recursive=True)
            return _json({"status": "success"})
        return _json(as_dict(self.agent.state_dict(session_id)))


class _Run:
    """One call, as the response that starlette sends: it runs while the client is there."""

    def __init__(self, runs: set[_Run], call: AsyncStream[Message], streamed: bool) -> None:
        self._runs, self._call, self._streamed = runs, call, streamed
        self.kill = call._node.kill
        runs.add(self)

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        works = [partial(self._answer, send, over := ThreadEvent()), partial(self._watch, receive)]
        if self._streamed:
            await send(_start(200, "text/event-stream; charset=utf-8", {"x-accel-buffering": "no"}))
            works.append(partial(_ping, send, over))
        try:
            await gather(*works)
        finally:
            self._runs.discard(self)

    async def _watch(self, receive: Receive) -> None:
        """Kill the run when the client leaves; a client that has its answer counts as one who left."""
        while (await receive())["type"] != "http.disconnect":
            pass
        self.kill("the client has left")

    async def _answer(self, send: Send, over: ThreadEvent) -> None:
        try:
            status, last = 200, as_dict(await self._listen(send))
        except Exception as error:
            failure = failure_of(error)
            status, last = failure.status, failure.body()
            if status in (500, 502):
                _log.error("a run failed", exc_info=error)
        finally:
            over.set()
        if not self._streamed:
            await _json(last, status)({"type": "http"}, _never, send)
            return
        kind = {"type": "message", "message": last} if status == 200 else {"type": "error", "status": status, **last}
        await send(_event(kind))
        await send({"type": "http.response.body", "body": b"data: [DONE]\n\n"})

    async def _listen(self, send: Send) -> Message:
        async with self._call as events:
            async for event in events:
                if self._streamed and (told := as_event(event)) is not None:
                    await send(_event(told))
        return self._call.result


async def _ping(send: Send, over: ThreadEvent) -> None:
    """Signs of life while nothing is said, so that no proxy and no client gives up."""
    while not over.is_set():
        await wait(PING_SECONDS, event=over)
        if not over.is_set():
            await send({"type": "http.response.body", "body": b": ping\n\n", "more_body": True})


async def _never() -> Any:
    raise AssertionError("a whole response does not read")


async def _body_of(request: Request, most: int) -> bytes:
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > most:
            raise Failure(413, "TooLarge", f"the body is larger than {most} bytes")
    return bytes(body)


def _session(request: Request, value: Any) -> Hashable:
    """The session inside: a user's sessions are his own."""
    session_id, user = session_of(value), request.scope["trivium.user"]
    return f"{user}:{session_id}" if user else session_id


def _event(told: dict[str, Any]) -> dict[str, Any]:
    body = b"data: " + json.dumps(told, ensure_ascii=False).encode("utf-8", "replace") + b"\n\n"
    return {"type": "http.response.body", "body": body, "more_body": True}


def _start(status: int, kind: str, headers: dict[str, str]) -> dict[str, Any]:
    pairs = {"content-type": kind, **_HEADERS, **headers}
    encoded = [(name.encode(), value.encode()) for name, value in pairs.items()]
    return {"type": "http.response.start", "status": status, "headers": encoded}


def _json(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    from starlette.responses import Response

    body = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
    return Response(body, status, {**_HEADERS, **(headers or {})}, "application/json")


async def _told(request: Request, error: Exception) -> Response:
    failure = failure_of(error)
    return _json(failure.body(), failure.status, {"retry-after": "1"} if failure.status == 429 else None)


async def _told_by_route(request: Request, error: Any) -> Response:
    names = {404: "there is no such route", 405: "this route does not take that method"}
    text = names.get(error.status_code, "the request cannot be answered")
    return _json(Failure(error.status_code, "InvalidRequest", text).body(), error.status_code, error.headers)
