"""Sums that a document states, by which the total and the tax of a record are checked."""

from __future__ import annotations

from typing import Any

import pytest

from trivium import Document
from trivium.extraction import Case, parse_fields

FIELDS = "total: money (with tax), tax: money, currency"

TWO_RATES = """Rechnung 17, alle Beträge in EUR
Warenwert   Nettobetrag   MwSt-Betrag   MwSt-%   Endbetrag
326,50   321,40   61,07   19,0   382,47
130,70   127,59   8,93   7,0   136,52
457,20   448,99   70,00   518,99
"""
PAID = "Netto 858,75\nSteuer 163,16\nBrutto 1021,91\nAnzahlung -500,00\nZahlbetrag 521,91\nWährung GBP (EUR 183,14)"
CREDIT = "Total HT -218,48 €\nTotal taxes -14,99 €\nTotal TTC -233,47 €"
DISCOUNT = "Net 496.00\nVAT 75.04\nTotal 571.04\n3 % off: 17.13, pay 553.91"
EXEMPT = "Net 100.00\nShipping 10.00\nTax 0.00\nTotal 110.00\n"


def found(text: str, fields: str = FIELDS, **proposed: Any) -> dict[str, Any]:
    case = Case(Document(content=text), parse_fields(fields))
    case.check(proposed)
    entries = case.result()["fields"]
    for entry in entries.values():
        assert entry["value"] is None or entry["quote"] in text
    amounts = {name: entry["value"] for name, entry in entries.items() if name != "currency"}
    return {name: value and value["amount"] for name, value in amounts.items()}


@pytest.mark.parametrize(
    ("text", "total", "tax", "right"),
    [
        (TWO_RATES, "382,47", "61,07", (518.99, 70)),  # the row of one rate
        (TWO_RATES, "448,99", "19,0", (518.99, 70)),  # net, and the rate
        (TWO_RATES, "518,99 EUR", "70,00", (518.99, 70)),
        (TWO_RATES, "518,00", "70,00", (518.99, 70)),  # not in the text
        (TWO_RATES, None, "70,00", (518.99, 70)),
        (TWO_RATES, "518,99", None, (518.99, None)),  # no word in its row says that it is a tax
        (TWO_RATES + "Saldo 5.000,00", None, "70,00", (None, 70)),
        (PAID, None, None, (1021.91, 163.16)),
        (EXEMPT, None, None, (110, None)),
        (PAID, "163,16", "183,14", (1021.91, 163.16)),
        (CREDIT, "-218,48 €", "-14,99 €", (-233.47, -14.99)),
        (DISCOUNT, "553.91", "75.04", (571.04, 75.04)),
        (DISCOUNT, "571.04", "571.04", (571.04, 75.04)),
        (EXEMPT, "110.00", "0.00", (110, 0)),
        (EXEMPT, "100.00", "0.00", (100, 0)),
        (TWO_RATES + "Saldo 5.000,00", "5.000,00", "70,00", (5000, 70)),
    ],
)
def test_a_total_and_its_tax_are_those_of_the_largest_sum(
    text: str, total: str | None, tax: str | None, right: tuple[float | None, ...]
) -> None:
    assert tuple(found(text, total=total, tax=tax).values()) == right


def test_what_is_asked_otherwise_is_left_as_it_is() -> None:
    assert found(PAID, "total_to_pay: money, tax: money", total_to_pay="521,91", tax="163,16") == {
        "total_to_pay": 521.91,
        "tax": 163.16,
    }
    assert found(PAID, "total: money", total="521,91") == {"total": 521.91}
    assert found(PAID, "total: money", total="858,75") == {"total": 1021.91}  # net
    assert found(PAID, "total: money (without tax), tax: money", total="858,75", tax="163,16")["total"] == 858.75


def test_an_amount_without_a_currency_is_in_that_of_the_record() -> None:
    for fields, currency in ((FIELDS, "GBP"), ("total: money, tax: money", None)):
        case = Case(Document(content=PAID), parse_fields(fields))
        case.check({"total": "1021,91", "tax": "163,16", "currency": "GBP"})
        assert case.result()["fields"]["total"]["value"] == {"amount": 1021.91, "currency": currency}


