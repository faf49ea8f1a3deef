"""Numbers as documents write them: 1,234.56 and 1.234,56, 1 234,56 and 1'234.56, percent, millions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import NamedTuple

from trivium.extraction._borders import SPACELESS, is_word
from trivium.extraction._currencies import unit_pattern

NUMBER_WORDS: Mapping[str, int] = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6,
    "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12,
}  # fmt: skip

_MAGNITUDES: Mapping[str, int] = {
    word: power
    for power, words in (
        (3, "thousand tausend tsd duizend tusen tys тыс"),
        (5, "lakh lakhs"),
        (6, "million millions millionen millones millón milhão milhões milione milioni miljoen miljoenen miljon"),
        (6, "miljoner millioner milion miliony milionów milionů mio mln млн"),
        (7, "crore crores"),
        (9, "billion billions milliarde milliarden milliard milliards milliarder miliardo miliardi miljard miljarden"),
        (9, "miljarder miliard miliardy miliardów mrd mld bn млрд"),
        (12, "trillion"),
    )
    for word in words.split()
}

EASTERN: Mapping[str, int] = {
    "十": 1, "百": 2, "千": 3, "万": 4, "萬": 4, "億": 8, "亿": 8, "兆": 12,
    "십": 1, "백": 2, "천": 3, "만": 4, "억": 8, "조": 12,
}  # fmt: skip
"""The powers of ten by which East Asia counts, and which may stand between a number and its currency."""

SPACE = " \u00a0\u2007\u2009\u202f"
_LONGEST = 40
"""Characters of the longest number that is read: longer ones are not meant as numbers, and slow to compute with."""

_RUN = re.compile(rf"\d(?:\d|[.,'’](?=\d)|[{SPACE}](?=\d{{3}}(?!\d)))*(?:[eE][+-]?\d{{1,3}}(?!\w))?")
_GROUPED = re.compile(r"[1-9]\d{0,2}(?P<mark>[ '.,])\d{3}(?:(?P=mark)\d{3})*(?:(?!(?P=mark))[.,]\d+)?")
_LAKHS = re.compile(r"[1-9]\d?(?:,\d{2})+,\d{3}(?:\.\d+)?")
_DECIMAL = re.compile(r"\d*[.,]\d+")
_EXPONENT = re.compile(r"\d+(?:\.\d+)?[eE][+-]?\d{1,3}")
_NO_NUMBER = re.compile(rf"_|\^\d\d|(?!(?:[cdk]?m)[23](?!\w))[^\W\d_{SPACELESS}]+\d")
_COUNT = r"(?:\d{1,3}(?:,\d{3}){1,6}|\d{1,20})(?:\.\d{1,20})?"
_LAST = rf"(?:\d,\d{{3}}|\d{{1,4}})(?![.,]?\d|[{''.join(EASTERN)}])"
_MYRIADS = re.compile(
    rf"(?<!제)(?={_COUNT}(?:[{SPACE}]?[十百千십백천]?[万萬億亿兆만억조]|[百千백천]))"  # 제5조 is an article
    + "".join(rf"(?:[{SPACE}]?{_COUNT}[{SPACE}]?[十百千십백천]?[{power}])?" for power in ("兆조", "億亿억", "万萬만"))
    + "".join(rf"(?:[{SPACE}]?{_COUNT}[{power}])?" for power in ("千천", "百백"))
    + rf"(?:{_LAST}|[{SPACE}]{_LAST}(?=[{SPACE}]?원))?"
)
"""A number in ten thousands, as East Asia writes it: 3億5,000万. The larger part stands first: 3万 5万 are two."""

_PART = re.compile(rf"([\d,.]+)[{SPACE}]?([{''.join(EASTERN)}]*)")
MARKED = re.compile(r"\d[.,'’]\d")
"""A number with cents, or whose thousands are marked: amounts are written so, and hardly the number of an item."""

_UNIT = re.compile(
    rf"[.,][-–—]{{1,2}}(?![\w])|[{SPACE}]?(?:[%‰]|(?P<magnitude>{'|'.join(_MAGNITUDES)})(?![^\W\d_])\.?)",
    re.IGNORECASE,
)
_CURRENCY = unit_pattern()
_CURRENCY_BEFORE = re.compile(_CURRENCY + r"\Z")
_OPENS = re.compile(rf"\((?:{_CURRENCY}\s?)?\Z")
_CLOSES = re.compile(rf"(?:\s?{_CURRENCY})?\)")
_MINUS_BEHIND = re.compile(
    rf"(?P<unit>\s?{_CURRENCY})?(?P<minus>[-−])(?:(?P<sure>(?P<behind> {_CURRENCY}(?![{SPACE}]?[-−(]?\d))|"
    rf"(?=[ \t]{{0,99}}(?:\Z|\n(?!\s{{0,99}}(?:\w|{_CURRENCY})))|(?:[ \t]{{2}}|\t)(?![ \t]{{0,99}}\n)| ?[).|](?!\d)))|"
    rf"(?=\s|[,;](?!\d)))"
)
"""A minus as accounts write it, "1.234,56- EUR"; before a further word or number it may be a hyphen or a range."""
CENTS = re.compile(r"\d[.,]\d\d(?!\d)")
"""An amount that is written with cents."""

_ANY_CURRENCY = re.compile(_CURRENCY)
_CELL = re.compile(rf"(?:(?P<line>\A)|[:|\t]|\s\s)[ \t\u00a0]*(?:[-−–—(]\s?)?(?:{_CURRENCY}\s?)?(?:[-−–—(]\s?)?\Z")
_GOES_ON = re.compile(rf"[-−)]?(?:\s?{_CURRENCY})?[-−)]? ?[^\W\d_]")
_SIGNS = ("-", "−", "–", "—", "+")
_HYPHENS = str.maketrans("‐‑﹣－", "----")
_WIDE = re.compile("[０-９](?:[０-９，．]*[０-９])?")
_NARROW = str.maketrans("０１２３４５６７８９，．", "0123456789,.")

DASHES = "–—"
"""Dashes that may be meant as a minus."""

_ANY_MINUS = _HYPHENS | str.maketrans(f"−{DASHES}", "---")
_DIGITS = str.maketrans({space: " " for space in SPACE} | {"’": "'"})


class SignMark(NamedTuple):
    """The mark of a minus in a proposal: whether that is one amount of money with it alone, and it stands behind."""

    is_alone: bool
    is_behind: bool


class NumberSpan(NamedTuple):
    """A number in a text: start and end, and each value that it may mean, the likeliest first."""

    start: int
    end: int
    readings: tuple[Decimal, ...]


def readings(text: str) -> tuple[Decimal, ...]:
    """Return every value that a text may mean as a number, the likeliest first; "1.234" has two.

    Args:
        text: the text of one number; it may contain a sign, a currency, a unit or percent.

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
    """Return the likeliest value of a text as a number, or None if it is not one number.

    Args:
        text: the text of one number.

    >>> parse_number("-1'234.50 %"), parse_number("soon")
    (Decimal('-1234.50'), None)
    """
    values = readings(text)
    return values[0] if values else None


