"""The base of agents that hold documents."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from hashlib import sha256
from os import PathLike
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from trivium.agents._chat_agent import ChatAgent
from trivium.agents._typed import T_co
from trivium.agents.special._doc_config import DocChatAgentConfig
from trivium.commander import Listener, driver_neutral, sync_method
from trivium.commander.lowlevel import CallNode, SessionLocks, current, note_sources, step, wait
from trivium.exceptions import DocumentNotFoundError, UnreadableDocumentError
from trivium.knowledge.retrieval import RelevanceExtractor, Retriever
from trivium.knowledge.stores import SourceRecord
from trivium.memory.lowlevel import warn_caller
from trivium.parsing.chunks import chunk_parts
from trivium.parsing.lowlevel import check_documents
from trivium.policies import Source
from trivium.schema import Document
from trivium.schema.lowlevel import checked, create_object

if TYPE_CHECKING:
    from trivium.knowledge import IngestReport, Library
    from trivium.knowledge.retrieval import Refinement
    from trivium.knowledge.stores import VectorStore
    from trivium.parsing import Chunk, ParsingConfig

_Path: TypeAlias = "str | PathLike[str]"
_making: Final = Lock()  # guards the making of a store: two of one agent would each hold a part of its documents
_readers: Final = SessionLocks()
"""For each agent, by its `id()`, the call that reads its `doc_paths`, and those that wait for it."""


class DocumentAgent(ChatAgent[T_co]):
    """A chat agent that holds documents: reads them into its store, and finds passages in them.

    Attributes:
        retriever: finds chunks for a question; replace it to find them by other means.
    """

    config: DocChatAgentConfig  # pyright: ignore[reportIncompatibleVariableOverride] - a narrower one
    _library: Library | None = None
    _retriever: Retriever | None = None
    _has_read: bool = False

    @property
    def library(self) -> Library:
        """The library that reads documents into the store; made at its first use."""
        if self._library is None:
            from trivium.knowledge import Library

            parsing = self.config.parsing
            self._library = Library(self.store, chunker=partial(_split, parsing=parsing) if parsing else None)
        return self._library

    @property
    def store(self) -> VectorStore:
        """The store of the documents: `vecdb`, or a store of its own in memory."""
        with _making:
            if self.vecdb is None:
                from trivium.knowledge.stores import SQLiteStore

                self.vecdb = SQLiteStore()
            assert self.vecdb is not None
            return self.vecdb

    @property
    def retriever(self) -> Retriever:
        """Finds chunks for a question; made at its first use."""
        if self._retriever is None:
            self._retriever = Retriever(self.store, around=self.config.n_neighbor_chunks, then=self.refinements())
        return self._retriever

    @retriever.setter
    def retriever(self, retriever: Retriever) -> None:
        self._retriever = retriever

    def refinements(self) -> list[Refinement]:
        """Return the steps that are applied to the chunks that were found; override it to have others."""
        extractor = self.config.relevance_extractor_config
        if extractor is None:
            return []
        extractor = getattr(extractor, "llm", extractor)  # of the config of an agent, its model
        made = extractor.create_model() if hasattr(extractor, "create_model") else create_object(extractor)
        return [RelevanceExtractor(made if hasattr(made, "stream") else self.model)]

    @driver_neutral
    async def ingest_async(self, *places: Any, prune: bool = False, listeners: Sequence[Listener] = ()) -> IngestReport:
        """Read files, folders, git repositories and URLs into the store; unchanged ones are not read again.

        A listener may ask the agent, which answers from the documents that are there. One that has a thread of its own
        do so must not wait for that: it would wait for the reading, which waits for the listener.

        Args:
            *places: paths and URLs; without any, the config's `doc_paths`.
            prune: delete from the store what was read from below these places and is no longer found.
            listeners: called with an `IngestEvent` for each source.

        Returns:
            The sources that were read, those that were unchanged, and those that could not be read.
        """
        if places:
            return await self.library.ingest_async(*places, prune=prune, listeners=listeners)
        async with self._turn_to_read():
            return await self.library.ingest_async(*self.config.doc_paths, prune=prune, listeners=listeners)

    ingest = sync_method(ingest_async)

    @driver_neutral
    async def ingest_doc_paths_async(self, paths: _Path | Sequence[_Path]) -> IngestReport:
        """Read a list of places, or one, into the store, as `ingest` does; an empty list reads nothing."""
        places = [paths] if isinstance(paths, str | PathLike) else paths
        return await self.library.ingest_async(*places)

    ingest_doc_paths = sync_method(ingest_doc_paths_async)

    @driver_neutral
    @checked
    async def ingest_docs_async(self, docs: Sequence[Document]) -> int:
        """Add documents that the program has read; they replace earlier ones of the same sources.

        Returns:
            The number of chunks.

        Raises:
            ArgumentTypeError: `docs` is no list of documents.
        """
        check_documents(docs)
        by_source: dict[str, list[Document]] = {}
        for each in docs:
            by_source.setdefault(each.metadata.source, []).append(each)
        count = 0
        for source, parts in by_source.items():
            text = "\0".join(each.content for each in parts)
            fingerprint = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
            library = self.library
            chunks = list(chunk_parts(parts, fingerprint=fingerprint, size=library.size, chunker=library.chunker))
            await self.store.stage_async(chunks)
            await self.store.publish_async(SourceRecord(source, fingerprint, len(chunks)))
            count += len(chunks)
        return count

    ingest_docs = sync_method(ingest_docs_async)

    @driver_neutral
    async def sources_async(self) -> list[SourceRecord]:
        """Return the sources in the store."""
        return list(await self.store.sources_async())

    sources = sync_method(sources_async)

    @driver_neutral
    async def drop_async(self, place: Any) -> int:
        """Delete from the store what was read from a file, a folder or a URL; return the number of its chunks."""
        return await self.library.drop_async(place)

    drop = sync_method(drop_async)

    @driver_neutral
    async def get_relevant_chunks_async(self, query: str) -> list[Chunk]:
        """Return the chunks from which a question is answered, best first."""
        config = self.config
        has_paths = config.doc_paths or "doc_paths" in config.model_fields_set
        if has_paths and not self._has_read and not self._is_read_above():
            await self._read_doc_paths()
        hits = await self.retriever.retrieve_async(query, config.n_similar_chunks, config.filter)
        chunks = [hit.chunk for hit in hits[: config.n_relevant_chunks]]
        if (node := current.get()) is not None:
            note_sources(node, frozenset(Source("document", chunk.metadata.source) for chunk in chunks))
        return chunks

    get_relevant_chunks = sync_method(get_relevant_chunks_async)

    @asynccontextmanager
    async def _turn_to_read(self) -> AsyncGenerator[None]:
        """Let one call at a time read `doc_paths`; they have been read once the block has ended without an error."""
        with step("documents") as node:
            node.cause = self
            try:
                if (released := _readers.acquire(id(self), node)) is not None:
                    await wait(event=released)
                yield
                self._has_read = True
            finally:
                _readers.release(id(self), node)

    def _is_read_above(self) -> bool:
        """Test whether the code runs below the reading of `doc_paths`, as a listener or an embedding model does."""
        above = [] if (node := current.get()) is None else node.ancestor_chain
        return any(isinstance(each, CallNode) and each.cause is self for each in above)

    async def _read_doc_paths(self) -> None:
        """Read the config's paths, unless another call has; if nothing can be read, raise the one error, or a summary.

        An empty list, as of a pattern that no file matches, is an error too, unless there are other documents.
        """
        async with self._turn_to_read():
            if self._has_read:
                return
            report = await self.library.ingest_async(*self.config.doc_paths)
            known = {record.source for record in await self.store.sources_async() if record.chunks}
            if not self.config.doc_paths and not known:
                text = "doc_paths is empty, and there are no other documents"
                raise DocumentNotFoundError(f"{text}: name files, folders or URLs there, or have the agent ingest some")
            read = known.intersection([*report.added, *report.updated, *report.unchanged, *report.failed])
            if self.config.doc_paths and not read:
                errors = list(report.failed.values())
                if len(errors) == 1:
                    raise errors[0]
                is_missing = all(isinstance(each, DocumentNotFoundError) for each in errors)
                paths = ", ".join(map(str, self.config.doc_paths))
                summary = f"nothing could be read from doc_paths ({paths}): {report}"
                raise (DocumentNotFoundError if is_missing else UnreadableDocumentError)(summary)
        if report.failed:
            warn_caller(f"not all of doc_paths could be read: {report}")
        if gone := [each for each in report.gone if each not in report.failed]:
            text = f"the store still has what is gone from doc_paths ({len(gone)}, such as {gone[0]})"
            warn_caller(f"{text}: ingest(prune=True) removes it")


def _split(document: Document, *, parsing: ParsingConfig) -> Iterator[Chunk]:
    """Split a document by a config."""
    from trivium.parsing import Parser

    return Parser(parsing).chunks_of(document)
