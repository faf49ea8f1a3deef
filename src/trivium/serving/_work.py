"""The runs that a server is at work on: from their beginning to their end, or to a decision that they wait for."""

from __future__ import annotations

import logging
import time
from asyncio import CancelledError
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from functools import partial
from typing import Any, Final

from trivium.commander import gather, wait
from trivium.commander.lowlevel import run_in_worker
from trivium.events import JSONObject, is_of_signal_handler, to_json_value
from trivium.exceptions import (
    JournalError,
    JournalVersionError,
    RunAliveError,
    RunKilledError,
    RunPausedError,
    RunTakenOverError,
    UnknownRunError,
)
from trivium.journal import Journal, ask_later
from trivium.journal.lowlevel import hold_back
from trivium.module import Module
from trivium.schema import Message, Usage
from trivium.serving._admission import Admission
from trivium.serving._approvals import described
from trivium.serving._claims import RunClaims, pauses
from trivium.serving._conversation import client_messages, session_id_of
from trivium.serving._log import EventLog, EventWriter
from trivium.serving._memories import Memories
from trivium.serving._metrics import Metrics
from trivium.serving._served_run import ServedRun, ends_with_client
from trivium.serving._store import CLOCK_STEP, RunRequest, RunState, RunStore
from trivium.serving._tasks import Background, by_itself
from trivium.serving._watch import DELETED, Watch
from trivium.serving._wire import Failure, to_failure

_OF_JOURNAL: Final = (JournalVersionError, RunTakenOverError)
"""The errors of the journal itself, beside that it cannot be used; its other ones are about what a run did."""
_LEAST_RETRY, _MOST_RETRY = 1.0, 60.0
_log = logging.getLogger("trivium.serve")


