"""The kinds of stores that the conformance suite is run on, and an embedding model that needs none."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy
import pytest

from trivium.knowledge import Chunk, EmbeddingModel, SourceRecord, SQLiteStoreConfig, VectorStore, VectorStoreConfig
from trivium.knowledge.embeddings._embedding import Purpose
from trivium.parsing._words import stems


class Words(EmbeddingModel):
    """Texts with words in common have vectors that are near: each stem has one of its own, and they are added."""

    def __init__(self, name: str = "words-1", dimensions: int = 24) -> None:
        self.name, self.dimensions = name, dimensions

    def compute(self, texts: Sequence[str], purpose: Purpose) -> Any:
        width = self.dimensions
        rows = numpy.array([sum((_vector(stem, width) for stem in stems(text)), _vector("", width)) for text in texts])
        return rows / numpy.linalg.norm(rows, axis=1, keepdims=True)


@lru_cache(10_000)
def _vector(stem: str, width: int) -> Any:
    seed = int.from_bytes(hashlib.sha256(stem.encode("utf-8", "surrogatepass")).digest()[:8])
    return numpy.random.default_rng(seed).normal(size=width)


class Kind(NamedTuple):
    """A kind of store: how to get the config of an empty one, and what it can.

    Args:
        name: what it is called in the names of tests.
        config: makes a config for a new, empty place below a folder, or on a server that a fixture of the request
            gives; each store of an equal config is the same place.
        processes: several processes may use it at once.
        forks: a child process may use the store that its parent opened.
        full_text: it finds words.
    """

    name: str
    config: Callable[[pytest.FixtureRequest, Path], VectorStoreConfig]
    processes: bool = True
    forks: bool = True
    full_text: bool = True


def sqlite_config(request: pytest.FixtureRequest, folder: Path) -> VectorStoreConfig:
    return SQLiteStoreConfig(storage_path=str(folder / "folder" / "store.db"), embedding=Words())


KINDS: list[Kind] = [Kind("sqlite", sqlite_config)]


def opened(config: VectorStoreConfig, **changes: Any) -> VectorStore:
    """A store of a config, with other values for some of its fields."""
    store = VectorStore.create(config.model_copy(update=changes))
    assert store is not None
    return store


def chunks_of(source: str, *texts: str, fingerprint: str = "", **metadata: Any) -> list[Chunk]:
    """Chunks of one source, in order."""
    return [
        Chunk.of(text, source=source, position=at, fingerprint=fingerprint, **metadata) for at, text in enumerate(texts)
    ]


def serve(store: VectorStore, source: str, *texts: str, fingerprint: str = "1", **metadata: Any) -> SourceRecord:
    """Stage and publish a source."""
    chunks = chunks_of(source, *texts, fingerprint=fingerprint, **metadata)
    record = SourceRecord(source, fingerprint, len(chunks), title=f"About {source}", size=7, modified=1.5)
    store.stage(chunks)
    store.publish(record)
    return record


def texts_of(store: VectorStore, where: Any = None) -> list[str]:
    return [chunk.content for chunk in store.scan(where)]
