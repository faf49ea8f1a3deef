from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium.extraction._evidence import NOT_STATED, Evidence, ListEvidence, Refusal, find_evidence
from trivium.extraction._fields import Field, parse_fields
from trivium.extraction._source import SourceText

LEASE = """LEASE of 25/12/2023, "Rose Cottage"
Landlord: Acme  Inc.   Tenant: Anna Meyer <anna@example.com>
Rent: EUR 1.450,00 a month, deposit $3,000, from 1 March 2024 (signed 03/01/2024).
The flat has three rooms and 75.5 m2; pets are not allowed. Interest is 4 %.
This is a full or part time let.
"""
SOURCE = SourceText(LEASE)
NO_QUOTE = "no quote was given for true: quote the words of the text that say so"


def ask(field: str, proposed: object, source: SourceText = SOURCE) -> Any:
    return find_evidence(parse_fields(field)[0], proposed, source)


@pytest.mark.parametrize(
    ("field", "proposed", "value", "quote"),
    [
        ("tenant", "ANNA   MEYER", "Anna Meyer", "Anna Meyer"),
        ("tenant", '"Anna Meyer"', "Anna Meyer", "Anna Meyer"),
        ("tenant", "Anna Meyer.", "Anna Meyer", "Anna Meyer"),
        ("tenant", ["Anna Meyer"], "Anna Meyer", "Anna Meyer"),
        ("landlord", "acme inc.", "Acme Inc.", "Acme  Inc."),
        ("mail", "<anna@example.com>", "anna@example.com", "anna@example.com"),
        ("rent: number", 1450, 1450, "1.450,00"),
        ("rent: number", "1,450", 1450, "1.450,00"),
        ("area: number", 75.5, 75.5, "75.5"),
        ("rate: number", 4.0, 4, "4 %"),
        ("rooms: integer", 3, 3, "three"),
        ("rooms: integer", "three", 3, "three"),
        ("starts: date", "2024-03-01", "2024-03-01", "1 March 2024"),
        ("starts: date", "March 1st, 2024", "2024-03-01", "1 March 2024"),
        ("signed: date", "03/01/2024", "2024-01-03", "03/01/2024"),
        ("rent: money", "1450 EUR", {"amount": 1450, "currency": "EUR"}, "EUR 1.450,00"),
        ("rent: money", 1450, {"amount": 1450, "currency": "EUR"}, "EUR 1.450,00"),
        ("rent: money", {"amount": 3000, "currency": "USD"}, {"amount": 3000, "currency": "USD"}, "$3,000"),
        ("deposit: money", "USD 3000", {"amount": 3000, "currency": "USD"}, "$3,000"),
        ("kind: lease|sale", "Lease", "lease", "LEASE"),
        ("hours: full_time|other", "full time", "full_time", "full or part time"),
        ("pets: boolean", {"value": False, "quote": "pets are not allowed"}, False, "pets are not allowed"),
        ("pets: boolean", {"value": "no", "quote": "Pets are not allowed."}, False, "pets are not allowed."),
    ],
)
def test_a_value_that_stands_in_the_text_is_accepted(field: str, proposed: object, value: object, quote: str) -> None:
    evidence = ask(field, proposed)
    assert isinstance(evidence, Evidence), evidence
    assert (evidence.value, evidence.quote) == (value, quote)
    assert LEASE[evidence.start : evidence.end] == quote
    json.dumps(evidence.value)


