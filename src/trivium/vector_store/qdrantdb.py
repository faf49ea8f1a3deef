"""The store of Qdrant, at the documented path and by its documented names."""

from trivium.knowledge.stores import QdrantStore as QdrantDB
from trivium.knowledge.stores import QdrantStoreConfig as QdrantDBConfig

__all__ = ["QdrantDB", "QdrantDBConfig"]
