"""Numbers as Excel displays them: percentages, amounts of money, and numbers with leading zeros."""

from __future__ import annotations

import datetime
import re
import unicodedata
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache
from typing import Final, NamedTuple

_LARGEST: Final = 10**15
_TOKEN: Final = re.compile(
    r'"(?P<text>[^"]*)"|\\(?P<escaped>.)|[_*].|\[\$(?P<symbol>[^\]-]*)[^\]]*\]|\[[^\]]*\]|(?P<end>;)|(?P<code>.)',
    re.DOTALL,
)
_CODES: Final = re.compile(r"(?P<before>[^#?0]*)(?P<whole>[#?0,]*[#?0])(?:\.(?P<part>[#?0]*))?(?P<after>[^#?0,]*)")
_ISO_CODE: Final = re.compile(r"\s*[A-Z]{3}\s*")


class _Form(NamedTuple):
    """One section of a number format: what stands before and behind the number, and its digits."""

    before: str
    after: str
    zeros: int
    is_grouped: bool
    fixed: int
    places: int
    is_percent: bool


def number_text(value: float, number_format: str) -> str | None:
    """Return a number as its format displays it; None for a format that is neither percent, money nor zeros in front.

    A minus is never lost, though a format may display it as a colour.

    >>> number_text(1234.5, '#,##0.00 [$€-407]'), number_text(0.125, "0.0%"), number_text(1234, "00000")
    ('1,234.50 €', '12.5%', '01234')
    >>> number_text(-5, '"CHF" 0.00;[Red]"CHF" 0.00'), number_text(1234.5, "#,##0.00")
    ('-CHF 5.00', None)
    """
    forms = _forms(number_format)
    if forms is None or not abs(value) < _LARGEST:
        return None
    form = forms[-1] if value < 0 else forms[0]
    number = abs(Decimal(repr(value)) * (100 if form.is_percent else 1))
    number = number.quantize(Decimal(1).scaleb(-form.places), ROUND_HALF_UP)
    whole, _, part = f"{number:,f}".partition(".") if form.is_grouped else f"{number:f}".partition(".")
    part = part[: form.fixed] + part[form.fixed :].rstrip("0")
    text = f"{form.before}{whole.zfill(form.zeros)}{'.' if part else ''}{part}{form.after}".strip()
    return text if value >= 0 or "-" in text or "(" in text else f"-{text}"


def duration_text(value: datetime.timedelta) -> str:
    """Return a duration in hours and minutes, with seconds if there are some.

    >>> duration_text(datetime.timedelta(days=1, hours=12, minutes=5))
    '36:05'
    """
    seconds = round(abs(value.total_seconds()))
    text = f"{seconds // 3600}:{seconds // 60 % 60:02}" + (f":{seconds % 60:02}" if seconds % 60 else "")
    return f"-{text}" if value < datetime.timedelta() else text


@lru_cache(maxsize=256)
def _forms(number_format: str) -> tuple[_Form, ...] | None:
    """Return the sections for numbers above and below zero, or the one for both."""
    texts: dict[str, str] = {}
    sections, is_money = [""], False
    for token in _TOKEN.finditer(number_format[:500]):
        if token["end"]:
            sections.append("")
        literal = token["text"] or token["escaped"] or token["symbol"] or ""
        is_money = is_money or bool(token["symbol"]) or _is_money(literal or token["code"] or "")
        held = chr(0xE000 + len(texts))  # a letter for a text, so that no digit in it is taken for a code
        texts[held] = literal
        sections[-1] += (token["code"] or "") + (held if literal else "")
    forms = [_form(section, texts) for section in sections[:2]]
    found = tuple(each for each in forms if each is not None)
    if not found or len(found) < len(forms):
        return None
    is_padded = found[0].zeros > 1 and not found[0].places
    return found if is_money or is_padded or found[0].is_percent else None


def _is_money(text: str) -> bool:
    return any(unicodedata.category(each) == "Sc" for each in text) or _ISO_CODE.fullmatch(text) is not None


def _form(section: str, texts: dict[str, str]) -> _Form | None:
    codes = _CODES.fullmatch(section)
    if codes is None:
        return None
    before, after = ("".join(texts.get(each, each) for each in codes[name]) for name in ("before", "after"))
    whole, part = codes["whole"], codes["part"] or ""
    if re.search(r"[A-Za-z/@]", codes["before"] + codes["after"]):  # an exponent, a fraction, a date
        return None
    return _Form(before, after, whole.count("0"), "," in whole, part.count("0"), len(part), "%" in section)
