"""Warnings at the line of the program that called trivium, however deep below it they are given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from inspect import currentframe
from itertools import islice, pairwise
from traceback import walk_stack
from typing import Final, Protocol, cast, runtime_checkable
from warnings import warn

from trivium.memory import MemoryManager
from trivium.schema import Message

_LOOKED_AT: Final = 100
"""The first entries of a list that are looked at for modules: a longer one is of rows, words or numbers."""

_USER: Final = "user"


@runtime_checkable
class _Remembers(Protocol):
    """A module."""

    name: str
    memory: object


@runtime_checkable
class _Reads(Protocol):
    """An agent: its model reads what it remembers, unless its class has a `forward` of its own."""

    name: str
    llm: object
    overridden: frozenset[str]


def warn_of_left_out(modules: Sequence[object]) -> None:
    """Warn of modules with a memory that stand in a plain list or dict of these modules, and are none of them."""
    known = {id(each) for each in modules}
    for value in [value for each in modules for value in vars(each).values() if type(value) in (list, dict)]:
        held = cast("Iterable[object]", value.values() if isinstance(value, dict) else value)
        for each in islice(held, _LOOKED_AT):
            if isinstance(each, _Remembers) and isinstance(each.memory, MemoryManager) and id(each) not in known:
                warn_caller(f"{each.name!r} is left out of the state: use an AgentList or AgentDict")


def warn_of_other_names(modules: Iterable[tuple[str, object]], loaded: Mapping[str, Sequence[Message]]) -> None:
    """Warn of agents whose model reads what they said under another name as the words of a user.

    Args:
        modules: the modules, by attribute path.
        loaded: the messages that are loaded, by the path of each memory.
    """
    for path, module in modules:
        found = loaded.get(f"{path}.memory".removeprefix("."), ())
        said = [each for before, each in pairwise(found) if each.sender != before.sender]  # else it answers nobody
        senders = {each.sender for each in said if each.entity is None and each.tool_call_id is None} - {_USER}
        if not isinstance(module, _Reads) or "forward" in module.overridden:
            continue
        if senders and all(each.sender != module.name for each in found):
            names = ", ".join(map(repr, sorted(senders)))
            warn_caller(
                f"{module.name!r} reads what {names} said as words of a user: load it into an agent of that name"
            )


def warn_caller(text: str) -> None:
    """Warn at the nearest line outside of trivium; not in a thread of trivium's own, where there is none."""
    frames = [str(each.f_globals.get("__name__")) for each, _ in walk_stack(currentframe())]
    level = next((at for at, name in enumerate(frames) if not name.startswith("trivium.")), 0)
    if frames[level] != "threading":
        warn(text, stacklevel=level + 1)
