"""What modules remember of a session, as the chains of parts that a run refers to."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol, TypeAlias, cast

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


_Saved: TypeAlias = dict[str, list[Any]]
"""What `state_dict` gives."""


class _Rewound(NamedTuple):
    """A module that remembers a session as it was when the run began, though the session had gone on."""

    state: HasState
    session_id: Hashable
    before: _Saved
    """What it remembered when this attempt began."""
    begun: _Saved
    """What the run began with."""


class RunMemories:
    """What modules remember in an attempt of a run: each is as it was when an earlier attempt first called it.

    A session may have gone on since in this process. What others have added is given back when the attempt is over.

    Args:
        codec: the form of values.
        store: has what is remembered.
        chains: where that is put which is to be written.
    """

    def __init__(self, codec: Codec, store: Store, chains: list[list[Part]]) -> None:
        self._codec, self._store, self._chains = codec, store, chains
        self._entered: set[tuple[int, Hashable]] = set()
        """The modules that were called in this attempt, with the session."""
        self._rewound = list[_Rewound]()

    def is_new(self, state: HasState, session_id: Hashable) -> bool:
        """Return whether a module has not been called before in this attempt, in this session."""
        places = {(id(module), session_id) for _, module in state.named_modules()}
        is_new = (id(state), session_id) not in self._entered
        self._entered |= places
        return is_new

    def saved(self, state: HasState, session_id: Hashable) -> dict[str, dict[str, str]]:
        """Return what a module remembers of a session, by reference; it is written with the next record."""
        chains = chains_of(state, session_id, self._codec)
        self._chains += chains.values()
        return {"state": {path: chain[-1].digest for path, chain in chains.items()}} if chains else {}

    def rewind(self, state: HasState, session_id: Hashable, body: str) -> None:
        """Have a module remember what a record says, until the attempt is over."""
        before = restore(state, session_id, body, self._codec, self._store)
        if any(before.values()):
            self._rewound.append(_Rewound(state, session_id, before, {**state.state_dict(session_id)}))

    def go_on(self) -> None:
        """Give the sessions back what others have added to them since the run began."""
        while self._rewound:
            each = self._rewound.pop()
            after = {**each.state.state_dict(each.session_id)}
            both = {path: self._joined(each, path, saved) for path, saved in after.items()}
            if any(both[path] is not after[path] for path in both):
                _load(each.state, each.session_id, both)

    def _joined(self, rewound: _Rewound, path: str, after: list[Any]) -> list[Any]:
        """Return what was there with what the run has added, if it was not there: the turns of both, each whole."""
        saved = rewound.before.get(path, [])
        before, begun, now = (self._texts(each) for each in (saved, rewound.begun.get(path, []), after))
        if before == now[: len(before)] or before == begun[: len(before)]:  # nothing was added
            return after
        own = _common(begun, now)
        size = len(now) - own
        is_there = any(before[at : at + size] == now[own:] for at in range(len(before) - size + 1))
        return saved if is_there else [*saved, *after[own:]]

    def _texts(self, saved: list[Any]) -> list[str]:
        """Return entries as texts to compare. Their sources are left out: the last entry has those of erased ones."""
        return [self._codec.dump(_without_sources(each)) for each in saved]


def _without_sources(entry: object) -> object:
    if not isinstance(entry, dict):
        return entry
    return {name: each for name, each in cast("dict[str, object]", entry).items() if name != "sources"}


def _common(first: list[str], second: list[str]) -> int:
    """Return how many entries two lists begin with that are the same."""
    pairs = zip(first, second, strict=False)
    return next((at for at, (one, other) in enumerate(pairs) if one != other), min(len(first), len(second)))


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


def restore(state: HasState, session_id: Hashable, body: str, codec: Codec, store: Store) -> _Saved:
    """Have a module remember what a record says, and nothing else of the session; return what it remembered before.

    Args:
        state: the module.
        session_id: the session.
        body: the JSON of the record: it refers to what was remembered, by the path of each memory.
        codec: reads it.
        store: has it.
    """
    before = {**state.state_dict(session_id)}
    kept = {path: list[Any]() for path in before}
    for path, head in json.loads(body).get("state", {}).items():
        kept[path] = [codec.load(part.body) for part in store.parts(head)]
    _load(state, session_id, kept)
    return before


def _load(state: HasState, session_id: Hashable, saved: _Saved) -> None:
    outside = current.set(None)  # it was remembered then: what this run has read is not in it
    try:
        state.load_state_dict(saved, session_id)
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
