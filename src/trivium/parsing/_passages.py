"""Passages: a long text cut at its own borders, and the ones that matter for some questions."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple, TypeAlias

from trivium.exceptions import ConfigurationError
from trivium.parsing._words import stems

__all__ = ["Border", "Passage", "PassageIndex", "border", "select", "split"]

Border: TypeAlias = Callable[[str, int, int], Iterable[int]]
"""Where a text may be cut: of `(text, start, end)` the offsets behind each border there, in order."""


def border(pattern: str) -> Border:
    """The border behind each match of a pattern.

    >>> list(border(r"\\n+")("one\\n\\ntwo\\n", 0, 9))
    [5, 9]
    """
    found = re.compile(pattern)
    return lambda text, start, end: (match.end() for match in found.finditer(text, start, end))


PARAGRAPHS = border(r"\n[ \t]*\n+")
LINES = border(r"\n")
WORDS = border(r"\s+")
_BORDERS = (PARAGRAPHS, LINES, border(r"[.!?][\"'”’)\]]*\s+|[。！？]"), WORDS)
_SATURATION = 1.2  # k1 of BM25: how soon repeating a word stops helping
_LENGTH_WEIGHT = 0.75  # b of BM25: how much a long passage is discounted


class Passage(NamedTuple):
    """A slice of a text: `text` is `whole[start:end]`."""

    start: int
    end: int
    text: str


def split(text: str, *, size: int = 1200, borders: Sequence[Border] = _BORDERS) -> list[Passage]:
    """Contiguous passages that together are the text: no character is lost or repeated.

    A passage ends at the last paragraph border in its second half; where there is none at a line, then a
    sentence, then a word border; a text without any is cut hard.

    Args:
        text: any text; an empty one has no passages.
        size: the most characters in a passage (default 1200).
        borders: where it may be cut, the best first.

    Raises:
        ConfigurationError: the size is below 1.

    >>> [passage.text for passage in split("One here.\\n\\nTwo there.", size=12)]
    ['One here.\\n\\n', 'Two there.']
    """
    if size < 1:
        raise ConfigurationError(f"size is {size}; give at least 1 character")
    passages: list[Passage] = []
    start = 0
    while start < len(text):
        end = _cut(text, start, size, borders)
        passages.append(Passage(start, end, text[start:end]))
        start = end
    return passages


def _cut(text: str, start: int, size: int, borders: Sequence[Border]) -> int:
    limit = start + size
    if limit >= len(text):
        return len(text)
    for ends in borders:
        end = 0
        for end in ends(text, start + size // 2, limit):  # noqa: B007 - the last of them
            pass
        if end > start:
            return end
    return limit


class PassageIndex:
    """A BM25 index over passages: built once in linear time, asked many times.

    Args:
        passages: in document order, as `split` gives them.

    >>> index = PassageIndex(split("Dear reader,\\n\\nThe total is 12 EUR.\\n\\nKind regards", size=24))
    >>> [passage.text.strip() for passage in index.select(["total"], budget=24, always_first=0)]
    ['The total is 12 EUR.']
    """

    def __init__(self, passages: Sequence[Passage]) -> None:
        self._passages = tuple(passages)
        self._postings: dict[str, list[tuple[int, int]]] = {}
        self._lengths: list[int] = []
        for number, passage in enumerate(self._passages):
            counts = Counter(stems(passage.text))
            self._lengths.append(counts.total())
            for word, count in counts.items():
                self._postings.setdefault(word, []).append((number, count))
        self._mean_length = sum(self._lengths) / len(self._lengths) if any(self._lengths) else 1.0

    def select(self, queries: Sequence[str], *, budget: int, always_first: int = 1) -> list[Passage]:
        """The passages that matter for the queries, in document order, never over the budget.

        The first passages come first; then each query's best passage, each query's second, and so on until
        the budget is used. A passage that no longer fits is left out. A query none of whose words occur
        takes passages from the start.

        Args:
            queries: questions, or names and descriptions of fields, each ranked on its own.
            budget: the most characters that the result holds in all.
            always_first: passages at the start that are taken before all others (default 1).

        Raises:
            ConfigurationError: the budget or `always_first` is negative.
        """
        if budget < 0 or always_first < 0:
            raise ConfigurationError("budget and always_first count characters and passages; give 0 or more")
        chosen: set[int] = set()
        for number in self._in_turn(queries, always_first):
            size = len(self._passages[number].text)
            if number not in chosen and size <= budget:
                chosen.add(number)
                budget -= size
        return [self._passages[number] for number in sorted(chosen)]

    def _in_turn(self, queries: Sequence[str], always_first: int) -> Iterator[int]:
        yield from range(min(always_first, len(self._passages)))
        for rank in zip_longest(*(self._ranking(query) for query in queries)):
            yield from (number for number in rank if number is not None)

    def _ranking(self, query: str) -> Sequence[int]:
        scores: dict[int, float] = {}
        for word in dict.fromkeys(stems(query)):  # not a set: sums must not depend on hash order
            postings = self._postings.get(word, [])
            rarity = math.log(1 + (len(self._passages) - len(postings) + 0.5) / (len(postings) + 0.5))
            for number, count in postings:
                length = 1 - _LENGTH_WEIGHT + _LENGTH_WEIGHT * self._lengths[number] / self._mean_length
                gain = rarity * count * (_SATURATION + 1) / (count + _SATURATION * length)
                scores[number] = scores.get(number, 0.0) + gain
        if not scores:
            return range(len(self._passages))
        return sorted(scores, key=lambda number: (-scores[number], number))


def select(passages: Sequence[Passage], queries: Sequence[str], *, budget: int, always_first: int = 1) -> list[Passage]:
    """What `PassageIndex(passages).select(…)` gives; to ask more than once, build the index once.

    Args:
        passages: in document order, as `split` gives them.
        queries: questions, or names and descriptions of fields, each ranked on its own.
        budget: the most characters that the result holds in all.
        always_first: passages at the start that are taken before all others (default 1).

    Raises:
        ConfigurationError: the budget or `always_first` is negative.

    >>> select(split("A short letter."), ["sender"], budget=100)
    [Passage(start=0, end=15, text='A short letter.')]
    """
    return PassageIndex(passages).select(queries, budget=budget, always_first=always_first)