def proposed_numbers(proposed: object) -> tuple[Decimal, ...]:
    """Return every value that a JSON value may mean as a number: a text as `readings` does; a boolean means none.

    Of two signs the minus comes first if the text is nothing but an amount of money with a mark of it (`sign_mark`).

    >>> proposed_numbers(1.5), proposed_numbers("1,5"), proposed_numbers(True)
    ((Decimal('1.5'),), (Decimal('1.5'),), ())
    """
    if isinstance(proposed, bool) or not isinstance(proposed, str | int | float):
        return ()
    if isinstance(proposed, str):
        values, mark = readings(proposed), sign_mark(proposed)
        if mark.is_behind:  # in the document it may be a hyphen
            values += tuple(map(abs, values))
        return tuple(sorted(dict.fromkeys(values), key=lambda each: (each > 0) == mark.is_alone))
    number = Decimal(repr(proposed)) if isinstance(proposed, float) else Decimal(proposed)
    return (number,) if number.is_finite() else ()


def sign_mark(proposed: str) -> SignMark:
    """Look for the mark of a minus in a proposal; an amount of money has a currency or exactly two decimals.

    >>> sign_mark("(EUR 5)"), sign_mark("three (3)"), sign_mark("5,00-")
    (SignMark(is_alone=True, is_behind=False), SignMark(is_alone=False, is_behind=False), \
SignMark(is_alone=True, is_behind=True))
    """
    bare = _ANY_CURRENCY.sub("", proposed)
    before, number, behind = _RUN.sub("#", bare, count=1).translate(_ANY_MINUS).partition("#")
    shape = "".join(f"{before}{number}{behind}".split())
    is_money = bare != proposed or CENTS.search(proposed) is not None
    return SignMark(shape == "-#" or (is_money and shape in ("(#)", "#-")), "-" in behind and "-" not in before)


def in_ascii(text: str) -> str:
    """Write hyphens, and numbers of wide digits, with the characters of the keyboard; no offset changes.

    >>> in_ascii("￥１３２，０００‐")
    '￥132,000-'
    """
    return _WIDE.sub(lambda found: found[0].translate(_NARROW), text.translate(_HYPHENS))


