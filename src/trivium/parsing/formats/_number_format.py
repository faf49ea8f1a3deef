"""Numbers as Excel displays them: percentages, amounts of money, and numbers with leading zeros."""

from __future__ import annotations

import datetime
import re
import unicodedata
from decimal import Context, Decimal
from functools import lru_cache
from typing import Final, NamedTuple

from trivium.parsing.formats._currency_codes import CURRENCY_CODES

_LARGEST: Final = 10**15
_SMALLEST: Final = -20  # the exponent below which a number is written with one
_MOST_PLACES: Final = 30
_DIGITS: Final = Context(prec=15)  # all that Excel shows; what a double has beyond them comes from calculating
_EXACT: Final = Context(prec=60)
_TOKEN: Final = re.compile(
    r'"(?P<text>[^"]*)"|\\(?P<escaped>.)|[_*].|\[\$(?P<symbol>[^\]-]*)[^\]]*\]|\[[^\]]*\]|(?P<end>;)|(?P<code>.)',
    re.DOTALL,
)
_OTHER: Final = re.compile(r"\[(?:[<>=]|[hms]+\])", re.IGNORECASE)  # a condition, or a duration
_CODES: Final = re.compile(
    r"(?P<before>[^#?0.,]*)(?P<whole>[#?0](?:[#?0,]*[#?0])?)(?:\.(?P<part>[#?0]*))?(?P<after>[^#?0.,]*)"
)
_SIGNS: Final = ("-", "\N{MINUS SIGN}", "(")


class NumberForm(NamedTuple):
    """One section of a number format: what stands before and behind the number, and its digits.

    `has_sign` says that a minus or a parenthesis stands at the number itself.
    """

    before: str
    after: str
    zeros: int
    is_grouped: bool
    fixed: int
    places: int
    is_percent: bool
    is_money: bool
    has_sign: bool


def number_text(value: float, number_format: str) -> str | None:
    """Return a number as its format displays it; None for a format that is neither percent, money nor zeros in front.

    A minus is never lost, though a format may display it as a colour, and no decimals are, though it may round them.

    >>> number_text(1234.5, '#,##0.00 [$€-407]'), number_text(0.125, "0.0%"), number_text(1234, "00000")
    ('1,234.50 €', '12.5%', '01234')
    >>> number_text(-5, '"CHF" 0.00;[Red]"CHF" 0.00'), number_text(1234.5, "#,##0.00"), number_text(0.12345, "0%")
    ('-CHF 5.00', None, '12.345%')
    """
    forms = number_forms(number_format)
    return formed(value, forms) if forms else None


def formed(value: float, forms: tuple[NumberForm, ...]) -> str | None:
    """Return a number as the sections of its format display it; None if they would display another one."""
    form = forms[-1] if value < 0 else forms[0]
    if not abs(value) < _LARGEST:
        return None
    exact = Decimal(repr(value)).copy_abs().scaleb(2 if form.is_percent else 0, _EXACT)
    number = exact.normalize(_DIGITS)
    needed = max(0, -int(number.as_tuple().exponent))
    if number and exact.adjusted() < _SMALLEST:
        return None
    if needed <= form.places:
        digits = _digits(number, form)
    elif form.is_money or form.is_percent:
        digits = f"{exact.normalize(_EXACT):f}"
    else:
        return None
    text = f"{form.before}{digits}{form.after}".strip()
    return text if value >= 0 or (len(forms) > 1 and form.has_sign) else f"-{text}"


def _digits(number: Decimal, form: NumberForm) -> str:
    whole, _, part = f"{number:f}".partition(".")
    whole = f"{int(whole):,}" if form.is_grouped and len(whole) >= form.zeros else whole.zfill(form.zeros)
    part = part.ljust(form.fixed, "0")
    return f"{whole}{'.' if part else ''}{part}"


def duration_text(value: datetime.timedelta) -> str:
    """Return a duration in hours and minutes, with seconds if there are some.

    >>> duration_text(datetime.timedelta(days=1, hours=12, minutes=5))
    '36:05'
    """
    seconds = round(abs(value.total_seconds()))
    text = f"{seconds // 3600}:{seconds // 60 % 60:02}" + (f":{seconds % 60:02}" if seconds % 60 else "")
    return f"-{text}" if value < datetime.timedelta() else text


@lru_cache(maxsize=256)
def number_forms(number_format: str) -> tuple[NumberForm, ...] | None:
    """Return the sections for numbers above and below zero, or the one for both; None: such numbers stay plain."""
    if _OTHER.search(number_format) or len(number_format) > 500:
        return None
    texts: dict[str, str] = {}
    sections, is_money = [""], False
    for token in _TOKEN.finditer(number_format):
        if token["end"]:
            sections.append("")
        literal = token["text"] or token["escaped"] or token["symbol"] or ""
        is_money = is_money or bool(token["symbol"]) or _is_money(literal or token["code"] or "")
        held = chr(0xE000 + len(texts))  # a letter for a text, so that no digit in it is taken for a code
        texts[held] = literal
        sections[-1] += (token["code"] or "") + (held if literal else "")
    forms = [_form(section, texts, is_money) for section in sections[:2]]
    found = tuple(each for each in forms if each is not None)
    if not found or len(found) < len(forms) or found[0].has_sign:  # a number above zero would look like one below
        return None
    is_padded = found[0].zeros > 1 and not found[0].places
    return found if is_money or is_padded or found[0].is_percent else None


def _is_money(text: str) -> bool:
    return any(unicodedata.category(each) == "Sc" for each in text) or text.strip() in CURRENCY_CODES


def _form(section: str, texts: dict[str, str], is_money: bool) -> NumberForm | None:
    codes = _CODES.fullmatch(section)
    if codes is None or section.count("%") > 1:
        return None
    before, after = ("".join(texts.get(each, each) for each in codes[name]) for name in ("before", "after"))
    whole, part = codes["whole"], codes["part"] or ""
    if re.search(r"[A-Za-z/@]", codes["before"] + codes["after"]):  # an exponent, a fraction, a date
        return None
    if re.search(r"\d", before + after) or before.endswith((".", ",")) or after.startswith("-"):
        return None  # it would be read as a part of the number
    if any(texts.get(each, each).strip() in _SIGNS for each in codes["after"]):  # a minus behind the number
        return None
    if len(part) > _MOST_PLACES or whole.count("0") > _MOST_PLACES:
        return None
    at_number = [text for each in codes["before"] if not _is_money(text := texts.get(each, each)) and text.strip()]
    has_sign = bool(at_number) and at_number[-1].strip() in _SIGNS
    return NumberForm(
        before, after, whole.count("0"), "," in whole, part.count("0"), len(part), "%" in section, is_money, has_sign
    )
