"""An ingest brings a store in step with its sources: only what changed, whole or not at all, sync and async."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from _http_server import PageServer
from trivium.actions.web import Fetcher
from trivium.commander import Event
from trivium.exceptions import ConfigurationError, DocumentNotFoundError, RunKilledError, UnreadableDocumentError
from trivium.knowledge import Chunk, IngestReport, Library, Source, VectorStore, VectorStoreConfig, find_sources
from trivium.knowledge._library import IngestEvent
from trivium.schema import DocMetaData, Document

from .stores._kinds import Words


class Note(Source):
    """A source in memory that counts how often it is read."""

    def __init__(self, name: str, *texts: str, state: str = "1") -> None:
        super().__init__(name)
        self.texts, self.now = texts, state
        self.looks = self.prints = self.reads = 0

    def state(self) -> str:
        self.looks += 1
        return self.now

    def fingerprint(self) -> str:
        self.prints += 1
        return "".join(self.texts).encode().hex()[:64].ljust(64, "0")

    def documents(self) -> Iterator[Document]:
        self.reads += 1
        for number, text in enumerate(self.texts):
            yield Document(content=text, metadata=DocMetaData(source="part", title=f"Title {number}"))


class Restless(Note):
    """A source that looks different each time."""

    def state(self) -> str:
        return str(super().state()) + str(self.looks)


def store_of(**options: Any) -> VectorStore:
    store = VectorStore.create(VectorStoreConfig.model_validate({"embedding": None, **options}))
    assert store is not None
    return store


@pytest.fixture
def store() -> Iterator[VectorStore]:
    with store_of() as opened:
        yield opened


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "letters"
    (made / "old").mkdir(parents=True)
    (made / "ada.md").write_text("# Lease\n\nThe rent is 950 EUR.\n\n## Pets\n\nDogs are welcome.\n")
    (made / "old" / "bob.txt").write_text("Bob pays nothing.\n")
    return made


def served(store: VectorStore) -> list[str]:
    return [each.content for each in store.scan()]


def test_a_folder_becomes_chunks_that_are_found_and_cited(store: VectorStore, folder: Path) -> None:
    report = Library(store).ingest(folder)
    assert (len(report.added), report.chunks, report.failed) == (2, 3, {})
    assert report.bytes == sum(path.stat().st_size for path in folder.rglob("*.*"))
    (hit,) = store.full_text("dogs") or []
    assert hit.chunk.metadata.citation == f"{folder}/ada.md:5-7"
    assert hit.chunk.metadata.heading == "Lease > Pets"
    assert [record.chunks for record in Library(store).sources()] == [2, 1]
    assert str(report).startswith("2 added; 3 chunks in ")


def test_what_looks_unchanged_is_not_read(store: VectorStore) -> None:
    note = Note("note", "The rent is 950 EUR.")
    library = Library(store)
    assert library.ingest(note).added == ["note"]
    assert library.ingest(note).unchanged == ["note"]
    assert (note.prints, note.reads) == (1, 1)


def test_what_was_touched_is_not_cut_again(store: VectorStore, folder: Path) -> None:
    library = Library(store)
    library.ingest(folder)
    before = [each.id() for each in store.scan()]
    os.utime(folder / "ada.md", (1, 1))
    report = library.ingest(folder)
    assert (report.chunks, len(report.unchanged)) == (0, 2)
    assert [each.id() for each in store.scan()] == before


def test_what_changed_takes_the_place_of_what_was(store: VectorStore, folder: Path) -> None:
    library = Library(store)
    library.ingest(folder)
    (folder / "ada.md").write_text("The rent is 1000 EUR.")
    report = library.ingest(folder)
    assert (report.updated, len(report.unchanged), report.chunks) == ([f"{folder}/ada.md"], 1, 1)
    assert served(store) == ["The rent is 1000 EUR.", "Bob pays nothing."]


@pytest.mark.parametrize("blank", [b"", b" \n\n"])
def test_what_was_emptied_is_a_source_without_chunks(store: VectorStore, folder: Path, blank: bytes) -> None:
    library = Library(store)
    library.ingest(folder)
    (folder / "ada.md").write_bytes(blank)
    (folder / "old" / "__init__.py").touch()
    report = library.ingest(folder)
    assert (report.updated, report.added) == ([f"{folder}/ada.md"], [f"{folder}/old/__init__.py"])
    assert (report.failed, served(store)) == ({}, ["Bob pays nothing.\n".strip()])
    assert len(library.ingest(folder).unchanged) == 3


def test_another_size_of_chunks_is_a_change(store: VectorStore) -> None:
    note = Note("note", "One sentence here. Another one there.")
    Library(store).ingest(note)
    report = Library(store, size=20).ingest(note)
    assert (report.updated, report.chunks) == (["note"], 2)


def test_parts_of_a_source_are_one_source(store: VectorStore) -> None:
    Library(store).ingest(Note("note", "One.\n", "Two.\n"))
    assert [(each.metadata.source, each.metadata.position) for each in store.scan()] == [("note", 0), ("note", 1)]
    assert [(record.source, record.title, record.chunks) for record in store.sources()] == [("note", "Title 0", 2)]


def test_what_has_gone_stays_until_it_is_pruned(store: VectorStore, folder: Path, tmp_path: Path) -> None:
    library = Library(store)
    library.ingest(folder, Note("note", "A note."))
    (folder / "old" / "bob.txt").unlink()
    report = library.ingest(folder)
    assert (report.dropped, report.gone) == ([], [f"{folder}/old/bob.txt"])
    report = library.ingest(folder, prune=True)
    assert (report.dropped, report.gone) == ([f"{folder}/old/bob.txt"], [])
    assert [record.source for record in library.sources()] == [f"{folder}/ada.md", "note"]
    (folder / "ada.md").rename(tmp_path / "ada.md")
    report = library.ingest(folder / "ada.md", prune=True)
    assert (report.dropped, report.failed) == ([f"{folder}/ada.md"], {})
    assert served(store) == ["A note."]


@pytest.mark.parametrize("rule", ["bob.txt", "old/"])
def test_what_a_gitignore_file_now_excludes_is_gone(store: VectorStore, folder: Path, rule: str) -> None:
    library = Library(store)
    library.ingest(folder)
    (folder / ".gitignore").write_text(f"{rule}\n")
    assert library.ingest(folder).gone == [f"{folder}/old/bob.txt"]
    assert library.ingest(folder, prune=True).dropped == [f"{folder}/old/bob.txt"]


@pytest.mark.parametrize("named", [".notes.md", ".drafts", "photo.png", "link", "link.md", "within.md"])
def test_what_a_folder_never_finds_was_named_and_is_not_gone(store: VectorStore, folder: Path, named: str) -> None:
    library, outside = Library(store), folder.with_name("outside")
    for path in (folder / ".notes.md", folder / "photo.png", folder / ".drafts" / "a.md", outside / "a.md"):
        path.parent.mkdir(exist_ok=True)
        path.write_text("A note.")
    (folder / "link").symlink_to(outside)
    (folder / "link.md").symlink_to(outside / "a.md")
    (folder / "within.md").symlink_to("old/bob.txt")
    library.ingest(folder, folder / named)
    names = [record.source for record in library.sources()]
    assert library.ingest(folder, prune=True).dropped == []
    outside.rename(folder.with_name("away"))
    (folder / "old" / "bob.txt").unlink()
    assert library.ingest(folder, prune=True).dropped == [f"{folder}/old/bob.txt"]
    assert [record.source for record in library.sources()] == [each for each in names if "bob" not in each]


def test_skipped_files_are_counted_only_for_their_suffix(folder: Path) -> None:
    (folder / ".gitignore").write_text("ignored.md\n")
    for name in ("ignored.md", ".hidden.md", "letter.doc", "letter.DOC"):
        (folder / name).write_text("A note.")
    (folder / "made.egg-info").mkdir()
    (folder / "made.egg-info" / ".keep.txt").touch()
    with store_of(storage_path=str(folder / "store.db")) as store:
        assert Library(store).ingest(folder).left_out == "2 skipped (.doc)"


@pytest.mark.parametrize(("status", "is_gone"), [(404, True), (410, True), (403, False), (500, False), (0, False)])
def test_a_page_is_gone_only_if_its_server_says_so(store: VectorStore, status: int, is_gone: bool) -> None:
    def report() -> IngestReport:
        fetcher = Fetcher(allowed_hosts=[pages.host], timeout=10)
        return Library(store).ingest(*find_sources(name, fetcher=fetcher), prune=True)

    with PageServer() as pages:
        name = f"{pages.url}/page"
        assert report().added == [name]
        pages.status = status
        found = report() if status else None
    found = found or report()  # the server is down
    assert (found.dropped, list(found.failed)) == (([name], []) if is_gone else ([], [name]))


@pytest.mark.parametrize("name", ["store.db", "store"])
def test_a_store_within_the_folder_is_no_source(folder: Path, name: str) -> None:
    with store_of(storage_path=str(folder / name)) as store:
        for _ in range(2):
            report = Library(store).ingest(folder)
            assert (len(report.added) + len(report.unchanged), report.failed) == (2, {})


def test_each_name_is_compared_with_all_places_at_once(
    store: VectorStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(50):
        (tmp_path / f"{number}.txt").write_text(f"Ada has {number} machines.")
    Library(store).ingest(tmp_path)
    calls, absolute = list[str](), os.path.abspath

    def counted(path: str) -> str:
        calls.append(path)
        return absolute(path)

    monkeypatch.setattr(os.path, "abspath", counted)
    files = [tmp_path / f"{number}.txt" for number in range(40)]
    report = Library(store).ingest(*files)
    assert (len(report.unchanged), report.gone) == (40, [])
    assert len(calls) < 10 * 50  # not once for each pair


@pytest.mark.parametrize("place", ["", "old", "old/bob.txt"])
def test_below_a_place_that_is_not_there_nothing_is_pruned(store: VectorStore, folder: Path, place: str) -> None:
    library = Library(store)
    library.ingest(folder)
    folder.rename(folder.with_name("unmounted"))
    report = library.ingest(folder / place, prune=True)
    assert (report.dropped, report.gone, list(report.failed)) == ([], [], [str(folder / place)])
    assert len(library.sources()) == 2


@pytest.mark.parametrize("place", [".", "./letters", "letters/"])
def test_pruning_knows_a_folder_however_it_is_written(
    store: VectorStore, folder: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.parent)
    library = Library(store)
    library.ingest(place, Note("/elsewhere/letters/note", "A note."))
    (folder / "ada.md").unlink()
    assert library.ingest(place, prune=True).dropped == ["letters/ada.md"]
    assert len(library.sources()) == 2


def test_a_git_repository_is_pruned_by_itself(store: VectorStore, folder: Path) -> None:
    def git(*words: str) -> None:
        who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
        subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)

    git("init")
    git("add", ".")
    git("commit", "-m", "all")
    library = Library(store)
    library.ingest(folder)
    assert len(library.ingest(f"git+{folder}").added) == 2
    git("rm", "ada.md")
    git("commit", "-m", "less")
    (dropped,) = library.ingest(f"git+{folder}", prune=True).dropped
    assert dropped.endswith(":ada.md")
    assert len(library.sources()) == 3


def test_a_source_that_cannot_be_read_is_reported_and_the_others_go_on(store: VectorStore, folder: Path) -> None:
    library = Library(store)
    library.ingest(folder)
    (folder / "ada.md").write_bytes(b"\x00\x01\x02" * 100)
    missing = str(folder / "none.txt")
    report = library.ingest(missing, folder)
    assert isinstance(report.failed[missing], DocumentNotFoundError)
    assert isinstance(report.failed[f"{folder}/ada.md"], UnreadableDocumentError)
    assert len(report.unchanged) == 1
    assert len(served(store)) == 3  # as it was


def test_a_source_that_breaks_off_leaves_what_was(store: VectorStore) -> None:
    class Torn(Note):
        def documents(self) -> Iterator[Document]:
            yield Document(content="word. " * 200_000)
            raise UnreadableDocumentError("the rest is damaged", self.name)

    library = Library(store)
    library.ingest(Note("note", "As it was."))
    report = library.ingest(Torn("note", "", state="2"), Note("other", "Another."))
    assert (list(report.failed), report.added) == (["note"], ["other"])
    assert served(store) == ["As it was.", "Another."]


def test_a_source_that_changes_while_it_is_read_is_not_served(store: VectorStore) -> None:
    report = Library(store).ingest(Restless("note", "Now this."))
    assert "changes while it is read" in str(report.failed["note"])
    assert served(store) == []


def test_a_source_that_changed_once_is_read_again(store: VectorStore) -> None:
    class Late(Note):
        def documents(self) -> Iterator[Document]:
            yield from super().documents()
            if self.reads == 1:
                self.texts, self.now = ("Then that.",), "2"

    assert Library(store).ingest(Late("note", "First this.")).added == ["note"]
    assert served(store) == ["Then that."]


def test_each_source_is_reported_and_is_a_node(store: VectorStore, folder: Path) -> None:
    received: list[Event[Any]] = []
    Library(store).ingest(folder, str(folder / "none"), listeners=[received.append])
    ends = [event.data for event in received if isinstance(event, IngestEvent)]
    assert [each[1:4] for each in ends] == [("failed", 1, 3), ("added", 2, 3), ("added", 3, 3)]
    assert [event.name for event in received if event.kind == "started"][:4] == ["ingest", *["source"] * 3]


def test_it_works_in_async_code(store: VectorStore, folder: Path) -> None:
    async def run() -> IngestReport:
        return await Library(store).ingest_async(folder)

    assert asyncio.run(run()).chunks == 3


def test_short_sources_are_embedded_together() -> None:
    class Told(Words):
        def __init__(self) -> None:
            super().__init__()
            self.calls: list[int] = []

        def compute(self, texts: Any, purpose: Any) -> Any:
            self.calls.append(len(texts))
            return super().compute(texts, purpose)

    model = Told()
    with store_of(embedding=model) as store:
        Library(store).ingest(*(Note(f"note {number}", f"Text {number}.") for number in range(50)))
        assert (model.calls, store.count()) == ([50], 50)
        assert store.similar_texts_with_scores("Text 7.", 1)[0][0].content == "Text 7."


def test_a_chunker_of_ones_own_cuts(store: VectorStore) -> None:
    def words(document: Document) -> Iterator[Chunk]:
        return (Chunk.of(each, source="anything") for each in document.content.split())

    Library(store, chunker=words).ingest(Note("note", "one two"))
    assert [(each.content, each.metadata.position) for each in store.scan()] == [("one", 0), ("two", 1)]


def test_a_source_may_be_dropped(store: VectorStore) -> None:
    library = Library(store)
    library.ingest(Note("note", "One.", "Two."))
    assert (library.drop("note"), library.sources(), served(store)) == (2, [], [])


def test_a_kill_leaves_nothing_half_served(store: VectorStore) -> None:
    def kill(event: Event[Any]) -> None:
        if isinstance(event, IngestEvent) and event.data.outcome == "reading":
            event.node.kill("enough")

    long = Note("long", "word. " * 300_000)
    library = Library(store)
    with pytest.raises(RunKilledError):
        library.ingest(Note("note", "One."), long, listeners=[kill])
    assert served(store) == ["One."]
    report = library.ingest(Note("note", "One."), long)
    assert (report.unchanged, report.added) == (["note"], ["long"])
    assert store.count() == 1 + report.chunks


def test_cancelling_leaves_nothing_half_served(store: VectorStore) -> None:
    async def run() -> None:
        def cancel(event: Event[Any]) -> None:
            if isinstance(event, IngestEvent) and event.data.outcome == "reading":
                asyncio.get_running_loop().call_soon(task.cancel)

        task = asyncio.ensure_future(Library(store).ingest_async(Note("long", "word. " * 300_000), listeners=[cancel]))
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(run())
    assert served(store) == []
    assert Library(store).ingest(Note("long", "word. " * 300_000)).added == ["long"]


def test_a_size_that_cannot_be_is_reported(store: VectorStore) -> None:
    with pytest.raises(ConfigurationError):
        Library(store, size=0)


# ---- names of sources
@pytest.fixture
def at_home(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(folder.parent)
    return folder


@pytest.mark.parametrize(
    "place", ["letters/ada.md", "./letters/ada.md", "letters/old/../ada.md", "ABOVE/letters/ada.md"]
)
def test_a_file_is_dropped_however_its_path_is_written(store: VectorStore, at_home: Path, place: str) -> None:
    library = Library(store)
    library.ingest("letters/ada.md")
    assert library.drop(place.replace("ABOVE", str(at_home.parent))) == 2
    assert library.sources() == []


@pytest.mark.parametrize("place", ["letters", "letters/", Path("letters"), "."])
def test_a_folder_is_dropped_with_all_below_it(store: VectorStore, at_home: Path, place: str | Path) -> None:
    library = Library(store)
    library.ingest(at_home, Note("letters2"), Note("https://example.org/letters/x", "Far away."))
    dropped = library.drop(place)
    left = [record.source for record in library.sources()]
    assert dropped == 3
    assert left == ["https://example.org/letters/x", *(["letters2"] if place != "." else [])]


def test_a_repository_is_dropped_as_it_was_ingested(store: VectorStore, at_home: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=at_home, check=True)
    subprocess.run(["git", "add", "."], cwd=at_home, check=True)
    name = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run(["git", *name, "commit", "-qm", "x"], cwd=at_home, check=True)
    library = Library(store)
    library.ingest("git+letters", "letters/ada.md")
    assert library.drop(f"git+{at_home}") == 3
    assert [record.source for record in library.sources()] == ["letters/ada.md"]


def test_what_is_unknown_drops_nothing(store: VectorStore, at_home: Path) -> None:
    library = Library(store)
    library.ingest("letters")
    assert library.drop("letter") == 0
    assert len(library.sources()) == 2


def test_a_file_is_kept_once_and_cited_as_it_was_given_first(store: VectorStore, at_home: Path) -> None:
    library = Library(store)
    assert library.ingest("letters").added == ["letters/ada.md", "letters/old/bob.txt"]
    report = library.ingest(at_home, "./letters/ada.md")
    assert (report.added, report.unchanged) == ([], ["letters/ada.md", "letters/old/bob.txt"])
    (at_home / "ada.md").write_text("Cats too.\n")
    assert library.ingest(at_home).updated == ["letters/ada.md"]
    (hit,) = store.full_text("cats") or []
    assert hit.chunk.metadata.citation == "letters/ada.md:1"
    (at_home / "ada.md").unlink()
    assert library.ingest(at_home, prune=True).dropped == ["letters/ada.md"]


def test_a_report_tells_why_the_first_sources_failed(store: VectorStore, at_home: Path) -> None:
    report = Library(store).ingest("zzz.txt", "letters")
    counts, reason = str(report).splitlines()
    assert counts.startswith("2 added, 1 failed; 3 chunks in ")
    assert reason == "  zzz.txt: there is no such file or folder; check the path"
    many = Library(store).ingest(*(f"{number}.txt" for number in range(9)))
    assert str(many).endswith("\n  … and 4 more")


def test_a_report_tells_what_files_were_skipped(store: VectorStore, folder: Path) -> None:
    for name in ("a.rtf", "b.doc", "c.DOC", ".git", ".env"):
        (folder / name).touch()
    assert str(Library(store).ingest(folder)).startswith("2 added, 3 skipped (.doc, .rtf); 3 chunks in ")
