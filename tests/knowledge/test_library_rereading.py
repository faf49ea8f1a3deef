"""What an ingest reads again although it has not changed, and what it leaves alone until it changes."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest

from trivium.knowledge import Chunk, IngestLimits, Library
from trivium.knowledge.stores import SourceRecord
from trivium.parsing import ReadLimits

from .test_library import Note, store_of


def test_emails_that_an_older_version_has_read_are_read_again_with_their_files() -> None:
    store = store_of()
    notes = [Note("offer.eml", "See the file."), Note("note.txt", "The rent is 950 EUR.")]
    older = sha256(b"400\0").hexdigest()[:8]  # the recipe of both then
    for note in notes:
        mark = f"{note.fingerprint()[:32]}.{older}.{sha256(b'1').hexdigest()[:16]}"
        store.stage([Chunk.of(note.texts[0], source=note.name, fingerprint=mark)])
        store.publish(SourceRecord(note.name, mark, 1))
    report = Library(store).ingest(*notes)
    assert (report.updated, report.unchanged) == (["offer.eml"], ["note.txt"])
    assert len(Library(store).ingest(*notes).unchanged) == 2


def test_an_image_of_a_folder_that_cannot_be_read_is_left_out_until_something_changes(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, folder = store_of(), tmp_path / "letters"
    folder.mkdir()
    (folder / "ada.md").write_text("The rent is 950 EUR.")
    tesseract = folder.parent / "tesseract"  # it is asked for by its name alone: the image is damaged
    tesseract.write_text("")
    tesseract.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder.parent))
    broken = folder / "broken.png"
    broken.write_bytes(b"\x89PNG\r\n\x1a\n damaged")
    report = Library(store).ingest(folder)
    assert (report.failed, len(report.added)) == ({}, 2)
    assert [each.name for each in report.skipped] == [str(broken)]
    assert "left out until it changes" in caplog.text
    again = Library(store).ingest(folder)
    assert (len(again.unchanged), again.skipped) == (2, [])
    longer = IngestLimits(read=ReadLimits(seconds=16))
    assert [each.name for each in Library(store, limits=longer).ingest(folder).skipped] == [str(broken)]
    assert list(Library(store).ingest(broken).failed) == [str(broken)]
