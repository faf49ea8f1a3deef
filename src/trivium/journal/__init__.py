"""Durable runs: a log of what a run was answered, by which it goes on after its process ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trivium.lazy import lazy_names

if TYPE_CHECKING:
    from trivium.journal._approvals import Decided, PendingApproval, ask_later
    from trivium.journal._journal import Journal, step, step_async
    from trivium.journal._run import DurableRun
    from trivium.journal._store import Entry, RunInfo

__all__ = ["Decided", "DurableRun", "Entry", "Journal", "PendingApproval", "RunInfo", "ask_later", "step", "step_async"]

_HOMES = {
    "Decided": "_approvals",
    "PendingApproval": "_approvals",
    "ask_later": "_approvals",
    "DurableRun": "_run",
    "Entry": "_store",
    "Journal": "_journal",
    "RunInfo": "_store",
    "step": "_journal",
    "step_async": "_journal",
}
__getattr__, __dir__ = lazy_names(__name__, _HOMES, __all__)