@pytest.mark.parametrize(
    ("field", "proposed", "reason"),
    [
        ("tenant", "Bob", '"Bob" is not in the text'),
        ("tenant", "x" * 200, '"' + "x" * 79 + '…" is not in the text'),
        ("tenant", {"a": 1}, "\"{'a': 1}\" is not text"),
        ("tenant", ["a", "b"], "\"['a', 'b']\" is not text"),
        ("rent: number", 1540, '"1540" is not in the text'),
        ("rent: number", "soon", '"soon" is not one number'),
        ("rent: number", True, '"True" is not one number'),
        ("rent: number", float("nan"), '"nan" is not one number'),
        ("rooms: integer", 75.5, '"75.5" is not a whole number'),
        ("starts: date", "next week", '"next week" is not a date with day, month and year'),
        ("starts: date", "2024-03-02", '"2024-03-02" is not in the text'),
        ("rent: money", "1450 USD", '"1450 USD": the text has "EUR 1.450,00"'),
        ("rent: money", "a lot", '"a lot" is not one amount of money'),
        ("kind: lease|sale", "rental", '"rental" is not one of lease, sale'),
        ("kind: lease|sale", "sale", '"sale" is not in the text'),
        ("pets: boolean", True, NO_QUOTE),
        ("pets: boolean", {"value": True, "quote": "..."}, NO_QUOTE),
        ("pets: boolean", {"value": "oui", "quote": ""}, NO_QUOTE),
        ("pets: boolean", {"value": True, "quote": "the"},
         'the quote "the" says too little: quote it with the words around it'),
        ("pets: boolean", {"value": "ja", "quote": "Ja"},
         'the quote "Ja" says too little: quote it with the words around it'),
        ("pets: boolean", {"value": "maybe", "quote": "pets are"}, '"maybe" is neither true nor false'),
        ("pets: boolean", {"value": "unknown", "quote": ""}, NOT_STATED),
        ("pets: boolean", {"value": True, "quote": "pets welcome"},
         'the quote "pets welcome" is not in the text'),
        ("pets: boolean", {"value": 3, "quote": "pets are"}, '"3" is neither true nor false'),
        ("pets: boolean", {"value": None, "quote": ""}, NOT_STATED),
    ],
)  # fmt: skip
def test_a_value_that_does_not_is_refused_with_a_reason(field: str, proposed: object, reason: str) -> None:
    assert ask(field, proposed) == Refusal(reason)


@pytest.mark.parametrize(
    "absent", [None, "", " ", "-", "N/A", "none", "Not stated.", "unknown", "null", "Monthly Rent", []]
)
@pytest.mark.parametrize("type_", ["text", "number", "date", "money", "x|y", "list"])
def test_words_for_nothing_count_as_nothing(absent: object, type_: str) -> None:
    assert ask(f"monthly_rent: {type_}", absent) == Refusal(NOT_STATED)


def test_a_choice_may_be_called_unknown() -> None:
    found = ask("state: known|unknown", "unknown", SourceText("cause: unknown"))
    assert found == Evidence("unknown", "unknown", 7, 14)


def test_a_list_keeps_what_stands_in_the_text_and_names_the_rest() -> None:
    found = ask("parties: list", ["Anna Meyer", "Bob", "ACME Inc.", "anna meyer", None])
    assert isinstance(found, ListEvidence)
    assert found.value == ["Anna Meyer", "Acme Inc."]
    assert found.refusals == (Refusal('"Bob" is not in the text'),)
    assert ask("parties: list", ["Bob", "Eve"]) == Refusal('"Bob" is not in the text; "Eve" is not in the text')
    assert ask("days: list of date", "1 March 2024").value == ["2024-03-01"]


def test_a_full_list_says_that_more_may_be_missing() -> None:
    source = SourceText(" ".join(f"no{number}" for number in range(60)))
    full = ask("codes: list", [f"no{number}" for number in range(60)], source)
    assert full.value == [f"no{number}" for number in range(50)]
    assert full.refusals == (Refusal("only the first 50 items were read"),)
    assert ask("codes: list", [f"no{number}" for number in range(49)], source).refusals == ()


@pytest.mark.parametrize(
    ("word", "value"), [("oui", True), ("SÍ", True), ("Ja.", True), ("nein", False), ("Nee", False)]
)
def test_yes_and_no_are_understood_in_other_languages(word: str, value: bool) -> None:
    assert ask("pets: boolean", {"value": word, "quote": "pets are not allowed"}).value is value


