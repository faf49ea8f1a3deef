"""The ingest: from sources to chunks in a store, source by source, and only where something has changed."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import aclosing
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from logging import getLogger
from pathlib import PurePath
from typing import Literal, NamedTuple, TypeAlias

from trivium.commander import CallNode, Event, Listener, current, driver_neutral, invoke, iterate, step, sync_method
from trivium.commander.lowlevel import change_scope, emit
from trivium.events import JSONObject, on_one_line
from trivium.exceptions import (
    DeadlineExceededError,
    DocumentError,
    DocumentNotFoundError,
    FetchError,
    FetchStatusError,
    IncompleteSourceError,
    MissingExtraError,
    OCRMissingError,
    UnreadableDocumentError,
)
from trivium.knowledge._ingest_item import IngestItem
from trivium.knowledge._limits import IngestLimits
from trivium.knowledge._places import Place, absolute_name, below_any, place_name
from trivium.knowledge._recipes import may_be_scan, recipe_of
from trivium.knowledge.loading import Skipped, Source, find_sources
from trivium.knowledge.loading._choice import BINARY, NO_OCR
from trivium.knowledge.loading._folder import IGNORED
from trivium.knowledge.stores import SourceRecord, VectorStore
from trivium.parsing import Chunk
from trivium.parsing.chunks import Chunker
from trivium.schema.lowlevel import checked, positive

Outcome: TypeAlias = Literal["reading", "added", "updated", "unchanged", "failed", "dropped"]
"""The outcome of a source; "reading" until it is complete."""

_logger = getLogger("trivium.knowledge")
_BATCH = 512  # chunks that are embedded and staged together
_TRIES = 3  # for a source that changes while it is read, or that another process ingests at the same time
_SHOWN = 5  # failed sources, and suffixes of skipped files, in the text of a report
_GONE = (404, 410)  # the statuses of pages that do not exist
_FAULTS = (DocumentError, FetchError, MissingExtraError)  # of one source: the others go on


class IngestProgress(NamedTuple):
    """Progress of an ingest.

    Args:
        source: name of the source.
        outcome: its outcome.
        done: number of completed sources.
        total: number of sources found.
        chunks: number of chunks of this source so far.
    """

    source: str
    outcome: Outcome
    done: int
    total: int
    chunks: int = 0


class IngestEvent(Event[IngestProgress, Literal["ingest"]]):
    """A source has been ingested, or a further part of a long one."""

    __slots__ = ()

    def detail(self, content: bool = False) -> str:
        """Name the source, with its outcome and the sources done so far."""
        return on_one_line(f"{self.data.source} {self.data.outcome}, {self.data.done} of {self.data.total}")

    def fields(self, content: bool = False) -> JSONObject:
        """Return the parts of the progress."""
        return self.data._asdict()


@dataclass(slots=True)
class IngestReport:
    """The result of an ingest.

    Args:
        added: new sources.
        updated: sources that had changed.
        unchanged: sources that had not changed.
        dropped: sources that are no longer found and were deleted from the store.
        gone: sources that are no longer found and are still in the store, because nothing was to be deleted.
        failed: sources, and folders of them, that could not be read, with their errors; their chunks in the store stay
            as before.
        skipped: files that are not documents, folders that could not be read, and images found in folders that cannot
            be read: these are kept as sources without text, and not tried again until they or the limits change.
        chunks: number of chunks written.
        bytes: size of the texts read, in bytes of UTF-8.
        seconds: duration.
    """

    added: list[str] = field(default_factory=list[str])
    updated: list[str] = field(default_factory=list[str])
    unchanged: list[str] = field(default_factory=list[str])
    dropped: list[str] = field(default_factory=list[str])
    gone: list[str] = field(default_factory=list[str])
    failed: dict[str, Exception] = field(default_factory=dict[str, Exception])
    skipped: list[Skipped] = field(default_factory=list[Skipped])
    chunks: int = 0
    bytes: int = 0
    seconds: float = 0.0

    def __str__(self) -> str:
        """Summarise the numbers, and the first errors."""
        counts = {**{name: len(sources) for name, sources in self.by_outcome().items()}, "failed": len(self.failed)}
        parts = [*(f"{count} {name}" for name, count in counts.items() if count), *filter(None, [self.left_out])]
        summary = ", ".join(parts) or "nothing"
        return "\n  ".join([f"{summary}; {self.chunks} chunks in {self.seconds:.1f} s", *self._reasons()])

    @property
    def left_out(self) -> str:
        """The number of files skipped for their suffix, and these: "3 skipped (.doc, .rtf)"; "" without any."""
        names = (each.name for each in self.skipped if each.reason in (BINARY, NO_OCR))
        suffixes = Counter(PurePath(name).suffix.lower() for name in names)
        kinds = ", ".join(sorted(suffixes)[:_SHOWN]) + (", …" if len(suffixes) > _SHOWN else "")
        return f"{suffixes.total():,} skipped ({kinds})" if suffixes else ""

    def by_outcome(self) -> dict[str, list[str]]:
        """The lists of sources that did not fail, by outcome."""
        lists = {"added": self.added, "updated": self.updated}
        return {**lists, "unchanged": self.unchanged, "dropped": self.dropped}

    def _reasons(self) -> list[str]:
        """Return a line for each of the first failed sources."""
        first = list(self.failed.items())[:_SHOWN]
        reasons = [text if name in (text := str(error)) else f"{name}: {text}" for name, error in first]
        more = len(self.failed) - len(first)
        return [*reasons, f"… and {more} more"] if more else reasons


class Library:
    """Synchronises a store with files, folders, git repositories and web pages.

    A source is read only if its state looks changed, and chunked and embedded only if its bytes differ from those in
    the store. It is served completely or as before: after a failure or a kill nothing is half done, and the next ingest
    continues. Memory does not grow with the size of a source whose format is read in parts. Any number of threads and
    processes may ingest into one store.

    Args:
        store: the store of the chunks; its embedding model is used, if it has one.
        chunker: cuts a document; default: the chunker that fits its media type.
        size: maximum size of a chunk in characters (default 400: a vector says little about a long text, and a
            `Retriever` returns the chunks around the one that it found).
        limits: what one source may take; default `IngestLimits()`.
        encoding: that of texts without a byte order mark; see `find_sources`. Where it changes, all is read again.
        include: patterns of the files in folders and repositories that are read; see `find_sources`. Others are gone
            for `prune`.
        exclude: patterns of those that are not read; they are gone for `prune`, too.

    Raises:
        ConfigurationError: the size is below 1.

    Example:
        >>> import pathlib, tempfile
        >>> from trivium.knowledge import VectorStore, VectorStoreConfig
        >>> folder = tempfile.TemporaryDirectory()
        >>> _ = pathlib.Path(folder.name, "lease.txt").write_text("The rent is 950 EUR.")
        >>> store = VectorStore.create(VectorStoreConfig(embedding=None))
        >>> library = Library(store)
        >>> library.ingest(folder.name).chunks, len(library.ingest(folder.name).unchanged)
        (1, 1)
        >>> [hit.chunk.content for hit in store.full_text("rent")]
        ['The rent is 950 EUR.']
        >>> folder.cleanup()
    """

    @checked
    def __init__(
        self,
        store: VectorStore,
        *,
        chunker: Chunker | None = None,
        size: int = 400,
        limits: IngestLimits | None = None,
        encoding: str = "",
        include: Collection[str] = (),
        exclude: Collection[str] = (),
    ) -> None:
        positive(size=size)
        self.store, self.chunker, self.size = store, chunker, size
        self.limits = limits or IngestLimits()
        self.encoding, self.include, self.exclude = encoding, include, exclude

    def __repr__(self) -> str:
        return f"Library({self.store!r})"

    @driver_neutral
    async def ingest_async(
        self, *places: Place, prune: bool = False, listeners: Sequence[Listener] = ()
    ) -> IngestReport:
        """Synchronise the store with some places.

        The call is a node of the run tree, and each source a node below it; an `IngestEvent` tells the outcome of each.
        A source that cannot be read is in the report, and the others go on.

        Args:
            *places: paths of files and folders, git repositories, URLs, or sources.
            prune: delete chunks of sources below these places that are no longer found: they do not exist, or a
                `.gitignore` file excludes them and they are no places of this call. What is hidden or behind a link
                stays. If a place itself is not there, those below it stay. An empty folder is there, also where a drive
                is not mounted.
            listeners: called for each event of this call.

        Raises:
            KnowledgeError: the store or the embedding model cannot be used; sources published before stay.
            ModelError: the embedding model failed.
        """
        node = CallNode("ingest", current.get())
        change_scope(node, listeners=tuple(listeners))
        with node:
            return await _Ingest(self, node).run(places, prune)

    ingest = sync_method(ingest_async)

    @driver_neutral
    async def sources_async(self) -> list[SourceRecord]:
        """Return the records of the sources that the store serves."""
        return await self.store.sources_async()

    sources = sync_method(sources_async)

    @driver_neutral
    async def drop_async(self, place: Place) -> int:
        """Delete the chunks of a place: of a source, or of all sources below a folder or in a git repository.

        Args:
            place: as for `ingest`, with the path in any notation, or the name of a source.

        Returns:
            The number of deleted chunks; 0 if the store has none from there. `sources()` has the names.
        """
        is_from = below_any([place])
        names = [record.source for record in await self.store.sources_async() if is_from(absolute_name(record.source))]
        return await self.store.delete_async({"source": {"$in": [*dict.fromkeys([*names, place_name(place)])]}})

    drop = sync_method(drop_async)


class _Ingest:
    """One call of `ingest`.

    Chunks of several short sources are embedded together, because a model embeds many texts faster than few. A source
    is published when its last chunk is staged.
    """

    def __init__(self, library: Library, node: CallNode) -> None:
        self._library, self._store, self._node = library, library.store, node
        self._report, self._began = IngestReport(), time.monotonic()
        self._known: dict[str, SourceRecord] = {}
        self._names: dict[str, str] = {}  # for each absolute path its name in the store
        self._held: list[tuple[IngestItem, list[Chunk]]] = []
        self._late, self._tries = list[Source](), dict[str, int]()
        self._done = self._total = 0
        self._named = set[str]()  # sources that are places themselves, and not found in one

    async def run(self, places: Sequence[Place], prune: bool) -> IngestReport:
        try:
            self._known = {record.source: record for record in await self._store.sources_async()}
            self._names = {absolute_name(name): name for name in self._known}
            sources, searched = await self.find(places)
            self._total = len(sources)
            waiting = list(sources.values())
            for _ in range(_TRIES):
                for source in waiting:
                    await self.ingest_source(source)
                await self._flush()
                waiting, self._late = self._late, []
            gone = self.gone(searched, sources)
            if prune:
                await self.prune(gone)
            else:
                self._report.gone = gone
        except Exception as error:
            error.add_note(f"the ingest was stopped when {self._done} of {self._total} sources were done")
            raise
        self._report.seconds = time.monotonic() - self._began
        return self._report

    async def find(self, places: Sequence[Place]) -> tuple[dict[str, Source], list[Place]]:
        """Return the sources by name, and the places that were searched completely."""
        sources: dict[str, Source] = {}
        searched: list[Place] = []
        for place in places:
            try:
                sources |= await invoke(self.sources_at, place)
                searched.append(place)
            except _FAULTS as error:
                self._fail(place_name(place), error)
        for left_out in self._report.skipped:
            if left_out.error is not None:
                self._fail(left_out.name, left_out.error)
        return sources, searched

    def sources_at(self, place: Place) -> dict[str, Source]:
        """Return the sources at a place by name; a file keeps the name of its first ingest, as paths vary."""
        sources: dict[str, Source] = {}
        for source in [place] if isinstance(place, Source) else self.find_at(place):
            name = self._names.setdefault(absolute_name(source.name), source.name)
            if isinstance(place, Source) or source.name == place_name(place):
                self._named.add(name)
            sources[name] = source if name == source.name else copy(source)
            sources[name].name = name
        return sources

    def find_at(self, place: str | os.PathLike[str]) -> Iterator[Source]:
        """Iterate over the sources at a place, within the limits of the library, without the files of its store."""
        library, skipped = self._library, list[Skipped]()
        is_own = below_any(f"{self._store.config.storage_path}{end}" for end in ("", "-journal", "-shm", "-wal"))
        for source in find_sources(
            place,
            include=library.include,
            exclude=library.exclude,
            max_bytes=library.limits.max_bytes,
            limits=library.limits.read,
            encoding=library.encoding,
            on_skip=skipped.append,
        ):
            if source.name == place_name(place) or not is_own(absolute_name(source.name)):
                yield source
        self._report.skipped += [each for each in skipped if not is_own(absolute_name(each.name))]

    # ---- one source
    async def ingest_source(self, source: Source) -> None:
        """Read a source in a node of its own; an error of the source goes into the report."""
        with step("source"):
            for attempt in range(_TRIES):
                try:
                    if await self._read(source, is_last=attempt == _TRIES - 1):
                        return
                except _FAULTS as error:
                    self._done += 1
                    self._fail(source.name, error)
                    return

    async def _read(self, source: Source, is_last: bool) -> bool:
        """Read a source if it has changed; return False if it changed meanwhile and must be read again."""
        state, before = await invoke(source.state), self._known.get(source.name)
        end = sha256(state.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        full, empty = (recipe_of(self._library, source, has_text) for has_text in (True, False))
        if before is not None and before.fingerprint.endswith(f".{full if before.chunks else empty}.{end}"):
            return self._end(source.name, "unchanged")
        content = (await invoke(source.fingerprint))[:32]
        if before is not None and before.fingerprint.startswith(f"{content}.{full if before.chunks else empty}."):
            return self._end(source.name, "unchanged")
        item = IngestItem(source, f"{content}.{full}.{end}", before)
        try:
            await self.chunk(item)
        except _FAULTS as error:
            await self._let_go(item)
            if not self._leave_out(item, error):
                raise
        if not item.chunks:
            item.fingerprint = f"{content}.{empty}.{end}"
        if await invoke(source.state) == state:
            item.is_read = True
            self._held.append((item, []))
            return True
        await self._let_go(item)
        if is_last:
            raise UnreadableDocumentError(
                f"{source.name}: it changes while it is read; ingest it again when it is stable", source.name
            )
        return False

    def _leave_out(self, item: IngestItem, error: Exception) -> bool:
        """Leave out an image without text that was found in a folder and cannot be read, until it changes."""
        is_of_machine = isinstance(error, (OCRMissingError, DocumentNotFoundError, MissingExtraError, FetchError))
        held = item.chunks or (item.before is not None and item.before.chunks)
        if is_of_machine or held or item.source.name in self._named or not may_be_scan(item.source):
            return False
        self._report.skipped.append(Skipped(item.source.name, str(error)))
        _logger.warning("%s; it is left out until it changes", error)
        return True

    async def chunk(self, item: IngestItem) -> None:
        """Read and chunk a source; embed and stage chunks as soon as there are enough for a batch."""
        batches = partial(item.batches, self._library, _BATCH)
        async with aclosing(iterate(batches)) as source:
            async for batch in source:
                item.chunks += len(batch)
                self._held.append((item, batch))
                if sum(len(chunks) for _, chunks in self._held) >= _BATCH:
                    await self._flush_in_time(item)
                    self._emit_progress(item.source.name, "reading", item.chunks)

    async def _flush_in_time(self, item: IngestItem) -> None:
        """Embed and stage what was read of the sources before one, and then what was read of it, within its time."""
        mine, seconds = [each for each in self._held if each[0] is item], self._library.limits.seconds
        self._held = [each for each in self._held if each[0] is not item]
        await self._flush()
        self._held = mine
        try:
            with step("store") as node:
                change_scope(node, timeout=item.time_left(seconds))
                await self._flush()
        except DeadlineExceededError:
            item.check_time(seconds)
            raise
        item.check_time(seconds)

    async def _let_go(self, item: IngestItem) -> None:
        """Discard the chunks of a source that will not be published."""
        self._held = [each for each in self._held if each[0] is not item]
        if item.is_staged:
            await self._store.discard_async(item.source.name)

    # ---- into the store
    async def _flush(self) -> None:
        """Embed and stage the chunks read so far, and publish the sources that are complete."""
        held, self._held = self._held, []
        chunks = [chunk for _, some in held for chunk in some]
        vectors = await self._store.embed_chunks(chunks) if chunks else None
        start = 0
        for item, some in held:
            if some:
                rows = None if vectors is None else vectors[start : start + len(some)]
                await self._store.stage_async(some, rows)
                item.is_staged = True
                start += len(some)
            elif item.is_read:  # an entry without chunks marks its end
                await self.publish_source(item)

    async def publish_source(self, item: IngestItem) -> None:
        name = item.source.name
        try:
            await self._store.publish_async(item.record())
        except IncompleteSourceError as error:  # another process staged or published it meanwhile
            await self._store.discard_async(name)
            self._known = {record.source: record for record in await self._store.sources_async()}
            if name not in self._known or self._known[name].fingerprint != item.fingerprint:
                self._again(item.source, error)
                return
        self._report.chunks += item.chunks
        self._report.bytes += item.bytes
        self._end(name, "added" if item.before is None else "updated", item.chunks)

    def _again(self, source: Source, error: IncompleteSourceError) -> None:
        """Ingest a source again after the others, a limited number of times."""
        self._tries[source.name] = self._tries.get(source.name, 0) + 1
        if self._tries[source.name] == _TRIES:
            raise error
        self._late.append(source)

    def gone(self, places: Iterable[Place], sources: Iterable[str]) -> list[str]:
        """Return the sources below some places that are no longer found, except those below what was not searched."""
        missing = {name for name, error in self._report.failed.items() if _is_missing(error)}
        there = set(sources) - missing
        unread = [each.name for each in self._report.skipped if each.reason != IGNORED]  # known: places by themselves
        is_below, is_unknown = below_any(places), below_any([*unread, *filter(self._is_lost, missing)])
        absent = [(name, absolute_name(name)) for name in self._known if name not in there]
        return [name for name, path in absent if is_below(path) and not is_unknown(path)]

    def _is_lost(self, name: str) -> bool:
        """Tell that what is missing is no file that was deleted: it was a folder, or its folder is not there either."""
        return name not in self._known or (
            "://" not in name and not os.path.isdir(os.path.dirname(absolute_name(name)))
        )

    async def prune(self, gone: Sequence[str]) -> None:
        """Delete sources that are no longer found."""
        if gone:
            await self._store.delete_async({"source": {"$in": gone}})
        for name in gone:
            self._report.failed.pop(name, None)
            self._end(name, "dropped")

    # ---- progress
    def _end(self, name: str, outcome: Literal["added", "updated", "unchanged", "dropped"], chunks: int = 0) -> bool:
        self._report.by_outcome()[outcome].append(name)
        self._done += outcome != "dropped"
        self._emit_progress(name, outcome, chunks)
        return True

    def _fail(self, name: str, error: Exception) -> None:
        self._report.failed[name] = error
        self._emit_progress(name, "failed")

    def _emit_progress(self, name: str, outcome: Outcome, chunks: int = 0) -> None:
        emit(self._node, IngestEvent, IngestProgress(name, outcome, self._done, self._total, chunks))


def _is_missing(error: Exception) -> bool:
    """Tell that a source does not exist: there is no such file, or the server says that there is no such page."""
    return isinstance(error, DocumentNotFoundError) or (isinstance(error, FetchStatusError) and error.status in _GONE)
