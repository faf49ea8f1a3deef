"""Observers: listeners that keep, show or count what happens in a run. A run never waits for them."""

from trivium.observers._record import RecordedNode, RunRecord

__all__ = ["RecordedNode", "RunRecord"]
