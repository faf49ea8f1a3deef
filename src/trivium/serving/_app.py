"""The routes: modules over HTTP. The guard in front of them authenticates requests."""

from __future__ import annotations

from asyncio import Lock
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypedDict, Unpack

from trivium.commander import Limits
from trivium.exceptions import ConfigurationError, JournalError, MissingExtraError
from trivium.journal import Journal
from trivium.module import Module
from trivium.schema.lowlevel import checked, positive
from trivium.serving._a2a import A2ARoutes
from trivium.serving._agui import AGUIRoutes
from trivium.serving._ai_sdk import AISDKRoutes
from trivium.serving._approvals import Approvals
from trivium.serving._chat import ChatRoutes
from trivium.serving._chat_completion import ChatCompletion
from trivium.serving._guard import LOOPBACK, Application, Guard, check_origin, check_tokens, public_address
from trivium.serving._http import refuse, refuse_route
from trivium.serving._last_resort import LAST_SECONDS
from trivium.serving._limits import OwnerLimits
from trivium.serving._responses import ResponseRoutes
from trivium.serving._routes import Endpoint
from trivium.serving._run_routes import RunRoutes
from trivium.serving._runs import Runs
from trivium.serving._store import RunStore
from trivium.serving._ui import UIRoutes
from trivium.serving._wire import Failure

if TYPE_CHECKING:
    from starlette.applications import Starlette

_EXPOSED: Final = ("location", "mcp-session-id", "retry-after")
"""The headers of answers that pages of other origins may read; they may send any, as SDKs have their own."""
_RESERVED: Final = frozenset(
    {
        "approve", "context", "journal", "limits", "listeners", "message", "policy", "run_id", "session_id", "stream",
        "timeout",
    }
)  # fmt: skip


