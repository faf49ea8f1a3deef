"""The store in an SQLite file: its faults, its file, and that it finds the nearest exactly and without delay."""

# These tests fill and lock the database below the store.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import os
import random
import resource
import sqlite3
import stat
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import numpy
import pytest
from pydantic import ValidationError

from _disks import read_only
from knowledge.stores._kinds import Words, chunks_of, serve, texts_of
from trivium.exceptions import (
    StoreBusyError,
    StoreDamagedError,
    StoreError,
    StoreFullError,
    StoreVersionError,
)
from trivium.knowledge import Chunk, SourceRecord, SQLiteStore, SQLiteStoreConfig, VectorStore, VectorStoreConfig
from trivium.knowledge.stores import _sqlite_matrix


def store_at(path: Path | str, **options: Any) -> SQLiteStore:
    return SQLiteStore(SQLiteStoreConfig(storage_path=str(path), embedding=Words(), **options))


def filled(path: Path) -> SQLiteStore:
    store = store_at(path)
    for at in range(20):
        serve(store, f"source {at}", *[f"text {at} {i} of some length, for a page to be full" for i in range(20)])
    return store


def use(store: VectorStore) -> None:
    """All that a store does."""
    texts_of(store)
    store.nearest(Words().embed(["text"])[0], 500)
    store.full_text("text page length", 500)
    store.sources()
    serve(store, "new", "one", "two")
    store.delete(source="source 3")


# ---- what is deleted
def left_of(word: bytes, path: Path) -> bool:
    return any(word in each.read_bytes().lower() for each in path.parent.glob(f"{path.name}*"))


@pytest.mark.parametrize("is_collection", [False, True])
def test_what_is_deleted_leaves_the_file(tmp_path: Path, is_collection: bool) -> None:
    path = tmp_path / "a.db"
    store = filled(path)
    serve(store, "a", "about zebras", note="zebra")
    assert left_of(b"zebra", path)
    if is_collection:
        store.delete_collection(store.collection_name)
    else:
        store.delete(source="a")
    assert not left_of(b"zebra", path)


def test_a_file_shrinks_when_most_of_it_is_deleted(tmp_path: Path) -> None:
    store = store_at(tmp_path / "a.db")
    serve(store, "kept", "about zebras")
    serve(store, "long", *[f"{number} " * 1000 for number in range(1000)])
    before = (tmp_path / "a.db").stat().st_size
    assert [hit.chunk.content for hit in store.nearest(Words().embed(["zebras"])[0], 1)] == ["about zebras"]
    assert store.delete(source="long") == 1000
    assert (tmp_path / "a.db").stat().st_size < before / 10
    assert [hit.chunk.content for hit in store.full_text("zebras", 1) or ()] == ["about zebras"]
    assert [hit.chunk.content for hit in store.nearest(Words().embed(["zebras"])[0], 1)] == ["about zebras"]


def test_a_store_lasts_however_many_are_deleted_one_by_one(tmp_path: Path) -> None:
    config = SQLiteStoreConfig(storage_path=str(tmp_path / "a.db"), embedding=None)
    store = SQLiteStore(config)
    store.add_documents([Chunk.of("Lieferschein fuer Otto", source="kept")])
    store.add_documents([Chunk.of(f"Lieferschein zebra{i}", source=f"{i}") for i in range(2500)])
    for at in range(2500):
        if at % 100 == 0:
            store.close()
            store = SQLiteStore(config)
        assert store.delete(source=f"{at}") == 1
    assert [hit.chunk.metadata.source for hit in store.full_text("Lieferschein", 9) or ()] == ["kept"]
    assert not left_of(b"zebra", tmp_path / "a.db")


