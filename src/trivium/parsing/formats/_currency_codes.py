"""The codes of currencies, as data."""

from __future__ import annotations

from typing import Final

_CODES: Final = """
AED ARS AUD BGN BRL CAD CHF CLP CNY COP CZK DKK EGP EUR GBP HKD HRK HUF IDR ILS INR ISK JPY KES KRW KWD
MAD MXN MYR NGN NOK NZD PEN PHP PKR PLN RON RSD RUB SAR SEK SGD THB TND TRY TWD UAH USD VND ZAR
"""
CURRENCY_CODES: Final = frozenset(_CODES.split())
