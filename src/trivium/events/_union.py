"""The union of all events that trivium emits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Union

from typing_extensions import TypeVar

from trivium import events
from trivium.events._registry import HOMES, built_in

if TYPE_CHECKING:
    from trivium.schema import Message

    M_co = TypeVar("M_co", covariant=True, default=Message)
    RunEvent: TypeAlias = (
        events.ApprovalEvent
        | events.CacheEvent
        | events.DeltaEvent
        | events.EmbeddedEvent
        | events.EndedEvent
        | events.Event[Any, Literal["note"]]
        | events.FallbackEvent
        | events.ForkedEvent
        | events.IngestEvent
        | events.MemoryEvent
        | events.MessageEvent
        | events.OverflowEvent
        | events.PartialEvent[M_co]
        | events.QueuedEvent
        | events.RateLimitEvent
        | events.ResponseEvent
        | events.RetriedEvent
        | events.RetryEvent
        | events.StartedEvent
        | events.ToolCallEvent
        | events.ToolAbandonedEvent
        | events.ToolProgressEvent
        | events.ToolResultEvent
        | events.ToolRetryEvent
        | events.UnclaimedEvent
        | events.UsageEvent
        | events.UserInputEvent
    )
else:  # without import statements: the packages that emit them stand above this one
    RunEvent = Union[(events.Event, *map(built_in, HOMES))]
"""Any event that trivium emits; `kind` tells them apart."""