@pytest.mark.parametrize("times", [990, 1100])  # below, and where SQLite allows, beyond what can be read
@pytest.mark.parametrize("is_dropped", [False, True])
def test_an_index_of_words_that_deletions_wore_out_is_made_anew(tmp_path: Path, times: int, is_dropped: bool) -> None:
    config = SQLiteStoreConfig(storage_path=str(tmp_path / "a.db"), embedding=None)
    store = SQLiteStore(config)
    store.add_documents([Chunk.of(f"Lieferschein {i} fuer Otto Rehm", source=f"{i}") for i in range(20)])
    store.close()
    with closing(sqlite3.connect(tmp_path / "a.db", isolation_level=None)) as database, suppress(sqlite3.DatabaseError):
        words = [(100 + at, f"word{at}") for at in range(2 * times)]
        database.execute("BEGIN")
        database.executemany("INSERT INTO word_1 (rowid, stems) VALUES (?, ?)", words)
        database.execute("COMMIT")
        for at in range(times):
            database.execute("DELETE FROM word_1 WHERE rowid = ?", (100 + at,))
            database.execute("INSERT INTO word_1 (word_1) VALUES ('optimize')")
    if is_dropped:
        store.delete_collection(store.collection_name)
        assert store.count() == 0
        return
    assert [hit.chunk.metadata.source for hit in store.full_text("Lieferschein 7", 1) or ()] == ["7"]
    assert [store.delete(source=f"{i}") for i in range(20)] == [1] * 20
    serve(store, "new", "Lieferschein")
    assert len(store.full_text("Lieferschein", 30) or ()) == 1


def test_who_reads_meanwhile_is_not_waited_for_and_the_next_time_it_leaves_the_log(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    store = filled(path)
    serve(store, "a", "about zebras")
    scan = store.scan()
    next(scan)
    began = time.monotonic()
    assert store.delete(source="a") == 1
    assert time.monotonic() - began < 5
    assert sum(1 for _ in scan) == 400  # what it began to read is there until it has ended
    store.delete(source="nowhere")
    assert not left_of(b"zebra", path)


# ---- what it is made of
def test_a_plain_config_is_a_store_in_memory() -> None:
    store = VectorStore.create(VectorStoreConfig(embedding=Words()))
    assert isinstance(store, SQLiteStore)
    serve(store, "a", "one", "two")
    for chunk in store.scan():  # others may be asked in between
        assert store.get_documents_by_ids([chunk.metadata.id]) == [chunk]
    store.close()
    assert store.count() == 0
    made = VectorStore.create({"type": "trivium.knowledge.SQLiteStoreConfig", "embedding": Words()})
    assert isinstance(made, SQLiteStore)
    assert VectorStore.create(None) is None


def test_the_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    store = store_at(tmp_path / "deep" / "store.db")
    serve(store, "a", "secret")
    assert stat.S_IMODE((tmp_path / "deep" / "store.db").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "deep" / "store.db-wal").stat().st_mode) == 0o600
    assert repr(store) == f"SQLiteStore('{tmp_path}/deep/store.db', collection='trivium')"


@pytest.mark.parametrize("seconds", [0, -1])
def test_a_time_to_wait_that_is_none_is_reported(seconds: float) -> None:
    with pytest.raises(ValidationError, match="busy_seconds"):
        SQLiteStore(SQLiteStoreConfig(busy_seconds=seconds))


