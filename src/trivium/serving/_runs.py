"""Runs of a server: they belong to its store, and outlive connections and restarts."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, suppress
from functools import partial
from math import inf
from typing import Any, Final
from uuid import uuid4

from trivium.commander import Limits, wait
from trivium.commander.lowlevel import run_in_worker
from trivium.events import JSONObject, to_json_value
from trivium.exceptions import JournalError, UnknownRunError
from trivium.journal import Journal
from trivium.module import Module
from trivium.serving._admission import Admission
from trivium.serving._approvals import Approvals, Verdict, described_in
from trivium.serving._claims import RunClaims
from trivium.serving._conversation import check_unattended, client_messages, not_done, session_id_of, unknown_session
from trivium.serving._limits import OwnerLimits
from trivium.serving._log import STOPS, first_event
from trivium.serving._served_run import ServedRun
from trivium.serving._store import DAY_SECONDS, RunRequest, RunStore
from trivium.serving._tasks import Background, by_itself
from trivium.serving._wire import Failure, shutting_down
from trivium.serving._work import Work

SWEEP_SECONDS: Final = 60.0
LOOK_SECONDS: Final = 0.5
"""How often a server looks what the others with its database have left or asked."""
DECIDED_SECONDS: Final = 2.0
"""How often it looks whether others have decided on runs that wait, where these are few."""
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
        approvals: who decides on calls, and how long one waits before its run is cancelled; None: the owners, no limit.
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
        approvals: Approvals | None = None,
        keep_days: float | None = None,
    ) -> None:
        self.served, self.journal, self.store = dict(served), journal, store
        for each in self.served.values():
            check_unattended(each)
        self._structured = structured
        self.keep_days, self.approvals = keep_days, approvals or Approvals(journal)
        self._admission = Admission(store, most, owner_limits or OwnerLimits(), limits, max_sessions)
        self._claims = RunClaims(store.database)
        self._work = Work(
            self.served, journal, store, self._claims, self._admission, timeout=timeout,
            structured=structured, check=self._refuse_waiting,
        )  # fmt: skip
        self._memories, self._watch = self._work.memories, self._work.watch
        self._upkeep: list[Background] = []
        self._abandoned = set[str]()
        """The runs that no server was at work on when this one looked last."""

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
        run_id: str = "",
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
            run_id: its id, which no run has; "": a random one.
            fork: a run of the journal that has not begun, which goes on with the messages that it has there.
            **body: what the protocol wants to keep; `options` are keywords of the call.

        Raises:
            Failure: there is no such module or run, the message is invalid, or a limit is reached.
        """
        run_id = fork or run_id or f"run_{uuid4().hex}"
        kept = {"of_client": of_client, "asks": asks, "is_conversation": is_conversation, "is_kept": is_kept}
        if self._work.is_draining:
            raise shutting_down()
        last = (await self.find(owner, before)).request if before else None
        if last is not None and last.state != "done":
            raise not_done(last)
        name = name or (next(iter(self.served), "") if last is None else last.name)
        if not fork:
            client_messages(self.module(name), messages, is_conversation, self._structured)
        self._admission.reserve(owner)
        try:
            await self._admission.budgets.check(owner)
            async with self._claims.turn("start", owner):
                if last is not None:
                    session = last.session if await self._work.is_last(last) else run_id
                created = await run_in_worker(partial(self.store.time_in, owner, session or run_id))
                request = RunRequest(
                    id=run_id, owner=owner, name=name, session=session or run_id, before=before, protocol=protocol,
                    created=created, body={"messages": messages, "fork": fork, **kept, **body},
                )  # fmt: skip
                await self._refuse_waiting(request)
                await self._admission.check(request)
                await self._claims.take(run_id)
                started = first_event(request)
                await run_in_worker(partial(self.store.add, request, label, started))
        except BaseException:
            await self._claims.give_back(run_id)
            self._admission.release(owner)
            raise
        return self._work.begin(ServedRun(request, self._work.log_of(request, started)), is_reserved=True)

    def module(self, name: str) -> Module:
        """Return a served module; "" is the first one."""
        return self._work.module(name)

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
        run = self._work.at_work.get(run_id) or self._watch.find(run_id)
        if run is None:
            request, events = await run_in_worker(partial(self.store.look, run_id))
            run = self._work.at_work.get(run_id) or self._watch.find(run_id)  # found by another request meanwhile
            if run is None and request is not None:
                run = ServedRun(request, self._work.log_of(request, *events))
        elif run.work is None and run.request.owner == owner and not await self._watch.refresh(run):
            run = None
        if run is None or run.request.owner != owner:
            raise Failure(404, "UnknownRun", f"you have no run {run_id[:100]!r}: GET /runs lists yours")
        if run.work is None and not run.log.is_over:
            self._watch.add(run)
        return run

    async def find_for(self, user: str, run_id: str) -> ServedRun:
        """Return a run on which a user may decide: one of their own or, to an approver, any; see `find`."""
        is_any = user in self.approvals.approvers
        request = await run_in_worker(partial(self.store.find, run_id)) if is_any else None
        return await self.find(user if request is None else request.owner, run_id)

    async def waiting_for(self, user: str) -> list[tuple[RunRequest, list[JSONObject]]]:
        """Return the runs that wait and on which a user decides, the oldest first, with their calls; see `find_for`."""
        paused, approvers = await run_in_worker(self.store.paused), self.approvals.approvers
        found = [each for each in paused if (user in approvers if approvers else each.owner == user)]
        return await run_in_worker(lambda: [(each, described_in(self.journal, each.id)) for each in found])

    def alone(self, owner: str, session: str) -> AbstractAsyncContextManager[None]:
        """Have one request of a conversation after the other look what there is, as long as the block runs."""
        return self._claims.turn("begin", owner, session)

    async def of_owner(self, owner: str, most: int, before: tuple[float, str] | None) -> list[RunRequest]:
        """Return the runs of an owner, the latest first; see `RunStore.runs_of`."""
        found = await run_in_worker(partial(self.store.runs_of, owner, most, before))
        at_work = self._work.at_work  # of which the store does not have every step
        return [at_work[each.id].request if each.id in at_work else each for each in found]

    async def metrics_text(self, owner: str) -> str:
        """Return the numbers of an owner for Prometheus: all of the server, where it has one token.

        Those of runs at work and of ended runs are this server's, those of runs that wait for a decision the store's.
        """
        paused = await run_in_worker(partial(self.store.count_paused, owner))
        return self._work.metrics[owner].text(self._admission.at_work[owner], paused)

    async def in_session(self, owner: str, session: str) -> list[RunRequest]:
        """Return the runs of a conversation, the oldest first."""
        return await run_in_worker(partial(self.store.in_session, owner, session))

    async def labelled(self, owner: str, session: str, label: str) -> tuple[ServedRun, int] | None:
        """Return the run to which a client's name in a conversation belongs, and the number of the event before."""
        found = await run_in_worker(partial(self.store.labelled, owner, session, label))
        return None if found is None else (await self.find(owner, found[0]), found[1])

    async def waiting_in(self, owner: str, session: str, is_decided: bool = False) -> ServedRun | None:
        """Return the run of a conversation that waits for a decision; None: none does.

        Args:
            owner: the owner.
            session: the conversation.
            is_decided: whether a decision has come: it is told that it is too late; else the run is cancelled then.
        """
        request = await run_in_worker(partial(self.store.waiting_in, owner, session))
        run = None if request is None else await self.find(owner, request.id)
        if run is None or (not is_decided and await self._end_expired(run)):
            return None
        return run if run.request.state == "paused" else None

    async def unfinished_in(self, owner: str, session: str) -> ServedRun | None:
        """Return the latest run of a conversation that has not ended; None: there is none."""
        request = await run_in_worker(partial(self.store.unfinished_in, owner, session))
        return None if request is None else await self.find(owner, request.id)

    async def decide(
        self,
        run: ServedRun,
        decisions: Mapping[str, Verdict],
        body: JSONObject | None = None,
        *,
        by: str | None = None,
        is_part: bool = False,
        label: str = "",
    ) -> None:
        """Decide on the calls that wait, on all of them or on none; when all are decided, the run goes on.

        Args:
            run: the run.
            decisions: what is decided, by the digests of the calls.
            body: what the protocol wants to keep.
            by: the user who decides; None: the owner.
            is_part: whether others may still wait.
            label: the name that the client gives to what comes; see `labelled`.

        Raises:
            Failure: these are not what waits, or it is too late: status 409; or approvers decide: 403.
        """
        await self._check_alone()
        async with self._claims.turn("decide", run.id):
            if run.work is not None and run.request.state == "paused":  # it gives the run back in a moment
                await run.work.ended()
            if run.work is None:
                await self._watch.refresh(run)
            note = partial(self.store.label, run.request, label, len(run.log.events)) if label else bool
            are_all = await self.approvals.decide(
                run, decisions, run.request.owner if by is None else by, is_part, note
            )
            if are_all and run.request.name not in self.served:
                await self._work.leave_to_others(run)
            elif are_all:
                await self._work.go_on_decided(run, body=body or {})

    async def _check_alone(self) -> None:
        """Raise a Failure where the file's server is at work with runs that are only shown here."""
        database = self.store.database
        if not self.served and not database.is_shared and await run_in_worker(database.servers):
            text = "runs are only shown here, and a server is at work with this journal: decide or cancel there"
            raise Failure(409, "ServedElsewhere", text)

    async def _end_expired(self, run: ServedRun) -> bool:
        """Cancel a run that has waited too long for a decision; return whether it has."""
        if why := await self.approvals.late(run):
            await self.cancel(run, why)
        return bool(why)

    async def cancel(self, run: ServedRun, why: str = "its owner has cancelled it") -> None:
        """Cancel a run; it has ended when this returns. One that has ended stays as it is."""
        await self._check_alone()
        run.cancelled = run.cancelled or why
        while not run.log.is_over:
            async with self._claims.turn("decide", run.id):
                if run.work is None:
                    await self._watch.refresh(run)
                if not run.log.is_over and await self._work.take_up(run):
                    await self._work.end(run, "cancelled", why=run.cancelled or why)
                    await self._claims.give_back(run.id)
                    self._watch.remove(run)
            if run.work is not None:
                run.kill(why)
                await run.work.ended()
            elif not run.log.is_over and not await self._cancelled_elsewhere(run, why):
                break

    async def _cancelled_elsewhere(self, run: ServedRun, why: str) -> bool:
        """Ask the server that is at work on a run to cancel it; return whether the run has come to a stop."""
        if not self.store.database.is_shared:
            return False
        await run_in_worker(partial(self.store.ask_cancel, run.id, why))
        self._watch.add(run)
        async for event in run.log.follow(len(run.log.events), STOPS):
            if event["kind"] in STOPS:
                return True
        return run.log.is_over

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
            with suppress(Failure):  # one from which another run goes on stays until that is over
                if each.ended:
                    await self.forget(await self.find(owner, each.id))
        await self._memories.forget(owner, session)

    async def forget(self, run: ServedRun) -> None:
        """Delete a run that has ended.

        Raises:
            Failure: it has not; status 409.
        """
        if run.request.is_active or run.request.state == "paused":
            raise Failure(409, "RunNotOver", f"the run is {run.request.state}: cancel it first")
        next_one = await run_in_worker(partial(self.store.unfinished_after, run.request))
        if next_one is not None:
            raise Failure(409, "RunNotOver", f"the run {next_one} goes on from it: wait for its end, or cancel it")
        await run.log.written()
        await self._work.forget(run.id)

    # ---- the life of the server
    async def recover(self) -> None:
        """Go on with the runs that servers before this one have left, and later with those of servers that die.

        Where nothing is served runs are only shown: others go on with them.

        Raises:
            ConfigurationError: another server has the file of the runs.
            JournalError: the journal cannot be used, as one of a newer version.
        """
        loops = [self._sweep, self._watch.watch]
        if self.served:
            with suppress(UnknownRunError):  # there is none of this id, but the journal is opened
                await run_in_worker(partial(self.journal.info, ""))
            await run_in_worker(self.store.database.join)
            await self._take_up_abandoned()
            await self._take_up_decided()
            loops += [self._look_for_decisions]
            loops += [self._look_after] if self.store.database.is_shared else []
        self._upkeep = [Background(each) for each in loops]

    async def _take_up_abandoned(self) -> None:
        """Go on with runs that no server is at work on: with all of them, or with this server's part."""
        servers = max(1, await run_in_worker(self.store.database.servers))
        found = await run_in_worker(self.store.abandoned)
        before, self._abandoned = self._abandoned, {each.id for each in found}
        mine = [each for each in found if each.name in self.served or each.cancelled or await self._work.is_left(each)]
        for request in mine[: -(-len(mine) // servers)]:
            if request.body["of_client"] and self.store.database.is_shared and request.id not in before:
                continue  # the server of its client has it again in a moment, if it was cut off from the database
            run = self._work.at_work.get(request.id) or self._watch.find(request.id)
            run = run or ServedRun(request, self._work.log_of(request))
            self._watch.add(run)  # so that who asks for it meanwhile follows the same one
            if not await self._work.take_up(run):
                continue
            if run.cancelled or run.ends_with_client:
                why = run.cancelled or "the server has ended, and its client with it"
                await self._work.end(run, "cancelled", why=why)
                await self._claims.give_back(run.id)
            else:
                self._work.go_on(run)

    async def _take_up_decided(self) -> None:
        """Go on with runs of which all was decided by `Journal.approve`, or at a server that has ended since."""
        for request in [each for each in await run_in_worker(self.store.paused) if each.name in self.served]:
            with by_itself(request.id):
                if (why := await self.approvals.settled(request.id)) is None:
                    continue
                run = await self.find(request.owner, request.id)
                if why:
                    await self.cancel(run, why)
                async with self._claims.turn("decide", run.id):
                    await self._watch.refresh(run)
                    if run.request.state == "paused" and not await self.approvals.pending(run):
                        await self.approvals.tell(run)
                        await self._work.go_on_decided(run)

    async def _look_after(self) -> None:
        """Again and again, look what other servers have asked, and take up the runs of those that have died."""
        while True:
            await wait(LOOK_SECONDS)
            try:
                for run_id in await self._claims.lost():
                    self._work.lose(run_id)
                asked = await run_in_worker(partial(self.store.cancelled, [*self._work.at_work]))
                for run in [each for run_id in asked if (each := self._work.at_work.get(run_id)) is not None]:
                    run.cancelled = run.cancelled or asked[run.id]
                    run.kill(run.cancelled)
                await self._take_up_abandoned()
            except JournalError:
                _log.exception("the database of the runs cannot be read; tried again")

    async def _look_for_decisions(self) -> None:
        """Again and again, go on with runs of which others have decided all; for a small part of the time."""
        pause = DECIDED_SECONDS
        while True:
            await wait(pause)
            began = time.monotonic()
            try:
                await self._take_up_decided()
            except JournalError:
                _log.exception("the decisions on runs cannot be read; tried again")
            pause = max(DECIDED_SECONDS, 20 * (time.monotonic() - began))

    async def _sweep(self) -> None:
        """Again and again, cancel the runs that wait too long for a decision, and forget those that ended long ago."""
        given = self.approvals.seconds, self.keep_days and self.keep_days * DAY_SECONDS
        wait_seconds, keep_seconds = (inf if each is None else each for each in given)
        while min(wait_seconds, keep_seconds) < inf:
            with suppress(JournalError):  # the database is away: tried again
                for each in await run_in_worker(partial(self.store.paused, time.time() - wait_seconds)):
                    with by_itself(each.id):
                        await self._end_expired(await self.find(each.owner, each.id))
                await self._work.forget_ended(time.time() - keep_seconds)
            await wait(SWEEP_SECONDS)

    async def drain(self, grace: float, last: float | None) -> None:
        """Start no further runs; those that have not ended after some seconds are stopped, and go on after the restart.

        Args:
            grace: the seconds.
            last: further seconds for what cannot be stopped, as a sync tool; None: as long as that takes.
        """
        self._work.is_draining = True
        for each in self._upkeep:
            each.cancel("the server is shutting down")
            await each.ended()
        await self._work.drain(grace, last)

    def left(self) -> list[str]:
        """Return the runs at work, each with what it is at, for a log."""
        return self._work.left()

    def close(self) -> None:
        """Close the files and connections, and delete a file of the server's own."""
        self.journal.close()
        self.store.close()
