"""Approvals that outlive the process: a run that waits for a decision, and the decision in its journal."""

from __future__ import annotations

import json
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from trivium.commander.lowlevel import TaskNode, current, key_of, node_name, parent_of, scope_of
from trivium.exceptions import (
    CannotWaitError,
    ConfigurationError,
    DecisionNotValidError,
    NoSuchRequestError,
    RunPausedError,
)
from trivium.journal._claims import Claims, Record
from trivium.journal._detail import plain
from trivium.journal._effects import REPEATABLE, EffectKind
from trivium.journal._seals import Decided, Seal, digest_of_call
from trivium.journal._store import Entry, RunInfo

APPROVAL = "approval"
"""The name of the nodes in which approvals are asked for."""


class PendingApproval(NamedTuple):
    """A call that waits for a decision.

    Args:
        run_id: the run.
        digest: stands for this call, also beside an equal one: a decision names it, and nothing else of the call.
        name: the tool's name.
        arguments: the arguments of the call, as JSON has them: a date or a `Decimal` is a text.
        asked_at: when it was asked, in seconds since the epoch.
        entry: the record.
        why: the reason of the policy that asks; "" where the tool itself needs approval.
    """

    run_id: str
    digest: str
    name: str
    arguments: dict[str, Any]
    asked_at: float
    entry: Entry
    why: str = ""


def ask_later(request: Any) -> bool:
    """Approver that ends the attempt: the run waits in its journal until somebody decides, and is then resumed.

    Give it to a durable call as `approve=`. The call raises `RunPausedError`; `journal.pending()` shows what waits,
    `journal.approve(…)` and `journal.refuse(…)` decide, and the same call with the same run id goes on.

    Raises:
        RunPausedError: always.
        CannotWaitError: the call stands below an act that may not be begun again, and so could never go on.
        ConfigurationError: the run has no journal in which it could wait.
    """
    node = current.get()
    journal = None if node is None else scope_of(node).journal
    if journal is None:
        raise ConfigurationError("approve=ask_later waits in a journal: give the call a run_id and a journal")
    journal.decisions.check_wait(node, request.name)
    notes = "; ".join(filter(None, (request.why, journal.decisions.doubt_of(node))))
    told = f"{request} ({notes})" if notes else request
    raise RunPausedError(
        f"the run {journal.id!r} waits for a decision on {told}: decide by journal.approve(…), journal.refuse(…) or "
        f"`trivium approve {journal.id}`, then call again with the same run id",
        request.name,
        journal.id,
    )


class Decisions:
    """The decisions on the calls of an attempt: which of them count, and which call can wait for one.

    A decision is for one call, and for one try of it where the act must not be repeated: a try that has failed has used
    it up. What has begun in time goes on, however long it takes.

    Args:
        run_id: the run.
        seal: what the journal trusts.
        claims: the records of the run.
    """

    def __init__(self, run_id: str, seal: Seal, claims: Claims) -> None:
        self._run_id, self._seal, self._claims = run_id, seal, claims
        self._latest = dict[str, int]()
        """The number of the last record of each node, or right below it, but for decisions."""
        self._decided = set[str]()
        """The calls on which something was decided, by their keys."""
        self._failed = dict[str, int]()
        """The calls whose last try has failed, by their keys: the number of the record that they are tried again."""
        self._acts = set[TaskNode]()

    def read(self, entry: Entry) -> None:
        """Note a record of an earlier attempt."""
        _note_latest(self._latest, entry)
        if entry.name == APPROVAL and entry.kind in ("outcome", "decision"):
            self._decided.add(entry.parent)

    def try_again(self, node: TaskNode, record: Record) -> None:
        """Note that a call, which must not be repeated, is tried again if it has failed: that is decided on anew."""
        outcome, before = record.outcome, record.before
        if outcome is not None and before is not None and (outcome[0], before[0]) == ("retry", "error"):
            self._failed[key_of(node)] = record.end

    @contextmanager
    def acting(self, node: TaskNode, effect: EffectKind | None) -> Generator[None]:
        """Have no call wait below a node as long as the block runs, if its act could not go on after that."""
        if effect not in REPEATABLE:
            self._acts.add(node)
        try:
            yield
        finally:
            self._acts.discard(node)

    def check_wait(self, node: TaskNode, name: str) -> None:
        """Check that a call can go on later.

        Raises:
            CannotWaitError: it cannot.
        """
        act = next((each for each in node.ancestor_chain if each in self._acts), None)
        if act is not None:
            raise CannotWaitError(
                f"{name} cannot wait for a decision: that would break off {node_name(act)}, in which it is called, and "
                'which is not begun twice. If that is a tool, declare it effect="composite": it is entered again then; '
                "if it is a step, call the tool outside of it; or give another approver than ask_later",
                self._run_id,
                name,
            )

    def has_asked(self, node: TaskNode, record: Record | None) -> bool:
        """Return whether it is recorded what a node asks; of a try that is decided on anew it is not."""
        return record is not None and record.asked != "" and not self._is_used_up(node, record)

    def _is_used_up(self, node: TaskNode, record: Record) -> bool:
        return record.outcome is not None and record.end < self._failed_at(node)

    def digest_of(self, node: TaskNode, digest: str) -> str:
        """Return the digest of what a node is asked, which is another one at each try that is decided on."""
        failed = self._failed_at(node)
        return f"{digest}@{failed}" if failed else digest

    def _failed_at(self, node: TaskNode) -> int:
        above = parent_of(node) if node_name(node) == APPROVAL else None
        return 0 if above is None else self._failed.get(key_of(above), 0)

    def flaw_of(self, node: TaskNode, record: Record) -> str:
        """Return why the recorded outcome of a node does not stand; "": it does."""
        if record.outcome is None:
            return "it has none"
        (kind, body), above = record.outcome, parent_of(node)
        if self._is_used_up(node, record):
            return "what was decided was for one try, which has failed"
        if kind != "decision" or above is None:
            return "it is to be tried again" if kind == "retry" else ""
        if self._claims.is_done(key_of(above)):
            return ""
        has_begun = self._latest.get(key_of(above), 0) > record.end
        find = self._seal.doubt_of if has_begun else self._seal.flaw_of
        digest = digest_of_call(self.digest_of(node, record.digest), record.key)
        return find(self._run_id, digest, Decided(**json.loads(body)))

    def doubt_of(self, node: TaskNode) -> str:
        """Return why the decision that is recorded on a call does not count; "": there is none."""
        record = self._claims.record_of(key_of(node))
        is_decided = record is not None and record.outcome is not None and record.outcome[0] == "decision"
        return self.flaw_of(node, record) if record is not None and is_decided else ""

    def is_recorded(self, node: TaskNode) -> bool:
        """Return whether it is recorded what was decided on a call."""
        return key_of(node) in self._decided


