from __future__ import annotations

import doctest
import importlib
from datetime import UTC, date, datetime, time
from decimal import Decimal
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium.extraction._dates import date_spans, parse_dates
from trivium.extraction._money import money_spans, parse_money
from trivium.extraction._months import _LANGUAGES, _NAMES  # pyright: ignore[reportPrivateUsage]
from trivium.extraction._numbers import number_spans, parse_number, plain_number, proposed_numbers, readings
from trivium.extraction._source import SourceText

MODULES = ["fields", "schemas", "numbers", "months", "dates", "money", "normal_form", "borders", "source", "evidence"]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_in_the_docstrings_run(name: str) -> None:
    assert doctest.testmod(importlib.import_module(f"trivium.extraction._{name}")).failed == 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1.234,56", ["1234.56"]), ("1,234.56", ["1234.56"]), ("1 234,56", ["1234.56"]),
        ("1\u202f234,56", ["1234.56"]), ("1\u00a0234", ["1234"]), ("1'234.56", ["1234.56"]), ("1’234", ["1234"]),
        ("12.5 %", ["12.5"]), ("1.234", ["1.234", "1234"]), ("1,234", ["1234", "1.234"]), ("-5", ["-5"]),
        ("−5", ["-5"]), ("+5", ["5"]), ("(500)", ["500", "-500"]), ("three", ["3"]), ("Twelve", ["12"]),
        ("1.2 million", ["1200000"]), ("12,34,567.89", ["1234567.89"]), ("0.123", ["0.123"]), (".5", ["0.5"]),
        ("1e5", ["100000"]), ("30GB", ["30"]), ("USD100", ["100"]), ("1.200,-", ["1.2", "1200"]),
        ("v2", []), ("1.2.3", []), ("10-12", []), ("soon", []), ("", []), ("1" * 50, []),
    ],
)  # fmt: skip
def test_readings_of_a_number(text: str, expected: list[str]) -> None:
    assert list(readings(text)) == [Decimal(each) for each in expected]


def test_parse_number_takes_the_likeliest_reading() -> None:
    assert parse_number("1,234") == 1234
    assert parse_number("next week") is None


@pytest.mark.parametrize(("text", "expected"), [
    ("(5.00)", "-5"), ("(EUR 5)", "-5"), ("1.234,56-", "-1234.56"), ("EUR-5", "-5"), ("-5", "-5"), ("5", "5"),
    ("(5)", "5"), ("three (3)", "3"), ("(1.5)", "1.5"), ("rent (5.00)", "5"), ("2.5-", "2.5"), ("ab 5,00-", "5"),
])  # fmt: skip
def test_an_amount_of_money_that_is_proposed_with_a_sign_alone_has_it(text: str, expected: str) -> None:
    assert proposed_numbers(text)[0] == Decimal(expected)


CENTS = st.integers(min_value=-(10**12), max_value=10**12)


@given(CENTS, st.sampled_from(["{:,.2f}", "{:.2f}"]), st.sampled_from([",.", ".,", " ,", "\u202f,", "'.", "\u00a0."]))
def test_a_number_in_any_locale_is_read_back(cents: int, form: str, marks: str) -> None:
    value = Decimal(cents) / 100
    text = form.format(value).translate({ord(","): marks[0], ord("."): marks[1]})
    assert value in readings(text)
    assert any(value in span.readings for span in number_spans(f"total {text} in all"))


@given(st.integers(-(10**9), 10**9))
def test_whole_numbers_are_ints_and_grouping_does_not_matter(value: int) -> None:
    assert plain_number(Decimal(value)) == value
    assert isinstance(plain_number(Decimal(f"{value}.00")), int)
    assert value in readings(f"{value:,}")
    assert value in readings(f"{value:,}".replace(",", "."))


@given(st.text())
def test_spans_are_inside_the_text_and_hold_a_digit(text: str) -> None:
    for span in [*number_spans(text), *date_spans(text), *money_spans(text)]:
        assert 0 <= span.start < span.end <= len(text)
        assert any(character.isdecimal() for character in text[span.start : span.end])
        assert span.readings


