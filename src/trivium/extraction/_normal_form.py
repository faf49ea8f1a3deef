"""The normal form in which texts are compared, and the way back to the original offsets."""

from __future__ import annotations

import re
import unicodedata
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple, TypeAlias

Span: TypeAlias = tuple[int, int]
"""Start and end of a piece of the original text, as Python slices it."""

LINE_BREAK = re.compile(r"[\n\r\v\f\x85\u2028\u2029]")
_GAP = re.compile(r"[^\S ]\s*| \s+")
_PREFIXES = re.compile(r"(?:(?:>+|#+|\*+|/{2,}|--|;+|%+)(?:\s+|\Z))+")
"""Marks at the start of quoted, commented or listed lines: "> ", "# ", " * ", "// ", once or more."""

_WORD_BEFORE, _WORD = re.compile(r"(\w+)[-‐]\s?\Z"), re.compile(r"\w+")
_LONG_WORD = 80
"""Characters before a line end in which a word with a hyphen is looked for."""

_SOFT_HYPHEN = "\u00ad"
_CLUSTER = re.compile(r".[\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u064b-\u065f\u1160-\u11ff\u3099\u309a]*", re.DOTALL)
_WORDS_AND_SPACES = re.compile(r"[^ ]+| +")
_TYPOGRAPHY = str.maketrans("‘’‚‛′‹›“”„‟″«»‐‑‒–—―−", "'''''''\"\"\"\"\"\"\"-------")
_INVISIBLE = dict.fromkeys(map(ord, f"{_SOFT_HYPHEN}\u200b\u200c\u200d\u2060\ufeff"))


class HyphenBreak(NamedTuple):
    """A hyphen at the end of a line: the words before and after it, and what the normal form has between them."""

    before: str
    joint: str
    after: str


class NormalForm:
    """The normal form of a text, made once, in time linear in the text.

    Case, runs of white space, line breaks (with hyphens and with the marks of quoted or commented lines),
    typographic quotes and dashes, composed and compatible characters make no difference in it.

    Args:
        text: the original text.

    Attributes:
        text: the normal form.

    >>> form = NormalForm("Anna\\n> MEYER")
    >>> form.text, form.original_span(5, 10)
    ('anna meyer', (7, 12))
    """

    def __init__(self, text: str) -> None:
        self._starts, self._origins, self._ends = array("q"), array("q"), array("q")
        parts: list[str] = []
        length = 0
        for piece, start, end in _normal_pieces(text):
            self._starts.append(length)
            self._origins.append(start)
            self._ends.append(end)
            parts.append(piece)
            length += len(piece)
        self.text = "".join(parts)

    def original_span(self, start: int, end: int) -> Span:
        """Take a non-empty span of the normal form back to the original text."""
        first = bisect_right(self._starts, start) - 1
        last = bisect_right(self._starts, end - 1) - 1
        begin, stop = self._origins[first], self._ends[last]
        if self._is_one_to_one(first):
            begin += start - self._starts[first]
        if self._is_one_to_one(last):
            stop = self._origins[last] + end - self._starts[last]
        return begin, stop

    def _is_one_to_one(self, piece: int) -> bool:
        following = self._starts[piece + 1] if piece + 1 < len(self._starts) else len(self.text)
        return following - self._starts[piece] == self._ends[piece] - self._origins[piece]


def normalise(text: str) -> str:
    """Return the normal form of a text, without white space at its ends.

    >>> normalise(" “Ｆｕｌｌ\\n# width”")
    '"full width"'
    """
    return "".join(piece for piece, _, _ in _normal_pieces(text)).strip()


def display(quote: str, like: str = "") -> str:
    """Write a quote on one line, in its own case and letters: breaks, soft hyphens and line marks are taken out.

    Args:
        quote: the quote.
        like: the same in other words: a hyphen at the end of a line that stands there as well is kept.

    >>> display("Anna\\n  # Mey-\\n  # er"), display("anna-\\nlena@b.org", "anna-lena@b.org")
    ('Anna Meyer', 'anna-lena@b.org')
    """
    line = "".join(glue + quote[start:end] for start, end, glue, _ in _stretches(quote)).strip()
    wanted = normalise(like)
    for before, joint, after in hyphen_breaks(quote):
        kept = next((each for each in ("-", "- ") if normalise(before + each + after) in wanted), joint)
        line = line.replace(before + joint + after, before + kept + after)
    return line.replace(_SOFT_HYPHEN, "")


def hyphen_breaks(text: str) -> Iterator[HyphenBreak]:
    """Find the words that a hyphen at the end of a line parts; the hyphen may be theirs, or that of the break alone.

    >>> [*hyphen_breaks("Frau Mey-\\ner-\\nAbt")]
    [HyphenBreak(before='Mey', joint='', after='er'), HyphenBreak(before='er', joint='- ', after='Abt')]
    """
    for (_, end, _, _), (start, _, glue, _) in pairwise(_stretches(text)):
        before = _WORD_BEFORE.search(text[max(0, end - _LONG_WORD) : end + 1])
        after = _WORD.match(text, start)
        if before and after:
            yield HyphenBreak(before[1], f"-{glue}" if glue else "", after[0])


def _stretches(text: str) -> Iterator[tuple[int, int, str, int]]:
    """Cut a text at gaps: start and end of a stretch, the text that joins it to the last one, the start of that gap."""
    prefix = _PREFIXES.match(text)
    start = gap_start = prefix.end() if prefix else 0
    glue = ""
    while gap := _GAP.search(text, start):
        stop, resume = gap.span()
        is_hyphenated = False
        if stop == 0 or LINE_BREAK.search(text, stop, resume):
            prefix = _PREFIXES.match(text, resume)
            resume = prefix.end() if prefix else resume
            # A line that ends in the middle of a word: letter, hyphen, break, small letter.
            is_hyphenated = stop > 1 and text[stop - 1] in "-‐" and text[stop - 2].isalpha()
            is_hyphenated = is_hyphenated and text[resume : resume + 1].islower()
        stop -= is_hyphenated
        yield start, stop, glue, gap_start
        start, gap_start, glue = resume, stop, "" if is_hyphenated else " "
    yield start, len(text), glue, gap_start


def _normal_pieces(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield pieces of the normal form, each with its piece of the original.

    A stretch is one piece if each character has one counterpart; else it is cut into words, and those into characters.
    """
    for start, end, glue, gap_start in _stretches(text):
        if glue:
            yield glue, gap_start, start
        stretch = text[start:end]
        if (normal := _one_for_one(stretch)) is not None:
            if normal:
                yield normal, start, end
            continue
        for word in _WORDS_AND_SPACES.finditer(stretch):
            at = start + word.start()
            if (normal := _one_for_one(word[0])) is not None:
                yield normal, at, start + word.end()
                continue
            for cluster in _CLUSTER.finditer(word[0]):
                letters = cluster[0].translate(_INVISIBLE).translate(_TYPOGRAPHY)
                if normal := unicodedata.normalize("NFKC", letters).casefold():
                    yield normal, at + cluster.start(), at + cluster.end()


def _one_for_one(stretch: str) -> str | None:
    """Return the normal form if each character has exactly one counterpart in it."""
    if stretch.isascii():
        return stretch.lower()
    plain = stretch.translate(_TYPOGRAPHY)
    folded = plain.casefold()
    if len(folded) == len(plain) == len(plain.translate(_INVISIBLE)) and unicodedata.is_normalized("NFKC", plain):
        return folded
    return None
