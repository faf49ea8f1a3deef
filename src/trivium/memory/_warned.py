"""Warnings at the line of the program that called trivium, however deep below it they are given."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from inspect import currentframe
from itertools import islice
from traceback import walk_stack
from typing import Final, Protocol, cast, runtime_checkable
from warnings import warn

from trivium.memory import MemoryManager

_LOOKED_AT: Final = 100
"""The first entries of a list that are looked at for modules: a longer one is of rows, words or numbers."""


@runtime_checkable
class _Remembers(Protocol):
    """A module."""

    name: str
    memory: object


def warn_of_left_out(modules: Sequence[object]) -> None:
    """Warn of modules with a memory that stand in a plain list or dict of these modules, and are none of them."""
    known = {id(each) for each in modules}
    for value in [value for each in modules for value in vars(each).values() if type(value) in (list, dict)]:
        held = cast("Iterable[object]", value.values() if isinstance(value, dict) else value)
        for each in islice(held, _LOOKED_AT):
            if isinstance(each, _Remembers) and isinstance(each.memory, MemoryManager) and id(each) not in known:
                warn_caller(f"{each.name!r} is left out of the state: use an AgentList or AgentDict")


def warn_caller(text: str) -> None:
    """Warn at the nearest line outside of trivium, if there is one on the stack."""
    frames = enumerate(walk_stack(currentframe()), 1)
    level = next((at for at, (each, _) in frames if not str(each.f_globals.get("__name__")).startswith("trivium.")), 1)
    warn(text, stacklevel=level)
