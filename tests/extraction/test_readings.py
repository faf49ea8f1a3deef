"""The value of a text that may mean several: signs, currencies, orders of days, centuries and decimal marks."""

from __future__ import annotations

import time
from typing import Any

import pytest

from trivium.extraction._alternatives import alternatives
from trivium.extraction._evidence import Evidence, Refusal, find_evidence
from trivium.extraction._fields import parse_fields
from trivium.extraction._numbers import number_spans
from trivium.extraction._source import SourceText


def ask(field: str, proposed: object, source: SourceText) -> Any:
    return find_evidence(parse_fields(field)[0], proposed, source)


@pytest.mark.parametrize("dash", ["-", "−", "–", "—", "‐", "‑", "﹣", "－"])
@pytest.mark.parametrize("form", ["{}50,00 €", "{}€50,00", "€ {}50,00", "EUR {}50,00", "{}50,00"])
def test_a_dash_that_touches_an_amount_is_a_minus_if_the_model_copies_it(form: str, dash: str) -> None:
    amount = form.format(dash)
    for text in ("Rabatt: # Skonto", "Rabatt # auf alles", "Rabatt\t#\nSumme 5,00 €", "| Rabatt | # |"):
        source = SourceText(text.replace("#", amount))
        for proposed in (amount, "-50,00", -50):
            assert ask("discount: money", proposed, source).value["amount"] == -50
    assert ask("temperature: number", f"{dash}5", SourceText(f"Temp. {dash}5 °C")).value == -5


@pytest.mark.parametrize("dash", ["-", "−", "–", "—", "‐", "‑", "－"])
def test_a_dash_between_words_or_numbers_is_no_minus(dash: str) -> None:
    for text in (f"20,00{dash}50,00 €", f"20,00 € {dash} 50,00 €", f"Rabatt{dash}50,00 €", f"{dash} 50,00 €"):
        assert ask("price: money", "50,00 €", SourceText(text)).value["amount"] == 50
        assert isinstance(ask("price: money", "-50,00 €", SourceText(text)), Refusal)


def test_a_day_in_the_known_order_of_the_document_has_no_other_reading() -> None:
    for text, right, wrong in [
        ("Invoice Date 04/03/2024. Due 05/31/2024", "2024-04-03", "2024-03-04"),
        ("Invoice Date 04/03/2024. Due 31/05/2024", "2024-03-04", "2024-04-03"),
    ]:
        for proposed in (right, "04/03/2024"):
            assert ask("dated: date", proposed, SourceText(text)).value == right
        assert ask("dated: date", wrong, SourceText(text)) == Refusal(f'"{wrong}" is not in the text')
    for more in ("", "Due 05/31/2024 or 31/05/2024", "Due 31.05.2024"):  # not settled
        for day in ("2024-03-04", "2024-04-03"):
            found = ask("dated: date", day, SourceText(f"Dated 04/03/2024. {more}"))
            assert {found.value, *found.others} == {day, "2024-03-04", "2024-04-03"}
            assert found.value == day


@pytest.mark.parametrize(
    ("more", "day", "others"),
    [
        ("", "2024-06-05", ("2024-05-06",)),
        ("Due June 5, 2024", "2024-05-06", ("2024-06-05",)),
        ("Due 5 June 2024", "2024-06-05", ("2024-05-06",)),
        ("Due 5 June 2024, paid June 9, 2024", "2024-06-05", ("2024-05-06",)),
        ("Due 31/12/2024, paid June 9, 2024", "2024-06-05", ()),
    ],
)
def test_days_in_words_tell_the_likelier_order_of_a_date_whose_other_day_is_told(
    more: str, day: str, others: tuple[str, ...]
) -> None:
    found = ask("dated: date", "05/06/2024", SourceText(f"Dated 05/06/2024. {more}"))
    assert (found.value, found.others) == (day, others)


def test_a_year_of_two_digits_far_in_the_future_is_of_the_century_before() -> None:
    assert ask("born: date", "05.06.55", SourceText("Geboren am 05.06.55. Berlin, den 1.3.2024")).value == "1955-06-05"
    assert ask("born: date", "2055-06-05", SourceText("Fällig am 05.06.55")).value == "2055-06-05"
    assert ask("due: date", "05.06.55", SourceText("Fällig am 05.06.55, Beginn 1.3.2044")).value == "2055-06-05"
    assert ask("due: date", "05.06.26", SourceText("Founded in 1890. Due 05.06.26")).value == "2026-06-05"


