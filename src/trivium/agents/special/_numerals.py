"""Numbers and dates in one form, however they are written: 1,200.50 and 1.200,5; May 3rd and 2026-05-03."""

from __future__ import annotations

import re
from typing import Final

_MONTHS: Final = "janfebmaraprmayjunjulaugsepoctnovdec"
_MONTH: Final = (
    r"(Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?"
    r"|Nov(?:ember)?|Dec(?:ember)?)\b\.?"
)
_ORDINAL: Final = re.compile(r"\b(\d{1,2})(?:st|nd|rd|th)\b", re.IGNORECASE)
_ISO_DATE: Final = re.compile(r"(?<![\d-])(\d{4})-(0?[1-9]|1[0-2])-(0?[1-9]|[12]\d|3[01])(?![\d-])")
_DOT_DATE: Final = re.compile(r"(?<![\d.])(0?[1-9]|[12]\d|3[01])\.(0?[1-9]|1[0-2])\.(\d{4})(?!\d)")
_DAY_MONTH: Final = re.compile(rf"\b(0?[1-9]|[12]\d|3[01])\.?\s+(?:of\s+)?{_MONTH}")
_MONTH_DAY: Final = re.compile(rf"\b{_MONTH},?\s+(?:the\s+)?0?(\d{{1,4}})\b")
_NUMBER: Final = re.compile(r"(?<![\d.,])\d+(?:[.,'\u00a0\u202f]\d+)+(?!\d)")
_GROUPED: Final = re.compile(r"[1-9]\d{0,2}(?:([.,'\u00a0\u202f])\d{3})(?:\1\d{3})*")


def plain_numerals(text: str) -> str:
    """Return a text with its numbers as digits, each fraction as a number of its own, and months as numbers like 00005.

    >>> plain_numerals("1,200.50 EUR"), plain_numerals("1.200,5 EUR"), plain_numerals("from May 3rd")
    ('1200 5 EUR', '1200 5 EUR', 'from 00005 3')
    """
    text = _ORDINAL.sub(r"\1", text)
    text = _ISO_DATE.sub(lambda found: f"{found[1]} {_month(found[2])} {int(found[3])}", text)
    text = _DOT_DATE.sub(lambda found: f"{int(found[1])} {_month(found[2])} {found[3]}", text)
    text = _DAY_MONTH.sub(lambda found: f"{int(found[1])} {_month(found[2])}", text)
    text = _MONTH_DAY.sub(lambda found: f"{_month(found[1])} {found[2]}", text)
    return _NUMBER.sub(lambda found: _plain(found[0]), text)


def _month(written: str) -> str:
    number = int(written) if written.isdigit() else 1 + _MONTHS.index(written[:3].lower()) // 3
    return f"{number:05}"


def _plain(number: str) -> str:
    """Write a number as digits without separators. 1.200 has two meanings, and gives both; 1.2.3 is no number."""
    grouped = _GROUPED.match(number)
    if grouped is None or (len(number) == len(grouped[0]) and grouped[1] == "." and number.count(".") == 1):
        whole, *fractions = re.split("[.,]", number)
        if len(fractions) != 1 or not whole.isdigit() or not fractions[0].isdigit():
            return number
        both = f" {whole}{fractions[0]}" if grouped else ""
        return f"{_decimal(whole, fractions[0])}{both}"
    rest = number[grouped.end() :]
    if rest and (rest[0] not in ".," or rest[0] == grouped[1] or not rest[1:].isdigit()):
        return number
    return _decimal(re.sub(r"\D", "", grouped[0]), rest[1:])


def _decimal(whole: str, fraction: str) -> str:
    return f"{whole} {fraction.rstrip('0')}".rstrip()
