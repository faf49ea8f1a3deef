"""Runs of a server: they belong to its store, and outlive connections and restarts."""

from __future__ import annotations

import logging
import time
from asyncio import CancelledError
from collections import defaultdict
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import replace
from functools import partial
from typing import Any, Final
from uuid import uuid4

from trivium.commander import Limits, gather, wait
from trivium.commander.lowlevel import run_in_worker
from trivium.events import JSONObject, to_json_value
from trivium.exceptions import (
    JournalError,
    RunKilledError,
    RunPausedError,
    UnknownRunError,
)
from trivium.journal import Journal, PendingApproval, ask_later
from trivium.module import Module
from trivium.schema import Message, Usage
from trivium.serving._admission import Admission
from trivium.serving._approvals import Approvals, Verdict, described
from trivium.serving._conversation import check_unattended, client_messages, session_id_of, unknown_session
from trivium.serving._limits import OwnerLimits
from trivium.serving._log import EventLog, EventWriter
from trivium.serving._memories import Memories
from trivium.serving._metrics import Metrics
from trivium.serving._served_run import ServedRun
from trivium.serving._store import DAY_SECONDS, RunRequest, RunState, RunStore, TaskFilter
from trivium.serving._tasks import Background, Turns
from trivium.serving._wire import Failure, to_failure

__all__ = ["Runs"]

