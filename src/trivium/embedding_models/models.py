"""The embedding models, at the documented path."""

from trivium.knowledge.embeddings import (
    EmbeddingModel,
    EmbeddingModelsConfig,
    OpenAIEmbeddingsConfig,
    embedding_model,
)

__all__ = ["EmbeddingModel", "EmbeddingModelsConfig", "OpenAIEmbeddingsConfig", "embedding_model"]
