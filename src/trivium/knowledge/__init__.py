"""Knowledge: loading and embedding of documents, stores, and retrieval of the passages that answer a question."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trivium.lazy import lazy_names

if TYPE_CHECKING:
    from trivium.knowledge._library import IngestEvent, IngestProgress, IngestReport, Library
    from trivium.knowledge._limits import IngestLimits
    from trivium.knowledge.embeddings import EmbeddingModel
    from trivium.knowledge.loading import FileSource, Skipped, Source, WebSource, find_sources
    from trivium.knowledge.retrieval import Retriever
    from trivium.knowledge.stores import (
        Hit,
        SourceRecord,
        SQLiteStore,
        SQLiteStoreConfig,
        VectorStore,
        VectorStoreConfig,
    )
    from trivium.parsing import Chunk, ChunkMetaData, Locator, Passage, PassageIndex, Place, locate, read, select, split

__all__ = [
    "Chunk",
    "ChunkMetaData",
    "EmbeddingModel",
    "FileSource",
    "Hit",
    "IngestEvent",
    "IngestLimits",
    "IngestProgress",
    "IngestReport",
    "Library",
    "Locator",
    "Passage",
    "PassageIndex",
    "Place",
    "Retriever",
    "SQLiteStore",
    "SQLiteStoreConfig",
    "Skipped",
    "Source",
    "SourceRecord",
    "VectorStore",
    "VectorStoreConfig",
    "WebSource",
    "find_sources",
    "locate",
    "read",
    "select",
    "split",
]

_HOMES = {
    "EmbeddingModel": "knowledge.embeddings",
    "FileSource": "knowledge.loading",
    "Hit": "knowledge.stores",
    "IngestEvent": "knowledge._library",
    "IngestLimits": "knowledge._limits",
    "IngestProgress": "knowledge._library",
    "IngestReport": "knowledge._library",
    "Library": "knowledge._library",
    "Retriever": "knowledge.retrieval",
    "SQLiteStore": "knowledge.stores",
    "SQLiteStoreConfig": "knowledge.stores",
    "Skipped": "knowledge.loading",
    "Source": "knowledge.loading",
    "SourceRecord": "knowledge.stores",
    "VectorStore": "knowledge.stores",
    "VectorStoreConfig": "knowledge.stores",
    "WebSource": "knowledge.loading",
    "find_sources": "knowledge.loading",
}
lazy_names(__name__, _HOMES, __all__, below="trivium", rest="parsing")
