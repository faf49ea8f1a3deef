"""Vector stores at Langroid's import paths; their home is `trivium.knowledge`."""

from typing import TYPE_CHECKING

from trivium.lazy import lazy_names

if TYPE_CHECKING:
    from trivium.vector_store.base import VectorStore, VectorStoreConfig
    from trivium.vector_store.chromadb import ChromaDB, ChromaDBConfig
    from trivium.vector_store.lancedb import LanceDB, LanceDBConfig
    from trivium.vector_store.postgres import PostgresDB, PostgresDBConfig
    from trivium.vector_store.qdrantdb import QdrantDB, QdrantDBConfig

__all__ = [
    "ChromaDB",
    "ChromaDBConfig",
    "LanceDB",
    "LanceDBConfig",
    "PostgresDB",
    "PostgresDBConfig",
    "QdrantDB",
    "QdrantDBConfig",
    "VectorStore",
    "VectorStoreConfig",
]

_ROOMS = ("base", "chromadb", "lancedb", "postgres", "qdrantdb")
_HOMES = {
    "ChromaDB": "chromadb",
    "ChromaDBConfig": "chromadb",
    "LanceDB": "lancedb",
    "LanceDBConfig": "lancedb",
    "PostgresDB": "postgres",
    "PostgresDBConfig": "postgres",
    "QdrantDB": "qdrantdb",
    "QdrantDBConfig": "qdrantdb",
    "VectorStore": "base",
    "VectorStoreConfig": "base",
}
lazy_names(__name__, {**_HOMES, **{name: name for name in _ROOMS}}, __all__)
