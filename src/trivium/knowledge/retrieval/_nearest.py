"""Nearest sentences: the part of long passages that a small model reads."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from trivium.commander import driver_neutral, sync_method
from trivium.exceptions import ConfigurationError
from trivium.knowledge.retrieval._extraction import narrow_chunk
from trivium.knowledge.retrieval._lexical import content_terms, terms
from trivium.knowledge.stores import Hit
from trivium.parsing.lowlevel import statements

if TYPE_CHECKING:
    from trivium.knowledge.embeddings import EmbeddingModel

_HEADING: Final = re.compile(r"#{1,6} ")
# A word of the question counts in full in a sentence, half in the sentence beside it, and less in a heading above; each
# passage counts less than the one before, since a few words say less of it than the search, which has seen them all.
_BESIDE, _ABOVE, _LATER = 0.5, 0.3, 0.1


class _Span(NamedTuple):
    """A sentence: the number of its hit, and its range in that chunk."""

    hit: int
    start: int
    end: int


class NearestSentences:
    """A step that reduces passages to the sentences nearest to the question, word for word, and those around them.

    So many passages are searched and few characters are read: the answer is often one sentence of the sixth passage.
    Passages that are short enough together stay as they are; a passage without a near sentence is left out. No language
    model is called.

    Args:
        embedding: embeds the sentences, each below the headings of its passage; about 100 for ten passages. None:
            sentences are near by the words that they, those beside them and their headings share with the question,
            and those of earlier passages come first.
        characters: maximum number of characters of the result (default 3600).
        around: number of sentences kept on each side of a near one (default 2).

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

    def __init__(self, embedding: EmbeddingModel | None, *, characters: int = 3600, around: int = 2) -> None:
        if characters < 1 or around < 0:
            raise ConfigurationError("characters is at least 1, and around, the sentences on each side, 0 or more")
        self._embedding, self._characters, self._around = embedding, characters, around

    @driver_neutral
    async def nearest_async(self, question: str, hits: Sequence[Hit]) -> list[Hit]:
        """Return the nearest parts of the passages, in their order."""
        if sum(len(hit.chunk.content) for hit in hits) <= self._characters:
            return list(hits)
        places = [
            _Span(number, start, end)
            for number, hit in enumerate(hits)
            for start, end in statements(hit.chunk.content)
            if not _HEADING.match(hit.chunk.content, start)
        ]
        scores = await self._scores(question, hits, places)
        chosen, left = set[int](), self._characters
        for at in map(int, (-scores).argsort(kind="stable")):
            beside = range(max(0, at - self._around), min(len(places), at + self._around + 1))
            new = {each for each in beside if places[each].hit == places[at].hit} - chosen
            left -= sum(places[each].end - places[each].start for each in new)
            if left < 0:
                chosen = chosen or {at}  # the nearest sentence is kept, however long it is
                break
            chosen |= new
        kept: dict[int, list[tuple[int, int]]] = {}
        for each in sorted(chosen):
            kept.setdefault(places[each].hit, []).append((places[each].start, places[each].end))
        narrowed = ((hit, narrow_chunk(hit.chunk, kept.get(number, ()))) for number, hit in enumerate(hits))
        return [Hit(chunk, hit.score) for hit, chunk in narrowed if chunk is not None]

    __call__ = sync_method(nearest_async)

    @driver_neutral
    async def _scores(self, question: str, hits: Sequence[Hit], places: Sequence[_Span]) -> Any:
        """Return how near each sentence is, as an array."""
        if self._embedding is None:
            return _shared_words(question, hits, places)
        texts = [f"{hits[at].chunk.metadata.heading}: {hits[at].chunk.content[start:end]}" for at, start, end in places]
        asked = await self._embedding.embed_async([question], "query")
        return await self._embedding.embed_async(texts) @ asked[0]


def _shared_words(question: str, hits: Sequence[Hit], places: Sequence[_Span]) -> Any:
    """Return the share of the question's words near each sentence, of which rare ones count more, as an array."""
    import numpy

    asked = frozenset(content_terms(question))
    own = [asked.intersection(terms(hits[at].chunk.content[start:end])) for at, start, end in places]
    above = [asked.intersection(terms(hit.chunk.metadata.heading)) for hit in hits]
    counts = Counter(word for words in own for word in words)
    weights = {word: math.log(1 + len(places) / (1 + counts[word])) for word in asked}
    scores = numpy.empty(len(places))
    for number, (place, words) in enumerate(zip(places, own, strict=True)):
        beside = frozenset[str]()
        for other in (number - 1, number + 1):
            if 0 <= other < len(places) and places[other].hit == place.hit:
                beside |= own[other]
        parts = ((1.0, words), (_BESIDE, beside - words), (_ABOVE, above[place.hit] - words - beside))
        found = sum(part * weights[word] for part, some in parts for word in sorted(some))
        scores[number] = found / (sum(weights.values()) or 1) - _LATER * place.hit
    return scores
