"""Amounts of money: a number, and its currency."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, NamedTuple, cast

from trivium.extraction._currencies import all_units, currencies_of, unit_pattern
from trivium.extraction._numbers import NumberSpan, number_spans, plain_number, proposed_numbers

CENTS = re.compile(r"\d[.,]\d\d(?!\d)")
"""An amount that is written with cents."""

_CURRENCY = unit_pattern()
_BEFORE = re.compile(rf"(?P<sign>[-−]?)(?P<unit>{_CURRENCY})(?P<gap>\s?)(?P<inner>[-−]?)\Z")
_AFTER = re.compile(rf"(?P<letter>(?:k|K|m|M|mn|bn|B)(?![^\W\d_]))?(?:(?P<gap>\s?)(?P<unit>{_CURRENCY}))?")
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

    Args:
        text: the text of one amount, such as "EUR 1.234,56"; the currency may be missing.

    Returns:
        The amounts; empty if the text holds no number, or several.

    >>> parse_money("1.200,- €")[0].normal_form()
    {'amount': 1200, 'currency': 'EUR'}
    """
    spans = list(money_spans(text))
    whole = [span for span in spans if span.start <= spans[0].start and span.end >= spans[-1].end]
    return whole[0].readings if whole else ()


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
            reached = number.end


def money_at(text: str, number: NumberSpan) -> MoneySpan:
    """Read a number of a text as an amount of money: with its sign and magnitude, and the currency beside it.

    Of a currency on each side, the one without a gap counts.
    """
    start, end, values = number
    offset = max(0, start - 20)
    before = _BEFORE.search(text[offset:start]) if text[offset:start].rstrip()[-1:] in _TAILS else None
    after = _AFTER.match(text, end)
    assert after is not None, "all of it is optional"
    unit, left, right = "", 0, 0
    if before and not (after["unit"] and before["gap"] and not after["gap"]):
        unit, left = before["unit"], len(before[0])
    elif after["unit"]:
        unit, right = after["unit"], after.end()
    elif hundredths := _HUNDREDTHS.match(text, end):
        right = hundredths.end()
        values = tuple(value / 100 for value in values)
    if unit and after["letter"]:
        right = max(right, after.end("letter"))
        values = tuple(value * 10 ** _LETTERS[after["letter"]] for value in values)
    if before and left and (before["sign"] or before["inner"]):
        first = offset + before.start()
        if first > 0 and text[first - 1].isalnum():  # a hyphen between a word and the currency is not a minus sign
            left -= len(before["sign"])
        else:
            values = tuple(-abs(value) for value in values)
    codes = currencies_of(unit)
    amounts = sorted(values, key=abs, reverse=True)  # 1.234 is a thousand here: cents have two digits
    return MoneySpan(start - left, max(end, right), tuple(Money(each, codes) for each in amounts))


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
