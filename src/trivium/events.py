"""Every kind of event, and their union: what a listener and a stream receive.

Example::

    from trivium.events import RunEvent

    def listen(event: RunEvent) -> None:
        if event.kind == "delta":
            print(event.piece, end="")  # event is a DeltaEvent
        elif event.kind == "tool_call":
            name, arguments = event.data
"""

from __future__ import annotations

from typing import TypeAlias

from trivium.actions import ApprovalEvent, ToolCallEvent, ToolLeftEvent, ToolResultEvent, ToolRetryEvent
from trivium.commander import EndedEvent, Event, Listener, QueuedEvent, RetriedEvent, StartedEvent, event_kinds
from trivium.knowledge import IngestEvent
from trivium.knowledge.embeddings import EmbeddedEvent
from trivium.llms import CacheEvent, DeltaEvent, FallbackEvent, OverflowEvent, RateLimitEvent, RetryEvent, UsageEvent
from trivium.module import MessageEvent, PartialEvent
from trivium.tasks import ResponseEvent

__all__ = [
    "ApprovalEvent",
    "CacheEvent",
    "DeltaEvent",
    "EmbeddedEvent",
    "EndedEvent",
    "Event",
    "FallbackEvent",
    "IngestEvent",
    "Listener",
    "MessageEvent",
    "OverflowEvent",
    "PartialEvent",
    "QueuedEvent",
    "RateLimitEvent",
    "ResponseEvent",
    "RetriedEvent",
    "RetryEvent",
    "RunEvent",
    "StartedEvent",
    "ToolCallEvent",
    "ToolLeftEvent",
    "ToolResultEvent",
    "ToolRetryEvent",
    "UsageEvent",
    "event_kinds",
]

RunEvent: TypeAlias = (
    ApprovalEvent
    | CacheEvent
    | DeltaEvent
    | EmbeddedEvent
    | EndedEvent
    | FallbackEvent
    | IngestEvent
    | MessageEvent
    | OverflowEvent
    | PartialEvent
    | QueuedEvent
    | RateLimitEvent
    | ResponseEvent
    | RetriedEvent
    | RetryEvent
    | StartedEvent
    | ToolCallEvent
    | ToolLeftEvent
    | ToolResultEvent
    | ToolRetryEvent
    | UsageEvent
)
"""Any event that trivium emits; `kind` tells them apart."""