# ---- faults
def test_who_waits_too_long_for_a_writer_is_reported(tmp_path: Path) -> None:
    store = store_at(tmp_path / "store.db", busy_seconds=0.05)
    serve(store, "a", "one")
    other = sqlite3.connect(tmp_path / "store.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreBusyError, match="busy_seconds") as caught:
        serve(store, "a", "two", fingerprint="2")
    assert caught.value.store == str(tmp_path / "store.db")
    assert texts_of(store) == ["one"]  # to read nobody waits
    other.execute("ROLLBACK")
    other.close()
    serve(store, "a", "two", fingerprint="2")
    assert texts_of(store) == ["two"]


def test_a_full_disk_leaves_what_was_published(tmp_path: Path) -> None:
    store = store_at(tmp_path / "store.db")
    serve(store, "a", "one")
    with store._database() as database:
        pages = database.execute("PRAGMA page_count").fetchone()[0]
        database.execute(f"PRAGMA max_page_count = {pages + 3}")
    big = [f"{at} " + "many words " * 500 for at in range(50)]
    with pytest.raises(StoreFullError, match="room"):
        serve(store, "b", *big)
    assert texts_of(store) == ["one"]
    assert store.unique_sources() == ["a"]
    store.close()  # a new connection has no such limit
    serve(store, "b", *big)
    assert store.count() == 51


def test_who_may_only_read_a_store_searches_it_and_sees_what_others_write(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    with read_only(tmp_path / "shared", tmp_path / "seen") as seen:
        for text in ("one", "two"):
            with store_at(tmp_path / "shared" / "store.db") as writer:
                serve(writer, text, text)
        reader = store_at(seen / "store.db")
        assert texts_of(reader) == ["one", "two"]
        with store_at(tmp_path / "shared" / "store.db") as writer:
            serve(writer, "three", "three")
        assert [hit.chunk.content for hit in reader.full_text("three") or []] == ["three"]
        with pytest.raises(StoreError, match="readonly"):
            serve(reader, "four", "four")


def test_a_file_that_may_not_grow_leaves_what_was_published(tmp_path: Path) -> None:
    store = store_at(tmp_path / "store.db")
    serve(store, "a", "one")
    store.close()
    size, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, ((tmp_path / "store.db").stat().st_size + 40_000, hard))
    try:
        with pytest.raises(StoreError):
            serve(store, "b", *[f"{at} " + "many words " * 500 for at in range(50)])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    assert texts_of(store) == ["one"]
    serve(store, "b", "two")
    assert texts_of(store) == ["one", "two"]


@pytest.mark.parametrize("content", [b"This is a text.\n" * 300, b"\0" * 5000, b"SQLite format 3\0" + b"\x13" * 5000])
def test_a_file_that_is_no_store_is_reported_and_kept(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "store.db").write_bytes(content)
    store = store_at(tmp_path / "store.db")
    for _ in range(2):
        with pytest.raises(StoreDamagedError) as caught:
            store.count()
        assert caught.value.store == str(tmp_path / "store.db")
    assert (tmp_path / "store.db").read_bytes() == content
    (tmp_path / "store.db").unlink()
    assert store.count() == 0


def test_a_database_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "store.db") as other:
        other.execute("CREATE TABLE collection (name TEXT)")
    other.close()
    with pytest.raises(StoreDamagedError, match="not a vector store"):
        store_at(tmp_path / "store.db").add_documents(chunks_of("a", "one"))


@pytest.mark.parametrize("statement", range(5))
def test_a_store_that_another_process_creates_meanwhile_is_opened(tmp_path: Path, statement: int) -> None:
    statements = iter(range(99))

    def create(_: str) -> None:
        if next(statements) == statement:
            store_at(tmp_path / "store.db").count()

    with closing(sqlite3.connect(tmp_path / "store.db", isolation_level=None)) as database:
        database.set_trace_callback(create)
        store_at(tmp_path / "store.db")._prepare(database)


def test_a_store_of_a_newer_trivium_is_left_alone(tmp_path: Path) -> None:
    store = store_at(tmp_path / "store.db")
    serve(store, "a", "one")
    store.close()
    with sqlite3.connect(tmp_path / "store.db") as other:
        other.execute("PRAGMA user_version = 7")
    other.close()
    with pytest.raises(StoreVersionError, match="upgrade") as caught:
        store.count()
    assert caught.value.version == 7


@pytest.mark.parametrize("seed", range(12))
def test_a_damaged_file_gives_typed_errors_alone(tmp_path: Path, seed: int) -> None:
    filled(tmp_path / "store.db").close()
    chance = random.Random(seed)
    data = bytearray((tmp_path / "store.db").read_bytes())
    if seed % 3 == 0:
        del data[chance.randrange(100, len(data)) :]
    else:
        for _ in range(chance.choice([1, 20, 400])):
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    (tmp_path / "store.db").write_bytes(data)
    store = store_at(tmp_path / "store.db")
    for _ in range(2):
        try:
            use(store)
        except StoreError as error:
            assert str(tmp_path) in error.store  # noqa: PT017 - a letter of a text may be another one
    store.close()
    (tmp_path / "store.db").unlink()
    for rest in ("store.db-wal", "store.db-shm"):
        (tmp_path / rest).unlink(missing_ok=True)
    use(store)


def test_a_folder_in_its_place_is_reported(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="give a file"):
        store_at(tmp_path).count()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may make a file that not even root can write")
def test_a_file_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    store = filled(tmp_path / "store.db")
    store.close()
    with store._place.use() as database:
        database.execute("PRAGMA query_only = 1")
    with pytest.raises(StoreError, match="written"):
        serve(store, "new", "one")
    use(store)  # with a new connection


