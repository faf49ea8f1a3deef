"""Approvals of served runs: what waits, what is decided on it, and for how long."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import Any, Final, NamedTuple, cast

from trivium.actions.lowlevel import approval_question
from trivium.commander.lowlevel import run_in_worker
from trivium.events import JSONObject
from trivium.exceptions import DecisionNotValidError, NoSuchRequestError, RunTakenOverError, UnknownRunError
from trivium.journal import Decided, Journal, PendingApproval
from trivium.journal.lowlevel import digest_of_call
from trivium.serving._http import text_field
from trivium.serving._served_run import ServedRun
from trivium.serving._watch import DELETED
from trivium.serving._wire import Failure

DECISION_BESIDE: Final = (
    "a decision and something else that you say, which the run would not hear: send the decision alone, "
    "and what you say when its run has ended"
)


class Verdict(NamedTuple):
    """What a client decides on a call that waits.

    Args:
        approved: whether it runs.
        reason: why it does not; the model reads it.
    """

    approved: bool
    reason: str = ""

    @classmethod
    def parse(cls, given: object, form: str, also: Collection[str] = (), approved: str = "approved") -> Verdict:
        """Return what a client decides. It decides and nothing else: no key is read over that would change the call.

        Args:
            given: what the client sends.
            form: what that is, for errors.
            also: the names of what it holds beside the decision.
            approved: the name of the decision.

        Raises:
            Failure: it is something else; status 422.

        Example:
            >>> Verdict.parse({"approved": False, "reason": "no"}, "…")
            Verdict(approved=False, reason='no')
        """
        found = cast("JSONObject", given) if isinstance(given, dict) else {}
        if unknown := [each for each in found if each not in (approved, "reason", *also)]:
            text = (
                f"{unknown[0][:100]!r} is no key of a decision, and the call runs as it was asked about, or not at all"
            )
            raise Failure(422, "InvalidRequest", f"{text}: {form}")
        if not isinstance(found.get(approved), bool):
            raise Failure(422, "InvalidRequest", form)
        return cls(found[approved], text_field(found, "reason"))


def described(pending: PendingApproval) -> JSONObject:
    """Return what a client is told of a call that waits."""
    return {
        "digest": pending.digest, "name": pending.name, "arguments": pending.arguments, "why": pending.why,
        "key": pending.entry.parent,
    }  # fmt: skip


def question(asked: Mapping[str, Any]) -> str:
    """Return what a user is asked about a call that was described; runs of earlier releases tell no reason."""
    return approval_question(asked["name"], asked["arguments"], asked.get("why", ""))


def waiting_in(journal: Journal, run_id: str) -> list[PendingApproval]:
    """Return the calls of a paused run that wait for a decision; none where the journal has forgotten the run."""
    try:
        return journal.pending(run_id)
    except UnknownRunError:
        return []


def described_in(journal: Journal, run_id: str) -> list[JSONObject]:
    """Return what is told of the calls of a paused run to those who decide, with the time when each was asked about."""
    return [{**described(each), "asked": each.asked_at} for each in waiting_in(journal, run_id)]


def _decided_in(journal: Journal, run_id: str) -> dict[str, tuple[float, Decided]]:
    """Return the decisions that count on calls of a paused run, each with its time, by the digests of the calls."""
    waiting = {each.digest for each in waiting_in(journal, run_id)}
    made = [each for each in journal.entries(run_id) if each.kind == "decision"]
    found = {digest_of_call(each.digest, each.node): (each.at, Decided(**json.loads(each.body))) for each in made}
    return {digest: decision for digest, decision in found.items() if digest not in waiting}


def nothing_waits(what: str) -> Failure:
    """Return the failure of an answer in a conversation where no call waits for one."""
    text = f"nothing of this {what} waits for an answer: it came too late, or all was decided; send a message to go on"
    return Failure(409, "NoSuchApproval", text)


class Approvals:
    """The approvals of the runs of a server.

    Args:
        journal: the journal of the runs.
        seconds: how long a call waits for a decision; None: no limit.
        approvers: the users who decide, on the runs of all; none: each decides on their own.
    """

    def __init__(self, journal: Journal, seconds: float | None = None, approvers: Collection[str] = ()) -> None:
        self._journal, self.seconds, self.approvers = journal, seconds, frozenset(approvers)

    async def pending(self, run: ServedRun) -> list[PendingApproval]:
        """Return the calls of a run that wait for a decision."""
        if run.request.state != "paused":
            return []
        return await run_in_worker(partial(waiting_in, self._journal, run.id))

    async def late(self, run: ServedRun) -> str:
        """Return how long nobody has decided, where that is too long; "": it is not."""
        return self._late((time.time(), each.asked_at) for each in await self.pending(run))

    def _late(self, times: Iterable[tuple[float, float]]) -> str:
        if self.seconds is None or all(at <= asked_at + self.seconds for at, asked_at in times):
            return ""
        return f"nobody has decided within {self.seconds:g} s (approval_seconds)"

    async def settled(self, run_id: str) -> str | None:
        """Return why a paused run does not go on, "" where it does: all was decided; None: it waits for a decision.

        It does not where what it has done was deleted from the journal, or where a call was approved too late.
        """
        try:
            if await run_in_worker(partial(self._journal.pending, run_id)):
                return None
            entries = await run_in_worker(partial(self._journal.entries, run_id))
        except UnknownRunError:
            return DELETED
        asked_at = {each.node: each.at for each in entries if each.kind == "intent"}
        done = {each.node for each in entries if each.kind in ("outcome", "error")}  # of what was decided before
        decisions = (each for each in entries if each.kind == "decision" and each.parent not in done)
        decisions = (each for each in decisions if json.loads(each.body)["approved"])
        return self._late((each.at, asked_at[each.node]) for each in decisions)

    async def decide(
        self, run: ServedRun, decisions: Mapping[str, Verdict], by: str, is_part: bool, note: Callable[[], object]
    ) -> bool:
        """Decide on calls that wait, on all of them or on none, and tell it; return whether no further one waits.

        Args:
            run: the run.
            decisions: what is decided, by the digests of the calls.
            by: the user who decides.
            is_part: whether others may still wait.
            note: called before they are written.

        Raises:
            Failure: these are not what waits, or it is too late: status 409; or approvers must decide, or sign: 403.
        """
        if self.approvers and by not in self.approvers:
            text = "others decide on calls here, the approvers of this server: the call waits for one of them"
            raise Failure(403, "NotAnApprover", text)
        waiting = await self.pending(run)
        asked = [each.digest for each in waiting]
        if not decisions or not decisions.keys() <= {*asked} or not (is_part or len(decisions) == len(asked)):
            raise _no_such_approval(asked, decisions)
        late = self._late((time.time(), each.asked_at) for each in waiting)
        if late and any(each.approved for each in decisions.values()):
            raise Failure(409, "ApprovalExpired", f"{late}: begin another run", "approval_seconds", self.seconds or 0)
        made = {digest: Decided(each.approved, by or "user", each.reason) for digest, each in decisions.items()}

        def write() -> None:
            note()
            self._journal.decide(run.id, made)

        try:
            await run_in_worker(write)
        except DecisionNotValidError as error:
            raise Failure(403, "DecisionNotValid", f"this server cannot sign decisions: {error}") from None
        except (NoSuchRequestError, RunTakenOverError, UnknownRunError):
            raise _no_such_approval([], decisions) from None
        await self.tell(run)
        return len(decisions) == len(asked)

    async def tell(self, run: ServedRun) -> None:
        """Tell a paused run's clients what was decided and not told, as by `Journal.approve`; it is written then."""
        paused = run.log.pauses[-1]
        told = {each["digest"] for each in run.log.events[paused["seq"] :] if each["kind"] == "decided"}
        untold = {each["digest"] for each in paused["approvals"]} - told
        for digest, (at, made) in (await run_in_worker(partial(_decided_in, self._journal, run.id))).items():
            if digest in untold:
                run.log.add("decided", at, digest=digest, approved=made.approved, by=made.by, reason=made.reason)
        await run.log.written()


def _no_such_approval(waiting: list[str], given: Mapping[str, object]) -> Failure:
    """Return the failure of decisions that do not fit what waits."""
    if waiting:
        text = f"answer each call that waits, and no other: decide on each of them, {', '.join(waiting)}, at once"
    else:
        named = ", ".join(each[:100] for each in given)
        text = f"no call {named} of this run waits for a decision: it was decided, or the run has gone on"
    return Failure(409, "NoSuchApproval", text)
