"""Dates as documents write them: 2024-03-01, 01.03.2024, 3/1/2024, 1 March 2024, 1er mars 2024, 1/III/2024."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from typing import NamedTuple

from trivium.extraction._months import month_numbers

__all__ = ["DateSpan", "date_spans", "parse_dates"]

# Each gap is bounded, so that a long run of spaces costs no more than its length.
_NAME = r"(?P<name>(?:[^\W\d_]|[\u0300-\u036f]){3,16}\.?)"
_START = r"(?<![^\W\d_])"
_ORDINAL = r"(?:st|nd|rd|th|er|ère|re|ste|de|e|:[ae]|ης|η)?[.ºª°]?"
_YEAR = r"(?P<year>\d{4}|['’]\d{2}|(?<=[-/])\d{2})(?!\d)"
_TIME = r"(?:\d{1,2}:\d{2}(?::\d{2})?\s{1,3}(?:[A-Z]{2,5}\s{1,3})?)?"

_NUMERIC = (
    re.compile(
        r"(?<!\d)(?<!\d[./])(?P<year>\d{4})(?P<mark>[-/.])(?P<month>\d{1,2})(?P=mark)(?P<day>\d{1,2})"
        r"(?!\d)(?!(?P=mark)\d)"
    ),
    re.compile(r"(?<![\w.,-])(?P<year>(?:19|20)\d{2})(?P<month>\d{2})(?P<day>\d{2})(?![^\WT])(?![.,]\d)"),
    re.compile(r"(?P<year>\d{4})\s?[年년]\s?(?P<month>\d{1,2})\s?[月월]\s?(?P<day>\d{1,2})\s?[日일]"),
)
_TWO_WAY = re.compile(
    r"(?<!\d)(?<!\d[./])(?P<first>\d{1,2})(?P<mark>\.\s?|[-/])(?P<second>\d{1,2})(?P=mark)(?P<year>\d{4}|\d{2})"
    r"(?!\d)(?!(?P=mark)\d)"
)
_NAMED = (
    re.compile(
        rf"(?<!\d)(?P<day>\d{{1,2}}){_ORDINAL}(?:\s{{1,5}}day)?[\s./-]{{0,20}}"
        rf"(?:(?:of|de|del)\s{{1,20}}|d['’])?{_NAME}[\s,./-]{{0,20}}(?:(?:de|del|of)\s{{1,20}})?{_YEAR}",
        re.IGNORECASE,
    ),
    re.compile(
        rf"{_START}{_NAME}[\s./-]{{0,20}}(?P<day>\d{{1,2}})(?:st|nd|rd|th)?[\s,./-]{{1,20}}{_TIME}{_YEAR}",
        re.IGNORECASE,
    ),
    re.compile(rf"(?<!\d)(?P<year>\d{{4}})(?:\sm\.)?[\s./-]{{1,20}}{_NAME}[\s./-]{{1,20}}(?P<day>\d{{1,2}})(?!\d)"),
    re.compile(rf"(?<!\d)(?P<year>\d{{4}})\.?\s?gada\s{{1,5}}(?P<day>\d{{1,2}})\.?\s{{1,5}}{_NAME}"),
    re.compile(
        r"(?<!\d)(?<!\d[./])(?P<day>\d{1,2})(?:[./-]\s?|\s)(?P<name>[IVX]{1,4})(?:[./-]\s?|\s)(?P<year>\d{4})(?!\d)"
    ),
)


class DateSpan(NamedTuple):
    """A date in a text: where it stands, and each day that it may mean.

    `order` is "day" or "month" where only one order of a date like 25/12/2023 is possible, else "".
    """

    start: int
    end: int
    readings: tuple[date, ...]
    order: str = ""


def parse_dates(text: str, month_first: bool = False) -> tuple[date, ...]:
    """Give every day that a text may mean; 03/01/2024 has two readings, day first before month first.

    Args:
        text: the text of one date; a weekday, a time of day or other words may stand with it.
        month_first: give the reading with the month first before the other.

    Returns:
        The days; empty if the text holds no full date, or several.

    >>> parse_dates("Friday, 1st of March 2024")
    (datetime.date(2024, 3, 1),)
    >>> [day.isoformat() for day in parse_dates("03/01/2024")]
    ['2024-01-03', '2024-03-01']
    """
    spans = list(date_spans(text, month_first))
    return spans[0].readings if len({span.readings for span in spans}) == 1 else ()


def date_spans(text: str, month_first: bool = False) -> Iterator[DateSpan]:
    """Find every full date of a text; each form in turn, so not in the order of the text.

    Args:
        text: any text.
        month_first: as for `parse_dates`.

    >>> list(date_spans("due 25/12/2023"))
    [DateSpan(start=4, end=14, readings=(datetime.date(2023, 12, 25),), order='day')]
    """
    for pattern in _NUMERIC:
        for found in pattern.finditer(text):
            if days := _days(found["year"], int(found["month"]), int(found["day"])):
                yield DateSpan(*found.span(), days)
    yield from _two_way_spans(text, month_first)
    for pattern in _NAMED:
        yield from _named_spans(pattern, text)


def _named_spans(pattern: re.Pattern[str], text: str) -> Iterator[DateSpan]:
    position = 0
    while found := pattern.search(text, position):
        months = month_numbers(found["name"])
        days = tuple(day for month in months for day in _days(found["year"], month, int(found["day"])))
        if days:
            yield DateSpan(*found.span(), days)
        # What looked like a date may hide one: in "item 5 on 1 March 2024" the search is taken up inside.
        position = found.end() if days else min(found.start("day"), found.start("name")) + 1


def _two_way_spans(text: str, prefer_month: bool) -> Iterator[DateSpan]:
    for found in _TWO_WAY.finditer(text):
        first, second = int(found["first"]), int(found["second"])
        day_first = _days(found["year"], second, first)
        month_first = () if found["mark"].startswith(".") else _days(found["year"], first, second)
        order = "" if bool(day_first) == bool(month_first) else "day" if day_first else "month"
        if days := (*month_first, *day_first) if prefer_month else (*day_first, *month_first):
            yield DateSpan(*found.span(), tuple(dict.fromkeys(days)), order)


def _days(year: str, month: int, day: int) -> tuple[date, ...]:
    found: list[date] = []
    for number in _years(year.lstrip("'’")):
        try:
            found.append(date(number, month, day))
        except ValueError:  # no such day in the calendar: not a date
            continue
    return tuple(found)


def _years(year: str) -> tuple[int, ...]:
    """Give two digits both centuries, the one that POSIX takes first."""
    number = int(year)
    if len(year) == 4:
        return (number,)
    return (2000 + number, 1900 + number) if number < 69 else (1900 + number, 2000 + number)
