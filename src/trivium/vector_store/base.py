"""The base class and the config of vector stores, at the documented path."""

from trivium.knowledge.stores import VectorStore, VectorStoreConfig

__all__ = ["VectorStore", "VectorStoreConfig"]
