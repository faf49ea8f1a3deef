"""Servers that go away, refuse and take too long: typed errors, and the next call goes on."""

from __future__ import annotations

import importlib
import socket
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest

from _postgres import kill_postgres, postgres_server
from knowledge.stores._kinds import Words, chunks_of, opened, serve, texts_of
from knowledge.stores._qdrant_server import fake_qdrant
from trivium.exceptions import (
    CollectionNotFoundError,
    ConfigurationError,
    MissingExtraError,
    StoreBusyError,
    StoreConnectionError,
    StoreError,
    StoreFullError,
    TriviumError,
)
from trivium.knowledge import SourceRecord, VectorStore, VectorStoreConfig, stores
from trivium.knowledge.stores import (
    ChromaStoreConfig,
    LanceStoreConfig,
    PostgresStore,
    PostgresStoreConfig,
    QdrantStore,
    QdrantStoreConfig,
)
from trivium.knowledge.stores._qdrant_turn import Turn

OLD, NEW = ["old 0", "old 1"], ["new 0", "new 1", "new 2"]


def until(check: Callable[[], Any]) -> None:
    while not check():
        pass


def replace(store: VectorStore) -> None:
    store.stage(chunks_of("a", *NEW, fingerprint="2"))
    store.publish(SourceRecord("a", "2", 3))


@pytest.mark.slow
def test_a_postgres_that_is_killed_serves_whole_sources_when_it_is_back() -> None:
    with postgres_server() as server:
        config = PostgresStoreConfig(url=server.get_uri(), embedding=Words())
        with opened(config) as store, ThreadPoolExecutor(1) as pool:
            serve(store, "a", *OLD)
            number = _number(config)
            for table in (f"chunk_{number}", "source"):  # in the middle of staging, and at the end of publishing
                with psycopg.connect(config.url) as blocker:
                    blocker.execute(f"LOCK TABLE trivium.{table} IN SHARE ROW EXCLUSIVE MODE".encode())
                    running = pool.submit(replace, store)
                    waiting = b"SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
                    with psycopg.connect(config.url, autocommit=True) as watcher:
                        until(lambda: watcher.execute(waiting).fetchone() or running.done())  # noqa: B023
                        assert not running.done()
                    kill_postgres(server)
                    with pytest.raises(StoreConnectionError):
                        running.result()
                    blocker.close()
                server.ensure_postgres_running()
                assert texts_of(store) == OLD
                assert [record.chunks for record in store.sources()] == [2]
            kill_postgres(server)
            with pytest.raises(StoreConnectionError, match="see that it runs"):
                store.count()
            server.ensure_postgres_running()
            replace(store)
            assert texts_of(store) == NEW


def _number(config: PostgresStoreConfig) -> int:
    with psycopg.connect(config.url) as connection:
        row = connection.execute("SELECT number FROM trivium.collection").fetchone()
        assert row is not None
        return row[0]


def test_a_statement_that_takes_too_long_is_reported(postgres_url: str) -> None:
    config = PostgresStoreConfig(url=postgres_url, schema_name="slow_one", embedding=Words(), timeout=0.2)
    with opened(config) as store:
        serve(store, "a", *OLD)
        with psycopg.connect(postgres_url) as blocker:
            blocker.execute("LOCK TABLE slow_one.source IN ACCESS EXCLUSIVE MODE")
            with pytest.raises(StoreBusyError):
                replace(store)
        assert texts_of(store) == OLD


def test_a_collection_that_somebody_else_deleted_is_made_again(postgres_url: str) -> None:
    config = PostgresStoreConfig(url=postgres_url, schema_name="gone", embedding=Words())
    with opened(config) as store, opened(config) as other:
        serve(store, "a", *OLD)
        other.delete_collection("trivium")
        with pytest.raises(CollectionNotFoundError):
            store.count()
        assert store.count() == 0