class ServeOptions(TypedDict, total=False):
    """The options of a server.

    Attributes:
        journal: where runs are written down, with what clients were sent: an SQLite file, or the URL of a PostgreSQL
            database. They go on after a restart of the server. Default: a file that is deleted when the server ends.
        origins: web origins (`"https://app.example"`) whose pages may call the server; default none.
        public_url: the address by which others know the server, as `"https://agents.example.org"` of a proxy before it:
            requests may name it as their Host, its pages may call, and the cards of A2A give it. Default: none.
        keywords: names that a client may send beside its message, and that reach the agent's `forward`, as
            `"temperature"`; default none.
        timeout: seconds that a run may take; default None: no limit.
        limits: what each run may spend; default None: no limit.
        owner_limits: what each user may have and spend; default None: no limit.
        max_runs: runs at once; further requests are answered 429, but decided runs go on. Default 100.
        max_bytes: the largest body of a request in bytes; default 1 MiB.
        max_sessions: sessions that one user may have; more are answered 429 until some are forgotten by
            `DELETE /memory/{session}`. Default 10,000.
        structured: accept contents that are not text; default False. An executor among the agents runs such a content
            as a call, so it stays off unless the agents are made for it.
        approvers: the users who decide on calls that wait, of all users' runs; others then decide on none. They see
            what these runs were asked and have answered. Default: each user decides on those of their own runs.
        approval_seconds: seconds for which a call waits for an approval; its run is then cancelled. Default None: no
            limit.
        keep_days: days for which runs are kept after their end, with all that was written of them; default None: until
            they are deleted.
        inspectors: the users who may look into their runs in the web UI: instructions, what models and tools were asked
            and answered, errors. Default: whoever has the token where there is one for all, and nobody where each user
            has one.
        reports: pages that `trivium extract --report` has written; the web UI shows them to inspectors.
        endpoints: further protocols: `trivium.mcp.MCPEndpoint()`. Each object belongs to one server.
    """

    journal: str | Path | Journal
    origins: Collection[str]
    public_url: str
    keywords: Collection[str]
    timeout: float | None
    limits: Limits | None
    owner_limits: OwnerLimits | None
    max_runs: int
    max_bytes: int
    max_sessions: int
    structured: bool
    approvers: Collection[str]
    approval_seconds: float | None
    keep_days: float | None
    inspectors: Collection[str]
    reports: Collection[str | Path]
    endpoints: Collection[Endpoint]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The same with their defaults."""

    journal: str | Path | Journal = ""
    origins: Collection[str] = ()
    public_url: str = ""
    keywords: Collection[str] = ()
    timeout: float | None = None
    limits: Limits | None = None
    owner_limits: OwnerLimits | None = None
    max_runs: int = 100
    max_bytes: int = 1 << 20
    max_sessions: int = 10_000
    structured: bool = False
    approvers: Collection[str] = ()
    approval_seconds: float | None = None
    keep_days: float | None = None
    inspectors: Collection[str] = ("",)
    reports: Collection[str | Path] = ()
    endpoints: Collection[Endpoint] = ()

    def __post_init__(self) -> None:
        timeout = 1.0 if self.timeout is None else self.timeout
        given = {"approval_seconds": self.approval_seconds, "keep_days": self.keep_days}
        positive(**{name: value for name, value in given.items() if value is not None})
        positive(timeout=timeout, max_runs=self.max_runs, max_bytes=self.max_bytes, max_sessions=self.max_sessions)
        for each in self.origins:
            check_origin(each)
        if self.public_url:
            object.__setattr__(self, "public_url", public_address(self.public_url))
        if reserved := _RESERVED.intersection(self.keywords):
            raise ConfigurationError(f"no client may set {', '.join(sorted(reserved))}: leave it out of keywords")


@checked
def agent_app(
    agent: Module | Mapping[str, Module],
    *,
    token: str | Mapping[str, str],
    hosts: Collection[str] | None = LOOPBACK,
    **options: Unpack[ServeOptions],
) -> Starlette:
    """Return the ASGI application that serves modules, for a server of your own; `AgentServer` brings one.

    `POST /runs` starts a run, and `GET /runs/{id}/events` streams its events from any of them on; see `docs/serving.md`
    for all routes. `POST /chat_completion` calls the agent, and streams its events where the body says
    `"stream": true`; when its client disconnects, its run is killed. `GET /memory/{session}` shows what it remembers
    and `DELETE` forgets it; `GET /health_check` needs no token. Limits of connections are those of
    your server.

    Args:
        agent: an agent, a task, or any other module, sync or async; or several by their names.
        token: the token that clients send as `Authorization: Bearer …`; `""` admits all requests. A dict gives each
            user, by name, a token and separate sessions; the name is `this_call().context` in their runs.
        hosts: the names that a request's Host header may have; None: any, for a server behind a known name.
        **options: see `ServeOptions`.

    Raises:
        ConfigurationError: a token, a user's name or an option cannot be used.
        MissingExtraError: the packages of the extra `serve` are not installed.
    """
    return Service(agent, token, hosts, options).app


class _Begun:
    """Begins a service at the first request, where nothing has before: an application that is mounted has no lifespan.

    Args:
        app: the application behind it.
        begin: begins the service.
    """

    def __init__(self, app: Application, begin: Callable[[], Awaitable[None]]) -> None:
        self._app, self._begin = app, begin

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "lifespan":
            await self._begin()
        await self._app(scope, receive, send)


class Service:
    """Served modules with their options and the runs that are going on."""

    def __init__(
        self,
        agent: Module | Mapping[str, Module],
        token: str | Mapping[str, str],
        hosts: Collection[str] | None,
        options: ServeOptions,
    ) -> None:
        known = sorted(each.name for each in fields(Chosen))
        unknown = [name for name in options if name not in known]
        if unknown:
            raise ConfigurationError(f"there is no option {unknown[0]!r}; there are {', '.join(known)}")
        chosen = self.options = Chosen(**options)
        given = chosen.journal
        if isinstance(given, Journal):  # whose address, of a database, has no password
            journal, store = given, RunStore("" if "://" in given.place else given.place)
        else:
            store = RunStore(given)
            journal = Journal(store.place)
        self.runs = Runs(
            agent if isinstance(agent, Mapping) else {agent.name: agent}, journal, store,
            limits=chosen.limits, timeout=chosen.timeout, most=chosen.max_runs, owner_limits=chosen.owner_limits,
            max_sessions=chosen.max_sessions, structured=chosen.structured,
            approvals=Approvals(journal, chosen.approval_seconds, chosen.approvers), keep_days=chosen.keep_days,
        )  # fmt: skip
        self._beginning, self._has_begun = Lock(), False
        tokens = check_tokens(token)
        if strangers := sorted({*chosen.approvers} - {*tokens}):
            raise ConfigurationError(f"the approver {strangers[0]!r} is no user: give each user a token, by their name")
        self.app = self.build(tokens, hosts)

    def build(self, tokens: Mapping[str, str], hosts: Collection[str] | None) -> Starlette:
        """Build the application: the routes behind the guard."""
        try:
            from starlette.applications import Starlette
            from starlette.middleware import Middleware
            from starlette.middleware.cors import CORSMiddleware
            from starlette.routing import Route
        except ImportError:
            raise MissingExtraError("starlette", "serve") from None
        options, runs = self.options, self.runs
        origins = list(options.origins)
        methods = ["GET", "POST", "DELETE"]
        cors = Middleware(
            CORSMiddleware,
            allow_origins=origins, allow_methods=methods, allow_headers=["*"], expose_headers=_EXPOSED,
        )  # fmt: skip
        guard = Middleware(
            Guard, tokens=tokens, hosts=hosts, origins=origins, max_bytes=options.max_bytes,
            public_url=options.public_url,
        )  # fmt: skip
        known = dict.fromkeys((Failure, JournalError, Exception), refuse)
        for each in options.endpoints:
            each.attach(runs, options.max_bytes)
        handlers: dict[Any, Any] = {404: refuse_route, 405: refuse_route, **known}
        return Starlette(
            routes=[
                *ChatCompletion(runs, options.keywords, options.max_bytes).routes(),
                *RunRoutes(runs, options.max_bytes, options.keywords).routes(),
                *ChatRoutes(runs, options.max_bytes).routes(),
                *ResponseRoutes(runs, options.max_bytes).routes(),
                *AGUIRoutes(runs, options.max_bytes).routes(),
                *AISDKRoutes(runs, options.max_bytes).routes(),
                *A2ARoutes(runs, options.max_bytes, options.public_url).routes(),
                *UIRoutes(runs, options.max_bytes, options.inspectors, options.reports).routes(),
                *(Route(each.path, each, methods=list(each.methods)) for each in options.endpoints),
            ],
            middleware=[*([cors] if origins else []), guard, Middleware(_Begun, begin=self.begin)],
            exception_handlers=handlers,
            lifespan=self._lifespan,
        )

    @asynccontextmanager
    async def _lifespan(self, app: object) -> AsyncGenerator[None]:
        try:
            await self.begin()
            yield
        finally:
            await self.end_runs(0.0, LAST_SECONDS)
            await self.close()

    async def begin(self) -> None:
        """Go on with the runs that a server before this one has left; once, whoever calls this."""
        async with self._beginning:
            if not self._has_begun:
                await self.runs.recover()
                self._has_begun = True

    async def close(self) -> None:
        """End what endpoints have open, and close the files and connections of the runs."""
        for each in self.options.endpoints:
            await each.close()
        self.runs.close()

    async def end_runs(self, grace: float, last: float | None) -> None:
        """Let runs end for that many seconds; those that have not go on after the restart."""
        await self.runs.drain(grace, last)

    def left(self) -> list[str]:
        """Return the runs at work, for the log."""
        return self.runs.left()
