"""What goes wrong within an ingest: kills, full disks, servers that go away, damaged files, two at once.

Each time the error is a typed one, the store opens again, a source is served as it was or as it is, and the next
ingest brings it all in step.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import chdir
from pathlib import Path
from types import FrameType
from typing import Any

import pypdf
import pytest

from _disks import mounted
from _postgres import kill_postgres, postgres_server
from trivium.exceptions import (
    StoreConnectionError,
    StoreDamagedError,
    StoreError,
    StoreFullError,
    UnreadableDocumentError,
)
from trivium.knowledge import IngestReport, Library, SQLiteStoreConfig, VectorStore, VectorStoreConfig, _library
from trivium.knowledge._library import IngestEvent
from trivium.knowledge.stores import ChromaStoreConfig, LanceStoreConfig, PostgresStoreConfig, QdrantStoreConfig

from .stores._kinds import Words, opened

NAMES = ("a.txt", "b.txt", "c.txt")


def write(folder: Path, word: str, counts: tuple[int, ...] = (2, 9, 1)) -> dict[str, list[str]]:
    """Files of so many paragraphs, and what a store is to serve of them."""
    folder.mkdir(exist_ok=True)
    texts: dict[str, list[str]] = {}
    for name, count in zip(NAMES, counts, strict=True):
        texts[str(folder / name)] = [f"{word} {number} of {name} " + "x" * 30 for number in range(count)]
        (folder / name).write_text("\n\n".join(texts[str(folder / name)]))
    return texts


def ingest(store: VectorStore, folder: Path, **options: Any) -> IngestReport:
    return Library(store, size=60).ingest(folder, **options)


def served(store: VectorStore) -> dict[str, list[str]]:
    texts: dict[str, list[str]] = {}
    for chunk in store.scan():
        texts.setdefault(chunk.metadata.source, []).append(chunk.content)
    return texts


def in_child(work: Callable[[], object]) -> int:
    """Run something in a process of its own; how it ended, as `os.waitstatus_to_exitcode` tells."""
    child = started(work)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def started(work: Callable[[], object]) -> int:
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    return child


def calls_until(number: int) -> Callable[[FrameType, str, Any], None]:
    """A profiler that kills its process at the n-th call of a function of the room."""
    left = number

    def count(frame: FrameType, event: str, _: Any) -> None:
        nonlocal left
        if event == "call" and "trivium/knowledge" in frame.f_code.co_filename:
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    return count


@pytest.fixture
def config(tmp_path: Path) -> VectorStoreConfig:
    return SQLiteStoreConfig(storage_path=str(tmp_path / "store.db"), embedding=Words())


# ---- kills and company
def test_a_process_that_is_killed_anywhere_leaves_each_source_whole(
    config: VectorStoreConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_library, "_BATCH", 3)
    folder, killed, outcomes = tmp_path / "texts", 0, set[str]()
    old = write(folder, "old")
    with opened(config) as store:
        ingest(store, folder)
    for point in range(20, 100_000, 90):

        def work(at: int = point) -> None:
            sys.setprofile(calls_until(at))
            with opened(config) as store:
                ingest(store, folder)

        new = write(folder, f"new{point}")
        status = in_child(work)
        with opened(config) as store:
            now = served(store)
            assert now.keys() == new.keys()
            assert all(texts in (old[name], new[name]) for name, texts in now.items())
            outcomes |= {"new" if texts == new[name] else "old" for name, texts in now.items()}
            if status == 0:
                assert now == new
                break
            assert status == -signal.SIGKILL
            killed += 1
            ingest(store, folder)
            assert served(store) == new
        old = new
    assert killed >= 10
    assert outcomes == {"old", "new"}


def test_two_processes_may_ingest_into_one_store_at_once(
    config: VectorStoreConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_library, "_BATCH", 2)
    folder = tmp_path / "texts"

    def work() -> None:
        with opened(config) as store:
            report = ingest(store, folder)
            assert not report.failed

    for turn in range(4):
        expected = write(folder, f"turn{turn}", (3, 12, 5))
        children = [started(work) for _ in range(2)]
        assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0, 0]
        with opened(config) as store:
            assert served(store) == expected
            assert {record.source: record.chunks for record in store.sources()} == {
                name: len(texts) for name, texts in expected.items()
            }


# ---- stores
@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of a megabyte."""
    with mounted(tmp_path / "disk", "1m") as disk:
        yield disk


def test_a_full_disk_is_reported_and_keeps_what_was_published(small_disk: Path, tmp_path: Path) -> None:
    folder = tmp_path / "texts"
    first = write(folder, "first")
    with opened(SQLiteStoreConfig(storage_path=str(small_disk / "store.db"), embedding=None)) as store:
        ingest(store, folder)
        whole = write(folder, "much", (2, 5_000, 1))
        with pytest.raises(StoreFullError, match="make room on its disk") as raised:
            ingest(store, folder)
        assert "of 3 sources were done" in raised.value.__notes__[0]
        assert served(store)[str(folder / "b.txt")] == first[str(folder / "b.txt")]
        subprocess.run(["mount", "-o", "remount,size=100m", small_disk], check=True)
        ingest(store, folder)
        assert served(store) == whole