FIRST_OF_MARCH = [
    "2024-03-01", "2024/03/01", "2024.03.01", "20240301", "01.03.2024", "1.3.24", "1. 3. 2024", "01/03/2024",
    "03/01/2024", "01-03-2024", "1 March 2024", "MARCH 1st, 2024", "Mar. 1, 2024", "1-Mar-2024", "1-mar-24",
    "1st of March 2024", "1st day of March, 2024", "Friday, 1 March 2024", "Fri, 01 Mar 2024 10:00:00 +0100",
    "Fri Mar  1 10:00:00 CET 2024", "2024-03-01T10:00:00Z", "1er mars 2024", "1. März 2024", "1 Maerz 2024",
    "1 de marzo de 2024", "1º marzo 2024", "1 maart 2024", "1 de março de 2024", "1 marca 2024 r.",
    "den 1 mars 2024", "1. marts 2024", "1. března 2024", "2024年3月1日", "2024 March 1", "1\nMarch\n2024",
    "1 Ma\u0308rz 2024", "1 March '24", "2024-Mar-01", "1. marca 2024", "1. marta 2024", "1. ožujka 2024.",
    "1 martie 2024", "2024. március 1.", "2024. márc. 1-jén", "1. maaliskuuta 2024", "1. märts 2024",
    "2024. gada 1. marts", "1. martā 2024", "2024 m. kovo 1 d.", "1 Μαρτίου 2024", "1η ΜΑΡΤΙΟΥ 2024", "1 марта 2024 г.",
    "1 березня 2024 року", "1 март 2024 г.", "1/III/2024", "1.III.2024", "1. III. 2024", "1 III 2024", "1-iii-2024",
]  # fmt: skip


@pytest.mark.parametrize("text", FIRST_OF_MARCH)
def test_a_date_in_any_form_is_read(text: str) -> None:
    assert date(2024, 3, 1) in parse_dates(text)


@pytest.mark.parametrize(
    "text",
    ["March 2024", "next week", "2024", "31.02.2024", "1 2 3", "10.1.2.3", "1 Smarch 2024", "", "12024-03-01",
     "2024-03-01 to 2024-04-01", "00/00/2024"],
)  # fmt: skip
def test_what_is_not_one_full_date_is_not_read(text: str) -> None:
    assert parse_dates(text) == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [("3. April 24", "2024-04-03"), ("05 JAN 24", "2024-01-05"), ("Jan 15, 24", "2024-01-15"),
     ("paid 3 April 24.", "2024-04-03"), ("05 JAN 24 CARD 12.50", "2024-01-05"), ("3. April 24  50,00", "2024-04-03"),
     ("on 3 May 24 hours", None), ("15 Jan, 24 Feb", None), ("1 March 10:00", None), ("April 14, 15, 16", None),
     ("05JAN24", "2024-01-05"), ("JAN 24 12", None), ("18 Jul 10  2008", "2008-07-10"), ("Jan 15,\n24", None)],
)  # fmt: skip
def test_a_year_of_two_digits_ends_a_date_with_a_name(text: str, expected: str | None) -> None:
    found = {day.isoformat() for span in date_spans(text) for day in span.readings if day.year > 1999}
    assert found == ({expected} if expected else set())


def test_a_month_may_come_first() -> None:
    assert parse_dates("03/01/2024") == (date(2024, 1, 3), date(2024, 3, 1))
    assert parse_dates("03/01/2024", month_first=True) == (date(2024, 3, 1), date(2024, 1, 3))
    assert parse_dates("01.03.2024") == (date(2024, 3, 1),)


@pytest.mark.parametrize("line", _LANGUAGES.strip().splitlines())
def test_every_month_of_every_language_is_read_in_any_case(line: str) -> None:
    for month, name in enumerate(line.split(), start=1):
        for written in (name, name.upper(), name.lower() if len(name) > 2 else name):
            assert date(2024, month, 9) in parse_dates(f"9. {written} 2024"), written


AMBIGUOUS = {
    "listopad": (11, 10), "listopada": (11, 10), "listopadu": (11, 10), "lis": (11, 10), "lip": (7, 6), "srp": (8, 7),
}  # fmt: skip
"""Polish and Czech against Croatian; every other name means one month in all languages of the table."""


def test_a_name_of_two_months_has_both_readings() -> None:
    assert {name: months for name, months in _NAMES.items() if len(months) > 1} == AMBIGUOUS
    assert parse_dates("9. listopada 2024") == (date(2024, 11, 9), date(2024, 10, 9))


