"""Products that the rows of a document state, by which line items are checked."""

from __future__ import annotations

from typing import Any

import pytest

from trivium import Document
from trivium.extraction import Case, parse_fields

FIELDS = "items: list of {description, quantity: number, price: money}"
TABLE = """Pos   Beschreibung   Preis   Menge   USt   Betrag EUR
1   ZS997 4123456000014   Zitronensäure 100ml   1,00   100 Stk   19 %   100,00
2   GZ250   Gelierzucker   1,4500   50 Stk   7 %
72,50
Bruttopreis : 1,50   Abschlag : 0,05
3   GZ250   Gelierzucker   0,00   10 Stk   7 %   0,00
4   Pfand   3,10   15 Kisten   46,50
Positionssumme   219,00
Versand   3,00
"""


def items(text: str, *proposed: tuple[Any, Any, Any], fields: str = FIELDS) -> list[tuple[Any, Any, Any]]:
    parts = [part.name for part in parse_fields(fields)[0].columns]
    case = Case(Document(content=text), parse_fields(fields))
    case.check({"items": [dict(zip(parts, each, strict=True)) for each in proposed]})
    entry: dict[str, Any] = case.result()["fields"]["items"]
    rows: list[dict[str, Any]] = entry["parts"]
    for part in (part for row in rows for part in row.values()):
        assert part["value"] is None or part["quote"] in text
    given: list[list[Any]] = [[part["value"] for part in row.values()] for row in rows]
    return [(one, two, price and price["amount"]) for one, two, price in given]


def test_items_have_the_quantity_and_price_of_the_product_in_their_row() -> None:
    given = [("Zitronensäure 100ml", 1, "1,00"), ("Gelierzucker", 50, "1,50"), ("Pfand", 4, "46,50")]
    assert items(TABLE, *given) == [("Zitronensäure 100ml", 100, 1), ("Gelierzucker", 50, 1.45), ("Pfand", 15, 3.1)]


def test_the_number_of_an_article_is_no_description_where_words_stand_beside_it() -> None:
    given = [("ZS997", 100, "1,00"), ("GZ250", 50, "1,45"), ("Pfand", 15, "3,10")]
    assert [each[0] for each in items(TABLE, *given)] == ["Zitronensäure 100ml", "Gelierzucker", "Pfand"]
    fields = "items: list of {article number: text, quantity: number, price: money}"
    assert [each[0] for each in items(TABLE, *given[:2], fields=fields)] == ["ZS997", "GZ250"]
    assert [each[0] for each in items("1   ZS997   5 Stk   1,00   5,00", ("ZS997", 5, "1,00"))] == ["ZS997"]


def test_what_is_no_part_of_the_sum_of_the_rows_is_left_out() -> None:
    given = [
        ("Zitronensäure 100ml", 100, "1,00"),
        ("Gelierzucker", 50, "1,45"),
        ("Gelierzucker", 10, "0,00"),
        ("Pfand", 15, "3,10"),
        ("Pfand", 15, "46,50"),  # the same row again
        ("Versand", None, "3,00"),
    ]
    assert items(TABLE, *given) == [
        ("Zitronensäure 100ml", 100, 1),
        ("Gelierzucker", 50, 1.45),
        ("Gelierzucker", 10, 0),
        ("Pfand", 15, 3.1),
    ]
    assert items(TABLE, given[0], given[-1]) == [("Zitronensäure 100ml", 100, 1), ("Versand", None, 3)]


def test_another_line_is_no_item_of_price_0() -> None:
    text = "Pfand   3,10   15 Kisten   46,50\nTasche   1 Stk   0,00\nKennzeichen   M-MM 0\n"
    given = [("Pfand", 15, "3,10"), ("Tasche", 1, "0,00"), ("Kennzeichen", None, "0")]
    assert [each[0] for each in items(text, *given)] == ["Pfand", "Tasche"]
    assert [each[0] for each in items(text, *given[1:])] == ["Tasche", "Kennzeichen"]  # where no row states a product


@pytest.mark.parametrize(
    ("text", "given", "right"),
    [
        ("400,00   Luftballon   19%   0,79 €   316,00 €", ("Luftballon", 1, "316,00 €"), (400, 0.79)),
        ("M-01 Sony 5 ST 1.630,00 8.150,00", ("Sony", 1, "1.630,00"), (5, 1630)),
        ("Cola 2.00 1.50 3.00", ("Cola", 2, "3.00"), (2, 1.5)),  # one of both is as it was found
        ("Cola 2.00 1.50 3.00", ("Cola", 7, "3.00"), (None, 3)),  # either may be the price
        ("Item -5 Stk 1,0000 -5,00", ("Item", 1, "1,0000"), (-5, 1)),
        ("Pass 12,00 2 Stk 25,00", ("Pass", 2, "12,00"), (2, 12)),  # with a tax: no product
        ("Fee 2 x 7 14 %", ("Fee", 2, "7"), (2, 7)),
        ("Fee 2 x 7,00" + 40 * "   9" + "   14,00", ("Fee", 1, "7,00"), (None, 7)),  # no row of a table
        ("Fee 3 x 7,00" + 1000 * " " + "21,00", ("Fee", 1, "7,00"), (None, 7)),
        ("Fee 3 x 7,00\n" + 40 * " " + "\n \n21,00", ("Fee", 1, "7,00"), (3, 7)),
    ],
)
def test_products_in_many_forms(text: str, given: tuple[Any, ...], right: tuple[Any, ...]) -> None:
    assert items(text, given)[0][1:] == right


def test_what_is_asked_otherwise_is_left_as_it_is() -> None:
    row = ("Pfand", 4, "46,50")
    total = "items: list of {description, quantity: number, price: money (total of the line)}"
    year = "items: list of {description, position: number, price: money}"
    assert items(TABLE, row, fields=total) == items(TABLE, row, fields=year) == [("Pfand", 4, 46.5)]


def test_the_dollar_of_a_price_is_the_one_that_the_document_names() -> None:
    case = Case(Document(content="All in AUD\nPen   2 pcs   $1.50   $3.00"), parse_fields(FIELDS))
    case.check({"items": [{"description": "Pen", "quantity": 2, "price": "$1.50"}]})
    assert case.result()["fields"]["items"]["value"][0]["price"] == {"amount": 1.5, "currency": "AUD"}
