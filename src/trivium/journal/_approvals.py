"""Approvals that outlive the process: a run that waits for a decision, and the decision in its journal."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from trivium.commander.lowlevel import current, scope_of
from trivium.exceptions import ConfigurationError, DecisionNotValidError, NoSuchRequestError, RunPausedError
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
        arguments: the arguments of the call.
        asked_at: when it was asked, in seconds since the epoch.
        entry: the record.
    """

    run_id: str
    digest: str
    name: str
    arguments: dict[str, Any]
    asked_at: float
    entry: Entry


def ask_later(request: Any) -> bool:
    """Approver that ends the attempt: the run waits in its journal until somebody decides, and is then resumed.

    Give it to a durable call as `approve=`. The call raises `RunPausedError`; `journal.pending()` shows what waits,
    `journal.approve(…)` and `journal.refuse(…)` decide, and the same call with the same run id goes on.

    Raises:
        RunPausedError: always.
        ConfigurationError: the run has no journal in which it could wait.
    """
    node = current.get()
    journal = None if node is None else scope_of(node).journal
    if journal is None:
        raise ConfigurationError("approve=ask_later waits in a journal: give the call a run_id and a journal")
    doubt = journal.doubt_of(node)
    told = f"{request} ({doubt})" if doubt else request
    raise RunPausedError(
        f"the run {journal.id!r} waits for a decision on {told}: decide by journal.approve(…), journal.refuse(…) or "
        f"`trivium approve {journal.id}`, then call again with the same run id",
        request.name,
        journal.id,
    )


def flaw_of(seal: Seal, run_id: str, entry_digest: str, node: str, outcome: tuple[str, str]) -> str:
    """Return why a recorded outcome does not stand; "": it does.

    Args:
        seal: what the journal trusts.
        run_id: the run.
        entry_digest: the digest of what was asked.
        node: the key of its node.
        outcome: the kind and the body of the record.
    """
    kind, body = outcome
    if kind != "decision":
        return "it is to be tried again" if kind == "retry" else ""
    return seal.flaw_of(run_id, digest_of_call(entry_digest, node), Decided(**json.loads(body)))


def pending_in(run_id: str, entries: Sequence[Entry], seal: Seal) -> list[PendingApproval]:
    """Return the calls of a run that wait for a decision, in the order in which they were asked."""
    waiting: dict[str, Entry] = {}
    for entry in entries:
        if entry.name == APPROVAL:
            if entry.kind == "intent":
                waiting[entry.node] = entry
            elif not flaw_of(seal, run_id, entry.digest, entry.node, (entry.kind, entry.body)):
                waiting.pop(entry.node, None)
    found: list[PendingApproval] = []
    done = {each.node for each in entries if each.kind in ("outcome", "error")}
    for entry in waiting.values():
        if entry.parent in done:  # a fork of a run in which it was decided on
            continue
        name, arguments = json.loads(entry.body)
        digest = digest_of_call(entry.digest, entry.node)
        found.append(PendingApproval(run_id, digest, name, arguments, entry.at, entry))
    return found


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
                f"no call {digest!r} of the run {run_id!r} waits for a decision: see journal.pending()", run_id
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
