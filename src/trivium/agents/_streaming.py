"""Agents whose call gives out the answer as it grows."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from contextlib import suppress
from inspect import isasyncgenfunction, isgeneratorfunction
from typing import TYPE_CHECKING, Any

from trivium.agents._agent import Agent
from trivium.agents._answer_format import AnswerFormat
from trivium.agents._containers import Sequential
from trivium.agents._names import AgentNames
from trivium.agents._typed import T_co
from trivium.commander import CallNode, EndedEvent, Event, TaskNode
from trivium.commander.lowlevel import AsyncStream, Stream, node_name, parent_of
from trivium.llms import DeltaEvent
from trivium.module import Module, PartialEvent
from trivium.schema import AgentStatusCode, Message, ModelStatusCode

if TYPE_CHECKING:
    from trivium.agents._typed import CallMethod
    from trivium.schema import Answer


class _Growing:
    """The events of a call as messages, the answers of its agents so far; a model is pulled only as they are read."""

    def __init__(self, root: Module, events: Stream[Any] | AsyncStream[Any]) -> None:
        node, events.pipe.most_behind = events.node, 0
        self._node = node if _yields(root) else None  # whose messages alone count
        self._texts: dict[TaskNode, str] = {}

    def message(self, event: Event[Any]) -> Message | None:
        """Return the message that an event is, if it is one."""
        node = event.node
        if isinstance(event, PartialEvent):
            return event.data if self._node in (None, node) else None
        speaker = parent_of(node)
        if self._node is not None or speaker is None:
            return None
        module: Module | None = speaker.asked[0] if isinstance(speaker, CallNode) and speaker.asked else None
        form = (module.answer_format or module.answer_parser) if isinstance(module, AgentNames) else None
        # The messages that a forward yields itself stand for those of its models.
        if isinstance(event, DeltaEvent) and event.piece and (node in self._texts or not _yields(module)):
            text = self._texts[node] = self._texts.get(node, "") + event.piece
            if not isinstance(form, AnswerFormat):  # the values so far are events of their own
                return _answer_so_far(form, node_name(speaker), text, ModelStatusCode.STREAM_ING)
        elif isinstance(event, EndedEvent) and node in self._texts:
            name, text = node_name(speaker), self._texts.pop(node)
            return None if event.data else _answer_so_far(form, name, text, AgentStatusCode.END)  # a failure has no end
        return None


def _answer_so_far(form: Any, name: str, text: str, state: AgentStatusCode | ModelStatusCode) -> Message | None:
    message = Message(content=text, sender=name, stream_state=state)
    with suppress(Exception):  # the beginning of an answer need not have the form of a complete one
        if isinstance(form, AnswerFormat):
            return form.with_value(message, text)
        if form is not None:
            message.formatted = form.parse_response(text)
    return None if isinstance(form, AnswerFormat) else message  # a typed one calls a tool, or is requested again


def _yields(module: Module | None) -> bool:
    return any(is_kind(getattr(type(module), "forward", None)) for is_kind in (isgeneratorfunction, isasyncgenfunction))


class StreamingMixin(Module):
    """Put before a module's class, it makes a call a generator of messages that grow.

    The last one is the answer of the plain call, after its hooks; the whole text comes before it too. Where `forward`
    yields, its messages are given out as they are; else the pieces that its models send. Leaving early stops the call:
    a model is at most one piece ahead of who reads, and its unfinished answer is not remembered.
    """

    acall = Module.acall  # what awaits it has the answer alone
    _is_plain = False

    def __call__(self, *message: Any, **kwargs: Any) -> Generator[Message]:  # pyright: ignore[reportIncompatibleMethodOverride] # fmt: skip
        """Call it, and yield the answer as it grows; see `Module.stream` for the events themselves."""
        with self.stream(*message, **kwargs) as events:
            growing = _Growing(self, events)
            for event in events:
                if (partial := growing.message(event)) is not None:
                    yield partial
            yield events.result


class AsyncStreamingMixin(Module):
    """The same for async code: a call is an async generator."""

    acall = Module.acall
    _is_plain = False

    async def __call__(self, *message: Any, **kwargs: Any) -> AsyncGenerator[Message]:  # pyright: ignore[reportIncompatibleMethodOverride] # fmt: skip
        """Call it, and yield the answer as it grows; see `Module.open` for the events themselves."""
        async with self.open(*message, **kwargs) as events:
            growing = _Growing(self, events)
            async for event in events:
                if (partial := growing.message(event)) is not None:
                    yield partial
            yield events.result


class StreamingAgent(StreamingMixin, Agent[T_co]):
    """An `Agent` whose call yields its answer as it grows.

    Example:
        >>> from trivium.testing import ScriptedModel
        >>> agent = StreamingAgent(ScriptedModel([["Hel", "lo"]]))
        >>> [(message.content, message.stream_state.name) for message in agent("hi")]
        [('Hel', 'STREAM_ING'), ('Hello', 'STREAM_ING'), ('Hello', 'END'), ('Hello', 'END')]
    """

    if TYPE_CHECKING:
        __call__: CallMethod[Generator[Answer[T_co]]]  # type: ignore[override]


class AsyncStreamingAgent(AsyncStreamingMixin, Agent[T_co]):
    """An `Agent` whose call is an async generator of its answer as it grows."""

    if TYPE_CHECKING:
        __call__: CallMethod[AsyncGenerator[Answer[T_co]]]  # type: ignore[override]


class StreamingSequential(StreamingMixin, Sequential):
    """A `Sequential` whose call yields what each of its agents says, as it grows."""


class AsyncStreamingSequential(AsyncStreamingMixin, Sequential):
    """A `Sequential` whose call is an async generator of what each of its agents says, as it grows."""
