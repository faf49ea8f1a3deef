"""What of long passages a small reader is given: the sentences nearest to the question."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from trivium.commander import door, portable
from trivium.exceptions import ConfigurationError
from trivium.knowledge.retrieval._extraction import narrowed
from trivium.knowledge.stores import Hit
from trivium.parsing.lowlevel import statements

if TYPE_CHECKING:
    from trivium.knowledge.embeddings import EmbeddingModel

__all__ = ["NearestSentences"]

_HEADING: Final = re.compile(r"#{1,6} ")


class _Place(NamedTuple):
    """A sentence: the number of its hit, and its range in that chunk."""

    hit: int
    start: int
    end: int


class NearestSentences:
    """A step that leaves of the passages the sentences nearest to the question, word for word, and those around them.

    Many passages are searched so, and few characters read: the answer is often one sentence of the sixth passage.
    What is short enough stays as it is; passages of which nothing is near are left out. No language model is asked.

    Args:
        embedding: embeds the sentences, each below the headings of its passage; some 100 for ten passages.
        characters: how many are left at most (default 3600).
        around: how many sentences are kept on each side (default 2).

    Raises:
        ConfigurationError: `characters` is below 1, or `around` negative.

    Example:
        >>> from trivium.knowledge import Chunk
        >>> from trivium.knowledge.embeddings import StaticEmbedding
        >>> nearest = NearestSentences(StaticEmbedding(), characters=30, around=0)
        >>> lease = Chunk.of("We met in May. The monthly rent is 950 EUR. It was sunny.", source="lease.txt", line=1)
        >>> [hit.chunk.content for hit in nearest("How much is the monthly rent?", [Hit(lease, 1.0)])]
        ['The monthly rent is 950 EUR.']
    """

    name = "nearest"

    def __init__(self, embedding: EmbeddingModel, *, characters: int = 3600, around: int = 2) -> None:
        if characters < 1 or around < 0:
            raise ConfigurationError("characters is at least 1, and around how many sentences on each side, 0 or more")
        self._embedding, self._characters, self._around = embedding, characters, around

    @portable
    async def nearest_async(self, question: str, hits: Sequence[Hit]) -> list[Hit]:
        """What is left of some passages, in their order."""
        if sum(len(hit.chunk.content) for hit in hits) <= self._characters:
            return list(hits)
        places = [
            _Place(number, start, end)
            for number, hit in enumerate(hits)
            for start, end in statements(hit.chunk.content)
            if not _HEADING.match(hit.chunk.content, start)
        ]
        texts = [f"{hits[at].chunk.metadata.heading}: {hits[at].chunk.content[start:end]}" for at, start, end in places]
        asked = await self._embedding.embed_async([question], "query")
        scores = await self._embedding.embed_async(texts) @ asked[0]
        kept = self._kept(places, [int(each) for each in (-scores).argsort(kind="stable")])
        left = ((hit, narrowed(hit.chunk, kept.get(number, ()))) for number, hit in enumerate(hits))
        return [Hit(chunk, hit.score) for hit, chunk in left if chunk is not None]

    __call__ = door(nearest_async)

    def _kept(self, places: Sequence[_Place], best: Sequence[int]) -> dict[int, list[tuple[int, int]]]:
        """The ranges that are kept of each hit, in order; the first place always is."""
        chosen: set[int] = set()
        left = self._characters
        for at in best:
            beside = range(max(0, at - self._around), min(len(places), at + self._around + 1))
            new = {each for each in beside if places[each].hit == places[at].hit} - chosen
            left -= sum(places[each].end - places[each].start for each in new)
            if left < 0:
                chosen |= set() if chosen else {at}
                break
            chosen |= new
        kept: dict[int, list[tuple[int, int]]] = {}
        for each in sorted(chosen):
            kept.setdefault(places[each].hit, []).append((places[each].start, places[each].end))
        return kept
