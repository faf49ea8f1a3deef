"""What a vector store is: what all of them do, made of the few things that each does in its own way."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, cast

from trivium._arguments import checked
from trivium._objects import create_object, load_class_from_string
from trivium.commander import driver_neutral, invoke, sync_method
from trivium.exceptions import ArgumentTypeError, ConfigurationError
from trivium.knowledge.embeddings import Vectors
from trivium.knowledge.stores._filters import Where, parse_filter
from trivium.knowledge.stores._kind import Hit, SourceRecord, StoreKind, VectorStoreConfig, check_name
from trivium.knowledge.stores._records import as_chunk
from trivium.knowledge.stores._windows import with_neighbours
from trivium.parsing import Chunk
from trivium.schema import Document

if TYPE_CHECKING:
    from typing import Self

__all__ = ["Hit", "SourceRecord", "VectorStore", "VectorStoreConfig"]

_PAGE: Final = 100  # chunks that an async scan takes at once
_BATCH: Final = 64  # texts that are embedded and added at once


class VectorStore(StoreKind):
    """Keeps chunks with their vectors, in named collections, and finds those that fit a question.

    A source is served whole or not at all: its chunks are staged under a fingerprint with `stage`, which searches do
    not see, and `publish` shows them all at once and drops the source's former chunks. What a killed process left
    staged is never served; `discard` drops it.

    A store opens at its first use. Any number of threads and of processes may use one at once, in so far as its kind
    can; see the page on stores.

    Args:
        config: what it is made of; default: the defaults of its kind.

    Attributes:
        config: as it was given; `set_collection` changes the name in it.
    """

    @staticmethod
    def create(config: VectorStoreConfig | Mapping[str, Any] | None) -> VectorStore | None:
        """The store of a config: of the kind that the class of the config says.

        Args:
            config: the config; as a dict, `type` is the path of its class. None gives None.

        Example:
            >>> store = VectorStore.create(VectorStoreConfig(embedding=None))
            >>> type(store).__name__
            'SQLiteStore'
        """
        if not isinstance(config, VectorStoreConfig | Mapping | None):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentTypeError(f"a store is made of a VectorStoreConfig, not of {type(config).__name__}", "config")
        made = create_object(config)
        return None if made is None else load_class_from_string(made.store)(made)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.config.storage_path!r}, collection={self.collection_name!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # ---- collections
    @driver_neutral
    async def list_collections_async(self, empty: bool = False) -> list[str]:
        """The names of the collections, sorted.

        Args:
            empty: those too that serve nothing.
        """
        return sorted(name for name, count in (await invoke(self._collections)).items() if empty or count)

    list_collections = sync_method(list_collections_async)

    @driver_neutral
    async def set_collection_async(self, collection_name: str, replace: bool = False) -> None:
        """Use another collection from now on; it is made where it is not there.

        Args:
            collection_name: its name.
            replace: begin with an empty one.

        Raises:
            ConfigurationError: it can be no name.
            EmbeddingMismatchError: it was made with another embedding model.
        """
        check_name(collection_name)
        self.config = self.config.model_copy(update={"collection_name": collection_name, "replace_collection": replace})
        self._opened = ""
        await invoke(self._ready)

    set_collection = sync_method(set_collection_async)

    @driver_neutral
    async def create_collection_async(self, collection_name: str, replace: bool = False) -> None:
        """As `set_collection`, which makes a collection too."""
        await self.set_collection_async(collection_name, replace)

    create_collection = sync_method(create_collection_async)

    @driver_neutral
    async def delete_collection_async(self, collection_name: str) -> None:
        """Delete a collection with all that it holds; nothing happens where there is none of that name."""
        check_name(collection_name)
        await invoke(self._drop, collection_name)
        self._opened = ""

    delete_collection = sync_method(delete_collection_async)

    @driver_neutral
    async def clear_empty_collections_async(self) -> int:
        """Delete the collections that serve nothing; how many there were."""
        return await self._drop_all([name for name, count in (await invoke(self._collections)).items() if not count])

    clear_empty_collections = sync_method(clear_empty_collections_async)

    @driver_neutral
    async def clear_all_collections_async(self, really: bool = False, prefix: str = "") -> int:
        """Delete all collections; how many there were.

        Args:
            really: without it nothing is deleted.
            prefix: only those whose names begin so.
        """
        if not really:
            return 0
        return await self._drop_all([name for name in await invoke(self._collections) if name.startswith(prefix)])

    clear_all_collections = sync_method(clear_all_collections_async)

    async def _drop_all(self, names: Sequence[str]) -> int:
        for name in names:
            await self.delete_collection_async(name)
        return len(names)

    # ---- keeping
    @driver_neutral
    @checked
    async def add_documents_async(self, documents: Sequence[Document]) -> list[str]:
        """Serve documents at once, each as one chunk; those of the same id are replaced.

        Args:
            documents: any number; each is embedded as it stands, so cut long ones into chunks before.

        Returns:
            Their ids.

        Raises:
            ArgumentTypeError: something else was given than a list of documents.
        """
        chunks = [as_chunk(each) for each in documents]
        for start in range(0, len(chunks), _BATCH):
            batch = chunks[start : start + _BATCH]
            await self._use(self._add, batch, await self._vectors_of(batch))
        return [each.metadata.id for each in chunks]

    add_documents = sync_method(add_documents_async)

    @driver_neutral
    async def stage_async(self, chunks: Sequence[Chunk], vectors: Vectors | None = None) -> None:
        """Keep some chunks of one source and fingerprint without serving them yet; those of the same id are replaced.

        Args:
            chunks: they say the source and the fingerprint.
            vectors: a row for each, of any length above 0; None has them embedded.
        """
        if chunks:
            rows = await self._vectors_of(chunks) if vectors is None else self._checked(vectors, len(chunks))
            await self._use(self._stage, chunks, rows)

    stage = sync_method(stage_async)

    @driver_neutral
    @checked
    async def publish_async(self, record: SourceRecord) -> None:
        """Serve what was staged of a source, and drop all else of it, in one step that readers see whole.

        Args:
            record: the source; its fingerprint is that of the staged chunks, and `chunks` says how many there are.

        Raises:
            IncompleteSourceError: not so many are staged; nothing changes.
        """
        await self._use(self._publish, record)

    publish = sync_method(publish_async)

    @driver_neutral
    @checked
    async def discard_async(self, source: str) -> None:
        """Drop what was staged of a source and never published, as by a process that was killed."""
        await self._use(self._discard, source)

    discard = sync_method(discard_async)

    @driver_neutral
    @checked
    async def delete_async(
        self, where: Where = None, *, ids: Sequence[str] | None = None, source: str | None = None
    ) -> int:
        """Delete chunks, by one of three ways; how many were served.

        Args:
            where: a condition on their metadata; {} is all.
            ids: their ids.
            source: where they are from.

        Raises:
            ConfigurationError: none of the three was given, or more than one.
            FilterError: the condition cannot be read.
        """
        if sum(each is not None for each in (where, ids, source)) != 1:
            raise ConfigurationError("delete takes one of where, ids and source; where={} is everything")
        if ids is not None:
            where = {"id": {"$in": list(ids)}}
        return await self._use(self._delete, parse_filter(where if source is None else {"source": source}))

    delete = sync_method(delete_async)

    # ---- finding
    @driver_neutral
    @checked
    async def similar_texts_with_scores_async(
        self, text: str, k: int = 1, where: Where = None
    ) -> list[tuple[Document, float]]:
        """The chunks nearest in meaning to a text, best first; by words where the store keeps no vectors.

        Args:
            text: a question, or any text.
            k: how many at most.
            where: a condition on their metadata.

        Returns:
            Pairs of a chunk and its cosine similarity.
        """
        model = self.embedding
        if model is None:
            return list(await self.full_text_async(text, k, where) or ())
        return list(await self.nearest_async((await model.embed_async([text], "query"))[0], k, where))

    similar_texts_with_scores = sync_method(similar_texts_with_scores_async)

    @driver_neutral
    async def nearest_async(self, vector: Vectors, k: int = 10, where: Where = None) -> list[Hit]:
        """The chunks whose vectors have the largest cosine similarity to this one, best first.

        Args:
            vector: as long as those of the embedding model; any length above 0.
            k: how many at most.
            where: a condition on their metadata.

        Raises:
            ConfigurationError: it is no such vector, k is below 0, or the store keeps no vectors.
            FilterError: the condition cannot be read.
        """
        import numpy

        unit, condition = self._checked(numpy.reshape(vector, (1, -1)), 1)[0], parse_filter(where)
        return await self._use(self._nearest, unit, k, condition) if _wanted(k) else []

    nearest = sync_method(nearest_async)

    @driver_neutral
    @checked
    async def full_text_async(self, query: str, k: int = 10, where: Where = None) -> list[Hit] | None:
        """The chunks that fit the words of a query best, by BM25, best first; None where this kind of store cannot.

        Args:
            query: any text; nothing in it is an operator. A chunk fits that has one of its words.
            k: how many at most.
            where: a condition on their metadata.

        Raises:
            FilterError: the condition cannot be read.
        """
        condition = parse_filter(where)
        return await self._use(self._full_text, query, k, condition) if _wanted(k) else []

    full_text = sync_method(full_text_async)

    @driver_neutral
    @checked
    async def get_documents_by_ids_async(self, ids: Sequence[str]) -> list[Document]:
        """Served chunks by id, in this order; ids that are not there are left out."""
        return list(await self._use(self._get, list(ids)))

    get_documents_by_ids = sync_method(get_documents_by_ids_async)

    @driver_neutral
    async def get_all_documents_async(self, where: Where = None) -> list[Document]:
        """All served chunks that match, by source and position; `scan` gives them one by one."""
        condition = parse_filter(where)
        return await self._use(lambda: list[Document](self._scan(condition)))

    get_all_documents = sync_method(get_all_documents_async)

    @driver_neutral
    async def count_async(self, where: Where = None) -> int:
        """How many served chunks match."""
        return await self._use(self._count, parse_filter(where))

    count = sync_method(count_async)

    @driver_neutral
    async def revision_async(self) -> object:
        """What is equal as long as the served chunks are the same, and differs after a change."""
        return await self._use(self._revision)

    revision = sync_method(revision_async)

    @driver_neutral
    async def sources_async(self) -> list[SourceRecord]:
        """What is served, by source, sorted."""
        return sorted(await self._use(self._sources))

    sources = sync_method(sources_async)

    @driver_neutral
    async def unique_sources_async(self) -> list[str]:
        """The names of the sources that are served, sorted."""
        return [record.source for record in await self.sources_async()]

    unique_sources = sync_method(unique_sources_async)

    def scan(self, where: Where = None) -> Iterator[Chunk]:
        """All served chunks that match, by source and position, read as they are taken: one state of the store."""
        self._ready()
        return self._scan(parse_filter(where))

    async def scan_async(self, where: Where = None) -> AsyncGenerator[Chunk]:
        """As `scan`; chunks are read by the hundred."""
        items = await self._use(self._scan, parse_filter(where))
        try:
            while page := cast("list[Chunk]", await invoke(lambda: list(islice(items, _PAGE)))):
                for chunk in page:
                    yield chunk
        finally:
            close = getattr(items, "close", None)
            if close is not None:
                close()

    @driver_neutral
    async def add_context_window_async(
        self, docs_scores: Sequence[tuple[Document, float]], neighbors: int = 0
    ) -> list[tuple[Document, float]]:
        """What was found, with the chunks before and behind: those that touch or overlap become one text.

        Args:
            docs_scores: chunks and their scores.
            neighbors: how many on each side.

        Returns:
            The texts with the best of their scores, best first; each has the metadata of its best chunk, and its own
            offsets, lines and pages; `Chunk.about` tells from which chunk a character is.
        """
        if neighbors <= 0 or not docs_scores:
            return list(docs_scores)
        return await self._use(with_neighbours, self._scan, list(docs_scores), neighbors)

    add_context_window = sync_method(add_context_window_async)


@checked
def _wanted(k: int) -> bool:
    if k < 0:
        raise ConfigurationError(f"k is how many are wanted, 0 or more, not {k}")
    return k > 0
