"""Observers: listeners that keep, show or count what happens in a run. A run never waits for them."""

from trivium.observers._live import LiveTree
from trivium.observers._record import RecordedEvent, RecordedNode, RunRecord

__all__ = ["LiveTree", "RecordedEvent", "RecordedNode", "RunRecord"]
