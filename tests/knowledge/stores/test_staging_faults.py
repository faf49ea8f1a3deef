"""Stores without transactions: whoever is killed at whichever step, a source is whole, the old or the new one."""

# The points below a staged store are replaced by failing ones.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest

from knowledge.stores._extra_kinds import EXTRA_KINDS, QDRANT_SERVER
from knowledge.stores._kinds import Kind, Words, chunks_of, opened, serve, texts_of
from trivium.exceptions import StoreBusyError
from trivium.knowledge import Chunk, SourceRecord, VectorStore, VectorStoreConfig
from trivium.knowledge.stores import QdrantStore, QdrantStoreConfig
from trivium.knowledge.stores._staging import Points, StagedStore

WRITES = ("put", "erase")


class KilledError(BaseException):
    """As if the process ended here."""


class Dying:
    """Points that end the process before, or half through, the write of a number."""

    def __init__(self, points: Points, at: int, half: bool) -> None:
        self._points, self._left, self._half = points, at, half
        self.writes = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._points, name)

    def put(self, collection: str, table: Any, points: Any, vectors: Any) -> None:
        if self._dies():
            some = len(points) // 2 if self._half else 0
            if some:
                self._points.put(collection, table, points[:some], None if vectors is None else vectors[:some])
            raise KilledError
        self._points.put(collection, table, points, vectors)

    def erase(self, collection: str, table: Any, condition: Any) -> None:
        if self._dies():
            if self._half and table == "chunks":
                doomed = [each.key for each in self._points.find(collection, table, condition)]
                self._points.erase(collection, table, doomed[: len(doomed) // 2])
            raise KilledError
        self._points.erase(collection, table, condition)

    def _dies(self) -> bool:
        self._left -= 1
        self.writes += 1
        return self._left < 0


@contextmanager
def dying(store: VectorStore, at: int, half: bool) -> Generator[Dying]:
    assert isinstance(store, StagedStore)
    real = store._points
    store._points = made = Dying(real, at, half)  # type: ignore[assignment]
    try:
        yield made
    except KilledError:
        pass
    finally:
        store._points = real


STAGED = [kind for kind in EXTRA_KINDS if kind.name in ("chroma", "qdrant")]


@pytest.fixture(params=STAGED, ids=lambda kind: kind.name)
def kind(request: pytest.FixtureRequest) -> Kind:
    return request.param


def replace(store: VectorStore) -> None:
    store.stage(chunks_of("a", "new 0", "new 1", fingerprint="2"))
    store.stage([Chunk.of("new 2", source="a", fingerprint="2", position=2)])
    store.publish(SourceRecord("a", "2", 3))


OLD, NEW = [f"old {at}" for at in range(4)], [f"new {at}" for at in range(3)]


@pytest.mark.parametrize("half", [False, True], ids=["before", "half through"])
def test_a_source_is_whole_whoever_is_killed_at_whichever_write(
    store: VectorStore, config: VectorStoreConfig, half: bool
) -> None:
    serve(store, "other", "other 0")
    seen: list[list[str]] = []
    for at in range(99):
        serve(store, "a", *OLD)
        with dying(store, at, half) as counted:
            replace(store)
        done = counted.writes <= at
        store.close()
        with opened(config) as after:
            served = texts_of(after, {"source": "a"})
            hits = after.nearest(Words().embed(["new old"], "query")[0], 99, {"source": "a"})
            assert sorted(hit.chunk.content for hit in hits) == sorted(served)
            assert after.count() == len(served) + 1
            assert [record.chunks for record in after.sources()] == [len(served), 1]
            seen.append(served)
            replace(after)  # what is left over does no harm
            assert texts_of(after) == [*NEW, "other 0"]
            hidden = after._points.count(after.collection_name, _everything()) - after.count()  # type: ignore[attr-defined]
            assert hidden == 0
        if done:
            break
    assert seen[0] == OLD
    assert seen[-1] == NEW
    assert all(each in (OLD, NEW) for each in seen)
    assert [each == NEW for each in seen] == sorted(each == NEW for each in seen)  # and it changes once


@pytest.mark.parametrize("kind", [*STAGED, QDRANT_SERVER], ids=lambda kind: kind.name)
@pytest.mark.parametrize("at", [0, 2], ids=["before", "half through"])
@pytest.mark.parametrize("embedding", [Words(), Words("words-2", 32), None], ids=["same", "other dimensions", "none"])
def test_a_deletion_that_stops_halfway_brings_nothing_back(
    config: VectorStoreConfig, at: int, embedding: Words | None
) -> None:
    for before, after in ((config.embedding, embedding), (embedding, config.embedding)):
        with opened(config, embedding=before) as store:
            serve(store, "a", *OLD)
            assert isinstance(store, StagedStore)
            store._points.drop(store.collection_name, "notes")
        with opened(config, embedding=after) as store, dying(store, at, half=False):
            store.count()  # it is killed again, while it creates the collection
        with opened(config, embedding=after) as store:
            assert texts_of(store) == []
            assert store.sources() == []
            serve(store, "b", *NEW)
            assert texts_of(store) == NEW
            store.delete_collection(store.collection_name)


def _everything() -> Any:
    from trivium.knowledge.stores._terms import Every

    return Every()


def test_a_folder_serves_one_store_at_a_time(store: VectorStore, config: VectorStoreConfig) -> None:
    serve(store, "a", "one")
    with pytest.raises(StoreBusyError, match="only once"):
        opened(config).count()
    store.close()
    with opened(config) as other:
        assert other.count() == 1
        with pytest.raises(StoreBusyError):
            store.count()
    assert store.count() == 1


def test_qdrant_in_memory_keeps_nothing() -> None:
    with QdrantStore(QdrantStoreConfig(storage_path=":memory:", embedding=Words())) as store:
        serve(store, "a", "one")
        assert texts_of(store) == ["one"]
        store.close()
        assert texts_of(store) == []
