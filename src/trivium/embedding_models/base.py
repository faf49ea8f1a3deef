"""The base class and the config of embedding models, at the documented path."""

from trivium.knowledge.embeddings import EmbeddingModel, EmbeddingModelsConfig

__all__ = ["EmbeddingModel", "EmbeddingModelsConfig"]