class Work:
    """The runs that this server is at work on, each of which it has claimed.

    Args:
        served: the modules by their names.
        journal: the journal of the runs.
        store: what was asked and sent.
        claims: what this server alone may do.
        admission: the places of the runs.
        timeout: seconds that a run may take; None: no limit.
        structured: whether contents may be values that are not text.
        check: called with a run before it begins; raises a Failure where it may not.
    """

    def __init__(
        self,
        served: Mapping[str, Module],
        journal: Journal,
        store: RunStore,
        claims: RunClaims,
        admission: Admission,
        *,
        timeout: float | None,
        structured: bool,
        check: Callable[[RunRequest], Awaitable[None]],
    ) -> None:
        self._served, self._journal, self._store, self._claims = served, journal, store, claims
        self._admission, self._timeout, self._structured, self._check = admission, timeout, structured, check
        self._writer = EventWriter(store, self.lose)
        self.memories, self.watch = Memories(served, journal, store, claims), Watch(store)
        self.at_work: dict[str, ServedRun] = {}
        self.is_draining = False
        self.metrics: defaultdict[str, Metrics] = defaultdict(Metrics)
        """The numbers of each owner."""

    def module(self, name: str) -> Module:
        """Return a served module; "" is the first one."""
        for served, module in self._served.items():
            if name in ("", served):
                return module
        known = f"there are {', '.join(self._served)}" if self._served else "there is nothing"
        raise Failure(404, "UnknownModel", f"nothing is served as {name[:100]!r}; {known}")

    # ---- one run
    def log_of(self, request: RunRequest, *events: Any) -> EventLog:
        """Return the log of a run with the events that are written."""
        return EventLog(request.id, self._writer, events, request.epoch)

    async def take_up(self, run: ServedRun, state: RunState | None = None) -> bool:
        """Claim a run that no server is at work on; return False where there is none, or another one has it.

        With a state it has that at once: one that goes on after a pause cannot be deleted any more.
        """
        if run.work is not None or not await self._claims.take(run.id):
            return False
        try:
            request, events = await run_in_worker(partial(self._store.take_up, run.id, len(run.log.events), state))
        except BaseException:
            await self._claims.give_back(run.id)
            raise
        if request is None or request.ended:
            await self._claims.give_back(run.id)
            return False
        run.request, run.cancelled = request, request.cancelled
        run.log.catch_up(events, request.epoch)
        return True

    def go_on(self, run: ServedRun, **fields: Any) -> None:
        """Go on with a run that was taken up."""
        self._resume(run, **fields)
        self.begin(run)

    def _resume(self, run: ServedRun, **fields: Any) -> None:
        run.request = replace(run.request, state="queued")
        run.log.resume(time.time(), run.request, **fields)

    async def go_on_decided(self, run: ServedRun, **fields: Any) -> None:
        """Go on with a run of which all is decided, once the server where it paused has given it back."""
        for pause in pauses():
            if run.request.state != "paused":  # another server goes on with it
                return
            if await self.take_up(run, "queued"):
                self.go_on(run, **fields)
                await run.log.written()  # that it waits no longer
                return
            await wait(pause)
            await self.watch.refresh(run)

    async def leave_to_others(self, run: ServedRun) -> None:
        """Leave a decided run to a server that has its object: it goes on when there is one."""
        run.request = replace(run.request, state="queued")
        run.log.note(run.request)
        await self._writer.flush()

    async def is_left(self, request: RunRequest) -> bool:
        """Return whether a run is that of a client that has gone: nobody was asked, who may answer elsewhere."""
        is_of_client = request.body["of_client"]  # few are: of others no event is read
        return is_of_client and ends_with_client(request, await run_in_worker(partial(self._store.events, request.id)))

    def begin(self, run: ServedRun, is_reserved: bool = False) -> ServedRun:
        """Begin to work on a run that this server has claimed, and return it."""
        self.watch.remove(run)
        self.at_work[run.id] = run
        self._admission.at_work[run.request.owner] += not is_reserved
        run.is_lost, run.work = False, Background(partial(self._work, run))
        return run

    def lose(self, run_id: str) -> None:
        """Stop the work on a run that another server has taken up."""
        run = self.at_work.get(run_id)
        if run is not None and not run.is_lost:
            _log.warning("another server has taken the run %s up: this one was cut off from the database", run_id)
            run.is_lost = True
            run.log.lose()
            run.kill("another server has taken it up")

    async def _work(self, run: ServedRun) -> None:
        """Work on a run until it ends, pauses, or the server shuts down."""
        request = run.request
        try:
            await self._attempts(run)
        except BaseException as error:  # SystemExit, too, ends no other run than its own
            if is_of_signal_handler(error):
                raise
            await self._end_by(run, error)
        finally:
            await run.log.written()  # before another server may take it up
            await self._claims.give_back(run.id)
            self._admission.budgets.end(request.owner, run.id)
            self._admission.release(request.owner)
            run.work, run.node, run.kill = None, None, str
            self.at_work.pop(run.id, None)
            if not run.log.is_over:
                self.watch.add(run)

    async def _end_by(self, run: ServedRun, error: BaseException) -> None:
        """End a run by the error that it raised, unless it goes on elsewhere or after a restart."""
        is_woken = run.work is not None and run.work.is_cancelled and isinstance(error, CancelledError)
        is_killed = isinstance(error, RunKilledError)
        if (is_woken or is_killed) and run.cancelled:
            await self.end(run, "cancelled", why=run.cancelled)
        elif is_woken or run.is_lost:  # the first as it waited for its turn, or for the journal
            pass
        elif not (is_killed and self.is_draining) or run.ends_with_client:  # else it goes on after the restart
            failure = self._admission.budgets.failure(error) or to_failure(error)
            if failure.status in (500, 502):
                _log.error("the run %s failed", run.id, exc_info=error)
            await self.end(run, "failed", status=failure.status, **failure.body())

    async def _attempts(self, run: ServedRun) -> None:
        """Try a run in its turn, until an attempt is over that did not end by an error of the journal itself."""
        assert run.work is not None
        module, has_turn, is_taken = self.module(run.request.name), False, False
        async with AsyncExitStack() as turn:  # which it keeps: a later run of its conversation would not know of it
            for pause in pauses(_LEAST_RETRY, _MOST_RETRY):
                run.kill = run.work.cancel
                try:
                    if not has_turn:
                        await turn.enter_async_context(self.memories.turn_of_run(module, run.request))
                        has_turn = True
                    if is_taken:
                        await run_in_worker(partial(self._journal.info, run.id))  # raises where it was deleted
                    if await self._is_deleted(run):
                        return await self.end(run, "cancelled", why=DELETED)
                    return await self._attempt(run, module)
                except JournalError as error:
                    if not self._is_of_journal(error, run) or run.is_lost:
                        raise
                    is_taken = isinstance(error, RunTakenOverError)
                    _log.error("the run %s goes on when the journal can be used again: %s", run.id, error)
                if run.log.is_over or self.is_draining:
                    return None
                run.kill = run.work.cancel
                if run.cancelled:
                    return await self.end(run, "cancelled", why=run.cancelled)
                await wait(pause)
                self._resume(run)
                await run.log.written()  # which is when the database is back

    async def _is_deleted(self, run: ServedRun) -> bool:
        """Return whether a run that has paused is gone from the journal: what it has done would be done again."""
        if not run.log.pauses:
            return False
        with suppress(UnknownRunError):
            await run_in_worker(partial(self._journal.info, run.id))
            return False
        return True

    def _is_of_journal(self, error: JournalError, run: ServedRun) -> bool:
        """Return whether the journal of the runs cannot be used; a tool may read another one."""
        if type(error) is JournalError:
            return error.place == self._journal.place
        return type(error) in _OF_JOURNAL and error.run_id in ("", run.id)

    async def _attempt(self, run: ServedRun, module: Module) -> None:
        """Try a run once, up to its end or a pause."""
        if run.request.epoch:  # taken up from another server, or from the one before
            await hold_back(self._journal, run.id)
        if run.is_lost:
            return
        run.kill = str
        try:
            await self._call(run, module)
        except RunPausedError:
            await (self.end(run, "cancelled", why=run.cancelled) if run.cancelled else self._pause(run))

    async def _call(self, run: ServedRun, module: Module) -> None:
        request, body = run.request, run.request.body
        session_id = session_id_of(request.owner, request.session)
        if run.cancelled or self.is_draining:
            raise RunKilledError("it has not begun")
        await self._check(request)
        last = await self.memories.last_run(request.owner, request.session)
        before, run.since = request.before or ("" if last is None else last.id), 0.0 if last is None else last.ended
        async with self.memories.remembered(module, session_id, before, run.id if body["is_kept"] else ""):
            approve = module.approve or (ask_later if body["asks"] else None)
            messages = await self._messages(run, module)
            budgets = self._admission.budgets
            await budgets.check(request.owner)
            call = module.open(
                *messages, session_id=session_id, run_id=run.id, journal=self._journal,
                context=request.owner or None, timeout=self._timeout, approve=approve, **body.get("options", {}),
            )  # fmt: skip
            await budgets.begin(request.owner, run.id, call.node)
            run.kill, run.node = call.node.kill, call.node
            if run.cancelled:
                raise RunKilledError("it was cancelled before it began")
            run.request, run.used = replace(run.request, state="running"), Usage()
            run.log.note(run.request)
            async with call as events:
                async for event in events:
                    run.log.receive(event)
                    if event.usage is not None:
                        run.used += event.usage
                        await self._note_usage(run)
        await self.end(run, "done", message=_told(call.result), usage=to_json_value(run.used))

    async def _note_usage(self, run: ServedRun) -> None:
        """Write what a run has spent, so that it counts at once in all servers, and read what others have."""
        tokens = run.used.input_tokens + run.used.output_tokens
        run.request = replace(run.request, tokens=tokens, usd=run.used.usd)
        run.log.note(run.request)
        if self._store.database.is_shared:
            await self._admission.budgets.refresh(run.request.owner)

    async def _messages(self, run: ServedRun, module: Module) -> list[Message]:
        body = run.request.body
        if body.get("fork"):
            return (await run_in_worker(partial(self._journal.view, run.id))).input or []
        return client_messages(module, body["messages"], body["is_conversation"], self._structured)

    async def _pause(self, run: ServedRun) -> None:
        waiting = await run_in_worker(partial(self._journal.pending, run.id))
        asked = [*map(described, waiting)]
        self._tell(run, "paused", approvals=asked, usage=to_json_value(run.used))
        await run.log.written()  # before the next run of the conversation looks what waits

    async def end(self, run: ServedRun, state: RunState, **fields: Any) -> None:
        """End a run; it is written when this returns."""
        if run.log.is_over or run.is_lost:
            return
        run.request = replace(run.request, ended=max(time.time(), run.since + CLOCK_STEP))
        self._tell(run, state, **fields)
        self.metrics[run.request.owner].note_end(run.request, run.used)
        await run.log.written()
        if not run.request.body["is_kept"]:
            await self.forget(run.id)

    async def forget(self, *run_ids: str) -> None:
        """Delete runs."""
        with suppress(UnknownRunError):
            await run_in_worker(partial(self._journal.forget, run_ids))
        await run_in_worker(partial(self._store.forget, run_ids))

    async def forget_ended(self, before: float) -> None:
        """Delete the runs that ended before a time, but for those that go on in another program."""
        found = await run_in_worker(partial(self._store.ended_before, before))
        while found:
            ids = [run_id for _, run_id in found]
            try:
                await self.forget(*ids)
            except RunAliveError:  # none is deleted then
                for each in ids:
                    with by_itself(each):
                        await self.forget(each)
            found = await run_in_worker(partial(self._store.ended_before, before, found[-1]))

    async def last_of(self, owner: str, session: str) -> str:
        """Return the id of the run of a conversation that ended well last; "": there is none."""
        last = await run_in_worker(partial(self._store.last_of, owner, session))
        return "" if last is None else last.id

    async def is_last(self, run: RunRequest) -> bool:
        """Return whether a conversation goes on from a run: no other is done after it, or under way."""
        is_last = await self.last_of(run.owner, run.session) == run.id
        return is_last and await run_in_worker(partial(self._store.unfinished_in, run.owner, run.session)) is None

    def _tell(self, run: ServedRun, state: RunState, **fields: Any) -> None:
        """Note a state of a run, and tell its clients."""
        run.request = replace(run.request, state=state)
        run.log.add(state, run.request.ended or time.time(), run.request, **fields)

    def left(self) -> list[str]:
        """Return the runs at work, each with what it is at, for a log."""
        return [f"the run {each.id}{each.place()}" for each in [*self.at_work.values()]]

    async def drain(self, grace: float, last: float | None) -> None:
        """End the work on all runs; see `Runs.drain`."""
        self.is_draining = True
        runs = [*self.at_work.values()]
        works = [run.work for run in runs if run.work is not None]
        await gather(*(partial(each.ended, grace) for each in works))
        for run in runs:
            run.kill("the server is shutting down")
        await gather(*(partial(each.ended, last) for each in works))
        for each in self.left():
            _log.warning("what is at work cannot be stopped: left to the next start is %s", each)
        await Background(self._writer.flush).ended(last)
        for run in (*runs, *self.watch.runs):
            run.log.close()


def _told(answer: Message) -> JSONObject:
    """Return an answer as JSON: also the value of a typed one, which a dumped message does not repeat."""
    value = (answer.model_extra or {}).get("output")
    is_typed = value is not None and not isinstance(value, Exception)
    return to_json_value(answer) | ({"output": to_json_value(value)} if is_typed else {})
