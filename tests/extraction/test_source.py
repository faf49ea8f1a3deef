from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium.extraction._normal_form import NormalForm, display, normalise
from trivium.extraction._source import SourceText


def found(text: str, needle: str, *near: str) -> str | None:
    span = SourceText(text).find(needle, near)
    return text[slice(*span)] if span else None


@pytest.mark.parametrize(
    ("text", "needle", "quote"),
    [
        ("in 2012", "12", None), ("12.5", "12", None), ("1,234", "234", None), ("1.2.3", "1.2", None),
        ("version 1.2.", "1.2", "1.2"), ("LGPL", "GPL", None), ("GPL-2+", "GPL-2", None),
        ("GPL-2+ x", "GPL-2+", "GPL-2+"),
        ("C++ code", "C", None), ("C++11", "C", None), ("C# code", "C", None),
        ("foo_bar", "bar", None), ("a+b", "a", "a"),
        ("Anna\n  MEYER", "anna meyer", "Anna\n  MEYER"), ("the exam-\nple", "example", "exam-\nple"),
        ("a well-\nknown", "well-known", "well-\nknown"), ("GPL-\n2", "GPL- 2", "GPL-\n2"),
        ("> one\n> two", "one two", "one\n> two"), ("/*\n * one\n * two", "one two", "one\n * two"),
        ("# one\n#\n# two", "one two", "one\n#\n# two"), ("“Acme” Ltd", '"Acme" Ltd', "“Acme” Ltd"),
        ("1990–2000", "1990-2000", "1990–2000"), ("the ﬁle", "file", "ﬁle"), ("Straße 5", "STRASSE", "Straße"),
        ("Cafe\u0301 x", "café", "Cafe\u0301"), ("in\u200bvoice no", "invoice", "in\u200bvoice"),
        ("東京都港区", "東京", "東京"), ("a\u00a0b", "a b", "a\u00a0b"), ("İzmir", "İzmir", "İzmir"),
        ("x", "", None), ("", "x", None),
    ],
)  # fmt: skip
def test_a_text_is_found_between_borders(text: str, needle: str, quote: str | None) -> None:
    assert found(text, needle) == quote


def test_a_place_of_its_own_is_preferred_to_a_part_of_a_compound() -> None:
    assert SourceText("see example.com for Example").find("example") == (20, 27)
    assert SourceText("see example.com").find("example") == (4, 11)


def test_the_place_near_the_words_is_chosen() -> None:
    text = "Net amount: 50 EUR\nVAT: 5 EUR\nGross amount: 50 EUR"
    assert SourceText(text).find("50", ["gross"]) == (44, 46)
    assert SourceText(text).find("50", ["colour"]) == (12, 14)
    assert SourceText(text).find("50") == (12, 14)


def test_display_writes_a_quote_on_one_line() -> None:
    assert display("Anna\n  # Mey-\n  # er  & Co") == "Anna Meyer & Co"
    assert repr(SourceText("abc")) == "SourceText(3 characters)"


UNICODE = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from(" \n->#*ﬁßİ\u0301\u00ad\u00a0…½"))


@given(UNICODE)
def test_every_offset_of_the_normal_form_leads_back_into_the_text(text: str) -> None:
    form = NormalForm(text)
    normal = form.text
    last = 0
    for index in range(len(normal)):
        start, end = form.original_span(index, index + 1)
        assert 0 <= start < end <= len(text)
        assert start >= last
        last = start
        if normal[index].isascii() and normal[index].isalnum():
            assert normal[index] in unicodedata.normalize("NFKC", text[start:end]).casefold()


@given(UNICODE)
def test_each_word_of_a_text_is_found_in_it(text: str) -> None:
    source = SourceText(text)
    for word in re.findall(r"(?<!\S)[^\W_]+(?!\S)", text):
        if normalise(word) and not re.search(r"-\s*\n|[\u0300-\u036f]", text):
            span = source.find(word)
            assert span is not None
            assert normalise(text[slice(*span)]) == normalise(word)


@given(st.text("abc \n.-+", max_size=40), st.text("abc+", min_size=1, max_size=4))
def test_what_is_found_is_equal_in_its_normal_form(text: str, needle: str) -> None:
    span = SourceText(text).find(needle)
    if span:
        assert normalise(text[slice(*span)]) == normalise(needle)


@pytest.mark.parametrize("unit", ["ab ", "\n> ", "+", "a-\n", " ", "1 ", "é\u00a0", "a+"])
def test_a_long_text_is_prepared_in_linear_time(unit: str) -> None:
    source = SourceText(unit * (300_000 // len(unit)))
    assert source.find("not there", ["there"]) is None
    source.find(unit)
    assert (source.numbers == {}) == ("1" not in unit)
    assert source.dates == {}
