"""Fusion by reciprocal ranks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium.exceptions import ConfigurationError
from trivium.knowledge import Chunk, Hit
from trivium.knowledge.retrieval import reciprocal_rank_fusion

CHUNKS = [Chunk.of(str(number)) for number in range(12)]
rankings = st.lists(
    st.lists(st.sampled_from(CHUNKS), max_size=8).map(lambda chunks: [Hit(chunk, 1.0) for chunk in chunks]), max_size=5
)


def ids(hits: list[Hit]) -> list[str]:
    return [hit.chunk.metadata.id for hit in hits]


@given(rankings)
def test_every_chunk_is_in_the_fused_ranking_once_and_best_first(many: list[list[Hit]]) -> None:
    fused = reciprocal_rank_fusion(many)
    assert sorted(ids(fused)) == sorted({name for ranking in many for name in ids(ranking)})
    assert [hit.score for hit in fused] == sorted((hit.score for hit in fused), reverse=True)


@given(st.permutations(CHUNKS))
def test_one_ranking_stays_as_it_is(chunks: list[Chunk]) -> None:
    ranking = [Hit(chunk, 0.0) for chunk in chunks]
    assert ids(reciprocal_rank_fusion([ranking])) == ids(ranking)


@given(rankings, st.floats(0.5, 500))
def test_the_score_is_the_sum_over_the_places(many: list[list[Hit]], k: float) -> None:
    for hit in reciprocal_rank_fusion(many, k=k):
        expected = 0.0
        for ranking in many:
            places = list(dict.fromkeys(ids(ranking)))
            if hit.chunk.metadata.id in places:
                expected += 1 / (k + places.index(hit.chunk.metadata.id) + 1)
        assert hit.score == pytest.approx(expected)


@given(rankings, rankings)
def test_a_ranking_of_no_weight_changes_no_order(many: list[list[Hit]], others: list[list[Hit]]) -> None:
    weights = [1.0] * len(many) + [0.0] * len(others)
    fused = [hit for hit in reciprocal_rank_fusion([*many, *others], weights=weights) if hit.score]
    assert ids(fused) == ids(reciprocal_rank_fusion(many))


@given(st.permutations(CHUNKS[:6]), st.permutations(CHUNKS[:6]))
def test_who_is_ahead_in_every_ranking_is_ahead_in_the_fused_one(one: list[Chunk], other: list[Chunk]) -> None:
    fused = ids(reciprocal_rank_fusion([[Hit(chunk, 0.0) for chunk in ranking] for ranking in (one, other)]))
    for a in CHUNKS[:6]:
        for b in CHUNKS[:6]:
            if one.index(a) < one.index(b) and other.index(a) < other.index(b):
                assert fused.index(a.metadata.id) < fused.index(b.metadata.id)


@pytest.mark.parametrize("wrong", [{"k": 0}, {"k": float("nan")}, {"weights": [1.0]}, {"weights": [1.0, -1.0]}])
def test_what_can_be_no_weight_or_constant_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ConfigurationError, match="weight"):
        reciprocal_rank_fusion([[], []], **wrong)  # pyright: ignore[reportArgumentType] - that is the test


def test_by_default_a_first_place_outweighs_two_late_ones() -> None:
    first, *others = CHUNKS
    both = others[8]
    places = [first, *others[:7], both], [*others[:8], both]
    many = [[Hit(chunk, 0.0) for chunk in ranking] for ranking in places]
    found, evened = ids(reciprocal_rank_fusion(many)), ids(reciprocal_rank_fusion(many, k=60))
    assert found.index(first.metadata.id) < found.index(both.metadata.id)
    assert evened.index(first.metadata.id) > evened.index(both.metadata.id)