# ---- finding the nearest
def bare(store: SQLiteStore, vectors: Any, per_source: int = 1000) -> None:
    """Fill a store with made vectors."""
    for start in range(0, len(vectors), per_source):
        rows = vectors[start : start + per_source]
        source = f"s{start // per_source}"
        chunks = [
            Chunk.of("", source=source, id=f"{start + i}", position=i, fingerprint="1", even=(start + i) % 2 == 0)
            for i in range(len(rows))
        ]
        store.stage(chunks, rows)
        store.publish(SourceRecord(source, "1", len(chunks)))


def exactly(vectors: Any, query: Any, k: int, keep: Any = None) -> list[str]:
    cosines = vectors @ query / numpy.linalg.norm(vectors, axis=1) / numpy.linalg.norm(query)
    if keep is not None:
        cosines = numpy.where(keep, cosines, -2)
    return [f"{at}" for at in numpy.argsort(-cosines, kind="stable")[:k]]


@pytest.mark.parametrize("spread", [1.0, 0.1])
def test_the_nearest_are_found_exactly(spread: float) -> None:
    chance = numpy.random.default_rng(0)
    centres = chance.normal(size=(5, 24))
    vectors = centres[chance.integers(0, 5, 3000)] + spread * chance.normal(size=(3000, 24))
    store = store_at(":memory:")
    bare(store, vectors)
    even = numpy.arange(3000) % 2 == 0
    found = right = 0
    for _ in range(20):
        query = centres[chance.integers(0, 5)] + spread * chance.normal(size=24)
        for where, keep in ((None, None), ({"even": True}, even), ({"source": "s1"}, numpy.arange(3000) // 1000 == 1)):
            wanted = exactly(vectors, query, 10, keep)
            hits = [hit.chunk.metadata.id for hit in store.nearest(query, 10, where)]
            assert len(hits) == 10
            found += len(set(hits) & set(wanted))
            right += 10
    assert found / right >= 0.99


def test_vectors_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    real = _sqlite_matrix.read_vectors

    def counted(tables: Any, keys: Any) -> Any:
        read.append(len(keys))
        return real(tables, keys)

    monkeypatch.setattr(_sqlite_matrix, "read_vectors", counted)
    vectors = numpy.random.default_rng(0).normal(size=(2000, 24))
    store = store_at(tmp_path / "store.db")
    bare(store, vectors)

    def cost(act: Callable[[], object]) -> int:
        read.clear()
        act()
        return sum(read)

    assert cost(lambda: store.nearest(vectors[0], 5)) >= 2000
    assert cost(lambda: store.nearest(vectors[1], 5)) < 200
    serve(store, "one more", "text")
    assert cost(lambda: store.nearest(vectors[2], 5)) < 200
    assert store.nearest(Words().embed(["text"])[0], 1)[0].chunk.content == "text"
    with store_at(tmp_path / "store.db") as other:  # as another process would
        other.delete(source="s0")
        serve(other, "two more", "text")
    assert cost(lambda: store.nearest(vectors[3], 5)) < 200
    assert [hit.chunk.metadata.id for hit in store.nearest(vectors[1500], 1)] == ["1500"]
    assert "3" not in [hit.chunk.metadata.id for hit in store.nearest(vectors[3], 2000)]


def test_a_search_takes_a_part_of_the_time_of_reading_all() -> None:
    vectors = numpy.random.default_rng(0).normal(size=(3000, 24))
    store = store_at(":memory:")
    bare(store, vectors)

    def seconds(act: Callable[[], object]) -> float:
        def once() -> float:
            start = time.process_time()
            act()
            return time.process_time() - start

        return min(once() for _ in range(3))

    everything = seconds(lambda: store.get_all_documents())
    for where in (None, {"even": True}, {"source": {"$prefix": "s"}}):
        assert seconds(lambda: store.nearest(vectors[0], 10, where)) < everything / 4  # noqa: B023 - called at once


def test_words_that_most_chunks_have_do_not_hide_the_others(tmp_path: Path) -> None:
    store = store_at(tmp_path / "store.db")
    texts = [f"the word number {at}" + (" zebra" if at == 700 else "") for at in range(1500)]
    store.add_documents(chunks_of("a", *texts))
    (hit, *rest) = store.full_text("where is the zebra word", 5) or []
    assert "zebra" in hit.chunk.content
    assert rest == []
    assert len(store.full_text("the word", 5) or []) == 5
