"""Dense search: the chunks whose vectors are nearest to the question's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trivium.commander import driver_neutral, sync_method
from trivium.knowledge.stores import Hit, Where

if TYPE_CHECKING:
    from trivium.knowledge.stores import VectorStore


class DenseSearch:
    """Finds the chunks of a store that are nearest to a question in meaning, best first, by cosine similarity.

    Args:
        store: the store of chunks and vectors; its embedding model embeds the question.

    Example::

        DenseSearch(store)("scripts that run at installation", 5)
    """

    name = "dense"

    def __init__(self, store: VectorStore) -> None:
        self._store = store

    @driver_neutral
    async def search_async(self, question: str, k: int, where: Where = None) -> list[Hit]:
        """Return the k chunks nearest to the question; none if the store has no vectors.

        Args:
            question: any text.
            k: maximum number of chunks.
            where: a condition on their metadata.

        Raises:
            FilterError: `where` is not a valid condition.
            VectorStoreError: the store cannot be read.
        """
        model = self._store.embedding
        if model is None or not question.strip():
            return []
        vectors = await model.embed_async([question], "query")
        return await self._store.nearest_async(vectors[0], k, where)

    __call__ = sync_method(search_async)
