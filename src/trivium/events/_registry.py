"""The registry of events: from kinds to classes."""

from __future__ import annotations

from importlib import import_module
from typing import Final

from trivium.events._event import Event

HOMES: Final = {
    "ApprovalEvent": "actions",
    "CacheEvent": "llms",
    "DeltaEvent": "llms",
    "EmbeddedEvent": "knowledge.embeddings",
    "EndedEvent": "commander",
    "FallbackEvent": "llms",
    "ForkedEvent": "journal",
    "IngestEvent": "knowledge",
    "MemoryEvent": "memory",
    "MessageEvent": "memory",
    "OverflowEvent": "llms",
    "PartialEvent": "module",
    "QueuedEvent": "commander",
    "RateLimitEvent": "llms",
    "ResponseEvent": "tasks",
    "RetriedEvent": "commander",
    "RetryEvent": "llms",
    "StartedEvent": "commander",
    "ToolCallEvent": "actions",
    "ToolAbandonedEvent": "actions",
    "ToolProgressEvent": "actions",
    "ToolResultEvent": "actions",
    "ToolRetryEvent": "actions",
    "UnclaimedEvent": "journal",
    "UsageEvent": "llms",
    "UserInputEvent": "agents",
}
"""The package that emits each kind of event. It stands above this one, so it is imported when the class is used."""


def event_kinds() -> dict[str, type[Event]]:
    """Return every class of event by its kind: all that trivium emits, and your own that are imported.

    Of two classes with one kind it is the one that was defined later.
    """
    for name in HOMES:
        built_in(name)
    return _defined()


def event_class(kind: str) -> type[Event] | None:
    """Return the class of one kind, or None; of the packages that emit events it imports at most one.

    Example:
        >>> event_class("tool_call"), event_class("nonsense")
        (<class 'trivium.actions._run.ToolCallEvent'>, None)
    """
    name = f"{kind.title().replace('_', '')}Event"
    return built_in(name) if name in HOMES else _defined().get(kind)


def built_in(name: str) -> type[Event]:
    """Return a class of `HOMES` by its name."""
    return getattr(import_module(f"trivium.{HOMES[name]}"), name)


def _defined() -> dict[str, type[Event]]:
    found: dict[str, type[Event]] = {"note": Event}
    todo: list[type[Event]] = Event.__subclasses__()
    for each in todo:  # which grows meanwhile
        found[str(each.kind)] = each
        todo += each.__subclasses__()
    return found