def begins_cell(text: str, start: int, end: int) -> bool:
    """Tell whether an amount, with the marks before it, stands where a cell begins, and not within a sentence.

    That is behind a colon, a bar, a tab or two spaces, or on a line that no word goes on with.
    """
    head = text[max(0, start - 60) : start].rpartition("\n")[2]
    cell = _CELL.search(head)
    return cell is not None and (cell["line"] is None or not _GOES_ON.match(text, end))


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
    text = in_ascii(text)
    reached = 0
    for run in _RUN.finditer(text):
        start, end = run.span()
        if start < reached:
            continue
        before = text[start - 1 : start]
        is_raised = before == "^" and end - start > 1  # the cents of "249^99", which is no 249 either, or a power
        ends_name = (before != "" and is_word(before)) or is_raised  # as in "x86", but not as in "EUR5"
        if ends_name and not _CURRENCY_BEFORE.search(text[max(0, start - 5) : start]):
            continue
        if _NO_NUMBER.match(text, end):
            continue
        whole = _span(text, start, end)
        if whole:
            reached = whole.end
            yield whole
        # "5 123" may be two numbers: a plain space sets them apart, and no decimal mark ends it.
        if not whole or (" " in run[0] and run[0].replace(" ", "").isdecimal()):
            yield from _pieces(text, start, end)


def _pieces(text: str, start: int, end: int) -> Iterator[NumberSpan]:
    """Read a run again in pieces: numbers in a row, set apart by spaces, or by commas as in "1,2,3"."""
    run = text[start:end]
    separator = rf"[{SPACE}]" if any(space in run for space in SPACE) else ","
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
        further = text[max(0, start - 2) : start - 1]
    values = _values(body)
    if not values:
        return None
    unit = _UNIT.match(text, end)
    if many := _MYRIADS.match(text, start) if text[start].isdecimal() else None:
        end = many.end()
        parts = _PART.findall(many[0].replace(",", ""))
        each = (Decimal(digits).scaleb(sum(map(EASTERN.__getitem__, powers))) for digits, powers in parts)
        values = (sum(each, Decimal()),)
    elif text[end : end + 1] in EASTERN and not body.isdecimal():  # "2,3万" are two
        return None
    elif unit:
        end = unit.end()
        magnitude = _MAGNITUDES.get((unit["magnitude"] or "").casefold(), 0)
        values = tuple(value * 10**magnitude for value in values)
    negative = tuple(-value for value in values)
    is_minus = before in _SIGNS
    head, tail = text[max(0, start - 20) : start], text[end : end + 20]  # a look is quicker than a search
    # After a letter, digit or closing sign a hyphen joins words or ends a range: it is not a minus sign.
    if is_minus and not (further.isalnum() or further in ("-", "–", "—", ".", ")", "]", "_", "/", "+")):
        start -= 1
        values = values if before == "+" else values + negative if before in DASHES else negative
    elif is_minus and before != "+" and not further.isdecimal() and _CURRENCY_BEFORE.search(head[:-1]):
        values += negative
    elif "(" in head and ")" in tail and _CLOSES.match(tail) and _OPENS.search(head):
        values += negative  # accountants write a negative number so, and others a remark
    elif (
        ("-" in tail or "−" in tail) and MARKED.search(body) and not unit and (behind := _MINUS_BEHIND.match(text, end))
    ):
        is_money = behind["unit"] or behind["behind"] or CENTS.search(body) or _CURRENCY_BEFORE.search(head.rstrip())
        is_sure = is_money and behind["sure"] is not None
        end = behind.end("minus") if is_sure and behind.start("minus") == end else end
        values = negative if is_sure else values + negative
    return NumberSpan(start, end, values)


def _values(body: str) -> tuple[Decimal, ...]:
    """Read digits and marks without sign or unit."""
    if len(body) > _LONGEST:
        return ()
    if body.isdecimal() or _EXPONENT.fullmatch(body):
        return (Decimal(body),)
    body = body.translate(_DIGITS)
    if _LAKHS.fullmatch(body):
        return (Decimal(body.replace(",", "")),)
    found: list[Decimal] = []
    if grouped := _GROUPED.fullmatch(body):
        found.append(Decimal(body.replace(grouped["mark"], "").replace(",", ".")))
    if _DECIMAL.fullmatch(body) and not (found and body.endswith("000")):  # 3,000 is not an exact three
        found.append(Decimal(body.replace(",", ".")))
    # JSON, code and English write 1.234 for a little more than one; 1,234 is a thousand to most readers.
    return tuple(found[::-1] if "." in body and "," not in body else found)