def pending_in(run_id: str, entries: Sequence[Entry], seal: Seal) -> list[PendingApproval]:
    """Return the calls of a run that wait for a decision, in the order in which they were asked."""
    waiting: dict[str, Entry] = {}
    done, latest = set[str](), dict[str, int]()
    for entry in entries:
        _note_latest(latest, entry)
    for entry in entries:
        if entry.kind in ("outcome", "error"):
            done.add(entry.node)
        elif entry.kind == "retry":
            done.discard(entry.node)
        if entry.name != APPROVAL:
            continue
        asked = waiting.get(entry.node)
        if entry.kind == "intent":
            waiting[entry.node] = entry
        elif asked is not None and entry.kind != "retry":
            find = seal.doubt_of if latest.get(entry.parent, 0) > entry.seq else seal.flaw_of
            if entry.kind != "decision" or not find(run_id, _digest_of(asked), Decided(**json.loads(entry.body))):
                del waiting[entry.node]
    found: list[PendingApproval] = []
    for entry in waiting.values():
        if entry.parent in done:  # a fork of a run in which it was decided on
            continue
        name, arguments, *why = plain(json.loads(entry.body))
        found.append(PendingApproval(run_id, _digest_of(entry), name, arguments, entry.at, entry, *why))
    return found


def decided_in(entries: Sequence[Entry], digest: str) -> tuple[Decided, float] | None:
    """Return the last decision on a call of which the beginning of its digest is given, and its time; None: none."""
    found = [each for each in entries if each.kind == "decision" and _digest_of(each).startswith(digest)]
    return (Decided(**json.loads(found[-1].body)), found[-1].at) if found else None


def _digest_of(asked: Entry) -> str:
    return digest_of_call(asked.digest, asked.node)


def _note_latest(latest: dict[str, int], entry: Entry) -> None:
    """Note the number of a record for its node and the one above it: a call with one after its decision has begun."""
    if entry.name != APPROVAL:
        latest[entry.node] = latest[entry.parent] = entry.seq


def decisions_on(run: RunInfo, entries: Sequence[Entry], decisions: Mapping[str, Decided], seal: Seal) -> list[Entry]:
    """Return the records of decisions on calls that wait.

    Raises:
        NoSuchRequestError: nothing waits of one of the digests.
        ConfigurationError: nobody has decided.
        DecisionNotValidError: one is not signed by an approver of the journal.
    """
    run_id, waiting = run.id, pending_in(run.id, entries, seal) if run.status == "paused" else ()
    asked = {each.digest: each.entry for each in waiting}
    made = list[Entry]()
    for digest, decided in decisions.items():
        if digest not in asked:
            raise NoSuchRequestError(
                f"no call {digest!r} of the run {run_id!r}, which is {run.status}, waits for a decision: see "
                "journal.pending()",
                run_id,
            )
        if not decided.by:
            raise ConfigurationError("say who decides: by='ada'")
        if doubt := seal.doubt_of(run_id, digest, decided):
            raise DecisionNotValidError(
                f"{doubt}: nothing was decided on in the run {run_id!r}. Decide by the name of an approver, with the "
                "private key: journal.approve(…, by='ada', key=…)",
                run_id,
            )
        body = json.dumps(decided._asdict(), ensure_ascii=False)
        made.append(asked[digest]._replace(kind="decision", body=body, at=time.time()))
    return seal.link(run_id, made, entries[-1])
