"""Agents whose call gives out the answer as it grows."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from inspect import isasyncgenfunction, isgeneratorfunction
from typing import Any

from trivium.agents._agent import Agent
from trivium.agents._answer_format import AnswerFormat
from trivium.agents._containers import Sequential
from trivium.commander import EndedEvent, Event, TaskNode
from trivium.commander.lowlevel import node_name, parent_of
from trivium.llms import DeltaEvent
from trivium.module import Module, PartialEvent
from trivium.schema import AgentStatusCode, Message, ModelStatusCode

__all__ = ["AsyncStreamingAgent", "AsyncStreamingSequential", "StreamingAgent", "StreamingSequential"]


class _Growing:
    """The events of a call as messages: what its agents have said so far."""

    def __init__(self, root: Module, node: TaskNode) -> None:
        self._modules = {module.name: module for _, module in root.named_modules()}
        self._node = node if _yields(root) else None  # whose messages alone count
        self._texts: dict[TaskNode, str] = {}

    def message(self, event: Event[Any]) -> Message | None:
        """The message that an event is, if it is one."""
        if isinstance(event, PartialEvent):
            return event.data if self._node in (None, event.node) else None
        speaker = parent_of(event.node)
        if self._node is not None or speaker is None or _yields(self._modules.get(node_name(speaker))):
            return None  # what a forward yields itself is not said twice
        if isinstance(event, DeltaEvent) and isinstance(event.data, str):
            self._texts[event.node] = self._texts.get(event.node, "") + event.data
            if isinstance(getattr(self._modules.get(node_name(speaker)), "output_format", None), AnswerFormat):
                return None  # the values so far are events of their own
            return self._said(node_name(speaker), self._texts[event.node], ModelStatusCode.STREAM_ING)
        if isinstance(event, EndedEvent) and event.node in self._texts:
            text = self._texts.pop(event.node)  # what failed has no end
            return None if event.data else self._said(node_name(speaker), text, AgentStatusCode.END)
        return None

    def _said(self, name: str, text: str, state: AgentStatusCode | ModelStatusCode) -> Message:
        parser = getattr(self._modules.get(name), "output_format", None)
        formatted = None
        if isinstance(parser, AnswerFormat):
            return Message(content=text, sender=name, stream_state=state).replace(output=parser.partial_value(text))
        if parser is not None:
            try:
                formatted = parser.parse_response(text)
            except Exception:  # half of an answer need not have the form of a whole one
                formatted = None
        return Message(content=text, sender=name, formatted=formatted, stream_state=state)


def _yields(module: Module | None) -> bool:
    forward = getattr(type(module), "forward", None)
    return isgeneratorfunction(forward) or isasyncgenfunction(forward)


class StreamingMixin(Module):
    """Put before a module's class, it makes a call a generator of messages that grow.

    The last one is the answer of the plain call, after its hooks; the whole text comes before it too. Where `forward`
    yields, its messages are given out as they are; else the pieces that its models send. Leaving early stops the call.
    """

    def __call__(self, *message: Any, **kwargs: Any) -> Generator[Message]:  # pyright: ignore[reportIncompatibleMethodOverride] # fmt: skip
        """Call it, and yield the answer as it grows; see `Module.stream` for the events themselves."""
        with self.stream(*message, **kwargs) as events:
            growing = _Growing(self, events.node)
            for event in events:
                if (partial := growing.message(event)) is not None:
                    yield partial
            yield events.result


class AsyncStreamingMixin(Module):
    """The same for async code: a call is an async generator."""

    async def __call__(self, *message: Any, **kwargs: Any) -> AsyncGenerator[Message]:  # pyright: ignore[reportIncompatibleMethodOverride] # fmt: skip
        """Call it, and yield the answer as it grows; see `Module.open` for the events themselves."""
        async with self.open(*message, **kwargs) as events:
            growing = _Growing(self, events.node)
            async for event in events:
                if (partial := growing.message(event)) is not None:
                    yield partial
            yield events.result


class StreamingAgent(StreamingMixin, Agent):
    """An `Agent` whose call yields its answer as it grows.

    Example:
        >>> from trivium.testing import ScriptedModel
        >>> agent = StreamingAgent(ScriptedModel([["Hel", "lo"]]))
        >>> [(message.content, message.stream_state.name) for message in agent("hi")]
        [('Hel', 'STREAM_ING'), ('Hello', 'STREAM_ING'), ('Hello', 'END'), ('Hello', 'END')]
    """


class AsyncStreamingAgent(AsyncStreamingMixin, Agent):
    """An `Agent` whose call is an async generator of its answer as it grows."""


class StreamingSequential(StreamingMixin, Sequential):
    """A `Sequential` whose call yields what each of its agents says, as it grows."""


class AsyncStreamingSequential(AsyncStreamingMixin, Sequential):
    """A `Sequential` whose call is an async generator of what each of its agents says, as it grows."""
