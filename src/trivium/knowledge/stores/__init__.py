"""Vector stores: they keep chunks and their vectors, and find those nearest to a question."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trivium.lazy import lazy_names

if TYPE_CHECKING:
    from trivium.knowledge.stores._chroma import ChromaStore, ChromaStoreConfig
    from trivium.knowledge.stores._filters import (
        AllOf,
        AnyOf,
        Compare,
        Filter,
        Not,
        Where,
        matches_filter,
        parse_filter,
    )
    from trivium.knowledge.stores._kind import Hit, SourceRecord, VectorStoreConfig
    from trivium.knowledge.stores._lancedb import LanceStore, LanceStoreConfig
    from trivium.knowledge.stores._postgres import PostgresStore, PostgresStoreConfig
    from trivium.knowledge.stores._qdrant import QdrantStore, QdrantStoreConfig
    from trivium.knowledge.stores._simple import Row, SimpleStore
    from trivium.knowledge.stores._sqlite import SQLiteStore, SQLiteStoreConfig
    from trivium.knowledge.stores._store import VectorStore

__all__ = [
    "AllOf",
    "AnyOf",
    "ChromaStore",
    "ChromaStoreConfig",
    "Compare",
    "Filter",
    "Hit",
    "LanceStore",
    "LanceStoreConfig",
    "Not",
    "PostgresStore",
    "PostgresStoreConfig",
    "QdrantStore",
    "QdrantStoreConfig",
    "Row",
    "SQLiteStore",
    "SQLiteStoreConfig",
    "SimpleStore",
    "SourceRecord",
    "VectorStore",
    "VectorStoreConfig",
    "Where",
    "matches_filter",
    "parse_filter",
]

_HOMES = {
    "ChromaStore": "_chroma",
    "ChromaStoreConfig": "_chroma",
    "Hit": "_kind",
    "LanceStore": "_lancedb",
    "LanceStoreConfig": "_lancedb",
    "PostgresStore": "_postgres",
    "PostgresStoreConfig": "_postgres",
    "QdrantStore": "_qdrant",
    "QdrantStoreConfig": "_qdrant",
    "Row": "_simple",
    "SimpleStore": "_simple",
    "SQLiteStore": "_sqlite",
    "SQLiteStoreConfig": "_sqlite",
    "SourceRecord": "_kind",
    "VectorStore": "_store",
    "VectorStoreConfig": "_kind",
}
lazy_names(__name__, _HOMES, __all__, rest="_filters")
