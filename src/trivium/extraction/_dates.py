"""Dates as documents write them: 2024-03-01, 01.03.2024, 3/1/2024, 1 March 2024, 1er mars 2024, 1/III/2024."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from typing import NamedTuple

from trivium.extraction._months import month_numbers

# Each gap is bounded, so that a long run of spaces costs no more than its length.
_NAME = r"(?P<name>(?:[^\W\d_]|[\u0300-\u036f]){3,16}\.?)"
_START = r"(?<![^\W\d_])"
_ORDINAL = r"(?:st|nd|rd|th|er|ère|re|ste|de|e|:[ae]|ης|η)?[.ºª°]?"
_YEAR = r"(?P<year>\d{4}|['’]\d{2}|(?<=[-/])\d{2})(?!\d)"
_SHORT_YEAR = r"(?P<year>\d{2})(?=[^\S\n]*(?:\Z|\n)|[.;)|\]](?!\d)|(?:[^\S\n]{2}|\t)(?!\s*\d{4}))"
"""A year of two digits, where nothing goes on: in "3 May 24 hours" it is none."""

_TIME = r"(?:\d{1,2}:\d{2}(?::\d{2})?\s{1,3}(?:[A-Z]{2,5}\s{1,3})?)?"

_FORMS = (
    re.compile(
        r"(?<!\d)(?<!\d[./])(?P<year>\d{4})(?P<mark>[-/.])(?P<month>\d{1,2})(?P=mark)(?P<day>\d{1,2})"
        r"(?!\d)(?!(?P=mark)\d)"
    ),
    re.compile(r"(?<![\w.,-])(?P<year>(?:19|20)\d{2})(?P<month>\d{2})(?P<day>\d{2})(?![^\WT])(?![.,]\d)"),
    re.compile(r"(?P<year>\d{4})\s?[年년]\s?(?P<month>\d{1,2})\s?[月월]\s?(?P<day>\d{1,2})\s?[日일]"),
    re.compile(
        r"(?P<era>令和|平成|昭和)\s?(?P<year>\d{1,2}|元)\s?年\s?(?P<month>\d{1,2})\s?月\s?(?P<day>\d{1,2})\s?日"
    ),
    re.compile(
        r"(?<!\d)(?<!\d[./])(?P<first>\d{1,2})(?P<mark>\.\s?|[-/])(?P<second>\d{1,2})(?P=mark)"
        r"(?P<year>\d{4}|\d{2})(?!\d)(?!(?P=mark)\d)"
    ),
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
    re.compile(
        rf"(?<!\w)(?<!\d[.,:/-])(?P<day>\d{{1,2}})(?:\.|st|nd|rd|th)?[^\S\n]?{_NAME}[^\S\n]?{_SHORT_YEAR}",
        re.IGNORECASE,
    ),
    re.compile(r"(?<![^\n])(?P<day>\d{2})[^\S\n]?(?P<name>[^\W\d_]{3,4}\.?)[^\S\n]?(?P<year>\d{2})(?!\S)(?!\s+\d{4})"),
    re.compile(
        rf"{_START}{_NAME}[^\S\n]?(?P<day>\d{{1,2}})(?:st|nd|rd|th)?,[^\S\n]?{_SHORT_YEAR}",
        re.IGNORECASE,
    ),
)
"""Each form of a date has a year, and: month and day; first and second, in either order; or name and day."""


_ERAS = {"令和": 2018, "平成": 1988, "昭和": 1925}
"""The year before the first one of each era of Japan."""


class DateSpan(NamedTuple):
    """A date in a text: start and end, and each day that it may mean.

    `order` is "day" or "month" if only one order of a date like 25/12/2023 is possible, else "".
    """

    start: int
    end: int
    readings: tuple[date, ...]
    order: str = ""


def parse_dates(text: str, month_first: bool = False) -> tuple[date, ...]:
    """Return every day that a text may mean; 03/01/2024 has two readings, day first before month first.

    Args:
        text: the text of one date; it may contain a weekday, a time of day or other words.
        month_first: return the reading with the month first before the other.

    Returns:
        The days; empty if the text holds no full date, or several.

    >>> parse_dates("Friday, 1st of March 2024")
    (datetime.date(2024, 3, 1),)
    >>> [day.isoformat() for day in parse_dates("03/01/2024")]
    ['2024-01-03', '2024-03-01']
    """
    spans = list(date_spans(text, month_first))
    return spans[0].readings if len({span.readings for span in spans}) == 1 else ()


def date_spans(text: str, month_first: bool = False, order: str = "") -> Iterator[DateSpan]:
    """Find every full date of a text; each form in turn, so not in the order of the text.

    Args:
        text: any text.
        month_first: as for `parse_dates`.
        order: the known order of a date like 03/01/2024, "day" or "month"; it has no other reading.

    >>> list(date_spans("due 25/12/2023"))
    [DateSpan(start=4, end=14, readings=(datetime.date(2023, 12, 25),), order='day')]
    """
    for form in _FORMS:
        position = 0
        while found := form.search(text, position):
            span = read_date(found, month_first, order)
            position = found.end()
            if span.readings:
                yield span
            elif "name" in form.groupindex:
                # What looked like a date may hide one: in "item 5 on 1 March 2024" the search goes on inside.
                position = min(found.start("day"), found.start("name")) + 1


def read_date(found: re.Match[str], month_first: bool = False, known: str = "") -> DateSpan:
    """Read a match of a date's form; without readings if there is no such day in the calendar."""
    parts = found.groupdict()
    if "name" in parts:
        months = month_numbers(found["name"])
        days = tuple(day for month in months for day in _days(found["year"], month, int(found["day"])))
        return DateSpan(*found.span(), days)
    if "era" in parts:
        year = _ERAS[found["era"]] + (1 if found["year"] == "元" else int(found["year"]))
        return DateSpan(*found.span(), _days(f"{year:04}", int(found["month"]), int(found["day"])))
    if "first" not in parts:
        return DateSpan(*found.span(), _days(found["year"], int(found["month"]), int(found["day"])))
    first, second = int(found["first"]), int(found["second"])
    with_day_first = _days(found["year"], second, first)
    with_month_first = () if found["mark"].startswith(".") else _days(found["year"], first, second)
    order = "" if bool(with_day_first) == bool(with_month_first) else "day" if with_day_first else "month"
    if known and not order:
        with_day_first, with_month_first = (with_day_first, ()) if known == "day" else ((), with_month_first)
    days = (*with_month_first, *with_day_first) if month_first else (*with_day_first, *with_month_first)
    return DateSpan(*found.span(), tuple(dict.fromkeys(days)), order)


def _days(year: str, month: int, day: int) -> tuple[date, ...]:
    """Return the days that exist; a year of two digits may be of two centuries, first the one that POSIX takes."""
    digits = year.lstrip("'’")
    number = int(digits)
    if len(digits) == 4:
        years: tuple[int, ...] = (number,)
    else:
        years = (2000 + number, 1900 + number) if number < 69 else (1900 + number, 2000 + number)
    found: list[date] = []
    for each in years:
        try:
            found.append(date(each, month, day))
        except ValueError:  # no such day in the calendar: not a date
            continue
    return tuple(found)
