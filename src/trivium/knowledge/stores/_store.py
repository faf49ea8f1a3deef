"""The vector store: the methods of all stores, built on the few that each kind of store implements."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final, cast, overload

from trivium.commander import driver_neutral, invoke, sync_method
from trivium.exceptions import ArgumentTypeError, ConfigurationError
from trivium.knowledge.embeddings import Vectors
from trivium.knowledge.stores._filters import Where, parse_filter
from trivium.knowledge.stores._kind import Hit, SourceRecord, StoreKind, VectorStoreConfig, check_name
from trivium.knowledge.stores._records import as_chunk
from trivium.knowledge.stores._windows import with_neighbours
from trivium.parsing import Chunk
from trivium.schema import Document
from trivium.schema.lowlevel import checked, create_object, load_class_from_string

if TYPE_CHECKING:
    from typing import Self

_PAGE: Final = 100  # chunks that an async scan takes at once
_BATCH: Final = 64  # texts that are embedded and added at once


class VectorStore(StoreKind):
    """Stores chunks with their vectors in named collections, and finds those that match a question.

    A source is served completely or not at all: `stage` stores its chunks under a fingerprint, invisible to searches,
    and `publish` serves them all at once and deletes the former chunks of the source. Chunks that a killed process left
    staged are never served; `discard` deletes them.

    A store opens at its first use. Any number of threads and processes may use a store at the same time, if its kind
    supports it; see the page on stores.

    Args:
        config: its settings; default: the defaults of its kind.

    Attributes:
        config: the settings; `set_collection` changes the name of the collection.
    """

    @overload
    @staticmethod
    def create(config: None) -> None: ...
    @overload
    @staticmethod
    def create(config: VectorStoreConfig | Mapping[str, object]) -> VectorStore: ...
    @staticmethod
    def create(config: VectorStoreConfig | Mapping[str, object] | None) -> VectorStore | None:
        """Create the store of a config, of the kind that belongs to the class of the config.

        Args:
            config: the config; in a dict, `type` is the import path of its class. None gives None.

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
        """Return the names of the collections, sorted.

        Args:
            empty: include collections without served chunks.
        """
        return sorted(name for name, count in (await invoke(self.read_collections)).items() if empty or count)

    list_collections = sync_method(list_collections_async)

    @driver_neutral
    async def set_collection_async(self, collection_name: str, replace: bool = False) -> None:
        """Use another collection from now on; it is created if there is none.

        Args:
            collection_name: its name.
            replace: begin with an empty collection.

        Raises:
            ConfigurationError: the name is not valid.
            EmbeddingMismatchError: the collection was created with another embedding model.
        """
        check_name(collection_name)
        self.config = self.config.model_copy(update={"collection_name": collection_name, "replace_collection": replace})
        self._opened = ""
        await invoke(self._ready)

    set_collection = sync_method(set_collection_async)

    @driver_neutral
    async def create_collection_async(self, collection_name: str, replace: bool = False) -> None:
        """Call `set_collection`, which creates the collection."""
        await self.set_collection_async(collection_name, replace)

    create_collection = sync_method(create_collection_async)

    @driver_neutral
    async def delete_collection_async(self, collection_name: str) -> None:
        """Delete a collection and its content; an unknown name is ignored."""
        check_name(collection_name)
        await invoke(self.drop_collection, collection_name)
        self._opened = ""

    delete_collection = sync_method(delete_collection_async)

    @driver_neutral
    async def clear_empty_collections_async(self) -> int:
        """Delete the collections without served chunks, and return their number."""
        counts = await invoke(self.read_collections)
        return await self._drop_all([name for name, count in counts.items() if not count])

    clear_empty_collections = sync_method(clear_empty_collections_async)

    @driver_neutral
    async def clear_all_collections_async(self, really: bool = False, prefix: str = "") -> int:
        """Delete all collections, and return their number.

        Args:
            really: must be True, else nothing is deleted.
            prefix: only collections whose names begin with it.
        """
        if not really:
            return 0
        return await self._drop_all([name for name in await invoke(self.read_collections) if name.startswith(prefix)])

    clear_all_collections = sync_method(clear_all_collections_async)

    async def _drop_all(self, names: Sequence[str]) -> int:
        for name in names:
            await self.delete_collection_async(name)
        return len(names)

    # ---- keeping
    @driver_neutral
    @checked
    async def add_documents_async(self, documents: Sequence[Document]) -> list[str]:
        """Serve documents at once, each as one chunk; chunks of the same id are replaced.

        Args:
            documents: any number; each is embedded as one text, so split long ones into chunks first.

        Returns:
            Their ids.

        Raises:
            ArgumentTypeError: `documents` is not a list of documents.
        """
        chunks = [as_chunk(each) for each in documents]
        for start in range(0, len(chunks), _BATCH):
            batch = chunks[start : start + _BATCH]
            await self._use(self.write_chunks, batch, await self.embed_chunks(batch))
        return [each.metadata.id for each in chunks]

    add_documents = sync_method(add_documents_async)

    @driver_neutral
    async def stage_async(self, chunks: Sequence[Chunk], vectors: Vectors | None = None) -> None:
        """Store chunks of one source and fingerprint without serving them yet; chunks of the same id are replaced.

        Args:
            chunks: chunks with their source and fingerprint.
            vectors: a row for each, of any norm above 0; None: the chunks are embedded now.
        """
        if chunks:
            rows = await self.embed_chunks(chunks) if vectors is None else self._checked(vectors, len(chunks))
            await self._use(self.stage_chunks, chunks, rows)

    stage = sync_method(stage_async)

    @driver_neutral
    @checked
    async def publish_async(self, record: SourceRecord) -> None:
        """Serve the staged chunks of a source, and delete its other chunks, atomically for readers.

        Args:
            record: the source, with the fingerprint and the number of the staged chunks.

        Raises:
            IncompleteSourceError: another number of chunks is staged; nothing changes.
        """
        await self._use(self.publish_source, record)

    publish = sync_method(publish_async)

    @driver_neutral
    @checked
    async def discard_async(self, source: str) -> None:
        """Delete the staged chunks of a source that were not published, for example by a killed process."""
        await self._use(self.discard_staged, source)

    discard = sync_method(discard_async)

    @driver_neutral
    @checked
    async def delete_async(
        self, where: Where = None, *, ids: Sequence[str] | None = None, source: str | None = None
    ) -> int:
        """Delete chunks by exactly one of three arguments, and return the number that was served.

        Args:
            where: a condition on their metadata; {}: all chunks.
            ids: their ids.
            source: their source.

        Raises:
            ConfigurationError: none of the three was given, or more than one.
            FilterError: the condition is not valid.
        """
        if sum(each is not None for each in (where, ids, source)) != 1:
            raise ConfigurationError("delete takes one of where, ids and source; where={} is everything")
        if ids is not None:
            where = {"id": {"$in": list(ids)}}
        return await self._use(self.delete_matching, parse_filter(where if source is None else {"source": source}))

    delete = sync_method(delete_async)

    # ---- finding
    @driver_neutral
    @checked
    async def similar_texts_with_scores_async(
        self, text: str, k: int = 1, where: Where = None
    ) -> list[tuple[Document, float]]:
        """Return the chunks nearest in meaning to a text, best first; by words if the store has no vectors.

        Args:
            text: a question, or any text.
            k: maximum number of chunks.
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
        """Return the chunks whose vectors have the largest cosine similarity to a vector, best first.

        Args:
            vector: a vector with the dimensions of the embedding model, of any norm above 0.
            k: maximum number of chunks.
            where: a condition on their metadata.

        Raises:
            ConfigurationError: the vector is not valid, k is below 0, or the store has no vectors.
            FilterError: the condition is not valid.
        """
        import numpy

        unit, condition = self._checked(numpy.reshape(vector, (1, -1)), 1)[0], parse_filter(where)
        return await self._use(self.find_nearest, unit, k, condition) if _is_positive(k) else []

    nearest = sync_method(nearest_async)

    @driver_neutral
    @checked
    async def full_text_async(self, query: str, k: int = 10, where: Where = None) -> list[Hit] | None:
        """Return the chunks that match the words of a query best, by BM25; None if the store cannot rank by words.

        Args:
            query: any text; nothing in it is an operator. A chunk matches if it has one of its words.
            k: maximum number of chunks.
            where: a condition on their metadata.

        Raises:
            FilterError: the condition is not valid.
        """
        condition = parse_filter(where)
        return await self._use(self.find_words, query, k, condition) if _is_positive(k) else []

    full_text = sync_method(full_text_async)

    @driver_neutral
    @checked
    async def get_documents_by_ids_async(self, ids: Sequence[str]) -> list[Document]:
        """Return served chunks by id, in this order; unknown ids are left out."""
        return list(await self._use(self.read_chunks, list(ids)))

    get_documents_by_ids = sync_method(get_documents_by_ids_async)

    @driver_neutral
    async def get_all_documents_async(self, where: Where = None) -> list[Document]:
        """Return all matching served chunks, by source and position; `scan` gives them one by one."""
        condition = parse_filter(where)
        return await self._use(lambda: list[Document](self.scan_chunks(condition)))

    get_all_documents = sync_method(get_all_documents_async)

    @driver_neutral
    async def count_async(self, where: Where = None) -> int:
        """Return the number of matching served chunks."""
        return await self._use(self.count_chunks, parse_filter(where))

    count = sync_method(count_async)

    @driver_neutral
    async def revision_async(self) -> object:
        """Return a value that stays equal until the served chunks change."""
        return await self._use(self.read_revision)

    revision = sync_method(revision_async)

    @driver_neutral
    async def sources_async(self) -> list[SourceRecord]:
        """Return the records of the served sources, sorted."""
        return sorted(await self._use(self.read_sources))

    sources = sync_method(sources_async)

    @driver_neutral
    async def unique_sources_async(self) -> list[str]:
        """Return the names of the served sources, sorted."""
        return [record.source for record in await self.sources_async()]

    unique_sources = sync_method(unique_sources_async)

    def scan(self, where: Where = None) -> Iterator[Chunk]:
        """Iterate over the matching served chunks by source and position, in one state of the store."""
        self._ready()
        return self.scan_chunks(parse_filter(where))

    async def scan_async(self, where: Where = None) -> AsyncGenerator[Chunk]:
        """Iterate like `scan`; chunks are read in pages of a hundred."""
        items = await self._use(self.scan_chunks, parse_filter(where))
        try:
            while page := cast("list[Chunk]", await invoke(lambda: list(islice(items, _PAGE)))):
                for chunk in page:
                    yield chunk
        finally:
            if isinstance(items, Generator):
                items.close()

    @driver_neutral
    async def add_context_window_async(
        self, docs_scores: Sequence[tuple[Document, float]], neighbors: int = 0
    ) -> list[tuple[Document, float]]:
        """Add the chunks before and after those found; chunks that touch or overlap become one text.

        Args:
            docs_scores: chunks and their scores.
            neighbors: number of chunks on each side.

        Returns:
            The texts with the best of their scores, best first. Each has the metadata of its best chunk, with its own
            offsets, lines and pages; `Chunk.about` tells the chunk of a character.
        """
        if neighbors <= 0 or not docs_scores:
            return list(docs_scores)
        return await self._use(with_neighbours, self.scan_chunks, list(docs_scores), neighbors)

    add_context_window = sync_method(add_context_window_async)


@checked
def _is_positive(k: int) -> bool:
    if k < 0:
        raise ConfigurationError(f"k is the maximum number of chunks, 0 or more, not {k}")
    return k > 0
