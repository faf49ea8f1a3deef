"""Runs of a server: they belong to its store, and outlive connections and restarts."""

from __future__ import annotations

import logging
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from dataclasses import replace
from functools import partial
from typing import Any, Final
from uuid import uuid4

from trivium.commander import Limits, gather
from trivium.commander.lowlevel import run_in_worker
from trivium.events import JSONObject, to_json_value
from trivium.exceptions import NoSuchRequestError, RunKilledError, RunPausedError, RunTakenOverError, UnknownRunError
from trivium.journal import Journal, PendingApproval, ask_later
from trivium.module import Module
from trivium.schema import Usage
from trivium.serving._conversation import client_messages, no_such_approval, session_id_of, unknown_session
from trivium.serving._limits import OwnerLimits
from trivium.serving._log import EventLog, EventWriter
from trivium.serving._metrics import Metrics
from trivium.serving._store import RunRequest, RunState, RunStore
from trivium.serving._tasks import Background, Turns
from trivium.serving._wire import Failure, to_failure

__all__ = ["Runs", "ServedRun"]

DAY_SECONDS: Final = 86_400.0
WARM_SESSIONS: Final = 1000
"""The conversations whose messages stay in memory between their runs."""
_log = logging.getLogger("trivium.serve")


class ServedRun:
    """A run of the server, as long as it is at work or followed.

    Args:
        request: what was asked.
        log: what clients are sent.

    Attributes:
        approvals: the calls that wait for a decision, while it is paused.
    """

    def __init__(self, request: RunRequest, log: EventLog, kill: Callable[[str], object] = str) -> None:
        self.request, self.log, self.kill = request, log, kill
        self.work: Background | None = None
        self.is_cancelled = False
        self.used = Usage()

    @property
    def id(self) -> str:
        """The id of the run."""
        return self.request.id


