"""A document's text made ready for search: one normal form, and the way back to the original offsets."""

from __future__ import annotations

import re
import unicodedata
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date
from decimal import Decimal
from functools import cached_property
from itertools import accumulate
from typing import TypeAlias

from trivium.extraction._currencies import currencies_of, unit_pattern
from trivium.extraction._dates import date_spans
from trivium.extraction._money import money_spans
from trivium.extraction._numbers import number_spans

__all__ = ["SourceText", "Span", "display", "normalise"]

Span: TypeAlias = tuple[int, int]
"""Start and end of a piece of the original text, as Python slices it."""

_GAP = re.compile(r"[^\S ]\s*| \s+")
_LINE_BREAK = re.compile(r"[\n\r\v\f\x85\u2028\u2029]")
_PREFIXES = re.compile(r"(?:(?:>+|#+|\*+|/{2,}|--|;+|%+)(?:\s+|\Z))+")
"""Marks at the start of quoted, commented or listed lines: "> ", "# ", " * ", "// ", once or more."""

_CLUSTER = re.compile(r".[\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u064b-\u065f\u1160-\u11ff\u3099\u309a]*", re.DOTALL)
_TYPOGRAPHY = str.maketrans("‘’‚‛′‹›“”„‟″«»‐‑‒–—―−", "'''''''\"\"\"\"\"\"\"-------")
_INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff"))
_SPACELESS = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]"
)
"""Letters of scripts that set no space between words, so that every place is a border."""

_INSIDE_TOKEN = frozenset("-/@.&:+~\\")
_ENOUGH = 10_000
"""Occurrences of one value, or of one word of a name, that are weighed; the rest are not looked at."""

_FAR = 300
"""Characters beyond which a word no longer says what a value means."""


