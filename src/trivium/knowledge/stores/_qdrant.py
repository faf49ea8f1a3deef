"""A store in Qdrant: its server, or a folder of its local mode."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from errno import ENOSPC
from logging import getLogger
from threading import Lock
from time import monotonic
from typing import Any, ClassVar, Final, NamedTuple, TypeVar
from urllib.parse import urlsplit
from uuid import uuid4

from pydantic import Field

from trivium.exceptions import (
    CollectionNotFoundError,
    ConfigurationError,
    MissingExtraError,
    StoreBusyError,
    StoreConnectionError,
    StoreDamagedError,
    StoreError,
    StoreFullError,
    TriviumError,
)
from trivium.knowledge.embeddings import Vectors
from trivium.knowledge.stores._folder_lock import FolderLock
from trivium.knowledge.stores._kind import DAMAGED
from trivium.knowledge.stores._qdrant_turn import Turn
from trivium.knowledge.stores._staging import Point, Points, StagedStore, Table
from trivium.knowledge.stores._store import VectorStoreConfig
from trivium.knowledge.stores._terms import Every, Has, TermFilter

T = TypeVar("T")
_logger = getLogger("trivium.knowledge")
_PAGE: Final = 500
_BATCH: Final = 200
_SILENT: Final = 2  # timeouts of a request after which a writer that changes nothing is taken for dead
_RENEWED: Final = 0.25  # timeouts of a request after which a writer shows that it is alive
_ALONE: Final = (
    "it can be open only once: share one store object between threads and agents, or run a Qdrant server and give its "
    "url"
)
_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")


class QdrantStoreConfig(VectorStoreConfig):
    """The config of a `QdrantStore`; see `VectorStoreConfig`.

    Args:
        url: address of a server, as "https://db.example.org:6333"; "": local mode. It may hold a password, so it is
            left out of `repr` and of dumps.
        api_key: key for the server, left out of `repr` and of dumps; without TLS it is sent to this machine only.
        timeout: seconds that the server may take for an answer.
        storage_path: the folder of local mode; ":memory:": nothing is saved.
    """

    store: ClassVar[str] = "trivium.knowledge.stores.QdrantStore"

    url: str = Field(default="", repr=False, exclude=True)
    api_key: str = Field(default="", repr=False, exclude=True)
    timeout: int = Field(default=30, ge=1)
    storage_path: str = Field(default=".qdrant", min_length=1)


class QdrantStore(StagedStore):
    """Stores chunks on a Qdrant server, for any number of threads and processes, or in a folder of its local mode.

    Qdrant's local mode is written in Python and meant for trials: a folder serves the threads of one process, a second
    process is refused, each chunk is a write to the disk, and its files are pickles: never open those of strangers. On
    a server, of version 1.16 or later, one store writes a collection at a time, and the others wait for it. A
    publication is one atomic write, even if the process is killed (see the page on stores). It cannot rank by words, so
    `full_text` gives None. Equality is tested in the index; conditions on an order (`$gt` and the like, `$prefix`) are
    checked on the results. It needs the extra `qdrant`.

    Args:
        config: the settings; default: the folder ".qdrant" in the working directory.

    Example::

        store = QdrantStore(QdrantStoreConfig(url="http://localhost:6333"))
        store.add_documents([Document.from_string("The rent is 950 EUR.")])
        store.similar_texts_with_scores("What do I pay?")
    """

    config: QdrantStoreConfig  # pyright: ignore[reportIncompatibleVariableOverride] - it is only read here

    def __init__(self, config: QdrantStoreConfig | None = None) -> None:
        super().__init__(config or QdrantStoreConfig())

    def __repr__(self) -> str:
        return f"QdrantStore({_place(self.config)!r}, collection={self.collection_name!r})"

    def create_points(self) -> Points:
        return _QdrantPoints(self.config)


class _Has(NamedTuple):
    """A turn that a thread has, with the table it is for and the time when it was taken or renewed."""

    notes: str
    turn: Turn
    since: float


class _QdrantPoints:
    """Points in two collections of Qdrant for each collection of the store."""

    most = 1000

    def __init__(self, config: QdrantStoreConfig) -> None:
        self._config, self._place, self.local = config, _place(config), not config.url
        on_disk = self.local and config.storage_path != ":memory:"
        self._lock = FolderLock(config.storage_path, _ALONE) if on_disk else None
        self._client: Any = None
        self._holder = uuid4().hex
        self._guard, self._users = Lock(), dict[int, int]()
        self._turn: ContextVar[_Has | None] = ContextVar("trivium_store_turn", default=None)  # of the thread
        self._pid = os.getpid()
        self._of_parent: list[Any] = []

    @contextmanager
    def _used(self) -> Generator[Any]:
        """Provide the client; its errors become errors of the store."""
        if self._pid != os.getpid():  # a forked child must not share connections
            self._of_parent.append(self._client)
            self._client, self._pid = None, os.getpid()
            self._guard, self._users = Lock(), {}
        if self._lock is not None:
            self._lock.acquire()
        try:
            with self._guard:
                if self._client is None:
                    self._client = _client(self._config)
                client = self._client
                self._users[id(client)] = self._users.get(id(client), 0) + 1
            try:
                self._renew(client)
                yield client
            finally:
                self._left(client)
        except TriviumError:
            raise
        except Exception as error:
            if self._client is None and self._lock is not None:
                self._lock.release()
            failed = _failed(self._place, error)
            if failed is None:
                raise
            raise failed from error

    def names(self) -> Iterable[str]:
        with self._used() as client:
            return [each.removesuffix(".notes") for each in _tables(client) if each.endswith(".notes")]

    def make(self, collection: str, table: Table, dimensions: int) -> None:
        from qdrant_client import models

        none: Any = {}
        vectors: Any = models.VectorParams(size=dimensions, distance=models.Distance.DOT) if dimensions else none
        with self._used() as client:
            name = f"{collection}.{table}"
            if name not in _tables(client):
                _create(client, name, vectors)
            if not self.local:  # in local mode it has no effect and warns
                client.create_payload_index(name, "terms", models.PayloadSchemaType.KEYWORD)

    @contextmanager
    def alone(self, collection: str) -> Generator[None]:
        if self.local:  # the lock of the folder does it
            yield
            return
        notes = f"{collection}.notes"
        with self._used() as client:
            holder, silent = f"{self._holder}.{os.getpid()}", _SILENT * self._config.timeout
            turn = Turn.taken(client, notes, holder, silent, self._place)
        taken = _Has(notes, turn, monotonic())
        before = self._turn.set(taken)
        try:
            yield
        finally:
            turn = (self._turn.get() or taken).turn
            self._turn.reset(before)
            try:
                with self._used() as client:
                    turn.end(client, notes)
            except StoreError as error:  # it must not hide how the write itself ended
                _logger.warning("a turn to write was not given back, so others wait for %d seconds: %s", silent, error)

    def _renew(self, client: Any) -> None:
        """Show the others that the writer is alive, if this thread is one."""
        has = self._turn.get()
        if has is not None and monotonic() - has.since >= _RENEWED * self._config.timeout:
            turn = has.turn.renewed(client, has.notes, self._place)
            self._turn.set(_Has(has.notes, turn, monotonic()))

    def drop(self, collection: str, *tables: Table) -> None:
        with self._used() as client:
            there = _tables(client)
            for name in (f"{collection}.{table}" for table in tables):
                if name not in there:
                    continue
                if self.local:  # where its file is deleted Qdrant leaves it open, and Windows then keeps it
                    client._client.collections[name].close()
                client.delete_collection(name)

    def put(self, collection: str, table: Table, points: Sequence[Point], vectors: Vectors | None) -> None:
        from qdrant_client import models

        rows: list[Any] = [{}] * len(points) if vectors is None else vectors.tolist()
        made = [
            models.PointStruct(
                id=each.key,
                vector=row,
                payload={"terms": [*each.terms], "content": each.content, "metadata": each.metadata},
            )
            for each, row in zip(points, rows, strict=True)
        ]
        with self._used() as client:
            for start in range(0, len(made), _BATCH):
                self._renew(client)
                client.upsert(f"{collection}.{table}", made[start : start + _BATCH], wait=True)

    def get(self, collection: str, table: Table, keys: Sequence[str]) -> list[Point]:
        with self._used() as client:
            return [_point(each) for each in client.retrieve(f"{collection}.{table}", [*keys], with_payload=True)]

    def find(self, collection: str, table: Table, condition: TermFilter) -> Iterable[Point]:
        made, offset = list[Point](), None
        with self._used() as client:
            while True:
                self._renew(client)
                rows, offset = client.scroll(
                    f"{collection}.{table}", scroll_filter=_filter(condition), limit=_PAGE, offset=offset
                )
                made += map(_point, rows)
                if offset is None:
                    return made

    def count(self, collection: str, condition: TermFilter) -> int:
        with self._used() as client:
            return client.count(f"{collection}.chunks", count_filter=_filter(condition), exact=True).count

    def erase(self, collection: str, table: Table, condition: TermFilter | Sequence[str]) -> None:
        from qdrant_client import models

        if isinstance(condition, TermFilter):
            selector: Any = models.FilterSelector(filter=_filter(condition))
        elif condition:
            selector = models.PointIdsList(points=[*condition])
        else:
            return
        with self._used() as client:
            client.delete(f"{collection}.{table}", points_selector=selector, wait=True)

    def nearest(self, collection: str, vector: Vectors, condition: TermFilter, limit: int) -> list[Point]:
        with self._used() as client:
            found = client.query_points(
                f"{collection}.chunks", query=vector.tolist(), query_filter=_filter(condition), limit=limit
            )
            return [_point(each)._replace(score=each.score) for each in found.points]

    def _left(self, client: Any) -> None:
        """Count one user less; the last one closes a client that the store has released."""
        with self._guard:
            self._users[id(client)] -= 1
            last = not self._users[id(client)]
            if last:
                del self._users[id(client)]
        if last and client is not self._client:
            with suppress(Exception):
                client.close()

    def close(self) -> None:
        with self._guard:
            client, self._client = self._client, None
            idle = id(client) not in self._users
        if client is not None and self._pid == os.getpid():
            if idle:
                with suppress(Exception):
                    client.close()
            if self._lock is not None:  # then one thread at a time comes here
                self._lock.release()


def _client(config: QdrantStoreConfig) -> Any:
    try:
        from qdrant_client import QdrantClient
    except ImportError:
        raise MissingExtraError("qdrant-client", "qdrant") from None
    if not config.url:
        if config.storage_path == ":memory:":
            return QdrantClient(":memory:")
        # The threads of a store take turns; to find out whether they must, Qdrant leaves a connection open.
        return QdrantClient(path=config.storage_path, force_disable_check_same_thread=True)
    headers = {"api-key": config.api_key} if config.api_key else None
    return QdrantClient(url=config.url, headers=headers, timeout=config.timeout, check_compatibility=False)


def _tables(client: Any) -> set[str]:
    return {each.name for each in client.get_collections().collections}


def _create(client: Any, name: str, vectors: Any) -> None:
    """Create a table, unless another process has just done so."""
    from qdrant_client.http.exceptions import UnexpectedResponse

    try:
        client.create_collection(name, vectors_config=vectors)
    except (UnexpectedResponse, ValueError):  # the latter in local mode
        if name not in _tables(client):
            raise


def _place(config: QdrantStoreConfig) -> str:
    """Return the address of the server without password, or the folder."""
    if not config.url:
        return config.storage_path
    parts = urlsplit(config.url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigurationError("the url of a QdrantStoreConfig begins with http:// or https:// and has a host")
    if config.api_key and parts.scheme == "http" and parts.hostname not in _LOOPBACK:
        raise ConfigurationError(f"the api_key would go to {parts.hostname} in plain text: give an https:// url")
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _point(row: Any) -> Point:
    payload: dict[str, Any] = row.payload or {}
    return Point(str(row.id), payload.get("terms") or (), payload.get("content", ""), payload.get("metadata", "{}"))


def _filter(condition: TermFilter) -> Any:
    """Compile a condition for Qdrant."""
    from qdrant_client import models

    if isinstance(condition, Has):
        there: Any = [models.FieldCondition(key="terms", match=models.MatchValue(value=condition.term))]
        return models.Filter(must=there) if condition.there else models.Filter(must_not=there)
    if isinstance(condition, Every):
        return models.Filter(must=[_filter(each) for each in condition.of])
    if not condition.of:
        return models.Filter(must=[models.HasIdCondition(has_id=[])])
    texts = [each.term for each in condition.of if isinstance(each, Has) and each.there]
    parts: list[Any] = [_filter(each) for each in condition.of if not (isinstance(each, Has) and each.there)]
    if texts:
        parts.append(models.FieldCondition(key="terms", match=models.MatchAny(any=texts)))
    return models.Filter(should=parts)


def _failed(place: str, error: Exception) -> StoreError | None:
    """Return the error of the store for one of Qdrant; None for any other error."""
    import sqlite3

    from httpx import TimeoutException, TransportError
    from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
    from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

    if isinstance(error, ResponseHandlingException):
        error = error.source
    said = f"the store {place} cannot be used ({str(error).partition(chr(10))[0][:300] or type(error).__name__}): "
    kinds: list[tuple[bool, Callable[..., StoreError], str]] = []
    if isinstance(error, UnexpectedResponse):
        status = error.status_code or 0
        body = error.content[:300].decode("utf-8", "replace")
        kinds = [
            (status == 404, CollectionNotFoundError, "the collection was deleted: the next use creates it again"),
            (status in (401, 403), StoreError, "check its api_key"),
            (status == 507 or "No space left" in body, StoreFullError, "make room on its disk"),
            (status in (408, 429, 502, 503, 504), StoreBusyError, "it is overloaded: try again"),
            (True, StoreError, f"it says {body!r}"),
        ]
    elif isinstance(error, ResourceExhaustedResponse):
        kinds = [(True, StoreBusyError, f"it is overloaded: try again in {error.retry_after_s} seconds")]
    elif isinstance(error, TimeoutException):
        kinds = [(True, StoreBusyError, "it takes too long: try again, or give it a longer timeout")]
    elif isinstance(error, TransportError):
        kinds = [(True, StoreConnectionError, "see that it runs and is reached; the next use connects anew")]
    elif isinstance(error, OSError | sqlite3.Error):  # of a folder
        full = getattr(error, "errno", 0) == ENOSPC or getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_FULL
        kinds = [
            (full, StoreFullError, "make room on its disk"),
            (True, StoreError, "give a folder that can be written"),
        ]
    elif isinstance(error, RuntimeError) and "already accessed" in str(error):
        kinds = [(True, StoreBusyError, f"something else has it open: {_ALONE}")]
    elif isinstance(error, ValueError) and "not found" in str(error):
        kinds = [(True, CollectionNotFoundError, "the collection was deleted: the next use creates it again")]
    elif isinstance(error, ValueError | RuntimeError | KeyError | EOFError | sqlite3.DatabaseError):
        kinds = [(True, StoreDamagedError, DAMAGED)]
    return next((kind(f"{said}{advice}", place) for fits, kind, advice in kinds if fits), None)