def test_a_document_that_writes_months_first_is_read_so() -> None:
    source = SourceText("On 12/25/2023 and due 03/01/2024")
    assert ask("due: date", "03/01/2024", source).value == "2024-03-01"


@pytest.mark.parametrize(
    ("field", "proposed", "text", "value", "quote"),
    [
        ("country (of the seller)", "DE", "Seller: Acme, Deutschland", "DE", "Deutschland"),
        ("country", "DE", "Rue de Lyon, DE-10115 Berlin", "DE", "DE"),
        ("country", "DE", "Rue de Lyon, Allemagne", "DE", "Allemagne"),
        ("Land", "Germany", "Sitz: Deutschland", "Deutschland", "Deutschland"),
        ("country", "us", "in the United States.", "US", "United States"),
        ("language", "fr", "The text is in French.", "FR", "French"),
        ("language", "French", "Langue : Français", "Français", "Français"),
        ("currency", "EUR", "90 €", "EUR", "€"),
        ("currency", "€", "90 €", "EUR", "€"),
        ("currency", "US$", "90 US$", "USD", "US$"),
    ],
)
def test_codes_are_supported_by_names_of_what_they_mean(
    field: str, proposed: str, text: str, value: str, quote: str
) -> None:
    evidence = ask(field, proposed, SourceText(text))
    assert isinstance(evidence, Evidence), evidence
    assert (evidence.value, evidence.quote) == (value, quote)


@pytest.mark.parametrize(
    ("field", "proposed", "text", "found"),
    [
        ("total: money", "529,87", "Betrag in EUR\nSumme 529,87", {"amount": 529.87, "currency": "EUR"}),
        ("total: money", "529,87", "EUR oder CHF\nSumme 529,87", {"amount": 529.87, "currency": None}),
        ("total: money", "30", "Netto 20 EUR\nMenge 30", {"amount": 30, "currency": None}),
        ("total: money", "18,08", "2,00 Euro je km\nSumme 18,08", {"amount": 18.08, "currency": "EUR"}),
        ("total: money", "18,08 EUR", "2,00 Euro je km\nSumme 18,08", {"amount": 18.08, "currency": "EUR"}),
        ("total: money", "18,08", "2,00 Euro je km, 3 CHF\nSumme 18,08", {"amount": 18.08, "currency": None}),
        ("number", "Rechnung 181301674", "Rechnung 181301674 vom 3.", "181301674"),
        ("order_number", "Bestellung Nr. A-17", "Ihre Bestellung Nr. A-17", "A-17"),
        ("number", "RE 2017/05", "Rechnung RE 2017/05", "RE 2017/05"),
        ("title", "Invoice 4711", "Invoice 4711", "Invoice 4711"),
        ("iban", "DE88 2008 0000 0970 3757 00", "an DE88 2008 0000 0970 3757 00", "DE88 2008 0000 0970 3757 00"),
        ("iban", "DE123456789", "USt-Id DE123456789", "is not an IBAN"),
        ("contract_number", "GLN", "GLN 17", "has no digit"),
    ],
)
def test_the_shape_of_a_value_is_that_of_its_field(field: str, proposed: str, text: str, found: Any) -> None:
    judged = ask(field, proposed, SourceText(text))
    assert judged.reason.endswith(found) if isinstance(judged, Refusal) else judged.value == found


@pytest.mark.parametrize(
    ("field", "proposed", "text"),
    [("country", "FR", "Sitz: Deutschland"), ("town", "DE", "Deutschland"), ("language", "FR", "La France")],
)
def test_codes_are_not_supported_by_other_names(field: str, proposed: str, text: str) -> None:
    assert isinstance(ask(field, proposed, SourceText(text)), Refusal)


