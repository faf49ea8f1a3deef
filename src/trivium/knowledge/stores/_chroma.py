"""A store in a folder of Chroma."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from shutil import disk_usage, rmtree
from tempfile import mkdtemp
from typing import Any, ClassVar, Final, TypeVar, cast
from weakref import finalize

from pydantic import Field

from trivium.exceptions import (
    CollectionNotFoundError,
    MissingExtraError,
    StoreDamagedError,
    StoreError,
    StoreFullError,
    TriviumError,
)
from trivium.knowledge.embeddings import Vectors
from trivium.knowledge.stores._folder_lock import FolderLock
from trivium.knowledge.stores._kind import DAMAGED
from trivium.knowledge.stores._staging import Point, Points, StagedStore, Table
from trivium.knowledge.stores._store import VectorStoreConfig
from trivium.knowledge.stores._terms import Every, Has, Some, TermFilter

T = TypeVar("T")
_BATCH: Final = 1000
_OF_ID: Final = '["id",'  # beginning of the term of an id
_SEEN: Final = 200  # candidates in the index: more find more and take longer
_ROOM: Final = 1 << 20  # bytes: the least with which it can write
_ALONE: Final = (
    "it can be open only once: share one store object between threads and agents, or take PostgresStore or SQLiteStore "
    "for several processes"
)


class ChromaStoreConfig(VectorStoreConfig):
    """The config of a `ChromaStore`; see `VectorStoreConfig`.

    Args:
        storage_path: the folder; it is created if there is none. ":memory:": a temporary folder of the store.
    """

    store: ClassVar[str] = "trivium.knowledge.stores.ChromaStore"

    storage_path: str = Field(default=".chroma", min_length=1)


class ChromaStore(StagedStore):
    """Stores chunks in a folder of Chroma, for the threads of one process; a second process is refused.

    Telemetry is off, no model is downloaded, and the index finds almost all of the nearest vectors. Chroma cannot rank
    by words, so `full_text` gives None. A publication is one atomic write, even if the process is killed (see the page
    on stores). Equality is tested in the index; conditions on an order (`$gt` and the like, `$prefix`) are checked on
    the results. It needs the extra `chroma`.

    Args:
        config: the settings; default: the folder ".chroma" in the working directory.

    Example::

        store = ChromaStore(ChromaStoreConfig(storage_path="notes.chroma"))
        store.add_documents([Document.from_string("The rent is 950 EUR.")])
        store.similar_texts_with_scores("What do I pay?")
    """

    config: ChromaStoreConfig  # pyright: ignore[reportIncompatibleVariableOverride] - it is only read here

    def __init__(self, config: ChromaStoreConfig | None = None) -> None:
        super().__init__(config or ChromaStoreConfig())

    def create_points(self) -> Points:
        return _ChromaPoints(self.config.storage_path)


class _ChromaPoints:
    """Points in two collections of Chroma for each collection of the store."""

    local, most = True, 20  # each additional one makes it much slower

    def __init__(self, path: str) -> None:
        self._temporary = path == ":memory:"
        self._path = mkdtemp(prefix="trivium-") if self._temporary else path
        if self._temporary:
            finalize(self, rmtree, self._path, ignore_errors=True)
        self._lock = FolderLock(self._path, _ALONE)
        self._client: Any = None
        self._pid = os.getpid()
        self._of_parent: list[Any] = []

    @contextmanager
    def _used(self) -> Generator[Any]:
        """Provide the client; its errors become errors of the store."""
        if self._pid != os.getpid():  # a forked child has none of its threads
            self._of_parent.append(self._client)
            self._client, self._pid = None, os.getpid()
        self._lock.acquire()
        try:
            if self._client is None:
                self._client = _client(self._path)
            yield self._client
        except TriviumError:
            raise
        except Exception as error:
            if self._client is None:
                self._lock.release()
            failed = _failed(self._path, error)
            if failed is None:
                raise
            raise failed from error

    def _on(self, collection: str, table: Table, use: Callable[[Any], T]) -> T:
        with self._used() as client:
            return use(client.get_collection(f"{collection}.{table}", embedding_function=None))

    def names(self) -> Iterable[str]:
        with self._used() as client:
            return [
                each.name.removesuffix(".notes") for each in client.list_collections() if each.name.endswith(".notes")
            ]

    def make(self, collection: str, table: Table, dimensions: int) -> None:
        with self._used() as client:
            client.get_or_create_collection(
                f"{collection}.{table}",
                embedding_function=None,
                configuration={"hnsw": {"space": "ip", "ef_search": _SEEN, "ef_construction": _SEEN}},
            )

    def alone(self, collection: str) -> AbstractContextManager[None]:
        return nullcontext()  # the lock of the folder does it

    def drop(self, collection: str, *tables: Table) -> None:
        with self._used() as client:
            there = {each.name for each in client.list_collections()}
        for table in tables:
            if (name := f"{collection}.{table}") in there:
                self.erase(collection, table, Every())  # else Chroma leaves their terms, and later points get them
                with self._used() as client:
                    client.delete_collection(name)

    def put(self, collection: str, table: Table, points: Sequence[Point], vectors: Vectors | None) -> None:
        def use(kept: Any) -> None:
            for start in range(0, len(points), _BATCH):
                some = points[start : start + _BATCH]
                rows = [[1.0]] * len(some) if vectors is None else vectors[start : start + _BATCH].tolist()
                kept.upsert(
                    ids=[each.key for each in some],
                    embeddings=rows,
                    documents=[each.content for each in some],
                    metadatas=[_data(each) for each in some],
                )

        self._on(collection, table, use)

    def get(self, collection: str, table: Table, keys: Sequence[str]) -> list[Point]:
        return self._on(collection, table, lambda kept: _points(kept.get(ids=[*keys])))

    def find(self, collection: str, table: Table, condition: TermFilter) -> Iterable[Point]:
        return self._on(collection, table, lambda kept: _points(kept.get(where=_where(condition))))

    def count(self, collection: str, condition: TermFilter) -> int:
        where = _where(condition)
        return self._on(
            collection,
            "chunks",
            lambda kept: kept.count() if where is None else len(kept.get(where=where, include=[])["ids"]),
        )

    def erase(self, collection: str, table: Table, condition: TermFilter | Sequence[str]) -> None:
        def use(kept: Any) -> None:
            if isinstance(condition, Has | Every | Some):
                keys = cast("list[str]", kept.get(where=_where(condition), include=[])["ids"])
            else:
                keys = [*condition]
            for start in range(0, len(keys), _BATCH):
                kept.delete(ids=keys[start : start + _BATCH])

        self._on(collection, table, use)

    def nearest(self, collection: str, vector: Vectors, condition: TermFilter, limit: int) -> list[Point]:
        def use(kept: Any) -> list[Point]:
            count = kept.count()
            if not count:
                return []
            found = kept.query(
                query_embeddings=[vector.tolist()],
                n_results=min(limit, count),
                where=_where(condition),
                include=["documents", "metadatas", "distances"],
            )
            rows = {name: found[name][0] for name in ("ids", "documents", "metadatas")}
            return [
                point._replace(score=1.0 - away)
                for point, away in zip(_points(rows), found["distances"][0], strict=True)
            ]

        return self._on(collection, "chunks", use)

    def close(self) -> None:
        client, self._client = self._client, None
        if client is not None and self._pid == os.getpid():
            with suppress(Exception):
                client.close()
            self._lock.release()
            if self._temporary:
                rmtree(self._path, ignore_errors=True)


def _client(path: str) -> Any:
    try:
        import chromadb
        from chromadb.config import Settings
    except ImportError:
        raise MissingExtraError("chromadb", "chroma") from None
    return chromadb.PersistentClient(path, Settings(anonymized_telemetry=False))


def _points(rows: Any) -> list[Point]:
    columns = zip(rows["ids"], rows["documents"], rows["metadatas"], strict=True)
    return [Point(key, data.get("terms") or (), text or "", data["metadata"]) for key, text, data in columns]


def _data(point: Point) -> dict[str, Any]:
    """Return the metadata in Chroma; the term of an id has its own field, for conditions with lists of ids."""
    ids = [each for each in point.terms if each.startswith(_OF_ID)]
    terms = {"terms": [*point.terms]} if point.terms else {}  # an empty list is refused
    return {"metadata": point.metadata, "id": ids[0] if ids else "", **terms}


def _where(condition: TermFilter) -> dict[str, Any] | None:
    """Compile a condition for Chroma; None holds for everything."""
    if isinstance(condition, Has):
        return {"terms": {"$contains" if condition.there else "$not_contains": condition.term}}
    every = isinstance(condition, Every)
    ids = [] if every else [each.term for each in condition.of if isinstance(each, Has) and _is_id(each)]
    parts = [_where(each) for each in condition.of if not (ids and isinstance(each, Has) and _is_id(each))]
    if ids:
        parts.append({"id": {"$in": ids}})
    if every:
        parts = [each for each in parts if each is not None]
        if not parts:
            return None
    elif None in parts:
        return None
    if not parts:
        return {"terms": {"$contains": "!"}}  # no term is this
    return parts[0] if len(parts) == 1 else {"$and" if every else "$or": parts}


def _is_id(condition: Has) -> bool:
    return condition.there and condition.term.startswith(_OF_ID)


def _is_full(path: str) -> bool:
    """Tell that there is no room on the disk of a folder: Chroma says only what it could not do."""
    return os.path.isdir(path) and disk_usage(path).free < _ROOM


def _failed(path: str, error: Exception) -> StoreError | None:
    """Return the error of the store for one of Chroma; None for any other error."""
    from chromadb.errors import ChromaError, NotFoundError

    said = f"the store {path} cannot be used ({str(error).partition(chr(10))[0][:300]}): "
    if isinstance(error, NotFoundError):
        return CollectionNotFoundError(f"{said}the collection was deleted: the next use creates it again", path)
    if "disk is full" in said or "No space left" in said or _is_full(path):
        return StoreFullError(f"{said}make room on its disk; sources published before are complete", path)
    if isinstance(error, OSError) or "unable to open database" in said or "readonly database" in said:
        return StoreError(f"{said}give a folder that can be written", path)
    if isinstance(error, ChromaError | RuntimeError | ValueError):
        return StoreDamagedError(f"{said}{DAMAGED}", path)
    return None
