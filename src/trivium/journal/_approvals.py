"""Approvals that outlive the process: a run that waits for a decision, and the decision in its journal."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from hashlib import sha256
from typing import Any, NamedTuple, cast

from trivium.commander.lowlevel import current, scope_of
from trivium.exceptions import ConfigurationError, RunPausedError
from trivium.journal._store import Entry

__all__ = ["APPROVAL", "Decided", "PendingApproval", "ask_later", "is_settled", "pending_in"]

APPROVAL = "approval"
"""The name of the nodes in which approvals are asked for."""


class Decided(NamedTuple):
    """The decision of a user on a call.

    Args:
        approved: whether the call runs.
        by: who decided.
        reason: why it does not run; the model reads it.
        until: the time, in seconds since the epoch, until which the decision may be used; None: no limit.
    """

    approved: bool
    by: str
    reason: str = ""
    until: float | None = None


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
    raise RunPausedError(
        f"the run {journal.id!r} waits for a decision on {request}: decide by journal.approve(…), journal.refuse(…) or "
        f"`trivium approve {journal.id}`, then call again with the same run id",
        request.name,
        journal.id,
    )


def is_settled(outcome: tuple[str, str]) -> bool:
    """Return whether a recorded outcome stands: it is not to be tried again, and no decision that came too late."""
    kind, body = outcome
    if kind == "retry":
        return False
    until = cast("float | None", json.loads(body)["until"]) if kind == "decision" else None
    return until is None or time.time() <= until


def pending_in(run_id: str, entries: Iterable[Entry]) -> list[PendingApproval]:
    """Return the calls of a run that wait for a decision, in the order in which they were asked."""
    waiting: dict[str, Entry] = {}
    for entry in entries:
        if entry.name == APPROVAL:
            if entry.kind == "intent":
                waiting[entry.node] = entry
            elif is_settled((entry.kind, entry.body)):
                waiting.pop(entry.node, None)
    found: list[PendingApproval] = []
    for entry in waiting.values():
        name, arguments = json.loads(entry.body)
        digest = sha256(f"{entry.digest}/{entry.node}".encode()).hexdigest()[:32]
        found.append(PendingApproval(run_id, digest, name, arguments, entry.at, entry))
    return found
