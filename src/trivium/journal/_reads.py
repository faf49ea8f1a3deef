"""Reads of the world outside that are neither models nor tools: pages, searches, vectors."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel

from trivium.commander.lowlevel import CallNode, driver_neutral, scope_of

if TYPE_CHECKING:
    from trivium.journal._run import DurableRun

T = TypeVar("T")


@driver_neutral
async def recorded_read(
    node: CallNode,
    asked: object,
    act: Callable[[], Awaitable[T]],
    types: tuple[type, ...] = (),
    bases: tuple[type[BaseModel], ...] = (),
) -> T:
    """Read something, or return what an earlier attempt of the run has read there; without a journal, read it.

    Args:
        node: the node of the read.
        asked: what is asked.
        act: reads it.
        types: classes of the result that come back as themselves.
        bases: classes all of whose subclasses do.
    """
    journal: DurableRun | None = scope_of(node).journal
    if journal is None:
        return await act()
    return await journal.perform(node, asked, act, "read", types=types, bases=bases)
