"""Small types, at the documented path."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from trivium.schema import DocMetaData, Document, Entity, NonToolAction

__all__ = [
    "DocMetaData",
    "Document",
    "Embedding",
    "EmbeddingFunction",
    "Embeddings",
    "Entity",
    "NonToolAction",
    "Number",
]

Number: TypeAlias = int | float
Embedding: TypeAlias = list[Number]
Embeddings: TypeAlias = list[Embedding]
EmbeddingFunction: TypeAlias = Callable[[list[str]], Embeddings]
