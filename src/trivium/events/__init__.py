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

from trivium.events._event import (
    Display,
    Event,
    Listener,
    escape_controls,
    exception_line,
    exception_text,
    on_one_line,
    to_json_value,
)
from trivium.events._json import JSONObject, JSONValue, has_set, in_order, to_sorted_json
from trivium.events._nesting import MAX_NESTING, is_deeper
from trivium.events._registry import HOMES, event_class, event_kinds
from trivium.events._safe_text import safe_line, safe_text
from trivium.events._signals import is_of_signal_handler
from trivium.lazy import lazy_names

if TYPE_CHECKING:
    from trivium.actions import (
        ApprovalEvent,
        ToolAbandonedEvent,
        ToolCallEvent,
        ToolProgressEvent,
        ToolResultEvent,
        ToolRetryEvent,
    )
    from trivium.agents import UserInputEvent
    from trivium.commander import EndedEvent, QueuedEvent, RetriedEvent, StartedEvent
    from trivium.events._union import RunEvent
    from trivium.journal import ForkedEvent, UnclaimedEvent
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
    from trivium.memory import MemoryEvent, MessageEvent
    from trivium.module import PartialEvent
    from trivium.tasks import ResponseEvent

__all__ = [
    "MAX_NESTING",
    "ApprovalEvent",
    "CacheEvent",
    "DeltaEvent",
    "Display",
    "EmbeddedEvent",
    "EndedEvent",
    "Event",
    "FallbackEvent",
    "ForkedEvent",
    "IngestEvent",
    "JSONObject",
    "JSONValue",
    "Listener",
    "MemoryEvent",
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
    "ToolAbandonedEvent",
    "ToolCallEvent",
    "ToolProgressEvent",
    "ToolResultEvent",
    "ToolRetryEvent",
    "UnclaimedEvent",
    "UsageEvent",
    "UserInputEvent",
    "escape_controls",
    "event_class",
    "event_kinds",
    "exception_line",
    "exception_text",
    "has_set",
    "in_order",
    "is_deeper",
    "is_of_signal_handler",
    "on_one_line",
    "safe_line",
    "safe_text",
    "to_json_value",
    "to_sorted_json",
]

lazy_names(__name__, {**HOMES, "RunEvent": "events._union"}, __all__, below="trivium")