@pytest.mark.parametrize("kind", [ChromaStoreConfig, LanceStoreConfig, QdrantStoreConfig])
def test_a_full_disk_is_no_damaged_store(kind: type[VectorStoreConfig], small_disk: Path, tmp_path: Path) -> None:
    folder = tmp_path / "texts"
    write(folder, "much", (2, 5_000, 1))
    with (
        opened(kind(storage_path=str(small_disk / "store"), embedding=None)) as store,
        pytest.raises(StoreFullError, match="make room on its disk"),
    ):
        ingest(store, folder)


def test_a_damaged_store_is_reported(tmp_path: Path) -> None:
    write(tmp_path / "texts", "some")
    (tmp_path / "store.db").write_bytes(b"no database at all " * 500)
    config = SQLiteStoreConfig(storage_path=str(tmp_path / "store.db"), embedding=None)
    with opened(config) as store, pytest.raises(StoreDamagedError):
        ingest(store, tmp_path / "texts")


@pytest.mark.slow
def test_a_server_that_goes_away_in_the_middle_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_library, "_BATCH", 3)
    folder = tmp_path / "texts"
    old = write(folder, "old")
    with (
        postgres_server() as server,
        opened(PostgresStoreConfig(url=server.get_uri(), embedding=Words())) as store,
    ):
        ingest(store, folder)
        new = write(folder, "new")

        def kill(event: Any) -> None:
            if isinstance(event, IngestEvent) and event.data.outcome == "reading":
                kill_postgres(server)

        with pytest.raises(StoreConnectionError) as raised:
            ingest(store, folder, listeners=[kill])
        assert "of 3 sources were done" in raised.value.__notes__[0]
        with pytest.raises(StoreError):
            store.count()
        server.ensure_postgres_running()
        now = served(store)
        assert all(texts in (old[name], new[name]) for name, texts in now.items())
        assert now[str(folder / "b.txt")] == old[str(folder / "b.txt")]
        ingest(store, folder)
        assert served(store) == new


# ---- files
def test_damaged_files_are_reported_and_the_others_are_served(config: VectorStoreConfig, tmp_path: Path) -> None:
    folder = tmp_path / "texts"
    whole = write(folder, "some")
    scan = pypdf.PdfWriter()
    scan.add_blank_page(200, 200)
    scan.write(str(folder / "scan.pdf"))
    (folder / "torn.pdf").write_bytes((folder / "scan.pdf").read_bytes()[:100])
    (folder / "torn.docx").write_bytes(b"PK\x03\x04" + b"\x00" * 50)
    (folder / "binary.txt").write_bytes(bytes(range(256)) * 20)
    with opened(config) as store:
        report = ingest(store, folder)
        assert {Path(name).name for name in report.failed} == {"scan.pdf", "torn.pdf", "torn.docx", "binary.txt"}
        assert all(isinstance(error, UnreadableDocumentError) for error in report.failed.values())
        assert all(Path(name).name in str(error) for name, error in report.failed.items())
        assert served(store) == whole


@pytest.mark.slow
def test_a_folder_that_cannot_be_read_is_reported_and_what_was_read_of_it_stays(
    config: VectorStoreConfig, tmp_path: Path
) -> None:
    (tmp_path / "kb" / "deep").mkdir(parents=True)
    for name in ("a.txt", "deep/b.txt"):
        (tmp_path / "kb" / name).write_text(name)
    with opened(config) as store:
        ingest(store, tmp_path / "kb")
        os.rename(tmp_path / "kb" / "deep", tmp_path / "deep")
        with chdir(tmp_path / "kb"):
            for name in ("deep", *["x" * 250] * 17):  # a longer path than the system takes
                os.mkdir(name)
                os.chdir(name)
        report = ingest(store, tmp_path / "kb", prune=True)
        ((name, error),) = report.failed.items()
        assert isinstance(error, UnreadableDocumentError)
        assert "File name too long" in str(error)
        assert [each.name for each in report.skipped] == [name]
        assert (report.unchanged, report.dropped) == (
            [str(tmp_path / "kb" / "a.txt")],
            [str(tmp_path / "kb" / "deep" / "b.txt")],
        )


def test_memory_does_not_grow_with_a_table(tmp_path: Path) -> None:
    program = """
import resource, sys
from trivium.knowledge import Library, SQLiteStoreConfig, VectorStore
store = VectorStore.create(SQLiteStoreConfig(storage_path=sys.argv[2], embedding=None))
held = []
def hear(event):
    if event.kind == "ingest":
        with open("/proc/self/statm") as file:  # getrusage would tell what the parent had
            held.append(int(file.read().split()[1]) * resource.getpagesize() // 1024)
report = Library(store).ingest(sys.argv[1], listeners=[hear])
assert len(report.added) == 1, report.failed
print(held[len(held) // 5], max(held))
"""
    table = tmp_path / "table.csv"
    with table.open("w") as file:
        file.write("name,city,rent\n")
        for block in range(18):
            file.writelines(f"Ada {block} {row},London,950\n" for row in range(4000))
    assert table.stat().st_size > 1_500_000
    command = [sys.executable, "-c", program, str(table), str(tmp_path / "store.db")]
    early, late = map(int, subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())
    assert late - early < 10 * 1024  # KiB; all of its chunks would be more, and three times the table takes no more
