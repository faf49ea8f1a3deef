"""What a vector store is, at the documented path."""

from trivium.knowledge.stores import VectorStore, VectorStoreConfig

__all__ = ["VectorStore", "VectorStoreConfig"]
