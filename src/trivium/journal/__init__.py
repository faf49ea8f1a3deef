"""Durable runs: a log of the answers and results that a run received, from which another process continues it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trivium.lazy import lazy_names

if TYPE_CHECKING:
    from trivium.journal._approvals import PendingApproval, ask_later
    from trivium.journal._blocks import step, step_async
    from trivium.journal._events import Fork, ForkedEvent, UnclaimedEvent
    from trivium.journal._forks import Divergence
    from trivium.journal._journal import Journal
    from trivium.journal._outline import RunOutline
    from trivium.journal._queued_run import QueuedRun, QueueStatus, RunEntries, Schedule
    from trivium.journal._queues import QueueInfo, WaitingRun, WorkerInfo
    from trivium.journal._reconciling import NOT_DONE
    from trivium.journal._run import DurableRun
    from trivium.journal._seals import Decided
    from trivium.journal._store import Entry, RunInfo
    from trivium.journal._tree import RunNode
    from trivium.journal._views import RunView

__all__ = [
    "NOT_DONE",
    "Decided",
    "Divergence",
    "DurableRun",
    "Entry",
    "Fork",
    "ForkedEvent",
    "Journal",
    "PendingApproval",
    "QueueInfo",
    "QueueStatus",
    "QueuedRun",
    "RunEntries",
    "RunInfo",
    "RunNode",
    "RunOutline",
    "RunView",
    "Schedule",
    "UnclaimedEvent",
    "WaitingRun",
    "WorkerInfo",
    "ask_later",
    "step",
    "step_async",
]

_HOMES = {
    "NOT_DONE": "_reconciling",
    "Decided": "_seals",
    "Divergence": "_forks",
    "PendingApproval": "_approvals",
    "ask_later": "_approvals",
    "QueueInfo": "_queues",
    "WaitingRun": "_queues",
    "WorkerInfo": "_queues",
    "QueueStatus": "_queued_run",
    "QueuedRun": "_queued_run",
    "RunEntries": "_queued_run",
    "Schedule": "_queued_run",
    "DurableRun": "_run",
    "Entry": "_store",
    "Fork": "_events",
    "ForkedEvent": "_events",
    "UnclaimedEvent": "_events",
    "Journal": "_journal",
    "RunOutline": "_outline",
    "RunInfo": "_store",
    "RunNode": "_tree",
    "RunView": "_views",
    "step": "_blocks",
    "step_async": "_blocks",
}
lazy_names(__name__, _HOMES, __all__)