def test_the_index_finds_nearly_all_of_the_nearest(postgres_url: str) -> None:
    plain = PostgresStoreConfig(url=postgres_url, schema_name="indexed", embedding=Words())
    with opened(plain, hnsw=True) as store, opened(plain) as exact:
        texts = [f"word{at} word{at % 7} word{at % 11}" for at in range(400)]
        store.add_documents(chunks_of("a", *texts, kind="even"))
        query = Words().embed(["word3 word5"], "query")[0]
        right = {hit.chunk.metadata.id for hit in exact.nearest(query, 10)}
        assert len(right & {hit.chunk.metadata.id for hit in store.nearest(query, 10)}) >= 9
        assert len(store.nearest(query, 400, {"position": {"$gte": 390}})) == 10


def test_no_password_is_ever_shown() -> None:
    for config in (
        PostgresStoreConfig(url="postgresql://ada:sesame@127.0.0.1:1/x", embedding=None),
        PostgresStoreConfig(host="127.0.0.1", port=1, user="ada", password="sesame", embedding=None),
    ):
        store = PostgresStore(config)
        with pytest.raises(StoreConnectionError) as caught:
            store.count()
        _check_secret(f"{config!r} {store!r}", caught.value)
    with pytest.raises(ConfigurationError) as told:
        PostgresStore(PostgresStoreConfig(url="postgresql:/sesame@:::", embedding=None))
    _check_secret("", told.value)


def _check_secret(shown: str, error: BaseException | None) -> None:
    assert "sesame" not in shown
    while error is not None:
        assert "sesame" not in f"{error} {error!r} {vars(error)}"
        error = error.__cause__ or error.__context__


@pytest.mark.parametrize("name", ["a b", "", "1a", "A", "a" * 64])
def test_a_name_that_can_be_no_schema_is_refused_with_what_can(name: str) -> None:
    with pytest.raises(ValueError, match="give 1 to 63 letters a-z"):
        PostgresStoreConfig(schema_name=name)


# ---- Qdrant's server, by contract
@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ((0, None), StoreConnectionError),
        ((401, "no key"), StoreError),
        ((404, "Not found: Collection"), CollectionNotFoundError),
        ((429, "slowly"), StoreBusyError),
        ((500, "No space left on device"), StoreFullError),
        ((500, "panicked"), StoreError),
        ((503, "overloaded"), StoreBusyError),
        ((200, {"nothing": "that fits"}), StoreError),
    ],
    ids=lambda value: f"{value[0]} {value[1]}" if isinstance(value, tuple) else "",  # type: ignore[misc]
)
def test_what_a_qdrant_server_answers_wrongly_is_reported(answer: tuple[int, Any], error: type[StoreError]) -> None:
    with fake_qdrant() as server, opened(QdrantStoreConfig(url=server.url, embedding=Words())) as store:
        serve(store, "a", *OLD)
        served = OLD
        for at in range(99 if answer[0] in (0, 503) else 1):  # at each request, or at the first
            writes = iter(range(99))
            broken, ends = [False], [False]

            def fault(
                method: str, path: str, at: int = at, writes: Any = writes, broken: Any = broken, ends: Any = ends
            ) -> Any:
                if method == "GET" or broken[0] or next(writes) != at:
                    return None
                broken[0] = True
                ends[0] = path.partition("?")[0].endswith(".notes/points/delete")  # of a turn, after what it was for
                return answer

            server.fault = fault
            caught: list[TriviumError] = []
            try:
                replace(store)
            except TriviumError as told:
                caught.append(told)
            assert all(isinstance(each, error) for each in caught), caught
            assert len(caught) == (broken[0] and not ends[0])
            server.fault = lambda method, path: None
            served = texts_of(store)
            assert served in (OLD, NEW)
            if not caught:
                assert served == NEW
            if not broken[0]:
                break
            serve(store, "a", *OLD)