@pytest.mark.parametrize(
    ("text", "proposed", "value"),
    [
        ("Write to anna-\nlena@ex.de", "anna-lena@ex.de", "anna-lena@ex.de"),
        ("see https://ex.org/a-\n> b.html", "https://ex.org/a-b.html", "https://ex.org/a-b.html"),
        ("Frau Zoë Müller-\nLüdenscheidt", "Zoë Müller-Lüdenscheidt", "Zoë Müller-Lüdenscheidt"),
        ("No. ABC-\n1234-X", "ABC-1234-X", "ABC-1234-X"), ("AB-77-\n12", "AB-77-12", "AB-77-12"),
        ("Vor-\nund Nachteile", "Vor- und Nachteile", "Vor- und Nachteile"),
        ("the well-\nknown exam-\nple", "well-known example", "well-known example"),
        ("the exam-\nple", "the example", "the example"), ("AB12\nAB-\n13", "AB13", None),
        ("Donau\u00addampf\u00adschiff", "Donaudampfschiff", "Donaudampfschiff"),
    ],
)  # fmt: skip
def test_a_hyphen_at_the_end_of_a_line_is_what_the_model_took_it_for(
    text: str, proposed: str, value: str | None
) -> None:
    assert getattr(ask("what", proposed, SourceText(text)), "value", None) == value


def test_a_label_is_no_value() -> None:
    text = "Buyer:\nAda Byron\n\nAda Byron: yes\nSeller :\nThe Seller Ltd."
    assert ask("customer", "Buyer", SourceText(text)) == Refusal('"Buyer" is a label: the value stands behind it')
    assert ask("customer", "Ada Byron", SourceText(text)).value == "Ada Byron"
    assert ask("vendor", "Seller", SourceText(text)).value == "Seller"


def test_an_unstated_currency_is_taken_only_from_the_text() -> None:
    assert ask("total: money", "50 EUR", SourceText("Amounts in €. Total 50")).value["currency"] == "EUR"
    assert ask("total: money", "$50", SourceText("Amounts in €. Total 50")).value["currency"] == "EUR"
    assert ask("total: money", "$50", SourceText("Total 50 €")).value["currency"] == "EUR"
    assert ask("total: money", "50 EUR", SourceText("Total 50")).value["currency"] is None
    assert ask("total: money", "50 SEK", SourceText("Total 50 kr")).value["currency"] is None
    assert ask("total: money", "50 SEK", SourceText("SEK below. Total 50 kr")).value["currency"] == "SEK"


BOARD = SourceText("In 2024 the board met in room 3. The deposit was EUR 5. Also 50 cents.")


@pytest.mark.parametrize("proposed", ["EUR 2024", "3 EUR", {"amount": 3, "currency": "EUR"}, "EUR 50", "50", "€ 0.50"])
def test_where_amounts_carry_their_currency_a_bare_number_backs_none(proposed: object) -> None:
    assert isinstance(ask("deposit: money", proposed, BOARD), Refusal)


def test_an_amount_proposed_without_a_currency_takes_the_one_that_stands_there() -> None:
    assert ask("deposit: money", 5, BOARD).value == {"amount": 5, "currency": "EUR"}
    assert ask("rooms: money", 3, BOARD).value == {"amount": 3, "currency": None}
    assert ask("also: money", "50 cents", BOARD) == Evidence({"amount": 0.5, "currency": None}, "50 cents", 61, 69)
    assert ask("deposit: money", "EUR 3", BOARD).reason == '"EUR 3": the text has "3" without a currency'


def test_a_currency_told_in_a_heading_holds_for_bare_numbers() -> None:
    for heading in ("All amounts in euros.", "Amounts in EUR"):
        table = SourceText(f"{heading}\n1 Rent 900\n2 Heating 80")
        assert ask("rent: money", "EUR 900", table).value == {"amount": 900, "currency": "EUR"}
    assert ask("rent: money", "900 TRY", SourceText("Try it. Rent 900")).value["currency"] is None


def test_the_parts_of_a_date_are_no_numbers_but_its_year() -> None:
    source = SourceText("due 03.04.2024")
    assert isinstance(ask("rooms: integer", 3, source), Refusal)
    assert isinstance(ask("price: money", "3 EUR", source), Refusal)
    assert ask("year: integer", 2024, SourceText("due 2024-04-03")).quote == "2024"


