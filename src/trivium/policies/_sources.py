"""The sources of a text: the outside that it may repeat."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from enum import Enum
from operator import attrgetter
from types import NoneType
from typing import Any, Final, Literal, NamedTuple, Protocol, TypeAlias, cast, get_args

from pydantic import BaseModel

from trivium.exceptions import InvalidSourcesError

SourceKind: TypeAlias = Literal["user", "program", "model", "tool", "web", "document", "server"]
"""The kinds of sources. The first three are those that the program itself has put together: they are never noted."""

_PHRASES: Final[dict[str, str]] = {
    "user": "the user", "program": "the program", "model": "the model", "tool": "the tool {}", "web": "the web ({})",
    "document": "the document {}", "server": "the server's tool {}",
}  # fmt: skip


class Source(NamedTuple):
    """One origin of text that an agent has read.

    Args:
        kind: the kind.
        name: the name of the tool, the document, or the server with its tool (`server.tool`).

    Example:
        >>> str(Source("web", "open_url"))
        'the web (open_url)'
    """

    kind: SourceKind
    name: str = ""

    def __str__(self) -> str:
        return _PHRASES.get(self.kind, "{}").format(self.name).removesuffix(" ()").rstrip()


Sources: TypeAlias = frozenset[Source]
NOTHING: Final[Sources] = frozenset()
_KINDS: Final = get_args(SourceKind)
_HOLD_NOTHING: Final = frozenset({str, int, float, bool, bytes, NoneType})


def as_sources(value: Iterable[Any]) -> Sources:
    """Return sources as messages hold them; those that were read again from JSON are lists of two texts.

    Args:
        value: the sources, or pairs of a kind and a name.

    Raises:
        InvalidSourcesError: they are no sources.

    Example:
        >>> as_sources([["web", "open_page"]])
        frozenset({Source(kind='web', name='open_page')})
    """
    if value.__class__ is frozenset and {*map(type, value)} <= {Source}:  # most
        return cast("Sources", value)
    if isinstance(value, str) or not isinstance(value, Iterable):  # type: ignore[unnecessary] - users pass anything
        raise InvalidSourcesError(value)
    pairs = [tuple(cast("Iterable[Any]", each)) if isinstance(each, list | tuple) else () for each in value]
    if not all(map(_is_source, pairs)):
        raise InvalidSourcesError(value)
    return frozenset(Source(*pair) for pair in pairs)


def _is_source(pair: tuple[Any, ...]) -> bool:
    return len(pair) in (1, 2) and pair[0] in _KINDS and all(isinstance(each, str) for each in pair)


class _Sourced(Protocol):
    @property
    def sources(self) -> Sources: ...


def sources_within(value: object, kind: type[_Sourced]) -> Sources:
    """Return the sources of the messages that a value is or holds, also of dumped ones.

    They are found in lists, tuples, sets, deques, mappings, dataclasses and pydantic models, at any depth.

    Args:
        value: the value.
        kind: the class of messages.

    """
    found = NOTHING
    known: dict[int, object] = {}
    waiting: list[Any] = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, Enum) or id(each) in known:  # a cycle is walked once
            continue
        known[id(each)] = each
        is_dict = each.__class__ is dict  # most are, and are quick to ask
        if not is_dict and isinstance(each, kind):
            found |= each.sources
            continue
        parts = each.values() if is_dict else _parts(each)
        waiting += [part for part in parts if part.__class__ not in _HOLD_NOTHING]  # most are left out at once
        if (is_dict or isinstance(each, Mapping)) and "sources" in each:
            with suppress(InvalidSourcesError):  # of a key of that name that means something else
                found |= as_sources(cast("Mapping[str, Any]", each)["sources"])
    return found


def _parts(value: object) -> Iterable[object]:
    """Return the values that a container, a dataclass or a pydantic model holds."""
    if isinstance(value, Mapping):
        return cast("Mapping[object, object]", value).values()
    if isinstance(value, list | tuple | set | frozenset | deque):
        return cast("Iterable[object]", value)
    if isinstance(value, BaseModel):
        return [each for _, each in value]
    if is_dataclass(value) and not isinstance(value, type):
        with suppress(AttributeError):  # of a field that was never set
            return [attrgetter(field.name)(value) for field in fields(value)]
    return ()