@pytest.mark.parametrize("text", ["9 IIII 2024", "9 XIII 2024", "1.9.V.2024", "9 MIX 2024"])
def test_what_is_no_roman_month_is_not_read(text: str) -> None:
    assert parse_dates(text) == ()


def test_a_date_after_another_number_is_found() -> None:
    assert [span.readings for span in date_spans("item 5 on 1 March 2024")] == [(date(2024, 3, 1),)]


FRENCH = "janvier février mars avril mai juin juillet août septembre octobre novembre décembre".split()  # noqa: SIM905
POLISH = "stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia".split()  # noqa: SIM905


@given(st.dates(min_value=date(1900, 1, 1), max_value=date(2100, 12, 31)))
def test_a_date_written_in_any_locale_is_read_back(day: date) -> None:
    forms = [
        day.isoformat(), f"{day:%d.%m.%Y}", f"{day:%d/%m/%Y}", f"{day:%m/%d/%Y}", f"{day:%d %B %Y}",
        f"{day:%B %d, %Y}", f"{day:%A, %d %b %Y}", f"{day.day} {FRENCH[day.month - 1]} {day.year}",
        f"{day.day}. {POLISH[day.month - 1].upper()} {day.year}", f"{day.year}年{day.month}月{day.day}日",
        format_datetime(datetime.combine(day, time(9, 30), UTC)),
    ]  # fmt: skip
    for form in forms:
        assert day in parse_dates(form), form
        assert any(day in span.readings for span in date_spans(f"It starts on {form}; see below."))


@pytest.mark.parametrize(
    ("text", "amount", "currency"),
    [
        ("EUR 1.234,56", 1234.56, "EUR"), ("1,234.56 €", 1234.56, "EUR"), ("1.200,- €", 1200, "EUR"),
        ("$1.2 million", 1200000, "USD"), ("$5k", 5000, "USD"), ("£2bn", 2000000000, "GBP"),
        ("100 kr", 100, None), ("100 SEK", 100, "SEK"), ("CHF 1'000.00", 1000, "CHF"), ("Fr. 20.-", 20, "CHF"),
        ("-€5", -5, "EUR"), ("€ -5", -5, "EUR"), ("US$ 10", 10, "USD"), ("C$10", 10, "CAD"), ("10 zł", 10, "PLN"),
        ("¥500", 500, "JPY"), ("5 dollars", 5, "USD"), ("1.234 €", 1234, "EUR"), ("12", 12, None),
        ("1 234,56 €", 1234.56, "EUR"), ("5 Euro", 5, "EUR"),
    ],
)  # fmt: skip
def test_money_in_any_form_is_read(text: str, amount: float, currency: str | None) -> None:
    assert parse_money(text)[0].normal_form() == {"amount": amount, "currency": currency}


@pytest.mark.parametrize(
    ("text", "amount", "currency"),
    [
        ("1.2 bn USD", 1.2e9, "USD"), ("95 m USD", 95e6, "USD"), ("12,4 M€", 12.4e6, "EUR"), ("850 k€", 850e3, "EUR"),
        ("€ 1,2 miljoen", 1.2e6, "EUR"), ("€2 bn", 2e9, "EUR"), ("€2bn", 2e9, "EUR"), ("1.2 mn EUR", 1.2e6, "EUR"),
        ("€ 3 miljard", 3e9, "EUR"), ("€ 1,2 milioni", 1.2e6, "EUR"), ("5 Tsd. €", 5000, "EUR"), ("€ 5 mn", 5e6, "EUR"),
        ("250 T€", 250e3, "EUR"), ("250 TEUR", 250e3, "EUR"), ("TEUR 250", 250e3, "EUR"), ("9 TUSD", 9e3, "USD"),
        ("T€ 250", 250e3, "EUR"),
        ("3 MEUR", 3e6, "EUR"), ("3 kEUR", 3000, "EUR"), ("1,2 Md€", 1.2e9, "EUR"), ("3 Mds €", 3e9, "EUR"),
        ("5 Mill. €", 5e6, "EUR"), ("5 Mio. €", 5e6, "EUR"), ("5 Mia. CHF", 5e9, "CHF"), ("5 lakh INR", 5e5, "INR"),
        ("3 mila euro", 3000, "EUR"), ("$1.5M", 1.5e6, "USD"), ("-850 k€", -850e3, "EUR"), ("USD 95 m", 95e6, "USD"),
        ("5 m", 5, None), ("3 T", 3, None), ("€5m2", 5, "EUR"), ("EUR 2,50 B", 2.5, "EUR"), ("€ 12,50 m²", 12.5, "EUR"),
    ],
)  # fmt: skip
def test_thousands_and_millions_count(text: str, amount: float, currency: str | None) -> None:
    assert parse_money(text)[0].normal_form() == {"amount": amount, "currency": currency}