def test_a_qdrant_server_is_asked_as_its_interface_says() -> None:
    with fake_qdrant() as server, opened(QdrantStoreConfig(url=server.url, embedding=Words())) as store:
        store.add_documents(chunks_of("b", "dogs bark", "cats purr", kind="animals"))
        replace(store)
        assert texts_of(store) == [*NEW, "dogs bark", "cats purr"]
        assert store.similar_texts_with_scores("dogs", 1, {"kind": "animals"})[0][0].content == "dogs bark"
        checks: list[tuple[dict[str, Any], list[str]]] = [
            ({"kind": {"$ne": "animals"}, "position": {"$in": [0, 2]}}, ["new 0", "new 2"]),
            ({"$or": [{"kind": "animals", "position": 1}, {"position": {"$gt": 1}}]}, ["new 2", "cats purr"]),
            ({"$or": []}, []),
            ({"kind": None, "position": {"$lt": 1}}, ["new 0"]),
        ]
        for where, texts in checks:
            assert texts_of(store, where) == texts
            assert store.count(where) == len(texts)
        assert store.delete({"kind": "animals"}) == 2
        assert [record.source for record in store.sources()] == ["a"]
        store.set_collection("other")
        assert store.list_collections(empty=True) == ["other", "trivium"]
        assert store.clear_all_collections(really=True) == 2
        assert {method for method, _ in server.seen} == {"GET", "PUT", "POST", "DELETE"}


def test_the_turn_of_a_writer_that_was_killed_passes_on() -> None:
    from qdrant_client import QdrantClient

    with fake_qdrant() as server, opened(QdrantStoreConfig(url=server.url, embedding=None)) as store:
        assert store.count() == 0
        notes = f"{store.collection_name}.notes"
        client = QdrantClient(url=server.url, check_compatibility=False)
        killed = Turn.taken(client, notes, "killed", 0.05, server.url)
        other = Turn.taken(client, notes, "other", 0.05, server.url)
        killed.end(client, notes)  # it was not killed, but slow: the turn of the other one stays
        with pytest.raises(StoreBusyError):
            Turn.taken(client, notes, "third", 0, server.url)
        assert Turn.taken(client, notes, "other", 60, server.url) != other  # its own, left by a failed call
        client.close()


def test_a_turn_that_was_lost_is_not_taken_again_by_its_renewal() -> None:
    from qdrant_client import QdrantClient

    with fake_qdrant() as server, opened(QdrantStoreConfig(url=server.url, embedding=None)) as store:
        assert store.count() == 0
        notes = f"{store.collection_name}.notes"
        client = QdrantClient(url=server.url, check_compatibility=False)
        slow = Turn.taken(client, notes, "slow", 60, server.url).renewed(client, notes, server.url)
        slow = slow.renewed(client, notes, server.url)
        other = Turn.taken(client, notes, "other", 0.05, server.url)
        for _ in range(2):  # also when the other one is ready
            with pytest.raises(StoreBusyError, match="another took its turn"):
                slow.renewed(client, notes, server.url)
            other.end(client, notes)
        client.close()


@pytest.mark.parametrize("lost", [False, True], ids=["kept", "lost"])
def test_a_writer_on_a_qdrant_server_renews_its_turn(lost: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trivium.knowledge.stores._qdrant._RENEWED", 0)
    with fake_qdrant() as server, opened(QdrantStoreConfig(url=server.url, embedding=Words())) as store:
        serve(store, "a", *OLD)
        notes, key, names = f"{store.collection_name}.notes", str(UUID(int=1)), list[str]()

        def watch(method: str, path: str) -> None:
            kept: Any = server.engine.retrieve(notes, [key])
            if kept and ".chunks/" in path:
                names.append(kept[0].payload["turn"][1])
                if lost:  # while this request is on its way
                    server.engine.set_payload(notes, {"terms": ["x"], "turn": ["other", "x"]}, points=[key])

        server.fault = watch
        if lost:
            with pytest.raises(StoreBusyError, match="another took its turn"):
                store.delete({})
            assert len(names) == 1  # the chunks were read, and not deleted
            assert texts_of(store) == OLD
        else:
            assert store.delete({}) == 2
            assert len(names) == len({*names}) > 1


def test_a_write_is_done_though_the_end_of_its_turn_fails(caplog: pytest.LogCaptureFixture) -> None:
    with fake_qdrant() as server, opened(QdrantStoreConfig(url=server.url, embedding=Words())) as store:
        serve(store, "a", *OLD)
        server.fault = lambda method, path: (500, "panicked") if ".notes/points/delete" in path else None
        store.add_documents(chunks_of("b", "one"))
        assert texts_of(store) == [*OLD, "one"]
        assert "was not given back" in caplog.text


def test_a_qdrant_server_that_went_away_is_reported_and_found_again() -> None:
    with fake_qdrant() as server:
        store = opened(QdrantStoreConfig(url=server.url, api_key="sesame", embedding=Words()))
        assert store.count() == 0
        assert all(headers["api-key"] == "sesame" for headers in server.headers)
    with store, pytest.raises(StoreConnectionError) as caught:
        store.count()
    _check_secret(f"{store!r} {store.config!r}", caught.value)


def test_a_key_is_not_sent_in_plain_text_to_another_machine() -> None:
    with pytest.raises(ConfigurationError, match="https"):
        QdrantStore(QdrantStoreConfig(url="http://db.example.org:6333", api_key="sesame"))
    with pytest.raises(ConfigurationError, match="url"):
        QdrantStore(QdrantStoreConfig(url="db.example.org"))


# ---- what runs in this process
def test_chroma_and_the_others_never_call_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any) -> None:
        raise AssertionError(f"somebody called {args[1:]}")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    for config in (
        ChromaStoreConfig(storage_path=str(tmp_path / "chroma"), embedding=Words()),
        LanceStoreConfig(storage_path=str(tmp_path / "lance"), embedding=Words()),
        QdrantStoreConfig(storage_path=":memory:", embedding=Words()),
    ):
        with opened(config) as store:
            serve(store, "a", *OLD)
            assert len(store.similar_texts_with_scores("old", 5)) == 2


