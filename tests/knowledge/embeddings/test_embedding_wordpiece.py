"""Our tokenizer of BERT's uncased models beside the one of the package `tokenizers`."""

# The limit on remembered words is visible only in the table of the tokenizer.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import unicodedata
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers.implementations.bert_wordpiece import BertWordPieceTokenizer

from trivium.knowledge.embeddings._wordpiece import WordPieceTokenizer

OURS = WordPieceTokenizer()
THEIRS = cast("Any", BertWordPieceTokenizer)(
    {piece: number for number, piece in enumerate(OURS.pieces)}, lowercase=True
)
OLD = unicodedata.ucd_3_2_0


def _same_for_all(letter: str) -> bool:
    """Whether every edition of Unicode says the same of a letter: the package has one of 2015."""
    return OLD.category(letter) == unicodedata.category(letter) and letter != "\ufeff"


LETTERS = st.characters(exclude_categories=["Cs"]).filter(_same_for_all)
ASCII = st.characters(max_codepoint=127)


def theirs(text: str) -> list[int]:
    return THEIRS.encode(text, add_special_tokens=False).ids


@given(st.text(st.one_of(LETTERS, ASCII), max_size=60))
def test_random_text_falls_into_the_same_pieces(text: str) -> None:
    assert OURS.encode(text) == theirs(text)


@given(st.lists(st.sampled_from(OURS.pieces[1000:]), max_size=12))
def test_random_words_fall_into_the_same_pieces(words: list[str]) -> None:
    text = "".join(word.removeprefix("##") if word.startswith("##") else f" {word}" for word in words)
    assert OURS.encode(text) == theirs(text)


@pytest.mark.parametrize(
    "text",
    [
        "Ünïcödé İstanbul ΣΑΣ ẞ ﬁ",
        "東京に行く 안녕하세요 ไทย",
        "x" * 100 + " " + "x" * 101,
        "a\u200db\u00adc\x00d\x85e\u2028f\ufffdg",
        "don't stop-it: $5+3=8 <b>^_`{|}~",
        "",
        " \t\r\n",
    ],
)
def test_odd_text_falls_into_the_same_pieces(text: str) -> None:
    assert OURS.encode(text) == theirs(text)
    assert OURS.encode(text) == theirs(text)  # the second time from what is kept of words


def test_the_vocabulary_is_that_of_bert_base_uncased() -> None:
    import hashlib

    text = "".join(f"{piece}\n" for piece in OURS.pieces).encode()
    assert hashlib.sha256(text).hexdigest() == "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
    assert [OURS.pieces[number] for number in (OURS.unknown, OURS.start, OURS.end)] == ["[UNK]", "[CLS]", "[SEP]"]


def test_what_is_kept_of_words_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trivium.knowledge.embeddings._wordpiece._KEPT_WORDS", 10)
    tokenizer = WordPieceTokenizer()
    tokenizer.encode(" ".join(f"word{number}" for number in range(200)))
    assert len(tokenizer._words) <= 10
