"""Currency codes, signs and words, as data."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from trivium.extraction._borders import SPACELESS
from trivium.parsing.lowlevel import CURRENCY_CODES

DOLLARS = ("USD", "CAD", "AUD", "NZD", "HKD", "SGD", "TWD", "MXN", "ARS", "CLP", "COP")
"""The codes that the sign alone may mean."""

SIGNS: Mapping[str, tuple[str, ...]] = {
    "€": ("EUR",), "US$": ("USD",), "C$": ("CAD",), "CA$": ("CAD",), "CAN$": ("CAD",), "Can$": ("CAD",),
    "A$": ("AUD",), "AU$": ("AUD",), "NZ$": ("NZD",), "HK$": ("HKD",), "S$": ("SGD",), "R$": ("BRL",),
    "MX$": ("MXN",), "NT$": ("TWD",), "J$": ("JMD",), "RD$": ("DOP",), "TT$": ("TTD",), "AR$": ("ARS",),
    "CLP$": ("CLP",), "COL$": ("COP",), "COP$": ("COP",), "$U": ("UYU",), "U$S": ("USD",),
    "$US": ("USD",), "$CA": ("CAD",), "$CAN": ("CAD",), "E£": ("EGP",),
    "$": DOLLARS,
    "£": ("GBP", "EGP"), "¥": ("JPY", "CNY"), "￥": ("JPY", "CNY"), "円": ("JPY",), "元": ("CNY",),
    "RMB": ("CNY",), "원": ("KRW",), "TL": ("TRY",),
    "人民币": ("CNY",), "人民幣": ("CNY",), "美元": ("USD",), "欧元": ("EUR",), "歐元": ("EUR",), "日元": ("JPY",),
    "日圓": ("JPY",), "港元": ("HKD",), "港币": ("HKD",), "港幣": ("HKD",), "英镑": ("GBP",), "英鎊": ("GBP",),
    "新台币": ("TWD",), "新台幣": ("TWD",), "新臺幣": ("TWD",), "米ドル": ("USD",), "ドル": DOLLARS, "ユーロ": ("EUR",),
    "ポンド": ("GBP",), "บาท": ("THB",), "달러": DOLLARS, "유로": ("EUR",),
    "₹": ("INR",), "₽": ("RUB",), "₩": ("KRW",), "₺": ("TRY",), "₪": ("ILS",), "₴": ("UAH",), "฿": ("THB",),
    "₫": ("VND",), "zł": ("PLN",), "Kč": ("CZK",), "Ft": ("HUF",), "лв": ("BGN",), "руб": ("RUB",),
    "SFr": ("CHF",), "Fr": ("CHF",), "Rs": ("INR", "PKR"),
    # An empty first code: the sign alone is ambiguous.
    "kr": ("", "SEK", "NOK", "DKK", "ISK"), "lei": ("RON",),
}  # fmt: skip

_BEHIND = ("원", "TL")
"""Units that are not always whole words, or behind a number alone."""

_BEGINS, _ENDS = r"(?<![^\W\d_])", r"(?![^\W\d_])"
_UNKNOWN = rf"{_BEGINS}(?:[A-JLN-SU-Z]|[A-Z]{{2}})\$"
"""The dollar of a country that is not known; before the sign, K, M and T are factors."""

_SMALL = ("eur", "usd", "gbp", "chf")
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
    """Write the regular expression of a currency: longest first, and signs with letters and words as whole words."""
    spaceless = [sign for sign in SIGNS if re.match(f"[{SPACELESS}]", sign) and sign not in _BEHIND]
    signs = [sign for sign in SIGNS if "$" in sign or not sign[-1].isalpha()]
    codes = [*CURRENCY_CODES, *(sign for sign in SIGNS if sign not in (*signs, *spaceless, *_BEHIND))]
    words = rf"{_BEGINS}(?:{_any_of(codes)}|(?i:{_any_of([*_WORDS, *_SMALL])})){_ENDS}\.?"
    won = r"(?:(?<=[\d백천만억조])원|(?<=[\d백천만억조][ \u00a0])원(?:(?!\w)|(?=[을이은의정씩과에입으까])))"
    return rf"(?:{_any_of(signs, _whole)}|{_UNKNOWN}|{_any_of(spaceless)}|{won}|(?:(?<=\d)|(?<=\d ))TL{_ENDS}|{words})"


def _any_of(units: Iterable[str], pattern: Callable[[str], str] = re.escape) -> str:
    return "|".join(map(pattern, sorted(units, key=len, reverse=True)))


def _whole(sign: str) -> str:
    """Write the pattern of a sign that is no part of a word: "EXTRA$5" has no Australian dollars."""
    return _BEGINS * sign[0].isalpha() + re.escape(sign) + _ENDS * sign[-1].isalpha()


def currencies_of(unit: str) -> tuple[str, ...]:
    """Return the codes that a sign, code or word may mean, the likeliest first ("" where none is likelier)."""
    unit = unit.strip().rstrip(".")
    if unit in SIGNS:
        return SIGNS[unit]
    if unit.endswith("$"):
        return ("", *DOLLARS)
    return (unit.upper(),) if unit.upper() in CURRENCY_CODES else _WORDS.get(unit.casefold(), ())
