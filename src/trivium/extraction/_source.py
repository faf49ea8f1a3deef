"""The text of a document, in which values are searched: words, numbers, dates and amounts of money."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple, cast

from trivium.extraction._borders import begins_word, ends_word, is_in_compound
from trivium.extraction._currencies import DOLLARS, currencies_of, unit_pattern
from trivium.extraction._dates import date_spans
from trivium.extraction._money import MoneySpan, money_spans
from trivium.extraction._normal_form import LINE_BREAK, NormalForm, Span, hyphen_breaks, normalise
from trivium.extraction._numbers import SPACE, number_spans, proposed_numbers

_HYPHEN_IN_WORD = re.compile(r"(?<=[^\W\d_])-(?=[^\W\d_])")
_HYPHENATED = re.compile(r"(\w+)(- ?)(?=(\w+))")
_CENTS = re.compile(r"\d[.,]\d\d\Z")
_EITHER = re.compile(r"(?<![\d.,])\d{1,3}([.,])\d{3}(?![.,]?\d)")
"""A number whose mark may be of thousands or of decimals."""

_CLEAR_CENTS = re.compile(r"\d(?P<mark>[.,])\d\d(?![.,]?\d)")
_BOTH_MARKS = re.compile(r"\d(?P<other>[.,])\d{3}(?!(?P=other))(?P<mark>[.,])\d\d(?!\d)")

_COUNTED = re.compile(r"(?<![\w.,'’-])(?<!\d )(?P<count>[1-9]\d{0,2}) (?P<price>[1-9]\d\d[.,]\d\d)(?![.,]?\d)")
_LABEL = re.compile(rf"(?<!\d)(?<!\d )(?P<unit>{unit_pattern()})(?:[)\]][ \t]*:?|[ \t]*:)[ \t]*\Z")
"""A currency at the end of the label before an amount, as in "Total (USD): 50.00", but not in "(5 EUR) 19 %"."""

_UNIT_BEFORE = re.compile(unit_pattern() + r"\s?\Z")
_THOUSANDS = re.compile(r"\d(?:[.,'’]\d{3}|\d{3})[.,]\d\d(?!\d)")

_DOLLAR = "|".join(DOLLARS)
_NAMED_DOLLAR = re.compile(
    rf"\d\s?[(\[]?(?P<code>{_DOLLAR})\b"
    rf"|\b(?i:in|en|currency|währung|devise|moneda|moeda|valuta)\b(?:\s(?:is|of))?[^\w\n]{{0,3}}(?P<named>{_DOLLAR})\b"
    rf"(?=\s*(?:[\n.,;:)\]\d]|\Z))"
    rf"|(?<![\w$])(?P<sign>[A-Z]{{1,3}}\$)\s?\d|\b(?P<next>{_DOLLAR})(?:[)\]]?:?\s?\$|[)\]]?:?\s\d|\d[\d.,]*[.,]\d\d\b)"
)
_CONVERTED = re.compile(r"\d\s*(?:=|≈)|\b(?i:equals?|exchange|rate|charged|convert\w*|kurs|wechselkurs|umrechnung)\b")
"""A text that converts amounts names the other currency of one of them."""

_LONG_NUMBER, _LONG_CODE, _LONGEST_CODE = 8, 6, 64
"""Characters of an identifier; shorter ones may be several numbers or words."""

_ENOUGH = 10_000
"""Occurrences of one value, or of one word of a name, that are compared; the rest are ignored."""

_FAR = 300
"""The distance in characters beyond which a word no longer distinguishes occurrences of a value."""

_LINE = 150
"""The characters as which a line end between two values of a row counts: other rows are farther than other columns."""


def _is_identifier(groups: Sequence[str]) -> bool:
    """Tell whether groups may be those of an identifier: several words and numbers have small letters, or one digit."""
    return len(groups) == 1 or all(
        each == each.upper() and not (len(each) == 1 and each.isdecimal()) for each in groups
    )


class _Dates(NamedTuple):
    """The dates of a text: the spans of each day, the orders of day and month that some settle, and all borders."""

    spans: dict[date, list[Span]]
    orders: set[str]
    starts: list[int]
    ends: list[int]


class SourceText:
    """A text in which values are found; each returned span is a slice of the original text.

    Case, runs of white space, line breaks (with hyphens and with the marks of quoted or commented lines),
    typographic quotes and dashes, composed and compatible characters make no difference to the search.
    Prepared once, in time linear in the text; numbers, dates and money are read on first use.

    Args:
        text: the text of the document.

    >>> source = SourceText("The  Tenant:\\n> Anna MEYER-")
    >>> source.find("anna meyer"), source.text[15:25]
    ((15, 25), 'Anna MEYER')
    >>> SourceText("Amounts in €.").currencies
    {'EUR'}
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._form = NormalForm(text)
        self._anchors: dict[str, Sequence[int]] = {}

    def __repr__(self) -> str:
        return f"SourceText({len(self.text)} characters)"

    def find(self, text: str, near: Sequence[str] = ()) -> Span | None:
        """Find a text between borders of words, so that "12" is not found in "2012", nor "GPL-2" in "GPL-2+".

        Args:
            text: the text to search; a separate occurrence is preferred to one that is part of a
                compound, as in "example.com".
            near: words; of several occurrences the one with most of them close by is chosen, else the first.

        Returns:
            Start and end in the original text, or None.

        >>> SourceText("from 1 to 12 of 2012").find("12")
        (10, 12)
        """
        spans = self.find_all(text)
        return self.nearest(spans, near) if spans else None

    def find_all(self, text: str) -> list[Span]:
        """Find all occurrences of a text, as `find` does."""
        needle = normalise(text)
        # Where a line of the document broke at a hyphen, its normal form has none, or a space behind it.
        broken = _HYPHENATED.sub(lambda at: at[1] + self._joints.get((at[1], at[3]), at[2]), needle)
        spans = self._occurrences(needle) or self._occurrences(broken)
        return spans or self._occurrences(_HYPHEN_IN_WORD.sub("", needle))

    @cached_property
    def _joints(self) -> dict[tuple[str, str], str]:
        """The mark in the normal form between two words that a hyphen at the end of a line parts."""
        return {(normalise(each.before), normalise(each.after)): each.joint for each in hyphen_breaks(self.text)}

    def find_grouped(self, text: str) -> list[Span]:
        """Find an identifier of letters and digits that is grouped by spaces in the text, or only in the argument.

        >>> SourceText("IBAN DE89 3704 0044").find_grouped("DE8937040044")
        [(5, 19)]
        """
        groups = text.split()
        token = "".join(groups)
        is_number = token.isdecimal()
        if not token.isalnum() or not (_LONG_NUMBER if is_number else _LONG_CODE) <= len(token) <= _LONGEST_CODE:
            return []
        pattern = rf"(?<!\w)(?<!\d[.,]){f'[{SPACE}]?'.join(token)}(?![.,]?\w)"
        pattern = rf"(?<!\d[{SPACE}]){pattern}(?![{SPACE}]\d)" if is_number else pattern  # else of a row of numbers
        found = re.finditer(pattern, self.text, re.IGNORECASE) if any(map(str.isdecimal, token)) else ()
        whole = [each for each in found if len(groups) == 1 or not re.search(r"\s", each[0])]
        return [each.span() for each in whole if _is_identifier(each[0].split())]

    def find_words(self, words: Sequence[str], near: Sequence[str] = (), within: int = 200) -> Span | None:
        """Find all of several words close together, in any order: "full-time" in "full or part time".

        Args:
            words: the words; a single one is not searched.
            near: further words, as for `find`.
            within: the most characters from the first to the last of them.

        Returns:
            Start and end of the stretch that holds them all, or None.
        """
        spans = [self.find(word, [*near, *words]) for word in words]
        found = [span for span in spans if span]
        if len(words) < 2 or len(found) < len(words):
            return None
        start, end = min(found)[0], max(end for _, end in found)
        return (start, end) if end - start <= within else None

    def nearest(self, spans: Sequence[Span], near: Sequence[str] = ()) -> Span:
        """Choose the span with most of some words close by, best just before it; the first, if none has any.

        >>> SourceText("net 5, gross 5").nearest([(4, 5), (13, 14)], ["gross"])
        (13, 14)
        """
        if len(spans) == 1:
            return spans[0]

        def distance(span: Span) -> int:
            total = 0
            for positions in anchors:
                index = bisect_left(positions, span[0] + 1)
                before = span[0] - positions[index - 1] if index else _FAR
                after = 2 * max(0, positions[index] - span[1]) if index < len(positions) else _FAR
                total += min(before, after, _FAR)
            return total

        anchors = [positions for word in near if (positions := self.ends_of(word))]
        return min(spans[:_ENOUGH], key=distance)

    def ends_of(self, word: str) -> Sequence[int]:
        """Return where the words end that begin with a word: a label before its value is close to it."""
        if word not in self._anchors:
            found = self._search(normalise(word), begins_only=True)
            self._anchors[word] = [self._form.original_span(*each)[1] for each in found]
        return self._anchors[word]

    def gap(self, span: Span, other: Span) -> int:
        """Return the characters between two spans; a line end between them counts as many.

        >>> SourceText("a 1\\nb 2").gap((0, 1), (2, 3)), SourceText("a 1\\nb 2").gap((0, 1), (6, 7))
        (1, 155)
        """
        between = min(span[1], other[1]), max(span[0], other[0])
        size = max(0, between[1] - between[0])
        return size + _LINE if size < _FAR and LINE_BREAK.search(self.text, *between) else size

    def numbers_equal(self, value: Decimal) -> list[Span]:
        """Return all spans of a number; a date holds no number but its year, if that has four digits.

        >>> SourceText("3 rooms from 03.04.2024").numbers_equal(Decimal(3))
        [(0, 1)]
        """
        spans = self.numbers.get(value, [])
        return spans if abs(value) >= 1000 else [span for span in spans if not self._is_in_date(span)]

    @cached_property
    def numbers(self) -> dict[Decimal, list[Span]]:
        """The spans of each number that the text may mean."""
        index: dict[Decimal, list[Span]] = {}
        for start, end, readings in number_spans(self.text):
            for reading in readings:
                index.setdefault(reading, []).append((start, end))
        for span, price in self._counted:
            index.setdefault(Decimal(self.text[slice(*span)]), []).append(span)
            index.setdefault(price.readings[0].amount, []).append((price.start, price.end))
        return index

    @cached_property
    def money(self) -> dict[Decimal, list[tuple[Span, tuple[str, ...]]]]:
        """The spans of each amount, with the currencies that it may be in; a part of a date is not an amount."""
        index: dict[Decimal, list[tuple[Span, tuple[str, ...]]]] = {}
        for start, end, readings in [*self._stated, *(price for _, price in self._counted)]:
            bare = not any(reading.currencies for reading in readings)
            for reading in () if bare and self._is_in_date((start, end)) else readings:
                index.setdefault(reading.amount, []).append(((start, end), self.meant(reading.currencies)))
        return index

    @cached_property
    def _stated(self) -> list[MoneySpan]:
        return list(money_spans(self.text))

    @cached_property
    def _counted(self) -> list[tuple[Span, MoneySpan]]:
        """Each quantity with a price behind it that looks like one number, "2 150,00".

        It is two where their product is an amount of the text, or where this writes thousands without spaces.
        """
        places = list(_COUNTED.finditer(self.text))
        if not places:
            return []
        amounts = {reading.amount for span in self._stated for reading in span.readings}
        whole = {span.start for span in self._stated if span.readings[0].amount >= 1000}
        is_unspaced = any(_THOUSANDS.search(self.text, span.start, span.end) for span in self._stated)
        found: list[tuple[Span, MoneySpan]] = []
        for each in places:
            start, end = each.span("price")
            price = next(money_spans(self.text[start : end + 20]), None)
            if price is None or price.start != 0 or each.start() not in whole:
                continue
            if _UNIT_BEFORE.search(self.text[max(0, each.start() - 20) : each.start()]):
                continue
            if is_unspaced or Decimal(each["count"]) * price.readings[0].amount in amounts:
                found.append((each.span("count"), price._replace(start=start + price.start, end=start + price.end)))
        return found

    def by_marks(self, proposed: object, values: tuple[Decimal, ...]) -> tuple[Decimal, ...]:
        """Return the readings of a number such as "1.849" in the order that the amounts of the text tell.

        >>> SourceText("£1.849 per litre, total £74.19").by_marks("1.849", (Decimal(1849), Decimal("1.849")))
        (Decimal('1.849'), Decimal('1849'))
        >>> SourceText("1.849 kWh, total €74,19").by_marks(1.849, (Decimal("1.849"),))
        (Decimal('1849'), Decimal('1.849'))
        """
        if isinstance(proposed, Mapping):
            proposed = cast("Mapping[str, object]", proposed).get("amount")
        if isinstance(proposed, float) and self._decimal_marks == {","}:
            copied = f"{proposed:.3f}"  # JSON has no marks of thousands: the model left out the quotes
            readings = proposed_numbers(copied)
            own, others = (
                [copied in self.text[slice(*span)] for each in found for span in self.numbers_equal(each)]
                for found in (values, readings)
            )
            if float(copied) == proposed and all(own) and any(others):
                proposed, values = copied, readings
        mark = _EITHER.search(proposed) if isinstance(proposed, str) and len(set(map(abs, values))) == 2 else None
        if not mark or len(self._decimal_marks) != 1:
            return values
        return tuple(sorted(values, key=abs, reverse=mark[1] not in self._decimal_marks))

    @cached_property
    def _decimal_marks(self) -> set[str]:
        """The decimal marks of the amounts that have a currency and cents, or both marks."""
        places = [(self.text[slice(*span)], codes) for found in self.money.values() for span, codes in found]
        clear = [(_CLEAR_CENTS if codes else _BOTH_MARKS).search(quote) for quote, codes in places]
        return {each["mark"] for each in clear if each}

    @property
    def dates(self) -> dict[date, list[Span]]:
        """The spans of each day that the text may mean, in the order of the text."""
        return self._dates.spans

    @cached_property
    def latest_year(self) -> int:
        """The year up to which one of two digits is of this century: twenty years after the last one, or today."""
        years = re.findall(r"(?<!\d)(?:19|20)\d\d(?![.,]?\d)", self.text)
        return max([date.today().year, *map(int, years)]) + 20

    @property
    def month_first(self) -> bool:
        """True if the month comes first in all dates that settle the order, as in 12/25/2023.

        Where none does, those that are written in words tell what is likelier: June 5, 2024.
        """
        return (self._dates.orders or self._orders_in_words) == {"month"}

    @cached_property
    def _orders_in_words(self) -> set[str]:
        quotes = {self.text[slice(*span)] for spans in self.dates.values() for span in spans}
        return {"month" if quote[0].isalpha() else "day" for quote in quotes if any(map(str.isalpha, quote))}

    def other_days(self, day: date, span: Span) -> list[date]:
        """Return the days, besides one, that the date at a place may mean with day and month the other way round."""
        return [
            other for other, spans in self.dates.items() if span in spans and other != day and other.year == day.year
        ]

    @cached_property
    def _dates(self) -> _Dates:
        index: dict[date, list[Span]] = {}
        found = sorted(date_spans(self.text))
        settled = {span.order for span in found if span.order and "." not in self.text[span.start : span.end]}
        if len(settled) == 1:
            found = sorted(date_spans(self.text, order=settled.pop()))
        for span in found:
            for reading in span.readings:
                index.setdefault(reading, []).append((span.start, span.end))
        ends = list(accumulate((span.end for span in found), max))
        return _Dates(index, {span.order for span in found} - {""}, [span.start for span in found], ends)

    def _is_in_date(self, span: Span) -> bool:
        index = bisect_right(self._dates.starts, span[0]) - 1
        return index >= 0 and span[1] <= self._dates.ends[index]

    def currencies_equal(self, code: str) -> list[Span]:
        """Return all spans of a currency, written by its code, or by a sign or word that first means it."""
        units = re.finditer(unit_pattern(), self.text)
        return [unit.span() for unit in units if code in self.meant(currencies_of(unit[0]))[:1]]

    def words_equal(self, word: str) -> list[Span]:
        """Return all spans of a word in exactly these letters, so that the country IT is not the word "it"."""
        return [found.span() for found in re.finditer(rf"(?<!\w){re.escape(word)}(?!\w)", self.text)]

    @cached_property
    def currencies(self) -> set[str]:
        """The codes of all currencies in the text, written by code, or by a sign or word that first means them."""
        return {code for unit in self._units for code in self.meant(currencies_of(unit))[:1]}

    def meant(self, codes: tuple[str, ...]) -> tuple[str, ...]:
        """Return the codes of a currency as they are meant here: of "$" the only dollar that the text names.

        >>> SourceText("All prices in AUD. Total $110.00").meant(("USD",)), SourceText("$1 AUD").meant(DOLLARS)
        (('USD',), ('AUD',))
        """
        return self._dollars if codes == DOLLARS else codes

    @cached_property
    def _dollars(self) -> tuple[str, ...]:
        """The codes that "$" may mean: the likeliest is USD, unless the text names one other dollar, and not this.

        A code counts as a name beside an amount, or behind such a word as "in" only: CAD is not always a currency.
        """
        written = {codes[0] for unit in self._units if len(codes := currencies_of(unit)) == 1 and codes[0] in DOLLARS}
        places = _NAMED_DOLLAR.finditer(self.text)
        names = (found["code"] or found["named"] or found["next"] or found["sign"] for found in places)
        named = {codes[0] for name in names if len(codes := currencies_of(name)) == 1}
        is_one = len(written) == 1 and written != {"USD"} and written <= named and not _CONVERTED.search(self.text)
        return tuple(written) if is_one else DOLLARS

    @cached_property
    def _units(self) -> set[str]:
        """Every sign, code or word of a currency in the text."""
        return set(re.findall(unit_pattern(), self.text))

    @cached_property
    def writes_currencies(self) -> bool:
        """True if any amount has a currency beside it, on its line; then a number without one is in none."""
        stated = (span for found in self.money.values() for span, codes in found if codes)
        return any(not LINE_BREAK.search(self.text, *span) for span in stated)

    def implied_currencies(self, span: Span) -> tuple[str, ...]:
        """Return the currency of an amount that has none beside it: that of its label, or the only one of the text.

        Where other amounts have theirs beside them, a number is an amount only if it is written with cents.

        >>> source = SourceText("2,00 Euro per km. 6 km, 12,00")
        >>> source.implied_currencies((24, 29)), source.implied_currencies((18, 19))
        (('EUR',), ())
        """
        if label := _LABEL.search(self.text, max(0, span[0] - 30), span[0]):
            return self.meant(currencies_of(label["unit"]))
        if len(self.currencies) != 1 or (self.writes_currencies and not _CENTS.search(self.text[slice(*span)])):
            return ()
        return tuple(self.currencies)

    def _occurrences(self, needle: str) -> list[Span]:
        """Return the spans of a text, only separate ones if there are any."""
        found = list(self._search(needle))
        alone = [span for span in found if not is_in_compound(self._form.text, *span)]
        return [self._form.original_span(*span) for span in alone or found]

    def _search(self, needle: str, begins_only: bool = False) -> Iterator[Span]:
        """Yield the first occurrences in the normal form that begin (and end) where words do."""
        text, length = self._form.text, len(needle)
        start, count = text.find(needle), 0
        while needle and start >= 0 and count < _ENOUGH:
            if begins_word(text, start) and (begins_only or ends_word(text, start + length)):
                yield start, start + length
                count += 1
            start = text.find(needle, start + 1)
