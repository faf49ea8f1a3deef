"""Documents: reading files of many formats, places in them, and the passages that matter for a question."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trivium.knowledge._passages import Passage, PassageIndex, select, split
    from trivium.knowledge._places import Locator, Place, locate
    from trivium.knowledge._reading import read

__all__ = ["Locator", "Passage", "PassageIndex", "Place", "locate", "read", "select", "split"]


def _home(name: str) -> str:
    """The private module that defines a public name."""
    if name == "read":
        return "_reading"
    return "_places" if name in {"Locator", "Place", "locate"} else "_passages"


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_home(name)}"), name)
    globals()[name] = value  # found directly from now on
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
