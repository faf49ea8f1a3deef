"""Neighbours: the chunks around those that were found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from trivium.commander import driver_neutral, sync_method
from trivium.exceptions import ConfigurationError
from trivium.knowledge.stores import Hit

if TYPE_CHECKING:
    from trivium.knowledge.stores import VectorStore
    from trivium.parsing import Chunk


class Neighbours:
    """A step that adds the chunks before and after each one; those that touch become one passage that can be cited.

    A `Retriever` does this by itself. To do it after other steps, give the retriever `around=0` and put this step into
    `then`.

    Args:
        store: the store of the chunks.
        around: number of chunks on each side (default 1).

    Raises:
        ConfigurationError: `around` is negative.

    Example::

        Retriever(store, around=0, then=[Reranker(model), Neighbours(store)], spare=2)
    """

    name = "neighbours"

    def __init__(self, store: VectorStore, around: int = 1) -> None:
        if around < 0:
            raise ConfigurationError(f"around is {around}: give the number of chunks on each side, 0 or more")
        self._store, self._around = store, around

    @driver_neutral
    async def widen_async(self, question: str, hits: Sequence[Hit]) -> list[Hit]:
        """Return the passages around some chunks, in the order of the best chunk in each."""
        found = await self._store.add_context_window_async(hits, self._around)
        return [Hit(cast("Chunk", document), score) for document, score in found]

    __call__ = sync_method(widen_async)
