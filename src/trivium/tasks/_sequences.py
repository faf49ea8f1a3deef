"""Sequences of events that end a task: their short form, and the match with the steps of a run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from trivium.agents.lowlevel import class_of
from trivium.exceptions import ConfigurationError
from trivium.schema import Entity, Message
from trivium.tasks._config import AgentEvent, DoneSequence, EventType, check_pattern

if TYPE_CHECKING:
    from trivium.agents import Agent
    from trivium.tasks._signals import Signs
    from trivium.tasks._task import Task

_KINDS = {
    **dict.fromkeys(("T", "TOOL"), EventType.TOOL),
    **dict.fromkeys(("L", "LLM"), EventType.LLM_RESPONSE),
    **dict.fromkeys(("A", "AGENT"), EventType.AGENT_RESPONSE),
    **dict.fromkeys(("U", "USER"), EventType.USER_RESPONSE),
    **dict.fromkeys(("N", "NO_RESPONSE"), EventType.NO_RESPONSE),
    **dict.fromkeys(("C", "CONTENT"), EventType.CONTENT_MATCH),
}
_TOKEN = re.compile(r"\s*(?P<word>[A-Za-z_]+)\s*(?:\[(?P<inner>(?:[^\[\]]|\[[^\]]*\])*)\])?\s*(?:,|$)")
_HELP = "write T, T[tool], L, A, U, N or C[pattern], with commas between"


def parse_done_sequence(sequence: str | DoneSequence, tools_map: Mapping[str, Any] | None = None) -> DoneSequence:
    """Parse the short form of a sequence.

    Events are separated by commas: `T` a tool call, `T[name]` that tool (its name, or its class's name), `L` the model
    speaks, `A` the agent, `U` the user, `N` nobody, `C[pattern]` a text that contains the pattern.

    Args:
        sequence: the short form; a `DoneSequence` is returned as it is.
        tools_map: the known tools by name, for the names of their classes.

    Raises:
        ConfigurationError: it cannot be parsed; the text shows the position.

    Example:
        >>> [event.event_type.value for event in parse_done_sequence("T[square], A").events]
        ['specific_tool', 'agent_response']
    """
    if isinstance(sequence, DoneSequence):
        return sequence
    if not isinstance(sequence, str) or not sequence.strip():  # type: ignore[unnecessary] - users pass anything
        raise ConfigurationError(f'a sequence that ends a task is text such as "T, A", not {sequence!r}')
    events: list[AgentEvent] = []
    at = 0
    while at < len(sequence):
        found = _TOKEN.match(sequence, at)
        if found is None:
            raise ConfigurationError(f"cannot read {sequence!r} from {sequence[at:]!r} on: {_HELP}")
        events.append(parse_event(found["word"], found["inner"], tools_map or {}, sequence))
        at = found.end()
    return DoneSequence(events=events)


def parse_event(word: str, inner: str | None, tools_map: Mapping[str, Any], whole: str) -> AgentEvent:
    """Parse one event of a short form: its word, and what stands in brackets behind it."""
    kind = _KINDS.get(word.upper())
    if kind is None:
        raise ConfigurationError(f"{word!r} in {whole!r} is no event: {_HELP}")
    if kind is EventType.CONTENT_MATCH:
        if not inner:
            raise ConfigurationError(f"C in {whole!r} needs a pattern: C[done|finished]")
        return AgentEvent(event_type=kind, content_pattern=check_pattern(inner))
    if inner is None:
        return AgentEvent(event_type=kind)
    if kind is not EventType.TOOL:
        raise ConfigurationError(f"{word}[…] in {whole!r}: only T and C take a name: {_HELP}")
    found = next((each for each in tools_map.values() if each.__name__ == inner.strip()), None)
    name = inner.strip() if found is None else found.name()
    return AgentEvent(event_type=EventType.SPECIFIC_TOOL, tool_name=name, tool_class=found)


def parse_done_sequences(
    sequences: Sequence[str | DoneSequence], tools_map: Mapping[str, Any] | None = None
) -> list[DoneSequence]:
    """Parse several short forms; see `parse_done_sequence`."""
    return [parse_done_sequence(each, tools_map) for each in sequences]


class TaskStep(NamedTuple):
    """The outcome of a step, for sequences of events.

    Args:
        message: the response; None: there was none.
        responder: the name of its responder.
        entity: the entity of its author.
        tools: the names of the tools that it calls.
    """

    message: Message | None
    responder: str
    entity: Entity | None
    tools: tuple[str, ...]

    @classmethod
    def of(cls, signs: Signs, responder: Entity | Task[Any] | None, agent: Agent) -> TaskStep:
        """Return the step that led to a response, with the tools of the agent that it calls."""
        tools = [call.name for call in signs.calls if class_of(agent, call.name) is not None]
        if signs.message is not None:
            tools += [tool.request for tool in signs.message.tool_messages]
        return cls(signs.message, "" if responder is None else responder.value, signs.entity, tuple(tools))

    def matches(self, event: AgentEvent) -> bool:
        """Return whether the step is an instance of an event."""
        for name in (event.responder, event.sender):
            if name is not None and name.lower() != self.responder.lower():
                return False
        kind = event.event_type
        if kind is EventType.NO_RESPONSE or self.message is None:
            return kind is EventType.NO_RESPONSE and self.message is None
        if kind is EventType.TOOL:
            return bool(self.tools)
        if kind is EventType.SPECIFIC_TOOL:
            return (event.tool_name or (event.tool_class and event.tool_class.name())) in self.tools
        if kind is EventType.CONTENT_MATCH:
            return re.search(event.content_pattern or "", str(self.message.content), re.IGNORECASE) is not None
        if kind is EventType.LLM_RESPONSE and self.tools:
            return False
        return self.entity is not None and kind == f"{self.entity.value.lower()}_response"


def ends_with(sequences: Iterable[DoneSequence], steps: Iterable[TaskStep], latest: TaskStep) -> bool:
    """Return whether steps, with this one as the latest, end with one of the sequences."""
    last = [*steps]
    if not last or last[-1].message is not latest.message:
        last.append(latest)
    short = [each.events for each in sequences if len(each.events) <= len(last)]
    return any(all(map(TaskStep.matches, last[-len(events) :], events)) for events in short)