SWEEP_SECONDS: Final = 60.0
_log = logging.getLogger("trivium.serve")


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
        approval_seconds: how long a call waits for a decision, before its run is cancelled; None: no limit.
        keep_days: how long runs that have ended are kept; None: no limit.

    Raises:
        ConfigurationError: a task would ask its user at the server's terminal.
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
        keep_days: float | None = None,
    ) -> None:
        self.served, self.journal, self.store = dict(served), journal, store
        for each in self.served.values():
            check_unattended(each)
        self._limits, self._timeout, self._structured = limits, timeout, structured
        self._keep_days, self._approvals = keep_days, Approvals(journal, approval_seconds)
        self._admission = Admission(store, most, owner_limits or OwnerLimits(), limits, max_sessions)
        self._memories = Memories(journal)
        self._writer = EventWriter(store)
        self._runs: dict[str, ServedRun] = {}
        self._turns = Turns()
        self._sweeping: Background | None = None
        self.is_draining = False
        self._metrics: defaultdict[str, Metrics] = defaultdict(Metrics)
        """The numbers of each owner."""

    @property
    def retention(self) -> str:
        """How long runs are kept, and approvals waited for."""
        days, seconds = self._keep_days, self._approvals.seconds
        kept = "until they are deleted" if days is None else f"for {days:g} days after their end"
        waits = "" if seconds is None else f" One that waits for an approval is cancelled after {seconds:g} s."
        return f"They are kept {kept}.{waits}"

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
        is_kept: bool = True,
        protocol: str = "",
        label: str = "",
        fork: str = "",
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
            is_kept: whether it is kept when it has ended; else only those who follow it then have its events.
            protocol: the protocol that lists it, if one does.
            label: the name that its client gives it; see `labelled`.
            fork: a run of the journal that has not begun, which goes on with the messages that it has there.
            **body: what the protocol wants to keep; `options` are keywords of the call.

        Raises:
            Failure: there is no such module or run, the message is invalid, or a limit is reached.
        """
        run_id = fork or f"run_{uuid4().hex}"
        kept = {
            "of_client": of_client, "asks": asks, "is_conversation": is_conversation, "is_kept": is_kept, "fork": fork,
        }  # fmt: skip
        if self.is_draining:
            raise Failure(503, "ShuttingDown", "the server is shutting down: try again in a moment")
        self._admission.reserve(owner)
        try:
            if before:
                last = (await self.find(owner, before)).request
                if last.state != "done":
                    raise Failure(409, "RunNotDone", f"the run {before} is {last.state}: go on when it is done")
                session = last.session if await self._last_of(owner, last.session) == before else run_id
                name = name or last.name
            if not fork:
                client_messages(self.module(name), messages, is_conversation, self._structured)
            name = name or next(iter(self.served))
            request = RunRequest(
                id=run_id, owner=owner, name=name, session=session or run_id, before=before, protocol=protocol,
                body={"messages": messages, **kept, **body},
            )  # fmt: skip
            await self._admission.left(owner, self._runs.values())
            await self._refuse_waiting(request)
            async with self._turns.of(("sessions", owner)):
                await self._admission.check_session(request)
                await run_in_worker(partial(self.store.add, request, label))
        except BaseException:
            self._admission.release(owner)
            raise
        run = ServedRun(request, EventLog(run_id, self._writer))
        run.log.add("started", request.created, run=run_id, name=request.name, session=request.session)
        self._begin(run, is_reserved=True)
        return run

    def module(self, name: str) -> Module:
        """Return a served module; "" is the first one."""
        for served, module in self.served.items():
            if name in ("", served):
                return module
        known = f"there are {', '.join(self.served)}" if self.served else "there is nothing"
        raise Failure(404, "UnknownModel", f"nothing is served as {name[:100]!r}; {known}")

    async def _refuse_waiting(self, request: RunRequest) -> None:
        """Raise a Failure where another run of the conversation waits for a decision: it would not know of this one."""
        waiting = await self.waiting_in(request.owner, request.session)
        if waiting is not None and waiting.id != request.id and waiting.request.created <= request.created:
            text = f"the run {waiting.id} of this conversation waits for a decision: decide it, or cancel it"
            raise Failure(409, "Interrupted", text)

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

    def metrics_text(self, owner: str) -> str:
        """Return the numbers of an owner for Prometheus: all of the server, where it has one token."""
        mine = [run.request for run in self._runs.values() if run.request.owner == owner]
        paused = sum(each.state == "paused" for each in mine)
        return self._metrics[owner].text(self._admission.at_work[owner], paused)

    async def in_session(self, owner: str, session: str) -> list[RunRequest]:
        """Return the runs of a conversation, the oldest first."""
        return await run_in_worker(partial(self.store.in_session, owner, session))

    async def tasks(self, query: TaskFilter) -> tuple[list[RunRequest], list[RunRequest], int]:
        """Return runs that a protocol lists; see `RunStore.tasks`."""
        return await run_in_worker(partial(self.store.tasks, query))

    async def labelled(self, owner: str, session: str, label: str) -> tuple[ServedRun, int] | None:
        """Return the run to which a client's name in a conversation belongs, and the number of the event before."""
        found = await run_in_worker(partial(self.store.labelled, owner, session, label))
        return None if found is None else (await self.find(owner, found[0]), found[1])

    async def waiting_in(self, owner: str, session: str) -> ServedRun | None:
        """Return the run of a conversation that waits for a decision, if it is not too late for one; None: none."""
        request = await run_in_worker(partial(self.store.waiting_in, owner, session))
        run = None if request is None else await self.find(owner, request.id)
        return None if run is None or await self._end_expired(run) or run.request.state != "paused" else run

    async def unfinished_in(self, owner: str, session: str) -> ServedRun | None:
        """Return the latest run of a conversation that has not ended; None: there is none."""
        request = await run_in_worker(partial(self.store.unfinished_in, owner, session))
        return None if request is None else await self.find(owner, request.id)

    async def _last_of(self, owner: str, session: str) -> str:
        """Return the id of the run of a conversation that ended well last; "": there is none."""
        last = await run_in_worker(partial(self.store.last_of, owner, session))
        return "" if last is None else last.id

    async def pending(self, run: ServedRun) -> list[PendingApproval]:
        """Return the calls of a run that wait for a decision."""
        return await self._approvals.pending(run)

    async def decide(
        self,
        run: ServedRun,
        decisions: Mapping[str, Verdict],
        body: JSONObject | None = None,
        *,
        is_part: bool = False,
        label: str = "",
    ) -> None:
        """Decide on the calls that wait, on all of them or on none; when all are decided, the run goes on.

        Args:
            run: the run.
            decisions: what is decided, by the digests of the calls.
            body: what the protocol wants to keep.
            is_part: whether others may still wait.
            label: the name that the client gives to what comes; see `labelled`.

        Raises:
            Failure: these are not what waits, or it is too late; status 409.
        """
        async with self._turns.of(("decide", run.id)):
            note = partial(self.store.label, run.request, label, len(run.log.events)) if label else bool
            if await self._approvals.decide(run, decisions, is_part, note):
                self._go_on(run, body=body or {})

    async def _end_expired(self, run: ServedRun) -> bool:
        """Cancel a run that has waited too long for a decision; return whether it has."""
        if why := await self._approvals.late(run):
            await self.cancel(run, why)
        return bool(why)

    async def cancel(self, run: ServedRun, why: str = "its owner has cancelled it") -> None:
        """Cancel a run; it has ended when this returns. One that has ended stays as it is."""
        run.cancelled = run.cancelled or why
        async with self._turns.of(("decide", run.id)):
            if run.request.state == "paused":
                await self._end(run, "cancelled", why=why)
                self._runs.pop(run.id, None)
        if run.work is not None:
            run.kill(why)
            await run.work.ended()

    def leave(self, run: ServedRun) -> None:
        """Note that the client of a run has left that ends with it."""
        run.cancelled = "the client has left"
        run.kill(run.cancelled)

    async def state_of(self, owner: str, session: str) -> JSONObject:
        """Return what the default module remembers of a conversation.

        Raises:
            Failure: nothing was said in it; status 404.
        """
        last = await run_in_worker(partial(self.store.last_of, owner, session))
        if last is None:
            raise unknown_session()
        module, session_id = self.module(last.name), session_id_of(owner, session)
        async with (
            self._memories.turn_of(module, owner, session),
            self._memories.remembered(module, session_id, last.id, last.id),
        ):
            return to_json_value(module.state_dict(session_id))

    async def forget_session(self, owner: str, session: str) -> None:
        """Delete the runs of a conversation that are over, and what is remembered of it.

        Raises:
            Failure: nothing was said in it; status 404.
        """
        known = await self.in_session(owner, session)
        if not known:
            raise unknown_session()
        for each in known:
            if each.ended:
                await self.forget(await self.find(owner, each.id))
        await self._memories.forget(self.served, owner, session)

    async def forget(self, run: ServedRun) -> None:
        """Delete a run that has ended.

        Raises:
            Failure: it has not; status 409.
        """
        if run.request.is_active or run.request.state == "paused":
            raise Failure(409, "RunNotOver", f"the run is {run.request.state}: cancel it first")
        await self._writer.flush()
        await self._forget(run.id)

    async def _forget(self, run_id: str) -> None:
        with suppress(UnknownRunError):
            await run_in_worker(partial(self.journal.forget, run_id))
        await run_in_worker(partial(self.store.forget, run_id))

    # ---- the life of a run
    def _go_on(self, run: ServedRun, **fields: Any) -> None:
        """Go on with a run that was paused."""
        run.request = replace(run.request, state="queued")
        run.log.resume(time.time(), run.request, **fields)
        self._begin(run)

    def _begin(self, run: ServedRun, is_reserved: bool = False) -> None:
        self._runs[run.id] = run
        self._admission.at_work[run.request.owner] += not is_reserved
        run.work = Background(partial(self._work, run))

    async def _work(self, run: ServedRun) -> None:
        """Work on a run until it ends, pauses, or the server shuts down."""
        request = run.request
        assert run.work is not None
        try:
            module = self.module(request.name)
            run.kill = run.work.cancel
            async with self._memories.turn_of(module, request.owner, request.session):
                run.kill = str
                await self._attempt(run, module)
        except RunPausedError:
            await self._pause(run)
        except CancelledError:  # as it waited for its turn
            if run.cancelled:
                await self._end(run, "cancelled", why=run.cancelled)
        except Exception as error:
            is_killed = isinstance(error, RunKilledError)
            if is_killed and run.cancelled:
                await self._end(run, "cancelled", why=run.cancelled)
            elif not (is_killed and self.is_draining) or request.body["of_client"]:  # else it goes on after the restart
                failure = to_failure(error)
                if failure.status in (500, 502):
                    _log.error("the run %s failed", run.id, exc_info=error)
                await self._end(run, "failed", status=failure.status, **failure.body())
        finally:
            self._admission.release(request.owner)
            run.work, run.kill = None, str
            if run.request.state != "paused" and not self.is_draining:  # then its log is closed at the end
                self._runs.pop(run.id, None)

    async def _attempt(self, run: ServedRun, module: Module) -> None:
        request, body = run.request, run.request.body
        session_id = session_id_of(request.owner, request.session)
        if run.cancelled or self.is_draining:
            raise RunKilledError("it has not begun")
        await self._refuse_waiting(request)
        before = request.before or await self._last_of(request.owner, request.session)
        async with self._memories.remembered(module, session_id, before, run.id if body["is_kept"] else ""):
            approve = module.approve or (ask_later if body["asks"] else None)
            messages = await self._messages(run, module)
            limits = await self._admission.left(request.owner, self._runs.values())
            call = module.open(
                *messages, session_id=session_id, run_id=run.id, journal=self.journal,
                timeout=self._timeout, limits=limits, approve=approve, **body.get("options", {}),
            )  # fmt: skip
            run.kill = call.node.kill
            if run.cancelled:
                raise RunKilledError("it was cancelled before it began")
            run.request, run.used = replace(run.request, state="running"), Usage()
            try:
                async with call as events:
                    async for event in events:
                        run.log.receive(event)
                        run.used += event.usage or Usage()
            finally:
                tokens = run.used.input_tokens + run.used.output_tokens
                run.request = replace(run.request, tokens=tokens, usd=run.used.usd)
        await self._end(run, "done", message=to_json_value(call.result), usage=to_json_value(run.used))

    async def _messages(self, run: ServedRun, module: Module) -> list[Message]:
        body = run.request.body
        if body.get("fork"):
            return (await run_in_worker(partial(self.journal.view, run.id))).input or []
        return client_messages(module, body["messages"], body["is_conversation"], self._structured)

    async def _pause(self, run: ServedRun) -> None:
        waiting = await run_in_worker(partial(self.journal.pending, run.id))
        asked = [*map(described, waiting)]
        self._tell(run, "paused", approvals=asked, usage=to_json_value(run.used))

    async def _end(self, run: ServedRun, state: RunState, **fields: Any) -> None:
        if run.log.is_over:
            return
        run.request = replace(run.request, ended=time.time())
        self._tell(run, state, **fields)
        self._metrics[run.request.owner].note_end(run.request, run.used)
        await self._writer.flush()
        if not run.request.body["is_kept"]:
            await self._forget(run.id)

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
                self._go_on(run)

        self._sweeping = Background(self._sweep)

    async def _sweep(self) -> None:
        """Again and again, cancel the runs that wait too long for a decision, and forget those that ended long ago."""
        wait_seconds, keep_days = self._approvals.seconds, self._keep_days
        while wait_seconds is not None or keep_days is not None:
            with suppress(JournalError, Failure):  # tried again; a run may be deleted meanwhile
                if wait_seconds is not None:
                    for each in await run_in_worker(partial(self.store.paused, time.time() - wait_seconds)):
                        await self._end_expired(await self.find(each.owner, each.id))
                if keep_days is not None:
                    before = time.time() - keep_days * DAY_SECONDS
                    for each in await run_in_worker(partial(self.store.ended_before, before)):
                        await self._forget(each.id)
            await wait(SWEEP_SECONDS)

    async def drain(self, grace: float) -> None:
        """Start no further runs; those that have not ended after some seconds go on after the restart.

        Args:
            grace: the seconds.
        """
        self.is_draining = True
        if self._sweeping is not None:
            self._sweeping.cancel("the server is shutting down")
            await self._sweeping.ended()
        runs = [*self._runs.values()]
        works = [run.work for run in runs if run.work is not None]
        await gather(*(partial(each.ended, grace) for each in works))
        for run in runs:
            run.kill("the server is shutting down")
        await gather(*(each.ended for each in works))
        await self._writer.flush()
        for run in runs:
            run.log.close()