@pytest.mark.parametrize(
    ("text", "proposed", "value"),
    [
        ("IBAN: DE89 3704 0044 0532 0130 00, BIC", "DE89370400440532013000", "DE89 3704 0044 0532 0130 00"),
        ("IBAN: DE89370400440532013000", "DE89 3704 0044 0532 0130 00", "DE89370400440532013000"),
        ("Card 4111\u00a01111 1111 1111", "4111111111111111", "4111 1111 1111 1111"),
        ("London SW1A 1AA", "sw1a1aa.", "SW1A 1AA"),
        ("IBAN: DE89 3704 0044", "DE89 37040044", None),  # grouped otherwise: not one token
        ("IBAN: DE89 3704 0044 05", "E8937040044", None),
        ("Summe 12 345 678,50", "12345678", None),
        ("Tisch 2 150", "2150", None),
        ("Nr. DE89 3704\n0044", "DE8937040044", None),
    ],
)
def test_spaces_in_an_identifier_make_no_difference(text: str, proposed: str, value: str | None) -> None:
    found = ask("account", proposed, SourceText(text))
    assert (found.value if isinstance(found, Evidence) else None) == value


@pytest.mark.parametrize(
    ("text", "proposed", "value"),
    [
        ("£1.849 per litre, total £74.19", "£1.849", 1.849),
        ("1,849 €/l, Betrag 74,19 €", "1,849 €", 1.849),
        ("Kurs 1,085 USD, Summe 1.234,56", "1,085 USD", 1.085),
        ("Miete 1.849 €, Strom 74,19 €", "1.849 €", 1849),
        ("£1,849, and £74.19", "£1,849", 1849),
        ("Miete 1.849 €", "1.849 €", 1849),
        ("1.849 €; 74,19 € or £74.19", "1.849 €", 1849),  # not settled
        ("£1.849 per litre, total £74.19", 1849, 1849),
        ("£1.849 per litre, total £74.19", 1.849, 1.849),
        ("Miete 1.849 €, Strom 74,19 €", 1.849, 1849),
        ("Miete 2.000 €, Strom 74,19 €", {"amount": 2.0}, 2000),
        ("1,849 €/l, Miete 1.849 €, Strom 74,19 €", 1.849, 1.849),
    ],
)
def test_the_marks_of_clear_amounts_tell_the_reading_of_others(text: str, proposed: object, value: float) -> None:
    assert ask("price: money", proposed, SourceText(text)).value["amount"] == value


@pytest.mark.parametrize("text", ["Miete 5000 €, Strom 74,19 €", "Miete 5.000 €, Strom 74,19 €"])
def test_a_decimal_that_is_nowhere_in_the_text_is_not_read_as_thousands(text: str) -> None:
    proposed = 5.0004 if "." in text else 5.0
    assert isinstance(ask("price: number", proposed, SourceText(text)), Refusal)


@pytest.mark.parametrize(
    ("written", "currency"),
    [
        ("NT$5", "TWD"), ("Can$ 5", "CAD"), ("$U 5", "UYU"), ("U$S 5", "USD"), ("5 $CA", "CAD"), ("E£ 5", "EGP"),
        ("RMB 5", "CNY"), ("5 TL", "TRY"), ("5원", "KRW"),
        ("B$ 5", None), ("XQ$5", None), ("EXTRA$5", "USD"), ("M$5.00", "USD"), ("5 m TL", None),
    ],
)  # fmt: skip
def test_a_sign_with_other_letters_is_another_currency(written: str, currency: str | None) -> None:
    value = ask("total: money", {"amount": "5", "currency": currency}, SourceText(f"Total: {written}\nThanks")).value
    assert value["currency"] == currency


@pytest.mark.parametrize(
    ("field", "text", "proposed", "value"),
    [
        ("total: money", "合計：￥１３２，０００", "132000", {"amount": 132000, "currency": "JPY"}),
        ("rate: number", "税率：１．５％", 1.5, 1.5),
        ("dated: date", "令和7年4月1日", "2025-04-01", "2025-04-01"),
        ("dated: date", "平成元年１月８日", "平成元年1月8日", "1989-01-08"),
        ("total: money", "合計3,500円です", "3500円", {"amount": 3500, "currency": "JPY"}),
        ("total: money", "人民币3500 元整", "3500 元", {"amount": 3500, "currency": "CNY"}),
        ("total: money", "价格100美元约700元", "700元", {"amount": 700, "currency": "CNY"}),
        ("total: money", "价格100美元约700元", "100", {"amount": 100, "currency": "USD"}),
        ("total: money", "売上3億5,000万円", "3億5000万円", {"amount": 350_000_000, "currency": "JPY"}),
        ("total: money", "預算1.5亿美元", 150_000_000, {"amount": 150_000_000, "currency": "USD"}),
        ("total: money", "매출 3만 5000원", 35_000, {"amount": 35_000, "currency": "KRW"}),
        ("total: money", "총 1억2천만원", "1억2천만원", {"amount": 120_000_000, "currency": "KRW"}),
        ("total: money", "월세는 20만 5천 원입니다", "20만 5천 원", {"amount": 205_000, "currency": "KRW"}),
        ("total: money", "1万2千3百円", "12300円", {"amount": 12_300, "currency": "JPY"}),
        ("total: money", "定价5千元", 5000, {"amount": 5000, "currency": "CNY"}),
        ("total: money", "1万円10万元", 100_000, {"amount": 100_000, "currency": "CNY"}),
        ("total: money", "3万 5万円", "5万円", {"amount": 50_000, "currency": "JPY"}),
        ("total: money", "2,3万円", "3万円", {"amount": 30_000, "currency": "JPY"}),
        ("article: integer", "제5조 (보증금)", 5, 5),
        ("days: integer", "付款期限30天", 30, 30),
        ("pieces: integer", "単価100円200個", 200, 200),
        ("people: integer", "รวม3500คน", 3500, 3500),
    ],
)
def test_numbers_and_years_are_read_in_scripts_without_spaces(
    field: str, text: str, proposed: object, value: object
) -> None:
    assert ask(field, proposed, SourceText(text)).value == value