@pytest.mark.parametrize(
    ("package", "extra", "config"),
    [
        ("psycopg", "postgres", PostgresStoreConfig(embedding=None)),
        ("qdrant_client", "qdrant", QdrantStoreConfig(storage_path=":memory:", embedding=None)),
        ("lancedb", "lancedb", LanceStoreConfig(storage_path="never", embedding=None)),
        ("chromadb", "chroma", ChromaStoreConfig(storage_path=":memory:", embedding=None)),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_package_that_is_missing_is_reported(
    package: str, extra: str, config: VectorStoreConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"\[{extra}\]"):
        opened(config).count()


@pytest.mark.parametrize("kind", ["chroma", "lancedb", "qdrant"])
def test_a_folder_that_is_a_file_is_reported(kind: str, tmp_path: Path) -> None:
    place = tmp_path / "file"
    place.write_text("no folder")
    configs = {"chroma": ChromaStoreConfig, "lancedb": LanceStoreConfig, "qdrant": QdrantStoreConfig}
    with opened(configs[kind](storage_path=str(place), embedding=Words())) as store, pytest.raises(StoreError):
        store.count()
    assert place.read_text() == "no folder"


@pytest.mark.parametrize(
    ("path", "name", "home"),
    [
        ("base", "VectorStore", "VectorStore"),
        ("base", "VectorStoreConfig", "VectorStoreConfig"),
        ("chromadb", "ChromaDB", "ChromaStore"),
        ("chromadb", "ChromaDBConfig", "ChromaStoreConfig"),
        ("lancedb", "LanceDB", "LanceStore"),
        ("lancedb", "LanceDBConfig", "LanceStoreConfig"),
        ("postgres", "PostgresDB", "PostgresStore"),
        ("postgres", "PostgresDBConfig", "PostgresStoreConfig"),
        ("qdrantdb", "QdrantDB", "QdrantStore"),
        ("qdrantdb", "QdrantDBConfig", "QdrantStoreConfig"),
    ],
)
def test_the_stores_stand_at_their_documented_paths(path: str, name: str, home: str) -> None:
    module = importlib.import_module(f"trivium.vector_store.{path}")
    assert getattr(module, name) is getattr(stores, home)


def test_a_config_gives_its_store() -> None:
    for config, kind in (
        (PostgresStoreConfig(embedding=None), PostgresStore),
        (QdrantStoreConfig(embedding=None), QdrantStore),
        (LanceStoreConfig(embedding=None), stores.LanceStore),
        (ChromaStoreConfig(storage_path=":memory:", embedding=None), stores.ChromaStore),
    ):
        assert type(opened(config)) is kind