class SourceText:
    """A text in which values are found; each span that it gives slices the original text as it stands.

    Case, runs of white space, line breaks (with hyphens and with the marks of quoted or commented lines),
    typographic quotes and dashes, composed and compatible characters make no difference to the search.
    Prepared once, in time linear in the text; numbers, dates and money are read on first use.

    Args:
        text: the text of the document.

    >>> source = SourceText("The  Tenant:\\n> Anna MEYER-")
    >>> source.find("anna meyer"), source.text[15:25]
    ((15, 25), 'Anna MEYER')
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts, self._origins, self._ends = array("q"), array("q"), array("q")
        parts: list[str] = []
        length = 0
        for piece, start, end in _normal_pieces(text):
            self._starts.append(length)
            self._origins.append(start)
            self._ends.append(end)
            parts.append(piece)
            length += len(piece)
        self._normal = "".join(parts)
        self._anchors: dict[str, Sequence[int]] = {}

    def __repr__(self) -> str:
        return f"SourceText({len(self.text)} characters)"

    def find(self, text: str, near: Iterable[str] = ()) -> Span | None:
        """Find a text between borders of words, so that "12" is not found in "2012", nor "GPL-2" in "GPL-2+".

        Args:
            text: what is looked for; where it stands alone is preferred to where it is part of a
                compound, as in "example.com".
            near: words; of several places the one with most of them close by is taken, else the first.

        Returns:
            Start and end in the original text, or None.

        >>> SourceText("from 1 to 12 of 2012").find("12")
        (10, 12)
        """
        needle = normalise(text)
        spans = self._occurrences(needle)
        if not spans and (joined := _joined_hyphens(needle)) != needle:
            spans = self._occurrences(joined)
        return self.nearest(spans, near) if spans else None

    def nearest(self, spans: Sequence[Span], near: Iterable[str] = ()) -> Span:
        """Choose the span with most of some words close by, best just before it; the first, if none has any.

        >>> SourceText("net 5, gross 5").nearest([(4, 5), (13, 14)], ["gross"])
        (13, 14)
        """
        if len(spans) == 1:
            return spans[0]
        anchors = [positions for word in near if (positions := self._positions(word))]
        return min(spans[:_ENOUGH], key=lambda span: sum(_distance(each, span) for each in anchors))

    def numbers_equal(self, value: Decimal) -> list[Span]:
        """Say where a number stands; a date holds no number but its year, if that has four digits.

        >>> SourceText("3 rooms from 03.04.2024").numbers_equal(Decimal(3))
        [(0, 1)]
        """
        spans = self.numbers.get(value, [])
        return spans if abs(value) >= 1000 else [span for span in spans if not self._in_date(span)]

    def _in_date(self, span: Span) -> bool:
        starts, ends = self._date_borders
        index = bisect_right(starts, span[0]) - 1
        return index >= 0 and span[1] <= ends[index]

    @cached_property
    def _date_borders(self) -> tuple[list[int], list[int]]:
        spans = sorted({span for found in self.dates.values() for span in found})
        return [start for start, _ in spans], list(accumulate((end for _, end in spans), max))

    @cached_property
    def numbers(self) -> dict[Decimal, list[Span]]:
        """Where each number stands that the text may mean."""
        index: dict[Decimal, list[Span]] = {}
        for start, end, readings in number_spans(self.text):
            for reading in readings:
                index.setdefault(reading, []).append((start, end))
        return index

    @cached_property
    def money(self) -> dict[Decimal, list[tuple[Span, tuple[str, ...]]]]:
        """Where each amount stands, and which currencies it may be in; a part of a date is no amount."""
        index: dict[Decimal, list[tuple[Span, tuple[str, ...]]]] = {}
        for start, end, readings in money_spans(self.text):
            bare = not any(reading.currencies for reading in readings)
            for reading in () if bare and self._in_date((start, end)) else readings:
                index.setdefault(reading.amount, []).append(((start, end), reading.currencies))
        return index

    @cached_property
    def dates(self) -> dict[date, list[Span]]:
        """Where each day stands that the text may mean, in the order of the text."""
        return self._dates[0]

    @cached_property
    def month_first(self) -> bool:
        """Whether the month comes first in all dates that settle it, as 12/25/2023 does."""
        return self._dates[1] == {"month"}

    @cached_property
    def _dates(self) -> tuple[dict[date, list[Span]], set[str]]:
        index: dict[date, list[Span]] = {}
        orders: set[str] = set()
        for span in sorted(date_spans(self.text)):
            orders.add(span.order)
            for reading in span.readings:
                index.setdefault(reading, []).append((span.start, span.end))
        return index, orders - {""}

    @cached_property
    def writes_currencies(self) -> bool:
        """Whether a currency stands beside any amount, on its line; then a number without one is in none."""
        stated = (span for found in self.money.values() for span, codes in found if codes)
        return any(not _LINE_BREAK.search(self.text, *span) for span in stated)

    def mentions_currency(self, code: str) -> bool:
        """Say whether a currency's code, or a sign or word that means it before all others, stands anywhere.

        >>> SourceText("Amounts in €.").mentions_currency("EUR")
        True
        """
        return code in self._currencies

    @cached_property
    def _currencies(self) -> set[str]:
        return {code for unit in set(re.findall(unit_pattern(), self.text)) for code in currencies_of(unit)[:1]}

    def _positions(self, word: str) -> Sequence[int]:
        """Give the original offsets at which a word ends, so that a label before its value is close to it."""
        if word not in self._anchors:
            needle = normalise(word)
            starts = self._starts_of(needle, _bordered_left)
            self._anchors[word] = [self._origin(start, start + len(needle))[1] for start in starts]
        return self._anchors[word]

    def _occurrences(self, needle: str) -> list[Span]:
        if not needle:
            return []
        alone: list[Span] = []
        inside: list[Span] = []
        for start in self._starts_of(needle, _bordered):
            end = start + len(needle)
            (inside if _inside_token(self._normal, start, end) else alone).append(self._origin(start, end))
        return alone or inside

    def _starts_of(self, needle: str, bordered: Callable[[str, int, int], bool]) -> Iterator[int]:
        start, count = self._normal.find(needle), 0
        while needle and start >= 0 and count < _ENOUGH:
            if bordered(self._normal, start, start + len(needle)):
                yield start
                count += 1
            start = self._normal.find(needle, start + 1)

    def _origin(self, start: int, end: int) -> Span:
        """Take a non-empty span of the normal form back to the original text."""
        first = bisect_right(self._starts, start) - 1
        last = bisect_right(self._starts, end - 1) - 1
        begin, stop = self._origins[first], self._ends[last]
        if self._one_to_one(first):
            begin += start - self._starts[first]
        if self._one_to_one(last):
            stop = self._origins[last] + end - self._starts[last]
        return begin, stop

    def _one_to_one(self, piece: int) -> bool:
        following = self._starts[piece + 1] if piece + 1 < len(self._starts) else len(self._normal)
        return following - self._starts[piece] == self._ends[piece] - self._origins[piece]


def normalise(text: str) -> str:
    """Bring a text to the form in which texts are compared.

    >>> normalise(" “Ｆｕｌｌ\\n# width”")
    '"full width"'
    """
    return "".join(piece for piece, _, _ in _normal_pieces(text)).strip()


def display(quote: str) -> str:
    """Write a quote on one line, in its own case and letters: breaks, hyphens and line marks are taken out.

    >>> display("Anna\\n  # Mey-\\n  # er")
    'Anna Meyer'
    """
    return "".join(glue + quote[start:end] for start, end, glue, _ in _stretches(quote)).strip()


def _stretches(text: str) -> Iterator[tuple[int, int, str, int]]:
    """Cut a text at gaps: start and end of a stretch, what joins it to the last one, where that gap began."""
    prefix = _PREFIXES.match(text)
    start = gap_start = prefix.end() if prefix else 0
    glue = ""
    while gap := _GAP.search(text, start):
        stop, resume = gap.span()
        hyphenated = False
        if stop == 0 or _LINE_BREAK.search(text, stop, resume):
            prefix = _PREFIXES.match(text, resume)
            resume = prefix.end() if prefix else resume
            hyphenated = _is_hyphenated(text, stop, resume)
        stop -= hyphenated
        yield start, stop, glue, gap_start
        start, gap_start, glue = resume, stop, "" if hyphenated else " "
    yield start, len(text), glue, gap_start


def _is_hyphenated(text: str, stop: int, resume: int) -> bool:
    """Say whether a line ends in the middle of a word: letter, hyphen, break, small letter."""
    if stop < 2 or text[stop - 1] not in "-‐":
        return False
    return text[stop - 2].isalpha() and text[resume : resume + 1].islower()


def _normal_pieces(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield pieces of the normal form, each with the piece of the original that it stands for."""
    for start, end, glue, gap_start in _stretches(text):
        if glue:
            yield glue, gap_start, start
        if start < end:
            yield from _normal_stretch(text, start, end)


