"""Types of events, as a type checker sees them in a user's program; pyright checks this file, and it runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, assert_type

from trivium import Agent, Message
from trivium.events import DeltaEvent, EndedEvent, Event, RunEvent, ToolCallEvent, UsageEvent
from trivium.llms import Reasoning, ToolCallPart
from trivium.schema import Usage
from trivium.testing import ScriptedModel


class StepEvent(Event[int, Literal["step"]]):
    """A user's own event."""

    __slots__ = ()


def test_the_kind_narrows_a_streamed_event():
    kinds: list[str] = []
    stream = Agent(ScriptedModel([["one ", "two", Usage(3, 2)]])).stream("hi")
    for event in stream:
        kinds.append(event.kind)
        assert_type(event.name, str)
        assert_type(event.path, str)
        assert_type(event.key, str)
        assert_type(event.time, float)
        if event.kind == "delta":
            assert_type(event, DeltaEvent)
            assert_type(event.data, str | ToolCallPart | Reasoning)
            assert_type(event.piece, str)
        elif event.kind == "usage":
            assert_type(event, UsageEvent)
            assert_type(event.data, Usage)
        elif event.kind == "ended":
            assert_type(event, EndedEvent)
            assert_type(event.data, BaseException | None)
        elif event.kind == "message":
            assert_type(event.data, Message)
        elif event.kind == "tool_call":
            assert_type(event.data.arguments, str | Mapping[str, Any])
    assert kinds == [
        "started", "message", "started", "delta", "delta", "usage", "ended", "message", "ended"
    ]  # fmt: skip


def test_listeners_may_be_typed_by_the_union_by_the_base_or_with_events_of_their_own():
    heard: list[str] = []

    def by_union(event: RunEvent) -> None:
        match event:
            case DeltaEvent():
                assert_type(event, DeltaEvent)
                heard.append(event.piece)
            case ToolCallEvent():
                heard.append(event.data[0])
            case _:
                pass

    def by_base(event: Event) -> None:
        assert_type(event.kind, str)
        if isinstance(event, StepEvent):
            assert_type(event.data, int)

    def with_own(event: RunEvent | StepEvent) -> None:
        if event.kind == "step":
            assert_type(event, StepEvent)

    Agent(ScriptedModel(["hello"]))("hi", listeners=[by_union, by_base, with_own])
    assert heard == ["hello"]
    assert StepEvent.kind == "step"
