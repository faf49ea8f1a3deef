"""Embedding models at Langroid's import paths; their home is `trivium.knowledge.embeddings`."""

from typing import TYPE_CHECKING

from trivium.lazy import lazy_names

if TYPE_CHECKING:
    from trivium.embedding_models.models import (
        EmbeddingModel,
        EmbeddingModelsConfig,
        OpenAIEmbeddingsConfig,
        embedding_model,
    )

__all__ = ["EmbeddingModel", "EmbeddingModelsConfig", "OpenAIEmbeddingsConfig", "embedding_model"]

_ROOMS = ("base", "models")
lazy_names(__name__, {**dict.fromkeys(__all__, "models"), **{name: name for name in _ROOMS}}, __all__)