@pytest.mark.parametrize(
    "text", ["12 mil euros", "$12 mil", "5 milj. EUR", "2 B USD", "$5T", "5 T USD", "5T$", "12 mil euros (2024)"]
)
def test_an_amount_beside_an_unknown_word_for_thousands_or_millions_is_none(text: str) -> None:
    assert parse_money(text) == ()
    assert Decimal(text.strip("$").split()[0].strip("T")) not in SourceText(f"Turnover {text}.").money


def test_a_letter_before_another_amount_and_a_word_are_no_thousands() -> None:
    assert amounts_in("Kabel 5 m EUR 3,00") == [["5"], ["3.00"]]
    assert "500" in amounts_in("Rent £500 Mill House")[0]
    assert amounts_in("1,20 netto EUR") == [["1.20"]]


@pytest.mark.parametrize(
    ("text", "first", "second"),
    [
        ("Gesamtbetrag: 110.00\nEUR-Konto: DE89", None, None), ("Total 110.00\nEUR account: DE89", None, None),
        ("Betrag in USD: 50,00\nEUR 46,00", None, "EUR"), ("Balance: 500.00\n$20.00 fee", None, "USD"),
        ("Total CHF\n110.00\nEUR 100.00", "CHF", "EUR"), ("Betrag USD\n50,00 EUR", "EUR", None),
        ("Summe EUR\n1.234,56", "EUR", None), ("110.00\nEUR\n46.00\nEUR", "EUR", "EUR"),
        ("eine Miete von 1.200\nEuro im Monat", "EUR", None),
    ],
)  # fmt: skip
def test_a_currency_in_the_next_line_is_of_what_follows_it(text: str, first: str | None, second: str | None) -> None:
    found = [span.readings[0].currency for span in money_spans(text)]
    assert (found[0], found[1] if second else None) == (first, second)


def test_a_piece_of_an_amount_is_no_amount() -> None:
    amounts = [money.amount for span in money_spans("pay 1 234 567 € now") for money in span.readings]
    assert amounts == [1234567]


@given(CENTS, st.sampled_from(["EUR {}", "{} EUR", "€{}", "{} €", "€ {}", "{}€"]), st.sampled_from([",.", ".,", "'."]))
def test_money_in_any_locale_is_read_back(cents: int, form: str, marks: str) -> None:
    number = f"{Decimal(cents) / 100:,.2f}".translate({ord(","): marks[0], ord("."): marks[1]})
    found = parse_money(form.format(number))
    assert Decimal(cents) / 100 in [money.amount for money in found]
    assert {money.currency for money in found} == {"EUR"}


def amounts_in(text: str) -> list[list[str]]:
    return [[str(each.amount) for each in span.readings] for span in money_spans(text)]


NEGATIVE = ["1.234,56- EUR", "1.234,56 EUR-", "$1,234.56-", "EUR-1234.56", "EUR -1234.56", "-€1234.56", "1.234,56-",
            "| 1.234,56- |", "Saldo 1.234,56-  2.000,00", "Saldo 1.234,56-\n",
            "EUR 1.234,56-.", "1.234,56- EUR\n2"]  # fmt: skip
EITHER = ["Loss ($1,234.56)", "Loss (1,234.56) USD", "USD (1,234.56)", "(1,234.56 USD)", "Saldo: - 1234.56 €",
          "Balance - €1234.56", "| - 1234.56 |", "1234.56- und", "1234.56- 1500.00", "Fee (EUR 1234.56)",
          "Saldo 1.234,56-\nHaben", "1.234,56-\n€ 5", "EUR 1.234,56- EUR 7,00",
          "1234.56-, payable", "1234.56-; b"]  # fmt: skip
