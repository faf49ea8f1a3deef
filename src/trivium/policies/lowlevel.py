"""What the run tree knows of sources: for trivium's other packages, also those below the tree."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any, Final

from trivium.policies._sources import NOTHING, Sources

__all__ = ["current", "sources_above"]

current: Final[ContextVar[Any]] = ContextVar("trivium_node", default=None)
"""The node of the run tree that runs here; None outside of a run. `commander` sets it."""


def sources_above(node: Any) -> Sources:
    """Return all that was read in the run so far: what the node was given, or makes, may repeat any of it."""
    while node is not None and node._parent is not None:  # the root knows all
        node = node._parent
    return NOTHING if node is None else node._sources
