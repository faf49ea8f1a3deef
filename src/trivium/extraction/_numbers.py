"""Numbers as documents write them: 1,234.56 and 1.234,56, 1 234,56 and 1'234.56, percent, millions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import NamedTuple

from trivium.extraction._currencies import unit_pattern

__all__ = ["NUMBER_WORDS", "NumberSpan", "number_spans", "parse_number", "plain_number", "readings"]

NUMBER_WORDS: Mapping[str, int] = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6,
    "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12,
}  # fmt: skip

_MAGNITUDES: Mapping[str, int] = {
    "thousand": 3, "tausend": 3, "million": 6, "millions": 6, "millionen": 6, "millones": 6, "mio": 6,
    "mln": 6, "billion": 9, "billions": 9, "milliarde": 9, "milliarden": 9, "milliard": 9, "milliards": 9,
    "mrd": 9, "mld": 9, "trillion": 12,
}  # fmt: skip

_SPACE = " \u00a0\u2007\u2009\u202f"
_LONGEST = 40
"""More characters than this are no number that anybody means, and their arithmetic is slow."""

_RUN = re.compile(rf"\d(?:\d|[.,'’](?=\d)|[{_SPACE}](?=\d{{3}}(?!\d)))*(?:[eE][+-]?\d{{1,3}}(?!\w))?")
_GROUPED = re.compile(r"[1-9]\d{0,2}(?P<mark>[ '.,])\d{3}(?:(?P=mark)\d{3})*(?:(?!(?P=mark))[.,]\d+)?")
_LAKHS = re.compile(r"[1-9]\d?(?:,\d{2})+,\d{3}(?:\.\d+)?")
_DECIMAL = re.compile(r"\d*[.,]\d+")
_EXPONENT = re.compile(r"\d+(?:\.\d+)?[eE][+-]?\d{1,3}")
_NO_NUMBER = re.compile(r"_|(?!(?:[cdk]?m)[23](?!\w))[^\W\d_]+\d")
_UNIT = re.compile(
    rf"[.,][-–—]{{1,2}}(?![\w])|[{_SPACE}]?(?:[%‰]|(?P<magnitude>{'|'.join(_MAGNITUDES)})(?![^\W\d_])\.?)",
    re.IGNORECASE,
)
_CURRENCY_BEFORE = re.compile(unit_pattern() + r"\Z")
_DIGITS = str.maketrans({space: " " for space in _SPACE} | {"’": "'"})


class NumberSpan(NamedTuple):
    """A number in a text: where it stands, and each value that it may mean, the likeliest first."""

    start: int
    end: int
    readings: tuple[Decimal, ...]


def readings(text: str) -> tuple[Decimal, ...]:
    """Give every value that a text may mean as a number, the likeliest first; "1.234" has two.

    Args:
        text: the text of one number; a sign, a currency, a unit or percent may stand with it.

    Returns:
        The values; empty if the text holds no number, or several.

    >>> readings("1.234,56"), readings("1,234")
    ((Decimal('1234.56'),), (Decimal('1234'), Decimal('1.234')))
    """
    word = NUMBER_WORDS.get(text.strip().casefold())
    if word is not None:
        return (Decimal(word),)
    spans = list(number_spans(text))
    whole = [span for span in spans if span.start <= spans[0].start and span.end >= spans[-1].end]
    return whole[0].readings if whole else ()


def parse_number(text: str) -> Decimal | None:
    """Give the likeliest value of a text as a number, or None if it is not one number.

    Args:
        text: the text of one number.

    >>> parse_number("-1'234.50 %"), parse_number("soon")
    (Decimal('-1234.50'), None)
    """
    values = readings(text)
    return values[0] if values else None


def plain_number(value: Decimal) -> int | float:
    """Turn a value into a JSON number: an int if it is whole, else the float nearest to it.

    >>> plain_number(Decimal("1450.00")), plain_number(Decimal("2.5"))
    (1450, 2.5)
    """
    return int(value) if value == value.to_integral_value() else float(value)


def number_spans(text: str) -> Iterator[NumberSpan]:
    """Find every number of a text, in order; where "5 123" may be one number or two, all three come.

    Args:
        text: any text; digits inside a word ("v2", "1.2.3", "x86") are not numbers.

    >>> [span.readings for span in number_spans("from 10 to 1.5 million")]
    [(Decimal('10'),), (Decimal('1500000.0'),)]
    """
    for run in _RUN.finditer(text):
        start, end = run.span()
        if _inside_word(text, start, end):
            continue
        whole = _span(text, start, end)
        if whole:
            yield whole
        if not whole or _may_be_several(run[0]):
            yield from _pieces(text, start, end)


def _inside_word(text: str, start: int, end: int) -> bool:
    if _NO_NUMBER.match(text, end):
        return True
    before = text[start - 1 : start]
    if not (before.isalnum() or before == "_"):
        return False
    return not _CURRENCY_BEFORE.search(text[max(0, start - 5) : start])


def _may_be_several(run: str) -> bool:
    """Say whether "5 123" may be two numbers: a plain space sets it apart, and no decimal mark ends it."""
    return " " in run and run.replace(" ", "").isdecimal()


def _pieces(text: str, start: int, end: int) -> Iterator[NumberSpan]:
    """Read a run again in pieces: numbers in a row, set apart by spaces, or by commas as in "1,2,3"."""
    run = text[start:end]
    separator = rf"[{_SPACE}]" if any(space in run for space in _SPACE) else ","
    position = start
    for piece in re.split(separator, run):
        if len(piece) < len(run) and (span := _span(text, position, position + len(piece))):
            yield span
        position += len(piece) + 1


def _span(text: str, start: int, end: int) -> NumberSpan | None:
    body = text[start:end]
    before = text[start - 1 : start]
    further = text[max(0, start - 2) : start - 1]
    if before == "." and not further.isalnum() and further != "." and body.isdecimal():
        start, body, before = start - 1, "0." + body, further
    values = _values(body)
    if not values:
        return None
    unit = _UNIT.match(text, end)
    if unit:
        end = unit.end()
        magnitude = _MAGNITUDES.get((unit["magnitude"] or "").casefold(), 0)
        values = tuple(value * 10**magnitude for value in values)
    if before in ("-", "−", "–", "+") and not _joins(text[max(0, start - 2) : start - 1]):
        start, values = start - 1, _signed(before, values)
    elif before == "(" and text[end : end + 1] == ")":  # so accountants write a negative number
        values += tuple(-value for value in values)
    return NumberSpan(start, end, values)


def _joins(before: str) -> bool:
    """Say whether a hyphen after this character joins words or ends a range, and so is no sign."""
    return before.isalnum() or before in ("-", ".", ")", "]", "_", "/", "+")


def _signed(sign: str, values: tuple[Decimal, ...]) -> tuple[Decimal, ...]:
    negative = tuple(-value for value in values)
    return {"+": values, "–": values + negative}.get(sign, negative)  # an en dash may be a dash or a minus


def _values(body: str) -> tuple[Decimal, ...]:
    """Read digits and marks without sign or unit."""
    if len(body) > _LONGEST:
        return ()
    if body.isdecimal() or _EXPONENT.fullmatch(body):
        return (Decimal(body),)
    body = body.translate(_DIGITS)
    if _LAKHS.fullmatch(body):
        return (Decimal(body.replace(",", "")),)
    found = [_ungrouped(body, grouped["mark"])] if (grouped := _GROUPED.fullmatch(body)) else []
    if _DECIMAL.fullmatch(body) and not (found and body.endswith("000")):  # 3,000 is no exact three
        found.append(Decimal(body.replace(",", ".")))
    # JSON, code and English write 1.234 for a little more than one; 1,234 is a thousand to most readers.
    return tuple(found[::-1] if "." in body and "," not in body else found)


def _ungrouped(body: str, mark: str) -> Decimal:
    return Decimal(body.replace(mark, "").replace(",", "."))
