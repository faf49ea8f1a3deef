"""Search by meaning: the chunks whose vectors lie nearest to the question's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trivium.commander import door, portable
from trivium.knowledge.stores import Hit, Where

if TYPE_CHECKING:
    from trivium.knowledge.stores import VectorStore

__all__ = ["DenseSearch"]


class DenseSearch:
    """Finds the chunks of a store that are nearest to a question in meaning, best first, by cosine similarity.

    Args:
        store: where the chunks and their vectors are; its embedding model embeds the question.

    Example::

        DenseSearch(store)("scripts that run at installation", 5)
    """

    name = "dense"

    def __init__(self, store: VectorStore) -> None:
        self._store = store

    @portable
    async def search_async(self, question: str, k: int, where: Where = None) -> list[Hit]:
        """The k chunks nearest to the question; none where the store keeps no vectors.

        Args:
            question: any text.
            k: how many at most.
            where: a condition on their metadata.

        Raises:
            FilterError: `where` is no condition.
            VectorStoreError: the store cannot be read.
        """
        model = self._store.embedding
        if model is None or not question.strip():
            return []
        vectors = await model.embed_async([question], "query")
        return await self._store.nearest_async(vectors[0], k, where)

    __call__ = door(search_async)
