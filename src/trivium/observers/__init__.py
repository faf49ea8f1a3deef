"""Observers: listeners that record, show or count what happens in runs. A run never waits for them."""

from trivium.observers._live import LiveTree
from trivium.observers._otel import OpenTelemetryListener, RunIds
from trivium.observers._picture import format_seconds, format_usage
from trivium.observers._progress import ProgressBar
from trivium.observers._record import RecordedEvent, RecordedNode, RunRecord

__all__ = [
    "LiveTree",
    "OpenTelemetryListener",
    "ProgressBar",
    "RecordedEvent",
    "RecordedNode",
    "RunIds",
    "RunRecord",
    "format_seconds",
    "format_usage",
]
