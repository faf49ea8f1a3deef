"""Stems of English words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium.knowledge.retrieval._stemming import stem

FORMS = [
    ("interpolate interpolated interpolation interpolating", "interpol"),
    ("install installed installer installation installing", "instal"),
    ("sort sorts sorted sorting", "sort"),
    ("hope hopes hoped hoping", "hope"),
    ("hop hops hopped hopping", "hop"),
    ("fly flies", "fli"),
    ("tie ties tied tying", "tie"),
    ("proceed proceeds proceeded", "proceed"),
    ("agree agrees agreed", "agre"),
    ("conditional conditionally", "condit"),
    ("organization organize", "organiz"),
    ("rational", "ration"),
    ("hopefulness hopeful", "hope"),
    ("relativity relative", "relat"),
    ("analogy", "analog"),
    ("formalize formal", "formal"),
    ("national", "nation"),
    ("ponies caresses gas this", "poni caress gas this"),
    ("sky skies news bias", "sky sky news bias"),
    ("a as us is", "a as us is"),
    ("yes youth say", "yes youth say"),
    ("größe 東京 naïve x1", "größe 東京 naïve x1"),
]


@pytest.mark.parametrize(("words", "expected"), FORMS)
def test_forms_of_a_word_have_one_stem(words: str, expected: str) -> None:
    wanted = expected.split()
    assert [stem(word) for word in words.split()] == (wanted * len(words.split()) if len(wanted) == 1 else wanted)


@given(st.text("abcdeghilmnostuvyz", min_size=1, max_size=14))
def test_a_stem_is_no_longer_than_its_word_and_never_empty(word: str) -> None:
    assert 1 <= len(stem(word)) <= len(word) + 1  # an e may be put back: "hoping"
    assert stem(word).islower()


@given(st.text())
def test_any_text_has_a_stem(word: str) -> None:
    assert isinstance(stem(word), str)
