"""What of an agent has to do with the documents that it knows."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from trivium._arguments import checked
from trivium._objects import create_object
from trivium.agents._agent import Agent
from trivium.commander import Listener, driver_neutral, sync_method
from trivium.exceptions import DocumentNotFoundError, UnreadableDocumentError
from trivium.knowledge.retrieval import RelevanceExtractor, Retriever
from trivium.knowledge.stores import SourceRecord
from trivium.parsing.chunks import chunk_parts
from trivium.parsing.lowlevel import check_documents
from trivium.schema import Document

if TYPE_CHECKING:
    from trivium.knowledge import IngestReport, Library
    from trivium.knowledge.retrieval import Refinement
    from trivium.knowledge.stores import VectorStore
    from trivium.parsing import Chunk, ParsingConfig

__all__ = ["DocumentStore"]


class DocumentStore(Agent):
    """What of an agent has to do with the documents that it knows.

    Attributes:
        retriever: finds chunks for a question; set another to find them otherwise.
    """

    config: Any
    _library: Library | None = None
    _retriever: Retriever | None = None
    _has_read: bool = False

    @property
    def library(self) -> Library:
        """Reads documents into the store; made when it is first asked for."""
        if self._library is None:
            from trivium.knowledge import Library

            parsing = self.config.parsing
            self._library = Library(self.store, chunker=partial(_cut, parsing=parsing) if parsing else None)
        return self._library

    @property
    def store(self) -> VectorStore:
        """Where the documents are: `vecdb`, or a store of its own in memory."""
        if self.vecdb is None:
            from trivium.knowledge.stores import SQLiteStore

            self.vecdb = SQLiteStore()
        assert self.vecdb is not None
        return self.vecdb

    @property
    def retriever(self) -> Retriever:
        """Finds chunks for a question."""
        if self._retriever is None:
            self._retriever = Retriever(self.store, around=self.config.n_neighbor_chunks, then=self._steps())
        return self._retriever

    @retriever.setter
    def retriever(self, retriever: Retriever) -> None:
        self._retriever = retriever

    def _steps(self) -> list[Refinement]:
        """What is done with the chunks that were found."""
        extractor = self.config.relevance_extractor_config
        return [] if extractor is None else [RelevanceExtractor(self._model_of(extractor))]

    def _model_of(self, given: Any) -> Any:
        given = getattr(given, "llm", given)  # of the config of an agent, its model
        make = getattr(given, "create_model", None)
        made = create_object(given) if make is None else make()
        return made if hasattr(made, "stream") else self.model

    @driver_neutral
    async def ingest_async(self, *places: Any, prune: bool = False, listeners: Sequence[Listener] = ()) -> IngestReport:
        """Read files, folders, git repositories and URLs into the store; what is unchanged is not read again.

        Args:
            *places: what is read; without any the config's `doc_paths`.
            prune: drop what the store has from below these places and is not there any more.
            listeners: called with an `IngestEvent` for each source.

        Returns:
            What was read, what was unchanged, and what could not be read.
        """
        self._has_read |= not places
        return await self.library.ingest_async(*(places or self.config.doc_paths), prune=prune, listeners=listeners)

    ingest = sync_method(ingest_async)

    @driver_neutral
    @checked
    async def ingest_docs_async(self, docs: Sequence[Document]) -> int:
        """Take documents that the program has read; they replace what was known of their sources.

        Returns:
            How many chunks they became.

        Raises:
            ArgumentTypeError: something else was given than a list of documents.
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
        """What there is to answer from."""
        return list(await self.store.sources_async())

    sources = sync_method(sources_async)

    @driver_neutral
    async def drop_async(self, place: Any) -> int:
        """Forget what was ingested from a file, a folder or a URL; how many chunks it was, as for `Library.drop`."""
        return await self.library.drop_async(place)

    drop = sync_method(drop_async)

    @driver_neutral
    async def get_relevant_chunks_async(self, query: str) -> list[Chunk]:
        """The chunks from which a question is answered, best first."""
        if self.config.doc_paths and not self._has_read:
            await self._read_paths()
        config = self.config
        hits = await self.retriever.retrieve_async(query, config.n_similar_chunks, config.filter)
        return [hit.chunk for hit in hits[: config.n_relevant_chunks]]

    get_relevant_chunks = sync_method(get_relevant_chunks_async)

    async def _read_paths(self) -> None:
        """Read the config's paths. Where there is nothing of them to answer from, that is an error."""
        try:
            report = await self.ingest_async()
            known = {record.source for record in await self.store.sources_async()}
            if not known.intersection([*report.added, *report.updated, *report.unchanged, *report.failed]):
                raise _nothing_read(self.config.doc_paths, report)
        except BaseException:
            self._has_read = False
            raise
        if report.failed:
            warnings.warn(f"not all of doc_paths could be read: {report}", stacklevel=2)


def _nothing_read(paths: Sequence[Any], report: IngestReport) -> Exception:
    """The error to raise where none of some paths could be read: that of the one, or one that tells of all."""
    errors = list(report.failed.values())
    if len(errors) == 1:
        return errors[0]
    is_missing = all(isinstance(each, DocumentNotFoundError) for each in errors)
    kind = DocumentNotFoundError if is_missing else UnreadableDocumentError
    return kind(f"nothing could be read from doc_paths ({', '.join(map(str, paths))}): {report}")


def _cut(document: Document, *, parsing: ParsingConfig) -> Iterator[Chunk]:
    """The chunks of a document as a config says."""
    from trivium.parsing import Parser

    return Parser(parsing)._chunks(document)
