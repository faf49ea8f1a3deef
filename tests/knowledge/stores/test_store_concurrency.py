"""Many who read a store while one writes it: threads, processes, tasks, and processes that are killed."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from multiprocessing.connection import Connection
from multiprocessing.forkserver import ensure_running
from pathlib import Path
from typing import Any

import pytest

from knowledge.stores._extra_kinds import EXTRA_KINDS, QDRANT_SERVER
from knowledge.stores._kinds import KINDS, Kind, Words, chunks_of, opened, serve, texts_of
from trivium.exceptions import IncompleteSourceError
from trivium.knowledge import SourceRecord, VectorStore, VectorStoreConfig
from trivium.knowledge.stores._folder_lock import FolderLock


@pytest.fixture(params=[*KINDS, *EXTRA_KINDS, QDRANT_SERVER], ids=lambda kind: kind.name)
def kind(request: pytest.FixtureRequest) -> Kind:
    return request.param


LOADED = [__name__, "lance_namespace", "numpy", "psycopg", "pyarrow.dataset", "qdrant_client"]
"""What a process of a store needs, but for what starts threads as it is loaded: no process could be forked after it."""
STATES = 5
"""How many states of its source the writer publishes."""


def publish_state(store: VectorStore, state: int) -> None:
    """A source whose chunks all say which state they are of; it grows by one chunk with each."""
    serve(store, "shared", *[f"state {state} of {state}"] * state, fingerprint=f"{state}")


def check_one_state(store: VectorStore) -> int:
    """Every way of reading shows one state, and all of it; which."""
    vector = Words().embed(["state"], "query")[0]
    latest = 0
    for texts in (
        texts_of(store),
        [hit.chunk.content for hit in store.nearest(vector, 99)],
        [hit.chunk.content for hit in store.nearest(vector, 99, {"source": "shared"})],
        [hit.chunk.content for hit in store.full_text("state", 99) or ()],
    ):
        states = {int(text.split()[1]) for text in texts}
        assert len(states) <= 1, texts
        if states:
            (state,) = states
            assert len(texts) == state
            assert state >= latest  # time does not run backwards
            latest = state
    ((_, fingerprint, count, *_),) = store.sources()
    assert int(fingerprint) == count
    return latest


def test_threads_that_read_see_whole_sources(store: VectorStore) -> None:
    publish_state(store, 1)
    done = threading.Event()
    started = threading.Barrier(4)

    def read() -> int:
        started.wait()
        rounds = 0
        while not done.is_set() or not rounds:
            check_one_state(store)
            rounds += 1
        return rounds

    with ThreadPoolExecutor(3) as pool:
        readers = [pool.submit(read) for _ in range(3)]
        started.wait()
        for state in range(2, STATES):
            publish_state(store, state)
        done.set()
        assert all(reader.result() for reader in readers)
    assert check_one_state(store) == STATES - 1


def test_threads_that_write_wait_for_each_other(store: VectorStore) -> None:
    with ThreadPoolExecutor(4) as pool:
        works: list[Future[Any]] = [pool.submit(serve, store, f"s{at}", "one", "two") for at in range(12)]
        works += [pool.submit(store.add_documents, chunks_of(f"t{at}", "one")) for at in range(12)]
        for work in works:
            work.result()
    assert sorted(store.unique_sources()) == sorted([f"s{at}" for at in range(12)] + [f"t{at}" for at in range(12)])
    assert store.count() == 36


def test_who_waits_long_for_a_folder_asks_as_often_as_who_has_just_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    holder, pauses = FolderLock(str(tmp_path), ""), list[float]()

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 50:
            holder.release()

    monkeypatch.setattr("trivium.knowledge.stores._folder_lock.sleep", pause)
    holder.acquire()
    with FolderLock(str(tmp_path), "", 60):
        assert pauses == 50 * pauses[:1]


@cache
def loaded() -> Any:
    """What processes are forked by, one that has loaded what they need: that takes each two seconds otherwise."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(LOADED)
    with pytest.MonkeyPatch.context() as changes:
        changes.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
        ensure_running()
    return context


def _in_process(work: Callable[..., None], config: VectorStoreConfig, link: Connection) -> None:
    with opened(config) as store:
        work(store, link)


@pytest.fixture
def start(kind: Kind, config: VectorStoreConfig) -> Generator[Callable[..., tuple[Any, Connection]]]:
    """Run a function of a store and a link in a process of its own."""
    if not kind.processes:
        pytest.skip("one process at a time")
    running: list[Any] = []

    def run(work: Callable[..., None]) -> tuple[Any, Connection]:
        here, there = loaded().Pipe()
        process = loaded().Process(target=_in_process, args=(work, config, there), daemon=True)
        process.start()
        there.close()
        running.append(process)
        return process, here

    yield run
    for process in running:
        process.kill()
        process.join()


def _read_states(store: VectorStore, link: Connection) -> None:
    link.send(check_one_state(store))
    while not link.poll():
        check_one_state(store)
    link.send(check_one_state(store))


