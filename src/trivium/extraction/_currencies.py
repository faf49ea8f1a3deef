"""Currency codes, signs and words, as data."""

from __future__ import annotations

import re
from collections.abc import Mapping

from trivium.parsing.lowlevel import CURRENCY_CODES

SIGNS: Mapping[str, tuple[str, ...]] = {
    "€": ("EUR",), "US$": ("USD",), "C$": ("CAD",), "CA$": ("CAD",), "CAN$": ("CAD",), "A$": ("AUD",),
    "AU$": ("AUD",), "NZ$": ("NZD",), "HK$": ("HKD",), "S$": ("SGD",), "R$": ("BRL",), "MX$": ("MXN",),
    "$": ("USD", "CAD", "AUD", "NZD", "HKD", "SGD", "TWD", "MXN", "ARS", "CLP", "COP"),
    "£": ("GBP", "EGP"), "¥": ("JPY", "CNY"), "￥": ("JPY", "CNY"), "円": ("JPY",), "元": ("CNY",),
    "₹": ("INR",), "₽": ("RUB",), "₩": ("KRW",), "₺": ("TRY",), "₪": ("ILS",), "₴": ("UAH",), "฿": ("THB",),
    "₫": ("VND",), "zł": ("PLN",), "Kč": ("CZK",), "Ft": ("HUF",), "лв": ("BGN",), "руб": ("RUB",),
    "SFr": ("CHF",), "Fr": ("CHF",), "Rs": ("INR", "PKR"),
    # An empty first code: the sign alone is ambiguous.
    "kr": ("", "SEK", "NOK", "DKK", "ISK"), "lei": ("RON",),
}  # fmt: skip

_SMALL = ("eur", "usd", "gbp", "chf")
DOLLARS = SIGNS["$"]
"""The codes that the sign alone may mean."""

_WORDS: Mapping[str, tuple[str, ...]] = {
    "euro": ("EUR",), "euros": ("EUR",), "us dollars": ("USD",), "us-dollar": ("USD",),
    "dollar": DOLLARS, "dollars": DOLLARS, "pounds": ("GBP",), "pounds sterling": ("GBP",),
    "sterling": ("GBP",), "yen": ("JPY",),
    "złoty": ("PLN",), "złotych": ("PLN",), "zloty": ("PLN",), "swiss francs": ("CHF",), "franken": ("CHF",),
    "kronor": ("SEK", "ISK"), "kroner": ("", "NOK", "DKK"), "korun": ("CZK",), "rupees": ("INR", "PKR"),
    "roubles": ("RUB",), "rubles": ("RUB",), "yuan": ("CNY",), "reais": ("BRL",),
    "pesos": ("", "MXN", "ARS", "CLP"),
}  # fmt: skip


def all_units() -> frozenset[str]:
    """Return every spelling of a currency; words in small letters."""
    return CURRENCY_CODES | frozenset(SIGNS) | frozenset(_WORDS) | frozenset(_SMALL)


def unit_pattern() -> str:
    """Write the regular expression of a currency: longest first, and words only as whole words."""
    words = sorted([*CURRENCY_CODES, *(sign for sign in SIGNS if sign[-1].isalpha())], key=len, reverse=True)
    names = sorted([*_WORDS, *_SMALL], key=len, reverse=True)
    signs = sorted((sign for sign in SIGNS if not sign[-1].isalpha()), key=len, reverse=True)
    escaped = ["|".join(re.escape(each) for each in group) for group in (signs, words, names)]
    return rf"(?:{escaped[0]}|[円元]|(?<![^\W\d_])(?:{escaped[1]}|(?i:{escaped[2]}))(?![^\W\d_])\.?)"


def currencies_of(unit: str) -> tuple[str, ...]:
    """Return the codes that a sign, code or word may mean, the likeliest first ("" where none is likelier)."""
    unit = unit.strip().rstrip(".")
    if unit in SIGNS:
        return SIGNS[unit]
    return (unit.upper(),) if unit.upper() in CURRENCY_CODES else _WORDS.get(unit.casefold(), ())
