"""What modules remember of a session, as the chains of parts that a run refers to."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol, cast

from trivium.commander.lowlevel import current
from trivium.journal._codec import Codec
from trivium.journal._store import Part, Store, chain_of
from trivium.policies import NOTHING, Sources
from trivium.schema import ActionReturn, Message
from trivium.schema.lowlevel import Changes, watch

_CONSTANT: Final = frozenset((str, int, float, bool, type(None), tuple, frozenset, ActionReturn))
"""Classes of values that do not change where they stand."""


class HasState(Protocol):
    """A module, as far as a run restores it."""

    def state_dict(self, session_id: Hashable = 0) -> Mapping[str, list[Any]]:
        """Return what it remembers of a session."""
        ...

    def load_state_dict(self, state: Mapping[str, Any], session_id: Hashable = 0) -> None:
        """Take what `state_dict` gave."""
        ...

    def named_modules(self) -> Iterable[tuple[str, object]]:
        """Return it and all modules below."""
        ...


class _Memory(Protocol):
    messages: Sequence[Message]
    sources: Sources
    stored: object

    def save(self) -> list[dict[str, Any]]: ...


class _Manager(Protocol):
    def get(self, session_id: Hashable = 0) -> _Memory | None: ...


class _HasMemory(Protocol):
    memory: _Manager | None


class _Stored(NamedTuple):
    """The parts of the first messages of a memory: none of these was changed since."""

    messages: Sequence[Message]
    codec: Codec
    parts: list[Part]
    sources: Sources
    changes: Changes
    """Counts the changes of these; one for all that were stored of a memory."""
    changed: int
    """The count when this was made."""

    def is_of(self, messages: Sequence[Message], codec: Codec) -> bool:
        """Return whether a list of messages begins with these."""
        return messages is self.messages and codec is self.codec and self.changes.count == self.changed


def chains_of(state: HasState, session_id: Hashable, codec: Codec) -> dict[str, list[Part]]:
    """Return what a module remembers of a session, by the path of each memory that is not empty."""
    if type(state).state_dict.__module__ != "trivium.module":  # it is of a module's own kind
        saved = state.state_dict(session_id)
        return {path: chain_of(map(codec.dump, each)) for path, each in saved.items() if each}
    found: dict[str, list[Part]] = {}
    for path, module in state.named_modules():
        manager = cast("_HasMemory", module).memory
        memory = None if manager is None else manager.get(session_id)
        if memory is not None and memory.messages:
            found[f"{path}.memory" if path else "memory"] = _chain_of(memory, codec)
    return found


def restore(state: HasState, session_id: Hashable, body: str, codec: Codec, store: Store) -> None:
    """Have a module remember what a record says, and nothing else of the session.

    Args:
        state: the module.
        session_id: the session.
        body: the JSON of the record: it refers to what was remembered, by the path of each memory.
        codec: reads it.
        store: has it.
    """
    kept = {path: list[Any]() for path in state.state_dict(session_id)}
    for path, head in json.loads(body).get("state", {}).items():
        kept[path] = [codec.load(part.body) for part in store.parts(head)]
    outside = current.set(None)  # it was remembered then: what this run has read is not in it
    try:
        state.load_state_dict(kept, session_id)
    finally:
        current.reset(outside)


def _chain_of(memory: _Memory, codec: Codec) -> list[Part]:
    """Return the messages of a memory as parts; those that were made before are not made again."""
    messages, before = memory.messages, memory.stored
    if not isinstance(before, _Stored) or not before.is_of(messages, codec):
        changes = before.changes if isinstance(before, _Stored) else Changes()
        before = _Stored(messages, codec, [], NOTHING, changes, changes.count)
    parts, read = [*before.parts], before.sources
    for message in messages[len(parts) :]:
        if not _is_constant(message):
            break
        watch(message, before.changes)  # first: a change from now on is seen
        parts.append(_next_part(parts, codec.dump(message.model_dump())))
        read |= message.sources
    memory.stored = before._replace(parts=parts, sources=read)
    rest = messages[len(parts) :]
    if not memory.sources <= read.union(*(each.sources | each.documents for each in rest)):
        return chain_of(map(codec.dump, memory.save()))  # the last one has those of what was erased
    own = [*parts]
    for message in rest:
        own.append(_next_part(own, codec.dump(message.model_dump())))
    return own


def _next_part(parts: Sequence[Part], body: str) -> Part:
    return chain_of([body], parts[-1].digest if parts else "")[0]


def _is_constant(message: Message) -> bool:
    extra = message.__pydantic_extra__
    return (
        all(each.__class__ in _CONSTANT for each in (message.content, message.formatted, message.extra_info))
        and not extra.keys() & {"metadata", "files", "attachments", "reasoning_state"}
    )  # fmt: skip
