"""Every kind of event, and their union: what a listener and a stream receive.

Example::

    from trivium.events import RunEvent

    def listen(event: RunEvent) -> None:
        if event.kind == "delta":
            print(event.piece, end="")  # event is a DeltaEvent
        elif event.kind == "tool_call":
            name, arguments = event.data
"""

from typing import TYPE_CHECKING

from trivium._lazy import lazy_names
from trivium.events._event import Event, Listener, event_kinds, exception_line, on_one_line, to_json_value

if TYPE_CHECKING:
    from trivium.actions import ApprovalEvent, ToolCallEvent, ToolLeftEvent, ToolResultEvent, ToolRetryEvent
    from trivium.commander import EndedEvent, QueuedEvent, RetriedEvent, StartedEvent
    from trivium.events._union import RunEvent
    from trivium.knowledge import IngestEvent
    from trivium.knowledge.embeddings import EmbeddedEvent
    from trivium.llms import (
        CacheEvent,
        DeltaEvent,
        FallbackEvent,
        OverflowEvent,
        RateLimitEvent,
        RetryEvent,
        UsageEvent,
    )
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
    "exception_line",
    "on_one_line",
    "to_json_value",
]

HOMES = {
    "ApprovalEvent": "actions",
    "CacheEvent": "llms",
    "DeltaEvent": "llms",
    "EmbeddedEvent": "knowledge.embeddings",
    "EndedEvent": "commander",
    "FallbackEvent": "llms",
    "IngestEvent": "knowledge",
    "MessageEvent": "module",
    "OverflowEvent": "llms",
    "PartialEvent": "module",
    "QueuedEvent": "commander",
    "RateLimitEvent": "llms",
    "ResponseEvent": "tasks",
    "RetriedEvent": "commander",
    "RetryEvent": "llms",
    "StartedEvent": "commander",
    "ToolCallEvent": "actions",
    "ToolLeftEvent": "actions",
    "ToolResultEvent": "actions",
    "ToolRetryEvent": "actions",
    "UsageEvent": "llms",
}
"""For each kind of event the package that emits it; imported when the class is used."""

__getattr__, __dir__ = lazy_names(__name__, {**HOMES, "RunEvent": "events._union"}, __all__, below="trivium")
