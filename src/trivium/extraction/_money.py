"""Amounts of money: a number, and its currency."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, NamedTuple, cast

from trivium.extraction._currencies import all_units, currencies_of, unit_pattern
from trivium.extraction._normal_form import LINE_BREAK
from trivium.extraction._numbers import (
    CENTS,
    DASHES,
    EASTERN,
    MARKED,
    NumberSpan,
    in_ascii,
    number_spans,
    plain_number,
    proposed_numbers,
    sign_mark,
)

_CURRENCY = unit_pattern()
_SPACE = r"[^\S\n\r\v\f\x85\u2028\u2029]"
_SCALES: Mapping[str, int] = {
    "k": 3, "K": 3, "T": 3, "tis": 3, "mila": 3, "mille": 3, "m": 6, "M": 6, "mn": 6, "Mill": 6, "mill": 6,
    "B": 9, "Md": 9, "Mds": 9, "Mia": 9, "mia": 9, "trn": 12,
}  # fmt: skip
"""Abbreviations and words that multiply an amount beside a currency only: elsewhere "5 m" are metres."""

_SCALE = "|".join(sorted(_SCALES, key=len, reverse=True))
_SCALED = r"(?<![^\W\d_])(?P<prefix>[kKTM])(?P<code>€|£|\$|(?:EUR|USD|GBP|CHF|SEK|NOK|DKK|PLN|CZK)(?![^\W\d_]))"
"""A unit with its factor, as in "TEUR" and "k€"."""

_BEFORE = re.compile(rf"(?P<sign>[-−–—]?)(?:(?<!\d){_SCALED}|(?P<unit>{_CURRENCY}))(?P<gap>\s?)(?P<inner>[-−–—]?)\Z")
_PLAIN_AMOUNT = rf"(?:\d[\d.,'’]*[.,]\d\d(?!\d)|\d{{1,3}}(?:[.,'’]\d{{3}})+(?!\d)|\d+(?={_SPACE}*(?:\n|\Z)))"
_OF_NEXT = rf"{_CURRENCY}(?:{_SPACE}?[-−–+]?{_SPACE}?{_PLAIN_AMOUNT}|{_SPACE}?\(\d[\d.,]*\)|-\w|[^\n:.,;()]{{0,40}}:)"
"""A currency at the beginning of a line that is of what follows: another amount, or a label."""

_AFTER = re.compile(
    rf"{_SPACE}?{_SCALED}|(?:(?P<apart>{_SPACE}?)(?P<scale>{_SCALE})(?!\w))?"
    rf"(?:(?(scale)\.?)(?P<gap>{_SPACE}|\s(?!{_OF_NEXT}))?(?P<unit>{_CURRENCY}))?"
)
_UNKNOWN_BEHIND = re.compile(rf"{_SPACE}?mil(?![\w-])")
_UNKNOWN_BETWEEN = re.compile(
    rf"{_SPACE}?(?i:milj?|mlds?|mrds?|bil|tril|tho|thous?|ths|tis|tys|lak)(?!\w)\.?{_SPACE}?{_CURRENCY}(?!{_SPACE}?\d)"
)
"""What looks like a factor, but may be one of several, or is not known: "12 mil euros" are thousands or millions."""

_DIGIT = re.compile(rf"{_SPACE}?\d")
_FOOTNOTE = re.compile(rf"\^\d\)?(?={_SPACE}?{_CURRENCY})")
"""The raised number of a footnote, as in "1.250^1 €"; behind a plain number it may be a power."""
_SPACES = " \t\u00a0"
_ENDS_AMOUNT = re.compile(rf"(?:\d[^\s:]*|{_CURRENCY})\s*\Z")
_HUNDREDTHS = re.compile(r"\s?(?:¢|(?:cents?|centimes?|céntimos?|centesimi|pence|penny)(?![^\W\d_]))", re.IGNORECASE)
_TAILS = frozenset(f"-−{DASHES}" + "".join({unit[-1] for unit in all_units()})) | {"."}
"""The last characters of currencies: testing one character saves the search for most numbers."""


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
    spans = list(_spans(f":{text}"))  # at its beginning, "- 5,00" is no item of a list
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
    return (span for span in _spans(text) if span.readings)


def _spans(text: str) -> Iterator[MoneySpan]:
    """Find every number as `money_spans` does, also those whose amount is not known."""
    text = in_ascii(text)
    reached = 0
    for number in number_spans(text):
        if number.end <= reached:  # a part of an amount that was read already
            continue
        span = money_at(text, number)
        yield span
        if not span.readings or span.readings[0].currencies:
            reached = max(number.end, span.end)


def money_at(text: str, number: NumberSpan) -> MoneySpan:
    """Read a number of a text as an amount of money: with its sign and magnitude, and the currency beside it.

    There are no readings where the word that multiplies it is not known.
    """
    start, end, values = number
    is_enclosed = text[start - 1 : start] == "(" and text[end : end + 1] == ")" and MARKED.search(text, start, end)
    first, last = (start - 1, end + 1) if is_enclosed else (start, end)  # "(1,234.56) USD"
    if MARKED.search(text, start, end) and (note := _FOOTNOTE.match(text, last)):
        last = note.end()
    unit = _unit_at(text, first, last)
    if unit.text:
        start, end = unit.start, unit.end
        values = tuple(value * 10**power for power in unit.powers for value in values)
    elif hundredths := _HUNDREDTHS.match(text, end):
        end = hundredths.end()
        values = tuple(value / 100 for value in values)
    if not values or not unit.powers:
        return MoneySpan(start, end, ())
    if unit.sign:
        if start > 0 and text[start - 1].isalnum():  # a hyphen between a word and the currency is not a minus sign
            start += text[start] == unit.sign
        elif not text[max(0, start - 2) : start].rstrip()[-1:].isdigit():  # else a range, "5 EUR-7 EUR"
            negative = tuple(-abs(value) for value in values)
            values = values + negative if unit.sign in DASHES else negative
    elif min(values) >= 0 and (unit.text or CENTS.search(text, start, end)) and _has_minus_apart(text, start):
        values += tuple(-value for value in values)
    codes = currencies_of(unit.text)
    amounts = sorted(dict.fromkeys(values), key=abs, reverse=True)  # 1.234 is a thousand here: cents have two digits
    return MoneySpan(start, end, tuple(Money(each, codes) for each in amounts))


class _Unit(NamedTuple):
    """The currency of an amount, where both begin and end, a sign, and the powers of ten that may multiply it."""

    text: str
    start: int
    end: int
    sign: str = ""
    powers: tuple[int, ...] = (0,)


def _unit_at(text: str, first: int, last: int) -> _Unit:
    """Find the currency beside a number: of one on each side that without a gap, or the one in its line."""
    offset = max(0, first - 20)
    before = _BEFORE.search(text[offset:first]) if text[offset:first].rstrip()[-1:] in _TAILS else None
    after = _AFTER.match(text, last)
    assert after is not None, "all of it is optional"
    scale, behind = after["prefix"] or after["scale"] or "", after["code"] or after["unit"] or ""
    is_apart, is_letter = bool(after["apart"]), len(scale) == 1
    if behind and is_apart and is_letter and after["gap"] and _DIGIT.match(text, after.end()):
        behind = ""  # "5 m EUR 3,00" are metres
    if before and behind and (edge := text[offset + before.start() - 1 : offset + before.start()]):
        before = None if edge.isdecimal() or edge in EASTERN else before  # of the amount before, as in "5円10円"
    if before and behind and before["gap"]:
        is_nearer = LINE_BREAK.match(before["gap"]) and not LINE_BREAK.match(after["gap"] or "")
        before = None if is_nearer or not after["gap"] else before
    power, has_cents = _SCALES.get(scale, 0), bool(CENTS.search(text, first, last))
    is_class = has_cents and scale in ("T", "B", "K")  # of a tax, as receipts have it: "2.99 B"
    if before:
        is_sure = not is_apart or scale in ("mn", "Md", "Mds", "trn")  # "£500 Mill House" is another word
        end = after.end("scale") if after["scale"] and is_sure else last
        powers = (power,) if is_sure else (0,) if scale in "TB" else (0, power)
        if before["prefix"]:  # "M$20.00" is a size, and a price
            powers = (0,) if has_cents and not before["code"].isalpha() else (_SCALES[before["prefix"]],)
        is_trillion = scale == "T" and not is_apart  # in "$5T"
        powers = (0,) if is_class and is_trillion else powers
        is_unknown = _UNKNOWN_BEHIND.match(text, last) or (is_trillion and not is_class)
        return _Unit(
            before["code"] or before["unit"],
            offset + before.start(),
            end,
            before["sign"] or before["inner"],
            () if is_unknown else powers,
        )
    if behind:
        is_trillion = (
            scale == "T"
            and currencies_of(behind)[0] not in ("EUR", "CHF")
            and not (after["prefix"] and behind.isalpha())
        )
        is_unknown = is_trillion or (is_apart and scale == "B")
        powers = (0,) if is_class and is_apart else (0, power) if is_class else () if is_unknown else (power,)
        return _Unit(behind, first, after.end(), powers=powers)
    return _Unit("", first, last, powers=() if not has_cents and _UNKNOWN_BETWEEN.match(text, last) else (0,))


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