@pytest.mark.parametrize(
    ("text", "proposed"),
    [
        ("売上3億5,000万円", "5,000万円"),
        ("売上3500万円", "3500円"),
        ("発票12345678開票", "2345678"),
        ("型番AB12x円", 12),
        ("3万 5万円", 80_000),
        ("1,2,3万円", 1_230_000),
        ("2,3万円", "2,3"),
        ("5千円", 5),
    ],
)
def test_a_part_of_a_number_in_such_a_script_is_refused(text: str, proposed: object) -> None:
    for kind in ("money", "number"):
        assert isinstance(ask(f"total: {kind}", proposed, SourceText(text)), Refusal)


def test_the_time_to_find_numbers_grows_with_their_count_alone() -> None:
    def seconds(count: int) -> float:
        start = time.process_time()
        assert sum(1 for _ in number_spans("1," * count)) == count
        return time.process_time() - start

    assert min(seconds(8000) / seconds(1000) for _ in range(3)) < 30  # it was 64


def test_a_number_is_read_with_the_marks_of_clear_amounts_too() -> None:
    assert ask("weight: number", "12,345", SourceText("Gewicht 12,345 kg, Summe 1.234,56 EUR")).value == 12.345
    assert ask("weight: number", "12,345", SourceText("Weight 12,345 kg, sum 1,234.56")).value == 12345


@pytest.mark.parametrize(
    ("text", "is_two"),
    [
        ("Tisch 2 150,00 EUR\nSumme 300,00 EUR", True),
        ("Tisch 2 150,00 | 300,00\nAlles in EUR", True),
        ("Tisch 2 150,00 EUR\nGesamt 1.234,56 EUR", True),
        ("Tisch 2 150,00 EUR\nGesamt 1 234,56 EUR", False),
        ("Tisch EUR 2 150,00\nSumme 300,00 EUR", False),
        ("Tisch 3 2 150,00 EUR\nSumme 300,00 EUR", False),
    ],
)
def test_a_quantity_before_a_price_is_no_part_of_it_where_the_document_shows_it(text: str, is_two: bool) -> None:
    source = SourceText(text)
    price = ask("price: money", "150,00", source)
    assert isinstance(price, Evidence) == is_two
    assert not is_two or price.value == {"amount": 150, "currency": "EUR"}
    assert ask("price: money", "2 150,00 EUR", source).value["amount"] == 2150
    assert not is_two or ask("quantity: number", 2, source).quote == "2"


@pytest.mark.parametrize("label", ["Betrag in USD:", "Total (USD)", "Total [USD]: "])
def test_the_currency_of_an_amount_may_be_in_its_label(label: str) -> None:
    source = SourceText(f"{label} 50,00\nEUR 46,00\nNetto 40,00")
    for proposed in ("50,00 USD", "50,00", {"amount": 50, "currency": "$"}):
        assert ask("total: money", proposed, source).value == {"amount": 50, "currency": "USD"}
    assert isinstance(ask("total: money", "50,00 EUR", source), Refusal)
    assert ask("total: money", "40,00", source).value == {"amount": 40, "currency": None}
    assert isinstance(ask("total: money", "19 EUR", SourceText("Netto (100,00 EUR) 19 %, 5 USD")), Refusal)