def test_an_ambiguous_number_backs_either_reading() -> None:
    source = SourceText("weight 1.234")
    assert ask("weight: number", 1234, source).value == 1234
    assert ask("weight: number", 1.234, source).value == 1.234


TYPES = st.sampled_from(
    ["text", "number", "integer", "date", "money", "boolean", "x|y", "list", "list of number", "list of date"]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["value", "quote", "amount"]), inner),
)


@given(TYPES, JSON, st.text())
def test_whatever_is_proposed_the_quote_is_verbatim(type_: str, proposed: object, text: str) -> None:
    found = ask(f"thing: {type_}", proposed, SourceText(text + " " + str(proposed)))
    items = found.items if isinstance(found, ListEvidence) else [found]
    for item in items:
        if isinstance(item, Evidence):
            assert item.quote == (text + " " + str(proposed))[item.start : item.end]
            json.dumps(item.value, allow_nan=False)
        else:
            assert isinstance(item, Refusal)
            assert item.reason
            assert len(item.reason.splitlines()) == 1


@given(TYPES, st.text("uvwxyz56789", min_size=1), st.text("abcd 01234.,\n-"))
def test_a_value_of_other_letters_is_never_accepted(type_: str, proposed: str, text: str) -> None:
    assert isinstance(ask(f"thing: {type_}", proposed, SourceText(text)), Refusal)


@given(st.integers(10, 10**6), st.lists(st.integers(10, 10**6)))
def test_a_number_is_accepted_only_if_it_is_one_of_the_text(proposed: int, stated: list[int]) -> None:
    found = find_evidence(Field("n", "number"), proposed, SourceText("; ".join(map(str, stated))))
    assert isinstance(found, Evidence) == (proposed in stated)


INVOICE = SourceText(
    "Invoice 2 by Acme GmbH\n1 Widget blue 2 10,00 20,00\n2 Gadget 3 5,00 € 15,00\n3 Gadget 4 5,00 € 20,00\n"
    "4 Gadget 4 5,00 € 20,00\n" + "The weather was mild.\n" * 40 + "Room 77."
)
ITEMS = "items: list of {description, quantity: number, price: money}"


def rows(*proposed: object) -> Any:
    return ask(ITEMS, list(proposed), INVOICE)


def row(description: object, quantity: object, price: object) -> dict[str, object]:
    return {"description": description, "quantity": quantity, "price": price}


def test_the_values_of_a_line_item_stand_on_one_line() -> None:
    found = rows(row("Widget blue", 2, "10.00"), row("Gadget", 4, "5 EUR"), row("Gadget", 3, "5 EUR"))
    lines = [[INVOICE.text.count("\n", 0, part.start) for part in item.found] for item in found.items]
    assert lines == [[1, 1, 1], [3, 3, 3], [2, 2, 2]]
    assert found.value[2] == {"description": "Gadget", "quantity": 3, "price": {"amount": 5, "currency": "EUR"}}
    assert found.refusals == ()


def test_equal_line_items_need_a_place_each() -> None:
    found = rows(*[row("Gadget", 4, "5 EUR")] * 5)
    places = [item.parts["description"].start for item in found.items]
    assert len(places) == len(set(places)) == 3


@pytest.mark.parametrize(
    ("item", "value", "reason"),
    [
        (row("Widget blue", 9, "10.00"), {"quantity": None}, 'item 1, quantity: "9" is not in the text'),
        (row("Widget blue", 77, "10.00"), {"quantity": None}, '"77" is not near the other values of its item'),
        (row("Widget blue", None, "10.00"), {"quantity": None}, None),
        (row("Widget red", 9, "10.00"), None, 'description: "Widget red" is not in the text; quantity: "9"'),
        ("Widget blue", None, "is not a group of description, quantity, price"),
        (row(None, None, "n/a"), None, NOT_STATED),
    ],
)
def test_what_a_line_item_does_not_state_is_left_out(item: object, value: Any, reason: str | None) -> None:
    found = rows(item)
    if value is None:
        assert isinstance(found, Refusal)
        assert str(reason) in found.reason
        return
    assert found.value[0].items() >= value.items()
    assert [str(reason) in refusal.reason for refusal in found.refusals] == ([] if reason is None else [True])