def _normal_stretch(text: str, start: int, end: int) -> Iterator[tuple[str, int, int]]:
    """Take a stretch whole if each character has one counterpart; else by words, else by characters."""
    stretch = text[start:end]
    if (normal := _one_for_one(stretch)) is not None:
        yield normal, start, end
        return
    for word in re.finditer(r"[^ ]+| +", stretch):
        if (normal := _one_for_one(word[0])) is not None:
            yield normal, start + word.start(), start + word.end()
            continue
        for cluster in _CLUSTER.finditer(word[0]):
            letters = cluster[0].translate(_INVISIBLE).translate(_TYPOGRAPHY)
            if normal := unicodedata.normalize("NFKC", letters).casefold():
                yield normal, start + word.start() + cluster.start(), start + word.start() + cluster.end()


def _one_for_one(stretch: str) -> str | None:
    if stretch.isascii():
        return stretch.lower()
    plain = stretch.translate(_TYPOGRAPHY)
    folded = plain.casefold()
    if len(folded) == len(plain) == len(plain.translate(_INVISIBLE)) and unicodedata.is_normalized("NFKC", plain):
        return folded
    return None


def _joined_hyphens(needle: str) -> str:
    """Take hyphens between letters out: where a line broke there, the normal form of the text has none."""
    return re.sub(r"(?<=[^\W\d_])-(?=[^\W\d_])", "", needle)


def _is_word(character: str) -> bool:
    return (character.isalnum() or character == "_") and not _SPACELESS.match(character)


def _bordered(text: str, start: int, end: int) -> bool:
    """Say whether a match begins and ends where tokens do: "+" ends one (C++), "." joins digits (1.2)."""
    return _bordered_left(text, start, end) and _bordered_right(text, end)


def _bordered_left(text: str, start: int, _end: int) -> bool:
    if start == 0 or not _is_word(text[start]):
        return True
    before = text[start - 1]
    cuts_number = before in ".," and text[start].isdecimal() and text[max(0, start - 2)].isdecimal()
    return not _is_word(before) and not cuts_number


def _bordered_right(text: str, end: int) -> bool:
    if end == len(text):
        return True
    last, after = text[end - 1], text[end]
    if after in "+#" and (_is_word(last) or last == after):
        return _is_word(text[end + 1 : end + 2])
    if after in ".," and last.isdecimal():
        return not text[end + 1 : end + 2].isdecimal()
    return not (_is_word(last) and _is_word(after))


def _inside_token(text: str, start: int, end: int) -> bool:
    left = start > 1 and text[start - 1] in _INSIDE_TOKEN and _is_word(text[start - 2])
    return left or (end + 1 < len(text) and text[end] in _INSIDE_TOKEN and _is_word(text[end + 1]))


def _distance(positions: Sequence[int], span: Span) -> int:
    """Measure how far the nearest of some words is; one that follows the value counts as twice as far."""
    index = bisect_left(positions, span[0] + 1)
    before = span[0] - positions[index - 1] if index else _FAR
    after = 2 * max(0, positions[index] - span[1]) if index < len(positions) else _FAR
    return min(before, after, _FAR)
