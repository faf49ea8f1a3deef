"""The tokenizer of multilingual models: the most probable pieces of each word."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

_SPACES: Final = re.compile(" {2,}")
_BEGIN: Final = "\u2581"
"""What stands before each word in the pieces."""
_LONGEST_KEPT, _MOST_KEPT = 60, 100_000


class UnigramTokenizer:
    """Turns texts into the numbers of their tokens, by SentencePiece's unigram model.

    Args:
        pieces: the number and the score (the logarithm of its probability) of each piece. Only its first letter may be
            the sign of a word's beginning.
        letters: what a letter becomes, by its code point; the others stay.
        unknown: the number of a letter that no piece has.

    Example:
        >>> pieces = {"\u2581low": (4, -3.0), "er": (5, -2.0), "\u2581lower": (6, -9.0), "\u2581": (7, -1.0)}
        >>> UnigramTokenizer(pieces, {ord("L"): "l"}, 3).encode("Lower  x")
        [4, 5, 7, 3]
    """

    def __init__(self, pieces: Mapping[str, tuple[int, float]], letters: Mapping[int, str], unknown: int) -> None:
        self._pieces, self._letters, self._unknown = pieces, letters, unknown
        self._longest = max(map(len, pieces))
        self._least = min(score for _, score in pieces.values()) - 10  # as SentencePiece scores what it does not know
        self._words: dict[str, tuple[int, ...]] = {}

    def encode(self, text: str) -> list[int]:
        """Return the numbers of the tokens of a text, without those for its start and end."""
        plain = _SPACES.sub(" ", text.translate(self._letters)).removeprefix(" ")
        found: list[int] = []
        for word in plain.split(" "):
            found += self._words.get(word) or self._kept(word)
        return found

    def _kept(self, word: str) -> tuple[int, ...]:
        numbers = tuple(self.encode_word(_BEGIN + word))
        if len(word) <= _LONGEST_KEPT:
            if len(self._words) >= _MOST_KEPT:
                self._words.clear()
            self._words[word] = numbers
        return numbers

    def encode_word(self, word: str) -> list[int]:
        """Return the numbers of the pieces of a word whose scores have the largest sum."""
        sums, last = [0.0, *[float("-inf")] * len(word)], [(0, self._unknown)] * (len(word) + 1)
        for start in range(len(word)):
            so_far = sums[start]
            for end in range(start + 1, min(start + self._longest, len(word)) + 1):
                number, score = self._pieces.get(word[start:end], (self._unknown, 0.0))
                if number != self._unknown and so_far + score > sums[end]:
                    sums[end], last[end] = so_far + score, (start, number)
            if so_far + self._least > sums[start + 1]:
                sums[start + 1], last[start + 1] = so_far + self._least, (start, self._unknown)
        found, end = list[int](), len(word)
        while end:
            end, number = last[end]
            found.append(number)
        return found[::-1]
