"""`trivium ingest`: a store that a shell fills, without a model, and that `trivium ask` answers from."""

from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path

import pytest

from _http_server import PageServer
from trivium.actions.web import Fetcher
from trivium.cli._knowledge import fill_store, find_places
from trivium.cli._sources import ReadOptions
from trivium.knowledge import Library, SQLiteStore, SQLiteStoreConfig

from ._command import Command, Ended


@pytest.fixture
def folder(trivium: Command) -> Path:
    made = trivium.folder / "handbook"
    made.mkdir()
    (made / "lease.txt").write_text("The rent is 950 EUR.\n")
    (made / "pets.md").write_text("# Pets\n\nDogs are welcome.\n")
    (made / "old.doc").touch()
    return made


def ingest(trivium: Command, *arguments: str) -> Ended:
    return trivium("ingest", "team.db", *arguments, "--embedding", "none")


def test_a_store_is_filled_and_asked(trivium: Command, folder: Path):
    ended = ingest(trivium, "handbook")
    assert (ended.status, ended.err) == (0, "")
    assert ended.out.startswith("2 added, 1 skipped (.doc); 2 chunks in ")
    assert ingest(trivium, "handbook").out.startswith("2 unchanged, ")
    (trivium.folder / "said.json").write_text('["The rent is 950 EUR [1]."]')
    question = ("What is the rent?", "--model", "scripted:said.json", "--embedding", "none")
    assert trivium("ask", "--store", "team.db", *question).out.startswith("The rent is 950 EUR [1].")


def test_a_store_is_asked_by_the_embedding_that_it_was_made_with(trivium: Command, folder: Path):
    ingest(trivium, "handbook")
    (trivium.folder / "said.json").write_text('["The rent is 950 EUR [1]."]')
    ended = trivium("ask", "--store", "team.db", "What is the rent?", "--model", "scripted:said.json")
    assert (ended.status, ended.out[:24]) == (0, "The rent is 950 EUR [1].")
    ended = trivium("ingest", "team.db", "handbook")
    assert ended.out.startswith("2 unchanged, ")


def test_an_empty_store_says_how_it_is_filled(trivium: Command, folder: Path):
    ingest(trivium, "handbook")
    for path in folder.iterdir():
        path.unlink()
    ingest(trivium, "handbook", "--prune")
    (trivium.folder / "said.json").write_text('["none"]')
    ended = trivium("ask", "--store", "team.db", "What is the rent?", "--model", "scripted:said.json")
    assert (ended.status, ended.error) == (1, "the store team.db is empty: fill it by `trivium ingest team.db FILES`")


def test_what_is_gone_is_told_and_pruned(trivium: Command, folder: Path):
    ingest(trivium, "handbook")
    (folder / "pets.md").unlink()
    ended = ingest(trivium, "handbook")
    assert ended.error.startswith("note: the store still has handbook/pets.md, which is gone from the folder: --prune")
    ended = ingest(trivium, "handbook", "--prune", "--json")
    [data] = ended.records
    assert (ended.err, data["dropped"], data["unchanged"]) == (
        "",
        [str(folder / "pets.md")],
        [str(folder / "lease.txt")],
    )
    assert data["skipped"] == {str(folder / "old.doc"): "its suffix is that of a binary file"}


def test_patterns_choose_files_and_what_they_leave_out_is_pruned(trivium: Command, folder: Path):
    lease, pets = str(folder / "lease.txt"), str(folder / "pets.md")
    assert json.loads(ingest(trivium, "handbook", "--include", "*.txt", "--json").out)["added"] == [lease]
    assert json.loads(ingest(trivium, "handbook", "--exclude", "*.txt", "--json").out)["added"] == [pets]
    ended = ingest(trivium, "handbook", "--exclude", "*.txt", "--prune", "--json")
    assert (ended.err, json.loads(ended.out)["dropped"]) == ("", [lease])


def test_another_encoding_is_another_text(trivium: Command, folder: Path):
    (folder / "polish.txt").write_bytes("Czynsz: 950 zł.\n".encode("cp852"))
    ingest(trivium, "handbook", "--encoding", "cp1250")
    ended = ingest(trivium, "handbook", "--encoding", "cp852", "--json")
    assert len(json.loads(ended.out)["updated"]) == 3
    with SQLiteStore(SQLiteStoreConfig(storage_path=str(trivium.folder / "team.db"), embedding=None)) as store:
        assert "Czynsz: 950 zł." in [hit.chunk.content for hit in store.full_text("Czynsz") or ()]


def test_a_page_that_no_longer_exists_is_told_where_it_is_removed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    with PageServer() as pages, SQLiteStore(SQLiteStoreConfig(embedding=None)) as store:
        monkeypatch.setattr("trivium.actions.web.Fetcher", partial(Fetcher, allowed_hosts=[pages.host]))
        page = find_places([f"{pages.url}/page"])
        assert fill_store(Library(store), page, ReadOptions(1 << 20), prune=True).added == [*page.paths]
        pages.status = 404
        assert fill_store(Library(store), page, ReadOptions(1 << 20), prune=True).dropped == [*page.paths]
        assert capsys.readouterr().err == f"error: {pages.url}/page: it no longer exists\n"


def test_a_document_that_cannot_be_read_is_reported_and_the_others_are_kept(trivium: Command, folder: Path):
    (folder / "bad.txt").write_bytes(os.urandom(3000))
    ended = ingest(trivium, "handbook", "--json")
    data = json.loads(ended.out)
    assert (ended.status, len(data["added"]), list(data["failed"])) == (1, 2, [str(folder / "bad.txt")])
    assert ended.error.startswith("handbook/bad.txt: this is binary data")


def test_a_missing_path_is_reported_and_the_others_are_read(trivium: Command, folder: Path):
    ended = ingest(trivium, "missing.md", "handbook", "--json")
    data = json.loads(ended.out)
    assert (ended.status, len(data["added"]), list(data["failed"])) == (1, 2, [str(trivium.folder / "missing.md")])
    assert ended.error.startswith("missing.md: there is no such file or folder")


def test_an_empty_document_is_not_made_a_store(trivium: Command, folder: Path):
    (trivium.folder / "empty.md").touch()
    ended = trivium("ingest", "empty.md", "handbook", "--embedding", "none")
    assert (ended.status, ended.error) == (2, "empty.md is an empty document and no store: name the store first")
    assert (trivium.folder / "empty.md").read_bytes() == b""


@pytest.mark.parametrize(
    ("place", "status", "said"),
    [
        ("nothing", 1, "nothing: there is no such file or folder; check the path"),
        ("-", 2, "standard input has no name under which it could be read again: give files"),
    ],
)
def test_a_place_that_cannot_be_read_is_one_line(trivium: Command, place: str, status: int, said: str):
    ended = ingest(trivium, place)
    assert (ended.status, ended.out, ended.error) == (status, "", said)
    assert not (trivium.folder / "team.db").exists()


def test_a_store_of_another_embedding_model_names_the_option(trivium: Command, folder: Path):
    ingest(trivium, "handbook")
    ended = trivium("ingest", "team.db", "handbook", "--embedding", "static")
    assert (ended.status, ended.error) == (
        2, "team.db was made with --embedding none: give that, or name another store"
    )  # fmt: skip