def test_the_amounts_of_items_are_in_the_currency_of_the_record_too() -> None:
    fields = parse_fields("currency, items: list of {name, price: money}, tip: {to, price: money}")
    case = Case(Document(content="All in GBP, not EUR.\nTea 3,00\nRum 4 USD\nAda 1,00"), fields)
    items = [{"name": "Tea", "price": "3,00"}, {"name": "Rum", "price": "4 USD"}, {"name": "Rum", "price": None}]
    case.check({"currency": "GBP", "items": items, "tip": {"to": "Ada", "price": "1,00"}})
    found = case.result()["fields"]
    assert [each["price"] for each in found["items"]["value"]] == [
        {"amount": 3, "currency": "GBP"},
        {"amount": 4, "currency": "USD"},
        None,
    ]
    assert found["tip"]["value"]["price"] == {"amount": 1, "currency": "GBP"}


def test_a_sum_in_parentheses_has_the_sign_that_was_found() -> None:
    text = "Net  (100,00)\nVAT  (19,00)\nTotal: (119,00)"
    assert found(text, "total: money, tax: money", total="119,00", tax="19,00") == {"total": 119, "tax": 19}
    assert found(text, "total: money, tax: money", total="(119,00)", tax="(19,00)") == {"total": -119, "tax": -19}
    assert found(text, "total: money, tax: money", total="-100,00", tax="-19,00")["total"] == -119


DEPOSIT = (
    "Verwaltergebühr netto 100,00 EUR\nMwSt. 19 % 19,00 EUR\nGesamtbetrag 119,00 EUR\n"
    "Zur Information: Kautionskonto Stand 01.01. 1.000,00 EUR, Zinsen 50,00 EUR, Stand 31.03. 1.050,00 EUR."
)
RUNNING = "Grundpreis 20,00\nUSt 19 % 3,80\nGesamt 23,80\nBisher bezahlt 95,20\nNeuer Stand 119,00"
LATE = "Netto 500,00\nMwSt 95,00\nBrutto 595,00\nMahngebühr 40,00\nSumme 635,00"
THREE_RATES = "Net 100.00 tax 19.00 sum 119.00\n200.00 10.00 210.00\n50.00 4.00 54.00\nTotal 350.00 33.00 383.00"
NO_SUM_OF_7 = "Net 100.00 tax 19.00 gross 119.00\nNet 200.00 tax 14.00\nTotal 300.00 33.00 333.00"
SHIPPING = "Goods 100.00 VAT 20.00 sum 120.00\nShipping 5.00\nNet 105.00 VAT 21.00 total 126.00"
NO_TAX_ROW = "Net 100.00 tax 19.00 gross 119.00\nStamps free of tax 40.00\nTotal 140.00 19.00 159.00"


@pytest.mark.parametrize(
    ("text", "total", "tax", "right"),
    [
        (DEPOSIT, "119,00 EUR", "19,00 EUR", (119, 19)),
        (DEPOSIT, "119,00 EUR", None, (119, 19)),  # the tax is named in its line
        (RUNNING, "23,80", "3,80", (23.8, 3.8)),
        (LATE, "595,00", "95,00", (595, 95)),
        (THREE_RATES, "119.00", "19.00", (383, 33)),
        (NO_TAX_ROW, "119.00", "19.00", (159, 19)),
        (NO_SUM_OF_7, "119.00", "19.00", (333, 33)),
        (SHIPPING + "\nDiscount 0.00", "126.00", "21.00", (126, 21)),
        (SHIPPING, "120.00", "20.00", (126, 21)),
    ],
)
def test_a_total_and_a_tax_that_fit_stay_unless_their_sum_is_a_part_of_the_largest(
    text: str, total: str, tax: str | None, right: tuple[float | None, ...]
) -> None:
    assert tuple(found(text, total=total, tax=tax).values()) == right


def test_a_sum_never_changes_the_currency() -> None:
    text = "Net 100.00 USD, VAT 20.00 USD, total 120.00 USD (net 110.00 EUR, VAT 22.00 EUR, total 132.00 EUR)"
    for total, tax in (("100.00 USD", "20.00 USD"), ("100.00 USD", None)):
        case = Case(Document(content=text), parse_fields("total: money, tax: money"))
        case.check({"total": total, "tax": tax})
        assert case.result()["fields"]["total"]["value"] == {"amount": 120, "currency": "USD"}
    bare = "Fee 100.00 USD\nVAT 20.00\nTotal 120.00\n(1 USD = 0.9 EUR)"
    case = Case(Document(content=bare), parse_fields("total: money, tax: money"))
    case.check({"total": "100.00 USD", "tax": "20.00"})
    assert case.result()["fields"]["total"]["value"] == {"amount": 120, "currency": "USD"}
