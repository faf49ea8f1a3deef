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


@pytest.mark.parametrize(
    ("question", "left"),
    [
        ("How much is the rent?", "The rent is 950 EUR."),
        ("How many keys?", "The keys are two."),
        ("Who signed after Ada?", "Ada signed."),
    ],
)
def test_without_an_embedding_words_are_compared(question: str, left: str) -> None:
    (hit,) = NearestSentences(None, characters=25, around=0)(question, [of(LEASE)])
    assert hit.chunk.content == left


def test_a_word_of_the_sentence_beside_it_or_of_the_heading_counts_less() -> None:
    text = "Cats may stay. Dogs may not. It is 950 EUR. So high is the rent."
    (hit,) = NearestSentences(None, characters=35, around=0)("What is the rent?", [of(text)])
    assert hit.chunk.content == "It is 950 EUR. So high is the rent."
    titled = Hit(Chunk.of("Cats may stay. It is fine. No dogs.", source="pets.txt", line=1, heading="Animals"), 1.0)
    other = of("Cars may stay. All is fine.", "cars.txt")
    (hit,) = NearestSentences(None, characters=20, around=0)("Which animals?", [other, titled])
    assert hit.chunk.metadata.source == "pets.txt"


def test_a_sentence_of_an_earlier_passage_counts_a_little_more() -> None:
    first = of("It was sunny. The rent is due.")
    later = Hit(Chunk.of("The rent is due. It was sunny.", source="a.txt", line=1, heading="Monday"), 1.0)
    (hit,) = NearestSentences(None, characters=20, around=0)("Is the rent of Ada's flat due on Monday?", [first, later])
    assert hit.chunk.metadata.source == "lease.txt"


@pytest.mark.parametrize("wrong", [{"characters": 0}, {"around": -1}])
def test_a_wrong_budget_is_reported(wrong: dict[str, int]) -> None:
    with pytest.raises(ConfigurationError, match="at least 1"):
        NearestSentences(Words(), **wrong)


@given(
    st.lists(st.text(st.sampled_from("ab .\n-…"), max_size=60), max_size=4),
    st.integers(1, 80),
    st.integers(0, 2),
    st.sampled_from([Words(), None]),
)
def test_what_is_left_stands_in_the_passages_in_their_order(
    texts: list[str], characters: int, around: int, embedding: Words | None
) -> None:
    hits = [of(text, f"{number}.txt") for number, text in enumerate(texts)]
    left = NearestSentences(embedding, characters=characters, around=around)("a b?", hits)
    sources = [hit.chunk.metadata.source for hit in left]
    assert sources == sorted(sources)
    for hit in left:
        (whole,) = [each.chunk.content for each in hits if each.chunk.metadata.source == hit.chunk.metadata.source]
        at = 0
        for piece in hit.chunk.content.split("\n…\n"):
            at = whole.index(piece, at) + len(piece)
