"""Calls of agents, tasks and other modules by clients: runs of the server, as its other protocols have them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from trivium.actions import as_text
from trivium.exceptions import ToolArgumentsError
from trivium.journal import Journal
from trivium.mcp._asking import STATE_SECONDS, Asking, RequestContext, can_ask_later, elicitation, is_accepted, user_of
from trivium.mcp._blocks import DeclaredOutput, failure
from trivium.module import Module
from trivium.serving import OwnerLimits
from trivium.serving.lowlevel import ENDS, STOPS, Approvals, Runs, RunStore, ServedRun, Verdict, shutting_down

if TYPE_CHECKING:
    from mcp import MCPError, types

_MOST_SESSIONS: Final = 1_000_000
"""Connections have conversations of their own, and nobody tells which of them will come back."""
_REFUSED: Final = "the user has refused it; go on without it"


def own_runs(
    served: Mapping[str, Module],
    timeout: float | None,
    journal: str | Path = "",
    owner_limits: OwnerLimits | None = None,
    max_runs: int = 100,
) -> Callable[[], Runs]:
    """Return a function that makes the runs of a server of MCP alone.

    Args:
        served: the modules by their names.
        timeout: seconds that a run may take; None: no limit.
        journal: where runs are written down; "": a file of the server's own, which is deleted with its end.
        owner_limits: what each user may have and spend; None: no limit.
        max_runs: runs at once.
    """

    def make() -> Runs:
        store = RunStore(journal, "trivium-mcp-")
        own = Journal(store.place)
        return Runs(
            served, own, store,
            timeout=timeout, most=max_runs, owner_limits=owner_limits, max_sessions=_MOST_SESSIONS,
            approvals=Approvals(own, STATE_SECONDS),
        )  # fmt: skip

    return make


class AgentCalls:
    """The calls of the modules that a server's runs are of.

    Args:
        make: makes the runs; again where a server that has ended begins anew.
        names: the names of the modules, by those of their tools.
        outputs: the types of their answers by the names of the tools, where they declare any.
        forgets: whether a run is deleted with its end with which no conversation can go on.
    """

    def __init__(
        self,
        make: Callable[[], Runs],
        names: Mapping[str, str],
        outputs: Mapping[str, DeclaredOutput | None],
        forgets: bool = False,
    ) -> None:
        self._make, self._names, self._outputs, self._forgets = make, names, outputs, forgets
        self._runs = make()

    async def begin(self) -> None:
        """Begin to serve; runs of a server before this one have ended with their clients."""
        self._runs.close()  # those before, or those that nobody used
        self._runs = self._make()
        await self._runs.recover()

    async def end(self, grace: float, last: float | None) -> None:
        """End the runs that have not ended after some seconds; see `Runs.drain`."""
        await self._runs.drain(grace, last)

    def left(self) -> list[str]:
        """Return the runs at work, for a log."""
        return self._runs.left()

    def close(self) -> None:
        """Close the files and connections of the runs."""
        self._runs.close()

    async def call(self, name: str, arguments: Mapping[str, Any], ctx: RequestContext, params: Any) -> Any:
        """Call a module, or go on with a call that waited for the user of the client.

        Raises:
            Failure: the run cannot be started, or is not there.
            ToolArgumentsError: the arguments do not fit.
        """
        owner = user_of(ctx) or ""
        if params.request_state:
            run_id, asked, seq = _state_of(params.request_state)
            run = await self._runs.find(owner, run_id)
            if run.request.name != self._names[name]:
                raise _not_ours()
            await self._decide(run, asked, params.input_responses or {})
            return await self._follow(run, name, seq, ctx)
        message, session = arguments.get("message"), arguments.get("session", "")
        if not isinstance(message, str) or not isinstance(session, str) or arguments.keys() - {"message", "session"}:
            raise ToolArgumentsError("the arguments are `message` and, if wanted, `session`: both texts", name)
        asks = Asking(ctx, {}).can("elicitation")
        run = await self._runs.start(
            owner, self._names[name], message, session=_session(ctx, name, session), of_client=True, asks=asks,
            protocol="mcp",
        )  # fmt: skip
        return await self._follow(run, name, 0, ctx)

    async def _follow(self, run: ServedRun, name: str, seq: int, ctx: RequestContext) -> Any:
        """Return the outcome of a run, or what it asks of the user; a client that leaves ends it."""
        wants, done = "progress_token" in (ctx.meta or {}), 0
        is_over = False
        try:
            while True:
                if waiting := await self._waiting(run):
                    questions = {digest: elicitation(*asked) for digest, asked in waiting.items()}
                    if can_ask_later(ctx):
                        is_over = True
                        return _pause(run, seq, questions)
                    answers = await Asking(ctx, {}).send(questions)
                    await self._decide(run, list(questions), answers)
                async for event in run.log.follow(seq, STOPS):
                    seq = event["seq"]
                    if event["kind"] in ENDS:
                        is_over = True
                        return await self._outcome(run, name, event)
                    if wants and (text := _progress_of(event)):
                        done += 1
                        await ctx.session.report_progress(done, None, text)
                    if event["kind"] == "paused":
                        break
                else:
                    raise shutting_down()
        finally:
            if not is_over:
                self._runs.leave(run)

    async def _waiting(self, run: ServedRun) -> dict[str, tuple[str, dict[str, Any], str]]:
        """Return the calls that wait for a decision, and why they are asked about, by their digests."""
        return {each.digest: (each.name, each.arguments, each.why) for each in await self._runs.approvals.pending(run)}

    async def _decide(self, run: ServedRun, asked: list[str], answers: Mapping[str, types.InputResponse]) -> None:
        """Decide on the calls that were asked about and answered; what was decided before stays as it was."""
        waiting = await self._waiting(run)
        approved = {each: is_accepted(answers[each]) for each in asked if each in waiting and each in answers}
        decisions = {each: Verdict(yes, "" if yes else _REFUSED) for each, yes in approved.items()}
        if decisions:
            await self._runs.decide(run, decisions, is_part=True)

    async def _outcome(self, run: ServedRun, name: str, event: Mapping[str, Any]) -> types.CallToolResult:
        from mcp.types import CallToolResult, TextContent

        request = run.request
        if self._forgets and request.session == request.id:
            await self._runs.forget_session(request.owner, request.session)
        if event["kind"] == "failed":
            error = event["error"]
            return failure(f"{error['type']}: {error['message']}")
        if event["kind"] == "cancelled":
            return failure(f"the run was cancelled: {event.get('why', '')}")
        message, output = event["message"], self._outputs[name]
        found = [message[name] for name in ("output", "content") if message.get(name) is not None]
        answers = [*found, *message.get("attachments", ())]  # as JSON has them: which is the answer, its type tells
        structured = None if output is None else output.structured(answers, name)
        return CallToolResult(content=[TextContent(text=as_text(message["content"]))], structured_content=structured)


def _pause(run: ServedRun, seq: int, questions: Mapping[str, types.InputRequest]) -> types.InputRequiredResult:
    from mcp.types import InputRequiredResult

    state = json.dumps({"run": run.id, "asked": list(questions), "seq": seq})
    return InputRequiredResult(input_requests=dict(questions), request_state=state)


def _state_of(text: str) -> tuple[str, list[str], int]:
    """Return the run of a state that a client gives back, what it was asked, and how far it has followed.

    A client may write any: it names a run of its own, on whose calls it may decide.
    """
    with suppress(ValueError, TypeError, KeyError, RecursionError):
        state = json.loads(text)
        run_id, asked, seq = state["run"], state["asked"], state["seq"]
        if isinstance(run_id, str) and isinstance(asked, list) and type(seq) is int and seq >= 0:
            return run_id, [each for each in cast("list[object]", asked) if isinstance(each, str)], seq
    raise _not_ours()


def _not_ours() -> MCPError:
    from mcp import MCPError
    from mcp.types import INVALID_PARAMS

    return MCPError(INVALID_PARAMS, "requestState is none of this tool: call it again without, to begin a run")


def _progress_of(event: Mapping[str, Any]) -> str:
    """Return what a client that wants progress is told of an event."""
    if event["kind"] in ("delta", "reasoning"):
        return event["text"]
    if event["kind"] == "tool_progress":
        return event.get("text") or f"{event['done']:g}"
    return event["name"] if event["kind"] == "tool_call" else ""


def _session(ctx: RequestContext, module: str, name: str) -> str:
    """Return the conversation of the caller: a process has one client, and a newer HTTP client has no connection.

    One without a name of the client's ends with "/", and is none of those that `max_sessions` counts; see `is_named`.
    """
    connection = "" if ctx.request is None else ctx.request.headers.get("mcp-session-id")
    if connection is None and not name:
        return ""
    return f"mcp:{connection or ''}:{module}/{name}"
