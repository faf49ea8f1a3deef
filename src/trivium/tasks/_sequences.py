"""The short form of the sequences that end a task, and whether what has happened matches one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from trivium.exceptions import ConfigurationError
from trivium.schema import Entity, Message
from trivium.tasks._config import AgentEvent, DoneSequence, EventType

__all__ = ["Happened", "matches", "parse_done_sequence", "parse_done_sequences"]

_LETTERS = {
    "T": EventType.TOOL,
    "L": EventType.LLM_RESPONSE,
    "A": EventType.AGENT_RESPONSE,
    "U": EventType.USER_RESPONSE,
    "N": EventType.NO_RESPONSE,
    "C": EventType.CONTENT_MATCH,
}
_WORDS = {
    "TOOL": "T", "LLM": "L", "AGENT": "A", "USER": "U", "NO_RESPONSE": "N", "CONTENT": "C",
}  # fmt: skip
_TOKEN = re.compile(r"\s*(?P<word>[A-Za-z_]+)\s*(?:\[(?P<inner>(?:[^\[\]]|\[[^\]]*\])*)\])?\s*(?:,|$)")
_OF_ENTITY = {
    Entity.LLM: EventType.LLM_RESPONSE,
    Entity.AGENT: EventType.AGENT_RESPONSE,
    Entity.USER: EventType.USER_RESPONSE,
}


def parse_done_sequence(sequence: str | DoneSequence, tools_map: Mapping[str, Any] | None = None) -> DoneSequence:
    """The sequence that a short form stands for.

    Events are separated by commas: `T` a tool call, `T[name]` that tool (its name, or its class's name), `L` the model
    speaks, `A` the agent, `U` the user, `N` nobody, `C[pattern]` a text that holds the pattern.

    Args:
        sequence: the short form; a `DoneSequence` stays as it is.
        tools_map: the tools that are known, by name, to find classes by their names.

    Raises:
        ConfigurationError: it cannot be read; the text shows where.

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
        events.append(_event(found["word"], found["inner"], tools_map or {}, sequence))
        at = found.end()
    return DoneSequence(events=events)


_HELP = "write T, T[tool], L, A, U, N or C[pattern], with commas between"


def _event(word: str, inner: str | None, tools_map: Mapping[str, Any], whole: str) -> AgentEvent:
    letter = _WORDS.get(word.upper(), word.upper())
    kind = _LETTERS.get(letter)
    if kind is None:
        raise ConfigurationError(f"{word!r} in {whole!r} is no event: {_HELP}")
    if kind is EventType.CONTENT_MATCH:
        try:
            re.compile(inner or "")
        except re.error as error:
            raise ConfigurationError(f"the pattern {inner!r} in {whole!r} is no regular expression: {error}") from None
        if not inner:
            raise ConfigurationError(f"C in {whole!r} needs a pattern: C[done|finished]")
        return AgentEvent(event_type=kind, content_pattern=inner)
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
    """The sequences that these short forms stand for; see `parse_done_sequence`."""
    return [parse_done_sequence(each, tools_map) for each in sequences]


class Happened(NamedTuple):
    """A message of a run, with who gave it and the names of the tools that it calls."""

    message: Message | None
    responder: str
    entity: Entity | None
    tools: tuple[str, ...]


def matches(sequence: DoneSequence, happened: Sequence[Happened]) -> bool:
    """Whether the latest that happened is the sequence."""
    wanted = sequence.events
    if not wanted or len(happened) < len(wanted):
        return False
    latest = happened[-len(wanted) :]
    return all(_fits(event, each) for event, each in zip(wanted, latest, strict=True))


def _fits(event: AgentEvent, happened: Happened) -> bool:
    for name, there in ((event.responder, happened.responder), (event.sender, happened.responder)):
        if name is not None and name.lower() != there.lower():
            return False
    kind = event.event_type
    if kind is EventType.NO_RESPONSE:
        return happened.message is None
    if happened.message is None:
        return False
    if kind is EventType.TOOL:
        return bool(happened.tools)
    if kind is EventType.SPECIFIC_TOOL:
        return event.tool_name in happened.tools
    if kind is EventType.CONTENT_MATCH:
        return re.search(event.content_pattern or "", str(happened.message.content), re.IGNORECASE) is not None
    if kind is EventType.LLM_RESPONSE and happened.tools:
        return False
    return happened.entity is not None and _OF_ENTITY.get(happened.entity) is kind