def _publish_states(store: VectorStore, link: Connection) -> None:
    link.send("ready")
    link.recv()
    for state in range(2, STATES):
        publish_state(store, state)
    link.send("done")


@pytest.mark.slow
def test_processes_that_read_see_whole_sources(store: VectorStore, start: Any) -> None:
    publish_state(store, 1)
    writer, finished = start(_publish_states)
    _, reader = start(_read_states)
    assert (finished.recv(), reader.recv()) == ("ready", 1)
    finished.send("go")
    while not finished.poll():
        check_one_state(store)  # this process reads too
    assert finished.recv() == "done"
    writer.join()
    reader.send("stop")
    assert reader.recv() == STATES - 1
    assert check_one_state(store) == STATES - 1


def _publish_for_ever(store: VectorStore, link: Connection) -> None:
    state = 2
    while True:
        publish_state(store, state)
        state += 1
        link.send(state)


@pytest.mark.parametrize("published", [2])
def test_a_process_that_is_killed_leaves_whole_sources(store: VectorStore, start: Any, published: int) -> None:
    publish_state(store, 1)
    process, link = start(_publish_for_ever)
    for _ in range(published):
        link.recv()
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    assert check_one_state(store) >= published
    serve(store, "shared", "state 1 again", fingerprint="1")
    assert texts_of(store) == ["state 1 again"]


def _publish_as_told(store: VectorStore, link: Connection) -> None:
    link.send("ready")
    while (state := link.recv()) is not None:
        with suppress(IncompleteSourceError):  # the other one has published it
            publish_state(store, state)
        link.send(state)


@pytest.mark.slow
def test_processes_that_publish_the_same_source_leave_one_of_them(store: VectorStore, start: Any) -> None:
    links = [start(_publish_as_told)[1] for _ in range(2)]
    assert [link.recv() for link in links] == ["ready"] * 2
    for state in range(1, STATES):
        for link in links:
            link.send(state)
        assert [link.recv() for link in links] == [state] * 2
        assert check_one_state(store) == state
    for link in links:
        link.send(None)


def _stage_and_wait(store: VectorStore, link: Connection) -> None:
    store.stage(chunks_of("shared", "left", "behind", fingerprint="9"))
    link.send("staged")
    link.recv()


def test_what_a_killed_process_had_staged_is_not_served(store: VectorStore, start: Any) -> None:
    publish_state(store, 1)
    process, link = start(_stage_and_wait)
    assert link.recv() == "staged"
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    assert check_one_state(store) == 1
    publish_state(store, 2)
    assert check_one_state(store) == 2


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # of Python 3.12 on, about threads and forks
def test_a_forked_child_uses_the_store_as_its_parent_does(store: VectorStore, kind: Kind) -> None:
    if not kind.forks:
        pytest.skip("not after a fork")
    publish_state(store, 2)
    check_one_state(store)
    child = os.fork()
    if child == 0:
        try:
            check_one_state(store)
            publish_state(store, 3)
            store.close()
            os._exit(0 if check_one_state(store) in (3, 4) else 3)  # the parent may have been first, or second
        finally:
            os._exit(4)
    publish_state(store, 4)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert check_one_state(store) in (3, 4)
    publish_state(store, 5)
    assert check_one_state(store) == 5


# ---- asyncio
def test_tasks_use_a_store_at_once(store: VectorStore) -> None:
    async def run() -> int:
        await asyncio.gather(*(store.add_documents_async(chunks_of(f"s{at}", "one", "two")) for at in range(8)))
        found = await asyncio.gather(*(store.similar_texts_with_scores_async("one", 1) for _ in range(8)))
        assert all(pairs[0][0].content == "one" for pairs in found)
        async for _ in store.scan_async():
            break
        assert len(await store.sources_async()) == 8
        return await store.count_async({"source": {"$prefix": "s"}})

    assert asyncio.run(run()) == 16


def test_a_cancelled_call_leaves_the_store_whole(store: VectorStore) -> None:
    publish_state(store, 1)
    chunks = chunks_of("shared", *["state 3 of 3"] * 3, fingerprint="3")

    async def replace() -> None:
        await store.stage_async(chunks)
        await store.publish_async(SourceRecord("shared", "3", 3))

    async def run() -> None:
        for steps in range(12):  # cancelled a little later each time
            task = asyncio.create_task(replace())
            for _ in range(steps):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
            check = [chunk.content async for chunk in store.scan_async()]
            assert len(check) in (1, 3)

    asyncio.run(run())
    check_one_state(store)
    publish_state(store, 5)
    assert check_one_state(store) == 5


def test_a_store_may_be_closed_while_others_use_it(store: VectorStore) -> None:
    publish_state(store, 3)
    done = threading.Event()

    def read() -> bool:
        while not done.is_set():
            assert check_one_state(store) == 3
        return True

    with ThreadPoolExecutor(1) as pool:
        reader = pool.submit(read)
        for _ in range(10):
            store.close()
            check_one_state(store)
        done.set()
        assert reader.result()