def test_a_dollar_sign_is_the_only_dollar_that_the_text_names() -> None:
    aud = SourceText("All prices in AUD.\nTotal $110.00, EUR 5.00")
    for proposed in ("$110.00", "AUD 110.00", 110, {"amount": 110, "currency": "AUD"}):
        assert ask("total: money", proposed, aud).value == {"amount": 110, "currency": "AUD"}
    assert ask("total: money", "110 USD", aud) == Refusal('"110 USD": the text has "$110.00"')
    assert ask("currency", "$", aud).value == "AUD"
    for text in (
        "Currency: CAD\n$110.00",
        "Montants en CAD. $110.00",
        "Total (CAD): $110.00",
        "C$ 5, $110.00",
        "CAD5.00, $110.00",
    ):
        assert ask("total: money", "$110.00", SourceText(text)).value == {"amount": 110, "currency": "CAD"}
    for text in (
        "CAD drawings $110.00",
        "COP26 report, $110.00",
        "pass$1, $110.00",
        "$110.00",
        "$110.00 (USD; in AUD 165.00)",
        "CAD and AUD: $110.00",
        "US$ 5, AUD 7, $110.00",
    ):
        assert ask("total: money", "$110.00", SourceText(text)).value == {"amount": 110, "currency": "USD"}
    assert ask("total: money", "$1,500.00", SourceText("Total $1,500.00 MXN")).value["currency"] == "MXN"


def test_equal_amounts_of_a_list_stay_as_often_as_the_text_has_them() -> None:
    source = SourceText("Raten: 50,00 € am 1.2., 50,00 am 1.3. und 75,00 € am 1.4.2024. Zimmer: 2, 3, 2; drei Häuser")
    found = ask("rates: list of money", ["50,00 €", "50,00 €", "75,00 €", "50,00", "75"], source)
    assert [(each.value["amount"], each.start) for each in found.items] == [(50, 7), (50, 24), (75, 42)]
    assert not found.refusals
    assert ask("rooms: list of integer", [2, 3, 2, 2, 3], source).value == [2, 3, 2]
    assert ask("currencies: list of money", ["5", "5"], SourceText("5 € or 5 $")).value == [
        {"amount": 5, "currency": "EUR"},
        {"amount": 5, "currency": "USD"},
    ]
    assert ask("names: list", ["Ada", "Ada"], SourceText("Ada met Bob. Ada left.")).value == ["Ada"]


def test_an_alternative_is_the_likeliest_reading_of_its_place() -> None:
    source = SourceText("Miete 1.234 €, Beginn 05.06.24")
    assert [each.value for each in alternatives(parse_fields("starts: date")[0], source)] == ["2024-06-05"]
    assert alternatives(parse_fields("rent: money")[0], source)[0].value == {"amount": 1234, "currency": "EUR"}


@pytest.mark.parametrize(
    ("text", "proposed", "amount", "currency"),
    [
        ("Opening balance 2,340.10 Cr GBP", "2340.10 GBP", 2340.1, "GBP"),
        ("Balance: 2,300.00 credit €", "2300 EUR", 2300, "EUR"),
        ("Deposit 300 EUR. The rent is 1,450\nEUR per month, due: the first.", "1450 EUR", 1450, "EUR"),
        ("Kaution 300 EUR, Gesamt 1190\nEUR (19 % MwSt.)", "1190 EUR", 1190, "EUR"),
        ("Deposit $300 and a fee of 500\nUSD 14 days after receipt", "500 USD", 500, "USD"),
        ("MILK $2.99T\nTAX $0.20", "$2.99", 2.99, "USD"),
        ("2.99 B €\n1.99 A €", "2.99", 2.99, "EUR"),
        ("MILK 2,99T €", "2,99 €", 2.99, "EUR"),
        ("Total: $250.00\nSGD 340.00 charged to your card", "$250.00", 250, "USD"),
        ("Drawing in CAD format. Price $500.00", "$500.00", 500, "USD"),
        ("$500 mil-spec cable", "$500", 500, "USD"),
        ("size M$20.00", "$20.00", 20, "USD"),
        ("Gold 14k£300", "£300", 300, "GBP"),
    ],
)
def test_what_only_looks_like_a_factor_or_like_another_currency_is_none(
    text: str, proposed: str, amount: float, currency: str
) -> None:
    found = ask("total: money", proposed, SourceText(text))
    assert isinstance(found, Evidence), found
    assert found.value == {"amount": amount, "currency": currency}


@pytest.mark.parametrize("text", ["Saldo 1 234,50 Cr EUR", "2 150,00^12 €", "Prix 2 150,00_", "1 200,00 mil euros"])
def test_a_number_that_is_no_price_behind_a_quantity_ends_nothing(text: str) -> None:
    assert isinstance(ask("total: money", "5 EUR", SourceText(text)), Refusal)


@pytest.mark.parametrize(
    ("text", "token"),
    [
        ("Items 12 34 56 78 90 sold", "12345678"),
        ("Prices 1 200 300 400", "1200300400"),
        ("in 2024 10 pieces", "in2024"),
    ],
)
def test_a_row_of_numbers_is_no_identifier(text: str, token: str) -> None:
    assert SourceText(text).find_grouped(token) == []