POSITIVE = ["5 - 7 EUR", "EUR 5 - EUR 7", "5 EUR - 7 EUR", "EUR 5-EUR 7", "12.50-15.00 EUR", "12.50 - 15.00",
            "2019-2020", "A4-5 EUR", "- 5,00 €", "> - 5,00 €", "Paid:\n- 5,00 €\n - EUR 7", "tel. 030-1234.56",
            "12,50 EUR-Gutschein", "100- und 200-Euro-Scheine", "12,50-EUR-Gutschein", "1.200,- €", "CHF 12.--",
            "Room 5 - 7,00 €"]  # fmt: skip


@pytest.mark.parametrize("text", NEGATIVE)
def test_a_minus_that_touches_an_amount_makes_it_negative(text: str) -> None:
    assert amounts_in(text)[0] == ["-1234.56"]


@pytest.mark.parametrize("text", EITHER)
def test_an_amount_has_both_signs_where_the_mark_may_be_none(text: str) -> None:
    assert amounts_in(text)[0] == ["1234.56", "-1234.56"]
    if len(amounts_in(text)) == 1:
        assert {each.amount for each in parse_money(text)} == {Decimal("-1234.56"), Decimal("1234.56")}


def test_a_number_with_raised_cents_is_none_and_one_with_a_footnote_is() -> None:
    assert [[*span.readings] for span in number_spans("249^99 €, 2^10, 1^ 250 €, 500,00^2)")] == [
        [Decimal(1)],
        [Decimal(250)],
        [Decimal("500.00")],
        [Decimal(2)],
    ]
    assert not readings("249^99 €")


def test_a_footnote_may_stand_between_an_amount_and_its_currency() -> None:
    text = "1.250^1 €, 500,00^2) EUR, (1.000,00)^3 €, € 7,50^4 and 10^6 €"
    found = [(text[each.start : each.end], each.readings[0].currency) for each in money_spans(text)]
    assert found[:4] == [("1.250^1 €", "EUR"), ("500,00^2) EUR", "EUR"), ("(1.000,00)^3 €", "EUR"), ("€ 7,50", "EUR")]
    assert ("10", None) in found


@pytest.mark.parametrize(
    "text",
    ["2.5-\ninch screen", "2.5-, 1.5- and", "2.5-", "2.5- |", "2.5-  5", "2,5-\nZimmer", "2.5-; 3.5-litre", "2,5-."],
)
def test_a_number_without_currency_or_cents_is_never_negative_alone_for_a_hyphen_behind_it(text: str) -> None:
    found = next(number_spans(text))
    assert (found.readings, found.end) == ((Decimal("2.5"), Decimal("-2.5")), 3)


@pytest.mark.parametrize("text", ["CHF 1'200-, payable", "EUR 1,200-, now", "CHF 1'200-\n CHF 2'000", "$1,200-\n$2"])
def test_a_whole_amount_before_a_word_or_another_amount_has_both_signs(text: str) -> None:
    assert amounts_in(text)[0][0] == "1200"
    assert "-1200" in amounts_in(text)[0]


@pytest.mark.parametrize("text", POSITIVE)
def test_a_dash_of_a_range_of_a_list_or_in_a_word_is_no_minus(text: str) -> None:
    found = amounts_in(text)
    assert found
    assert not [each for readings in found for each in readings if each.startswith("-")]


MINUS = [
    "-{} EUR",
    "EUR -{}",
    "EUR-{}",
    "-€{}",
    "{}- EUR",
    "{} EUR-",
    "${}-",
    "(${})",
    "({}) USD",
    "({} EUR)",
    "- {} €",
]


@given(st.integers(1, 10**12), st.sampled_from(MINUS), st.sampled_from([",.", ".,", "'."]))
def test_a_negative_amount_in_any_notation_is_read_back(cents: int, form: str, marks: str) -> None:
    number = f"{Decimal(cents) / 100:,.2f}".translate({ord(","): marks[0], ord("."): marks[1]})
    assert parse_money(form.format(number))[0].amount == -Decimal(cents) / 100
    assert -Decimal(cents) / 100 in SourceText(f"Balance {form.format(number)}\nDate 2024").money


@given(
    st.integers(1, 10**12),
    st.integers(1, 10**12),
    st.sampled_from(["{}-{} EUR", "{} - {} €", "EUR {} - EUR {}", "- {} € {}"]),
)
def test_a_range_has_no_negative_end(first: int, second: int, form: str) -> None:
    assert all(amount >= 0 for amount in SourceText(form.format(first / 100, second / 100)).money)