def test_a_group_has_evidence_for_each_value() -> None:
    found = ask("seller: {name, vat_id}", {"name": "acme gmbh", "vat_id": "DE9"}, INVOICE)
    assert found.value == {"name": "Acme GmbH", "vat_id": None}
    assert [each.reason for each in found.refusals] == ['vat_id: "DE9" is not in the text']
    assert isinstance(ask("seller: {name, vat_id}", {"name": "Bob", "vat_id": None}, INVOICE), Refusal)


def test_a_sign_supports_the_code_where_a_currency_is_asked() -> None:
    assert ask("currency", "eur", INVOICE).quote == "€"
    assert ask("unit (of currency)", "EUR", INVOICE).value == "EUR"
    assert isinstance(ask("currency", "USD", INVOICE), Refusal)
    assert isinstance(ask("label", "EUR", INVOICE), Refusal)


PLAN, RENT = "Basic plan - $9.99 a month", "The rent (EUR 1,200.00) is due"
BALANCE = "Balance:  ($1,234.56)\nFee | (5.00) | x"


@pytest.mark.parametrize(
    ("type_", "proposed", "text", "value"),
    [
        ("integer", "three (3)", "Notice period: three (3) months", 3),
        ("integer", "(3)", "Notice period: three (3) months", 3),
        ("integer", "twelve (12)", "twelve (12) months", 12),
        ("number", "(3)", "Months: (3)", 3),
        ("number", "(EUR 1,200.00)", RENT, 1200),
        ("money", "(EUR 1,200.00)", RENT, 1200),
        ("money", {"amount": "(12,000.00)"}, "twelve thousand dollars (USD 12,000.00) a year", 12000),
        ("money", "(USD 12,000.00)", "twelve thousand dollars\n(USD 12,000.00) a year", 12000),
        ("money", "Basic plan - $9.99", PLAN, 9.99),
        ("money", "- $9.99", PLAN, 9.99),
        ("money", "- 900,00 EUR", "Kaution - 900,00 EUR, fällig", 900),
        ("money", "5,00-", "ab 5,00-\nmonatlich", 5),
        ("money", -1200, RENT, -1200),
        ("money", "-9.99", PLAN, -9.99),
        ("money", {"amount": -5, "currency": "EUR"}, "Saldo EUR 5,00-, vorgetragen", -5),
        ("money", "($1,234.56)", BALANCE, -1234.56),
        ("money", "(1,234.56)", BALANCE, -1234.56),
        ("money", "(5.00)", BALANCE, -5),
        ("money", "- 5,00 €", "Saldo: - 5,00 €", -5),
        ("money", "(5.00)", "Fee\n(5.00)\nTotal", -5),
        ("money", "5,00- EUR", "Saldo 5,00- EUR", -5),
        ("number", "(5.00)", BALANCE, -5),
        ("number", 2.5, "The device has a 2.5-\ninch screen", 2.5),
        ("number", 0.5, "0.5-, 1.5- and 2.5-litre bottles", 0.5),
        ("number", "5.5", "5.5-\nZimmer-Wohnung", 5.5),
        ("number", "3,5", "3,5-, 5-Zimmer", 3.5),
        ("money", "CHF 1'200", "CHF 1'200-, payable now", 1200),
        ("money", "EUR 5,00", "EUR 5,00- EUR 7,00", 5),
        ("money", "CHF 1'000", "CHF 1'000-\n CHF 2'000", 1000),
    ],
)
def test_a_mark_that_may_be_a_minus_turns_nothing_negative_in_a_sentence(
    type_: str, proposed: object, text: str, value: float
) -> None:
    found = find_evidence(parse_fields(f"a: {type_}")[0], proposed, SourceText(text))
    assert isinstance(found, Evidence)
    assert (found.value["amount"] if type_ == "money" else found.value) == value
