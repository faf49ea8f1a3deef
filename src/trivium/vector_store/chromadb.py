"""The store of Chroma, at the documented path and by its documented names."""

from trivium.knowledge.stores import ChromaStore as ChromaDB
from trivium.knowledge.stores import ChromaStoreConfig as ChromaDBConfig

__all__ = ["ChromaDB", "ChromaDBConfig"]
