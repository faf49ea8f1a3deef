"""Stores for the tests of retrieval: real ones in memory, with vectors that anybody can follow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trivium.knowledge import Chunk, EmbeddingModel, SQLiteStore, SQLiteStoreConfig
from trivium.knowledge.embeddings import Purpose

SUBJECTS = ("rent", "cat", "python", "bread")
MEANINGS = {"flat": "rent", "cost": "rent", "pet": "cat", "animal": "cat", "snake": "python", "loaf": "bread"}


class Subjects(EmbeddingModel):
    """How often each of four subjects is meant, by that word or by another."""

    name, dimensions = "subjects-1", len(SUBJECTS) + 1

    def compute(self, texts: Sequence[str], purpose: Purpose) -> Any:
        rows: list[list[float]] = []
        for text in texts:
            words = [MEANINGS.get(word, word) for word in text.casefold().replace("?", " ").replace(".", " ").split()]
            rows.append([float(words.count(subject)) for subject in SUBJECTS] + [0.01])
        return rows


def store_of(*texts: str | Chunk, embedding: EmbeddingModel | None = None) -> SQLiteStore:
    """A store in memory with a chunk for each text."""
    store = SQLiteStore(SQLiteStoreConfig(embedding=embedding or Subjects()))
    store.add_documents(
        [
            text if isinstance(text, Chunk) else Chunk.of(text, source=f"{number}.md", position=0)
            for number, text in enumerate(texts)
        ]
    )
    return store


def contents(hits: Sequence[Any]) -> list[str]:
    """What the hits say."""
    return [hit.chunk.content for hit in hits]
