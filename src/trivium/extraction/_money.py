"""Amounts of money: a number, and its currency."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, NamedTuple, cast

from trivium.extraction._currencies import all_units, currencies_of, unit_pattern
from trivium.extraction._numbers import (
    CENTS,
    MARKED,
    NumberSpan,
    number_spans,
    plain_number,
    proposed_numbers,
    sign_mark,
)

_CURRENCY = unit_pattern()
_BEFORE = re.compile(rf"(?P<sign>[-−]?)(?P<unit>{_CURRENCY})(?P<gap>\s?)(?P<inner>[-−]?)\Z")
_AFTER = re.compile(rf"(?P<letter>(?:k|K|m|M|mn|bn|B)(?![^\W\d_]))?(?:(?P<gap>\s?)(?P<unit>{_CURRENCY}))?")
_FOOTNOTE = re.compile(rf"\^\d\)?(?=\s?{_CURRENCY})")
"""The raised number of a footnote, as in "1.250^1 €"; behind a plain number it may be a power."""
_SPACES = " \t\u00a0"
_ENDS_AMOUNT = re.compile(rf"(?:\d[^\s:]*|{_CURRENCY})\s*\Z")
_HUNDREDTHS = re.compile(r"\s?(?:¢|(?:cents?|centimes?|céntimos?|centesimi|pence|penny)(?![^\W\d_]))", re.IGNORECASE)
_TAILS = frozenset("-−" + "".join({unit[-1] for unit in all_units()})) | {"."}
"""The last characters of currencies: testing one character saves the search for most numbers."""
_LETTERS: Mapping[str, int] = {"k": 3, "K": 3, "m": 6, "M": 6, "mn": 6, "bn": 9, "B": 9}


class Money(NamedTuple):
    """An amount, and the codes of the currencies that its sign may mean, the likeliest first."""

    amount: Decimal
    currencies: tuple[str, ...] = ()

    @property
    def currency(self) -> str | None:
        """The likeliest currency, or None if the text has none."""
        return self.currencies[0] or None if self.currencies else None

    def normal_form(self) -> dict[str, Any]:
        """Return the amount as a JSON number and the currency as a code or None."""
        return {"amount": plain_number(self.amount), "currency": self.currency}


class MoneySpan(NamedTuple):
    """An amount in a text: start and end with its currency, and each amount that it may mean."""

    start: int
    end: int
    readings: tuple[Money, ...]


def parse_money(text: str) -> tuple[Money, ...]:
    """Return every amount that a text may mean, the likeliest first.

    Of two signs that is the minus if the text is nothing but an amount with a mark of it (`sign_mark`).

    Args:
        text: the text of one amount, such as "EUR 1.234,56"; the currency may be missing.

    Returns:
        The amounts; empty if the text holds no number, or several.

    >>> parse_money("1.200,- €")[0].normal_form()
    {'amount': 1200, 'currency': 'EUR'}
    """
    spans = list(money_spans(f":{text}"))  # at its beginning, "- 5,00" is no item of a list
    whole = [span for span in spans if span.start <= spans[0].start and span.end >= spans[-1].end]
    found, mark = whole[0].readings if whole else (), sign_mark(text)
    if mark.is_behind:  # in the document it may be a hyphen
        found += tuple(each._replace(amount=abs(each.amount)) for each in found)
    return tuple(sorted(dict.fromkeys(found), key=lambda each: (each.amount > 0) == mark.is_alone))


def money_spans(text: str) -> Iterator[MoneySpan]:
    """Find every number of a text, with the currency beside it; a bare number has none.

    Args:
        text: any text.

    >>> [span.readings[0].amount for span in money_spans("US$ 1,450.00 for 12 months")]
    [Decimal('1450.00'), Decimal('12')]
    """
    reached = 0
    for number in number_spans(text):
        if number.end <= reached:  # a part of an amount that was read already
            continue
        span = money_at(text, number)
        yield span
        if span.readings[0].currencies:
            reached = span.end


def money_at(text: str, number: NumberSpan) -> MoneySpan:
    """Read a number of a text as an amount of money: with its sign and magnitude, and the currency beside it.

    Of a currency on each side, the one without a gap counts.
    """
    start, end, values = number
    is_enclosed = text[start - 1 : start] == "(" and text[end : end + 1] == ")" and MARKED.search(text, start, end)
    first, last = (start - 1, end + 1) if is_enclosed else (start, end)  # "(1,234.56) USD"
    if MARKED.search(text, start, end) and (note := _FOOTNOTE.match(text, last)):
        last = note.end()
    offset = max(0, first - 20)
    before = _BEFORE.search(text[offset:first]) if text[offset:first].rstrip()[-1:] in _TAILS else None
    after = _AFTER.match(text, last)
    assert after is not None, "all of it is optional"
    unit, sign = "", ""
    if before and not (after["unit"] and before["gap"] and not after["gap"]):
        unit, start, end = before["unit"], offset + before.start(), last
        sign = before["sign"] or before["inner"]
    elif after["unit"]:
        unit, start, end = after["unit"], first, after.end()
    elif hundredths := _HUNDREDTHS.match(text, end):
        end = hundredths.end()
        values = tuple(value / 100 for value in values)
    if unit and after["letter"]:
        end = max(end, after.end("letter"))
        values = tuple(value * 10 ** _LETTERS[after["letter"]] for value in values)
    if before and sign:
        if start > 0 and text[start - 1].isalnum():  # a hyphen between a word and the currency is not a minus sign
            start += len(before["sign"])
        elif not text[max(0, start - 2) : start].rstrip()[-1:].isdigit():  # else a range, "5 EUR-7 EUR"
            values = tuple(-abs(value) for value in values)
    elif min(values) >= 0 and (unit or CENTS.search(text, start, end)) and _has_minus_apart(text, start):
        values += tuple(-value for value in values)
    codes = currencies_of(unit)
    amounts = sorted(dict.fromkeys(values), key=abs, reverse=True)  # 1.234 is a thousand here: cents have two digits
    return MoneySpan(start, end, tuple(Money(each, codes) for each in amounts))


def _has_minus_apart(text: str, start: int) -> bool:
    """Tell whether a minus stands before an amount, set off by a space; it may be a dash as well.

    At the beginning of a line it is the mark of a list, and behind a number or a currency that of a range.
    """
    head = text[max(0, start - 40) : start]
    behind = head.rstrip(_SPACES)
    before = behind[:-1]
    if behind == head or behind[-1:] not in ("-", "−") or (before and before[-1].isalnum()):
        return False
    is_bullet = (start <= 40 or "\n" in before) and not before.rpartition("\n")[2].strip(" \t>")
    return not is_bullet and not _ENDS_AMOUNT.search(before)


def proposed_money(proposed: object) -> tuple[Money, ...]:
    """Return every amount that a JSON value may mean: a text, a number, or an object with `amount` and `currency`.

    >>> proposed_money({"amount": 1200, "currency": "€"})[0].normal_form()
    {'amount': 1200, 'currency': 'EUR'}
    """
    if isinstance(proposed, Mapping):
        parts = cast("Mapping[str, object]", proposed)
        codes = next((each.currencies for each in parse_money(f"{parts.get('currency') or ''} 1")), ())
        return tuple(Money(amount, codes) for amount in proposed_numbers(parts.get("amount")))
    if isinstance(proposed, str):
        return parse_money(proposed)
    return tuple(Money(amount) for amount in proposed_numbers(proposed))
