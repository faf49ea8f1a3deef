"""The sentences nearest to a question: word for word, within a budget, and cited where they stand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge.stores._kinds import Words
from trivium.agents.special._reading import Reading
from trivium.exceptions import ConfigurationError
from trivium.knowledge import Chunk, Hit
from trivium.knowledge.retrieval import NearestSentences

LEASE = (
    "# Lease\nWe met in May. The rent is 950 EUR. It was sunny.\n\nPets are forbidden. Ada signed. The keys are two."
)


def of(text: str, source: str = "lease.txt") -> Hit:
    return Hit(Chunk.of(text, source=source, line=1), 1.0)


def test_the_nearest_sentence_is_left_and_cited_where_it_stands() -> None:
    (hit,) = NearestSentences(Words(), characters=25, around=0)("How much is the rent?", [of(LEASE)])
    assert hit.chunk.content == "The rent is 950 EUR."
    assert hit.chunk.metadata.line == 2


def test_what_is_short_enough_stays_as_it_is() -> None:
    hits = [of("The rent is 950 EUR."), of("Pets are forbidden.", "rules.txt")]
    assert NearestSentences(Words(), characters=60)("rent?", hits) == hits


def test_a_gap_parts_sentences_and_no_citation_spans_it() -> None:
    (hit,) = NearestSentences(Words(), characters=45, around=0)("Who signed the rent of 950 EUR?", [of(LEASE)])
    assert hit.chunk.content == "The rent is 950 EUR.\n…\nThe keys are two."
    reading = Reading("Who signed the rent?", [hit.chunk], 1000)
    assert [each.text for each in reading.sentences] == ["The rent is 950 EUR.", "The keys are two."]
    for span in reading.supporting_spans("The rent is 950 EUR and the keys are two.", [1, 2]):
        assert reading.citation(span, 1).quote in LEASE


def test_one_sentence_is_left_however_small_the_budget() -> None:
    (hit,) = NearestSentences(Words(), characters=1)("Who signed?", [of(LEASE)])
    assert hit.chunk.content == "Ada signed."


@pytest.mark.parametrize("wrong", [{"characters": 0}, {"around": -1}])
def test_a_wrong_budget_is_reported(wrong: dict[str, int]) -> None:
    with pytest.raises(ConfigurationError, match="at least 1"):
        NearestSentences(Words(), **wrong)


@given(
    st.lists(st.text(st.sampled_from("ab .\n-…"), max_size=60), max_size=4),
    st.integers(1, 80),
    st.integers(0, 2),
)
def test_what_is_left_stands_in_the_passages_in_their_order(texts: list[str], characters: int, around: int) -> None:
    hits = [of(text, f"{number}.txt") for number, text in enumerate(texts)]
    left = NearestSentences(Words(), characters=characters, around=around)("a b?", hits)
    sources = [hit.chunk.metadata.source for hit in left]
    assert sources == sorted(sources)
    for hit in left:
        (whole,) = [each.chunk.content for each in hits if each.chunk.metadata.source == hit.chunk.metadata.source]
        at = 0
        for piece in hit.chunk.content.split("\n…\n"):
            at = whole.index(piece, at) + len(piece)