class Runs:
    """The runs of a server.

    Args:
        served: the modules by their names; the first one is the default.
        journal: the journal of the runs.
        store: what was asked and sent.
        limits: what each run may spend.
        timeout: seconds that a run may take; None: no limit.
        most: runs at once.
        owner_limits: what each owner may have.
        max_sessions: conversations with a name of their own that one owner may have.
        structured: whether contents may be values that are not text.
        approval_seconds: how long a call waits for a decision; None: no limit.
    """

    def __init__(
        self,
        served: Mapping[str, Module],
        journal: Journal,
        store: RunStore,
        *,
        limits: Limits | None = None,
        timeout: float | None = None,
        most: int = 100,
        owner_limits: OwnerLimits | None = None,
        max_sessions: int = 10_000,
        structured: bool = False,
        approval_seconds: float | None = None,
    ) -> None:
        self._approval_seconds = approval_seconds
        self.served, self.journal, self.store = dict(served), journal, store
        self._limits, self._timeout, self._most, self._structured = limits, timeout, most, structured
        self._max_sessions = max_sessions
        self._owner_limits = owner_limits or OwnerLimits()
        self._writer = EventWriter(store)
        self._runs: dict[str, ServedRun] = {}
        self._at_work: Counter[str] = Counter()
        self._turns = Turns()
        self._warm: OrderedDict[Hashable, tuple[Module, str]] = OrderedDict()
        """The conversations that modules remember, by their session ids, each with its module and its last run."""
        self.is_draining = False
        self.metrics = Metrics()

    # ---- what clients ask for
    async def start(
        self,
        owner: str,
        name: str,
        messages: object,
        *,
        session: str = "",
        before: str = "",
        of_client: bool = False,
        asks: bool = True,
        is_conversation: bool = False,
        **body: Any,
    ) -> ServedRun:
        """Start a run, which is in the store when this returns.

        Args:
            owner: whose run it is.
            name: the name of the served module; "" for the default.
            messages: what a client says, as for `parse_messages`.
            session: the conversation that it goes on with; "" for the one of `before`, or a new one.
            before: the run from whose end it goes on.
            of_client: whether the run ends with its client.
            asks: whether calls of tools that need an approval wait for one; else they are refused.
            is_conversation: whether the messages are those of `parse_conversation`, which may hold earlier answers.
            **body: what the protocol wants to keep; `options` are keywords of the call.

        Raises:
            Failure: there is no such module or run, the message is invalid, or a limit is reached.
        """
        run_id = f"run_{uuid4().hex}"
        kept = {"of_client": of_client, "asks": asks, "is_conversation": is_conversation, **body}
        self._reserve(owner)
        try:
            if "\0" in session or (session.startswith("run_") and not await self.in_session(owner, session)):
                raise Failure(422, "InvalidRequest", "a new conversation has a name without NUL and run_")
            if before:
                last = (await self.find(owner, before)).request
                if last.state != "done":
                    raise Failure(409, "RunNotDone", f"the run {before} is {last.state}: go on when it is done")
                latest = await run_in_worker(partial(self.store.last_of, owner, last.session))
                session = last.session if latest is not None and latest.id == before else run_id
                name = name or last.name
            client_messages(self.module(name), messages, is_conversation, self._structured)
            name = name or next(iter(self.served))
            request = RunRequest(
                id=run_id, owner=owner, name=name, session=session or run_id, before=before,
                body={"messages": messages, **kept},
            )  # fmt: skip
            await self._left(owner)
            await self._refuse_waiting(request)
            async with self._turns.of(("sessions", owner)):
                await self._check_sessions(owner, request.session)
                await run_in_worker(partial(self.store.add, request))
        except BaseException:
            self._at_work[owner] -= 1
            raise
        run = ServedRun(request, EventLog(run_id, self._writer))
        run.log.add("started", request.created, run=run_id, name=request.name, session=request.session)
        self._begin(run, is_reserved=True)
        return run

    def module(self, name: str) -> Module:
        """Return a served module; "" is the first one."""
        if not name:
            return next(iter(self.served.values()))
        if name not in self.served:
            known = ", ".join(self.served)
            raise Failure(404, "UnknownModel", f"nothing is served as {name[:100]!r}; there are {known}")
        return self.served[name]

    def _reserve(self, owner: str) -> None:
        """Take one of the places of runs at work."""
        if self.is_draining:
            raise Failure(503, "ShuttingDown", "the server is shutting down: try again in a moment")
        at_work, most = self._at_work.total(), self._owner_limits
        if at_work >= self._most:
            text = f"the server runs as much as it may ({self._most} runs, its max_runs); try again later"
            raise Failure(429, "Overloaded", text, "max_runs", self._most)
        if most.runs is not None and self._at_work[owner] >= most.runs:
            text = f"{most.runs} of your runs are at work, as many as may be: wait until one ends, or cancel one"
            raise Failure(429, "TooManyRuns", text, "runs", most.runs)
        self._at_work[owner] += 1

    async def _refuse_waiting(self, request: RunRequest) -> None:
        """Raise a Failure where another run of the conversation waits for a decision: it would not know of this one."""
        for each in await self.in_session(request.owner, request.session):
            if each.state == "paused" and each.id != request.id and each.created <= request.created:
                text = f"the run {each.id} of this conversation waits for a decision: decide it, or cancel it"
                raise Failure(409, "Interrupted", text)

    async def _check_sessions(self, owner: str, session: str) -> None:
        is_new = not session.startswith("run_") and not await self.in_session(owner, session)
        if is_new and await run_in_worker(partial(self.store.count_sessions, owner)) >= self._max_sessions:
            text = (
                f"there are {self._max_sessions} sessions, as many as the server takes (max_sessions): forget some by "
                "DELETE /memory"
            )
            raise Failure(429, "TooManySessions", text, "max_sessions", self._max_sessions)

    async def _left(self, owner: str) -> Limits | None:
        """Return what a run of an owner may spend."""
        most, limits = self._owner_limits, self._limits
        if most.tokens_per_day is None and most.usd_per_day is None:
            return limits
        tokens, usd = await run_in_worker(partial(self.store.spent_since, owner, time.time() - DAY_SECONDS))
        for each in [run for run in self._runs.values() if run.request.owner == owner and run.request.is_active]:
            tokens, usd = tokens + each.used.input_tokens + each.used.output_tokens, usd + each.used.usd
        left: dict[str, float] = {}
        for name, limit, spent, of_run in (
            ("tokens", most.tokens_per_day, tokens, limits and limits.tokens),
            ("usd", most.usd_per_day, usd, limits and limits.usd),
        ):
            if limit is not None and spent >= limit:
                text = f"you have used {spent:g} of {limit:g} {name} a day: wait until the oldest runs are a day old"
                raise Failure(429, "SpentForToday", text, f"{name}_per_day", limit)
            if limit is not None:
                left[name] = min(limit - spent, of_run if of_run is not None else limit)
        return replace(limits or Limits(), **left)

    async def find(self, owner: str, run_id: str) -> ServedRun:
        """Return a run of an owner.

        Raises:
            Failure: the owner has none of this id; status 404.
        """
        run = self._runs.get(run_id)
        if run is None:
            request = await run_in_worker(partial(self.store.find, run_id))
            if request is not None and request.owner == owner:
                events = await run_in_worker(partial(self.store.events, run_id))
                run = self._runs.get(run_id) or ServedRun(request, EventLog(run_id, self._writer, events))
                if request.state == "paused":
                    self._runs[run_id] = run
        if run is None or run.request.owner != owner:
            raise Failure(404, "UnknownRun", f"you have no run {run_id[:100]!r}")
        return run

    def alone(self, owner: str, session: str) -> AbstractAsyncContextManager[None]:
        """Have one request of a conversation after the other look what there is, as long as the block runs."""
        return self._turns.of(("begin", owner, session))

    async def of_owner(self, owner: str, most: int) -> list[RunRequest]:
        """Return the runs of an owner, the latest first."""
        return await run_in_worker(partial(self.store.runs_of, owner, most))

    def metrics_text(self) -> str:
        """Return the server's numbers for Prometheus."""
        paused = sum(run.request.state == "paused" for run in self._runs.values())
        return self.metrics.text(self._at_work.total(), paused)

    async def in_session(self, owner: str, session: str) -> list[RunRequest]:
        """Return the runs of a conversation, the oldest first."""
        return await run_in_worker(partial(self.store.in_session, owner, session))

    async def pending(self, run: ServedRun) -> list[PendingApproval]:
        """Return the calls of a run that wait for a decision."""
        if run.request.state != "paused":
            return []
        return await run_in_worker(partial(self.journal.pending, run.id))

    async def decide(
        self, run: ServedRun, digest: str, approved: bool, reason: str = "", body: JSONObject | None = None
    ) -> None:
        """Decide on a call that waits; when all are decided, the run goes on.

        Args:
            run: the run.
            digest: the digest of the call.
            approved: whether it runs.
            reason: why it does not; the model reads it.
            body: what the protocol wants to keep.

        Raises:
            Failure: nothing of this digest waits; status 409.
        """
        async with self._turns.of(("decide", run.id)):
            if run.request.state != "paused":
                raise no_such_approval(digest)
            asked = next((each.asked_at for each in await self.pending(run) if each.digest == digest), None)
            wait = self._approval_seconds
            if approved and asked is not None and wait is not None and time.time() > asked + wait:
                text = f"nobody has decided within {wait:g} s (approval_seconds): refuse the call, or cancel the run"
                raise Failure(409, "ApprovalExpired", text, "approval_seconds", wait)
            by = run.request.owner or "user"
            act = self.journal.approve if approved else partial(self.journal.refuse, reason=reason)
            try:
                await run_in_worker(partial(act, run.id, digest, by=by))
            except (NoSuchRequestError, RunTakenOverError, UnknownRunError):
                raise no_such_approval(digest) from None
            run.log.add("decided", time.time(), digest=digest, approved=approved, by=by, reason=reason)
            waiting = await run_in_worker(partial(self.journal.pending, run.id))
            if not waiting and run.request.state == "paused":
                run.request = replace(run.request, state="queued")
                run.log.resume(time.time(), run.request, body=body or {})
                self._begin(run)

    async def cancel(self, run: ServedRun, why: str = "its owner has cancelled it") -> None:
        """Cancel a run; it has ended when this returns. One that has ended stays as it is."""
        run.is_cancelled = True
        if run.request.state == "queued":  # it waits for its turn
            await self._end(run, "cancelled", why=why)
        elif run.work is not None:
            run.kill(why)
            await run.work.ended()
        elif run.request.state == "paused":
            await self._end(run, "cancelled", why=why)
            self._runs.pop(run.id, None)

    def leave(self, run: ServedRun) -> None:
        """Note that the client of a run has left that ends with it."""
        run.is_cancelled = True
        run.kill("the client has left")

    async def state_of(self, owner: str, session: str) -> JSONObject:
        """Return what the default module remembers of a conversation.

        Raises:
            Failure: nothing was said in it; status 404.
        """
        last = await run_in_worker(partial(self.store.last_of, owner, session))
        if last is None:
            raise unknown_session()
        module, session_id = self.module(last.name), session_id_of(owner, session)
        async with self._turn_of(module, owner, session):
            await self._remember(module, session_id, last.id)
            self._warm[session_id] = (module, last.id)
            return to_json_value(module.state_dict(session_id))

    async def forget_session(self, owner: str, session: str) -> None:
        """Delete the runs of a conversation that are over, and what is remembered of it.

        Raises:
            Failure: nothing was said in it; status 404.
        """
        known = await run_in_worker(partial(self.store.in_session, owner, session))
        if not known:
            raise unknown_session()
        for each in known:
            if each.ended:
                await self.forget(await self.find(owner, each.id))
        session_id = session_id_of(owner, session)
        self._warm.pop(session_id, None)
        for module in self.served.values():
            async with self._turn_of(module, owner, session):
                module.reset(session_id, recursive=True)

    def _turn_of(self, module: Module, owner: str, session: str) -> AbstractAsyncContextManager[None]:
        """Return the turn of a conversation: one run after the other, where the module remembers any."""
        if all(each.memory is None for _, each in module.named_modules()):
            return nullcontext()
        return self._turns.of((owner, session))

    async def forget(self, run: ServedRun) -> None:
        """Delete a run that has ended.

        Raises:
            Failure: it has not; status 409.
        """
        if run.request.is_active or run.request.state == "paused":
            raise Failure(409, "RunNotOver", f"the run is {run.request.state}: cancel it first")
        await self._writer.flush()
        with suppress(UnknownRunError):
            await run_in_worker(partial(self.journal.forget, run.id))
        await run_in_worker(partial(self.store.forget, run.id))

    # ---- the life of a run
    def _begin(self, run: ServedRun, is_reserved: bool = False) -> None:
        self._runs[run.id] = run
        self._at_work[run.request.owner] += not is_reserved
        run.work = Background(partial(self._work, run))

    async def _work(self, run: ServedRun) -> None:
        """Work on a run until it ends, pauses, or the server shuts down."""
        request = run.request
        try:
            module = self.module(request.name)
            async with self._turn_of(module, request.owner, request.session):
                await self._attempt(run, module)
        except RunPausedError:
            await self._pause(run)
        except Exception as error:
            is_killed = isinstance(error, RunKilledError)
            if is_killed and run.is_cancelled:
                await self._end(run, "cancelled", why=str(error))
            elif not (is_killed and self.is_draining) or request.body["of_client"]:  # else it goes on after the restart
                failure = to_failure(error)
                if failure.status in (500, 502):
                    _log.error("the run %s failed", run.id, exc_info=error)
                await self._end(run, "failed", status=failure.status, **failure.body())
        finally:
            self._at_work[request.owner] -= 1
            self._at_work += Counter()  # without those that have none
            run.work, run.kill = None, str
            if run.request.state != "paused":
                self._runs.pop(run.id, None)

    async def _attempt(self, run: ServedRun, module: Module) -> None:
        request = run.request
        session_id = session_id_of(request.owner, request.session)
        if run.is_cancelled or self.is_draining:
            raise RunKilledError("it has not begun")
        await self._refuse_waiting(request)
        last = await run_in_worker(partial(self.store.last_of, request.owner, request.session))
        await self._remember(module, session_id, request.before or ("" if last is None else last.id))
        approve = module.approve or (ask_later if request.body["asks"] else None)
        body = request.body
        messages = client_messages(module, body["messages"], body["is_conversation"], self._structured)
        call = module.open(
            *messages, session_id=session_id, run_id=run.id, journal=self.journal,
            timeout=self._timeout, limits=await self._left(request.owner), approve=approve,
            **body.get("options", {}),
        )  # fmt: skip
        run.kill = call.node.kill
        if run.is_cancelled:
            raise RunKilledError("it was cancelled before it began")
        run.request, run.used = replace(run.request, state="running"), Usage()
        try:
            async with call as events:
                async for event in events:
                    run.log.receive(event)
                    run.used += event.usage or Usage()
        finally:
            used = run.used
            run.request = replace(run.request, tokens=used.input_tokens + used.output_tokens, usd=used.usd)
        self._warm[session_id] = (module, run.id)
        while len(self._warm) > WARM_SESSIONS:
            cold, (of, _) = self._warm.popitem(last=False)
            of.reset(cold, recursive=True)
        await self._end(run, "done", message=to_json_value(call.result), usage=to_json_value(run.used))

    async def _remember(self, module: Module, session_id: Hashable, before: str) -> None:
        """Have a module remember what was said up to the end of a run, and nothing else of the conversation."""
        if self._warm.pop(session_id, (module, "")) == (module, before) and before:
            return
        module.reset(session_id, recursive=True)
        if before:
            view = await run_in_worker(partial(self.journal.view, before))
            await run_in_worker(partial(view.restore, module, session_id))

    async def _pause(self, run: ServedRun) -> None:
        waiting = await run_in_worker(partial(self.journal.pending, run.id))
        asked = [
            {"digest": each.digest, "name": each.name, "arguments": each.arguments, "key": each.entry.parent}
            for each in waiting
        ]
        self._tell(run, "paused", approvals=asked, usage=to_json_value(run.used))

    async def _end(self, run: ServedRun, state: RunState, **fields: Any) -> None:
        if run.log.is_over:
            return
        run.request = replace(run.request, ended=time.time())
        self._tell(run, state, **fields)
        self.metrics.note_end(run.request, run.used)
        await self._writer.flush()

    def _tell(self, run: ServedRun, state: RunState, **fields: Any) -> None:
        """Note a state of a run, and tell its clients."""
        run.request = replace(run.request, state=state)
        run.log.add(state, run.request.ended or time.time(), run.request, **fields)

    # ---- the life of the server
    async def recover(self) -> None:
        """Go on with the runs that a server before this one has left."""
        for request in await run_in_worker(self.store.unfinished):
            events = await run_in_worker(partial(self.store.events, request.id))
            run = ServedRun(request, EventLog(request.id, self._writer, events))
            if request.body["of_client"]:
                await self._end(run, "cancelled", why="the server has ended, and its client with it")
                continue
            run.log.resume(time.time())
            self._begin(run)
        for request in await run_in_worker(self.store.paused):
            run = await self.find(request.owner, request.id)
            if run.request.state == "paused" and not await self.pending(run):  # all was decided before the server ended
                run.request = replace(run.request, state="queued")
                run.log.resume(time.time(), run.request)
                self._begin(run)

    async def drain(self, grace: float) -> None:
        """Start no further runs; those that have not ended after some seconds go on after the restart.

        Args:
            grace: the seconds.
        """
        self.is_draining = True
        works = [run.work for run in self._runs.values() if run.work is not None]
        await gather(*(partial(each.ended, grace) for each in works))
        for run in [*self._runs.values()]:
            run.kill("the server is shutting down")
        await gather(*(each.ended for each in works))
        await self._writer.flush()
        for run in [*self._runs.values()]:
            run.log.close()
