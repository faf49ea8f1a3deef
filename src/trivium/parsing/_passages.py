"""Passages: slices of a long text, cut at its own borders, and the selection of those that matter for queries."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import zip_longest
from typing import NamedTuple, TypeAlias

from trivium.exceptions import ConfigurationError
from trivium.parsing._words import stems

Border: TypeAlias = Callable[[str, int, int], Iterable[int]]
"""A function of `(text, start, end)` that gives the offsets at which the text may be cut there, in order."""


def border(pattern: str) -> Border:
    """Create the border that lies behind each match of a pattern.

    >>> list(border(r"\\n+")("one\\n\\ntwo\\n", 0, 9))
    [5, 9]
    """
    found = re.compile(pattern)
    return lambda text, start, end: map(re.Match[str].end, found.finditer(text, start, end))


PARAGRAPHS = border(r"\n[ \t]*\n+")
LINES = border(r"\n")
WORDS = border(r"\s+")
_BORDERS = (PARAGRAPHS, LINES, border(r"[.!?][\"'”’)\]]*\s+|[。！？]"), WORDS)
_SATURATION = 1.2  # k1 of BM25: the sooner repeating a word stops helping, the smaller
_LENGTH_WEIGHT = 0.75  # b of BM25: the discount of long passages


class Passage(NamedTuple):
    """A slice of a text: `text` is `whole[start:end]`."""

    start: int
    end: int
    text: str


def split(text: str, *, size: int = 1200, borders: Sequence[Border] = _BORDERS) -> list[Passage]:
    """Cut a text into contiguous passages: no character is lost or repeated.

    A passage ends at the last paragraph border in its second half. If there is none there, it ends at the last line
    border, then sentence border, then word border; else after `size` characters.

    Args:
        text: any text; an empty text has no passages.
        size: maximum number of characters in a passage (default 1200).
        borders: kinds of borders at which the text may be cut, best first.

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
        middle, end = start + size // 2, min(start + size, len(text))
        if end < len(text):
            last_borders = (max(ends(text, middle, end), default=0) for ends in borders)
            end = next((border for border in last_borders if border > start), end)
        passages.append(Passage(start, end, text[start:end]))
        start = end
    return passages


class PassageIndex:
    """A BM25 index over passages, built once in linear time.

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
        """Return the passages that matter for the queries, in document order, within the budget.

        The first passages of the document are taken first; then each query's best passage, then each query's second,
        and so on. A passage that no longer fits is left out. A query that shares no word with any passage takes
        passages from the start.

        Args:
            queries: questions, or names and descriptions of fields; each is ranked by itself.
            budget: maximum number of characters in the result.
            always_first: number of passages at the start that are taken before all others (default 1).

        Raises:
            ConfigurationError: the budget or `always_first` is negative.
        """
        if budget < 0 or always_first < 0:
            raise ConfigurationError("budget and always_first count characters and passages; give 0 or more")
        rankings = [self.rank(query) for query in queries]
        in_turn = [number for rank in zip_longest(*rankings) for number in rank if number is not None]
        chosen: set[int] = set()
        for number in (*range(min(always_first, len(self._passages))), *in_turn):
            size = len(self._passages[number].text)
            if number not in chosen and size <= budget:
                chosen.add(number)
                budget -= size
        return [self._passages[number] for number in sorted(chosen)]

    def rank(self, query: str) -> Sequence[int]:
        """Return the numbers of the passages that share a word with the query, best first; of all, if none does."""
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
        return [number for _, number in sorted([(-score, number) for number, score in scores.items()])]


def select(passages: Sequence[Passage], queries: Sequence[str], *, budget: int, always_first: int = 1) -> list[Passage]:
    """Return `PassageIndex(passages).select(…)`; to select more than once, build the index once.

    Args:
        passages: in document order, as `split` gives them.
        queries: questions, or names and descriptions of fields; each is ranked by itself.
        budget: maximum number of characters in the result.
        always_first: number of passages at the start that are taken before all others (default 1).

    Raises:
        ConfigurationError: the budget or `always_first` is negative.

    >>> select(split("A short letter."), ["sender"], budget=100)
    [Passage(start=0, end=15, text='A short letter.')]
    """
    return PassageIndex(passages).select(queries, budget=budget, always_first=always_first)
