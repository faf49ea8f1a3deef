"""Slides: their texts, tables and notes, slide by slide; a damaged file is one typed error."""

from __future__ import annotations

import datetime
import io
import zipfile
from pathlib import Path
from typing import Any

import docx
import pptx
import pytest
from pptx.util import Inches

from trivium.exceptions import DocumentTooLargeError, EmptyDocumentError, UnreadableDocumentError
from trivium.parsing import Locator, read
from trivium.parsing.formats._formats import Original
from trivium.parsing.formats._reading import read_original
from trivium.schema import Document

pytestmark = pytest.mark.usefixtures("forked_processes")


def saved(deck: Any) -> bytes:
    stream = io.BytesIO()
    deck.save(stream)
    return stream.getvalue()


def slides(data: bytes, limit: int = 10_000_000) -> Document:
    return read_original(Original(data, "a.pptx", ".pptx", limit))


def deck() -> Any:
    made: Any = pptx.Presentation()
    made.core_properties.title = "Spring"
    made.core_properties.modified = datetime.datetime(2024, 3, 1)
    first = made.slides.add_slide(made.slide_layouts[1])
    first.shapes.title.text = "Rents in spring"
    first.placeholders[1].text = "Up by 3 %\nin all cities"
    first.notes_slide.notes_text_frame.text = "Say thanks."
    hidden = made.slides.add_slide(made.slide_layouts[5])
    hidden.shapes.title.text = "Not for you"
    hidden._element.set("show", "0")
    last = made.slides.add_slide(made.slide_layouts[6])
    table = last.shapes.add_table(2, 2, Inches(1), Inches(1), Inches(4), Inches(1)).table
    for row, cells in enumerate([("City", "Rent"), ("Bonn", "12\nEUR")]):
        for column, text in enumerate(cells):
            table.cell(row, column).text = text
    group = last.shapes.add_group_shape()
    group.shapes.add_textbox(0, 0, 100, 100).text_frame.text = "Source: a\vb"
    return made


def test_raised_lowered_and_struck_text_of_a_slide() -> None:
    made: Any = pptx.Presentation()
    slide = made.slides.add_slide(made.slide_layouts[6])
    frame = slide.shapes.add_textbox(0, 0, 100, 100).text_frame
    table = slide.shapes.add_table(1, 2, Inches(1), Inches(1), Inches(4), Inches(1)).table
    for paragraph in (frame.paragraphs[0], table.cell(0, 0).text_frame.paragraphs[0]):
        for text, properties in (
            ("249", {}),
            ("9", {"baseline": "30000"}),
            ("9", {"baseline": "30%"}),
            (" € wa\u00ads ", {"baseline": "0"}),
            ("30", {"strike": "sngStrike"}),
            ("0 € ", {"strike": "dblStrike"}),
            ("in 24", {"strike": "noStrike"}),
            ("1", {"baseline": "-25000"}),
        ):
            run = paragraph.add_run()
            run.text = text
            for name, value in properties.items():
                run.font._element.set(name, value)
    text = "249^99 € was ~~300 €~~ in 24_1"
    assert slides(saved(made)).content == f"{text}\n\n\n{text} | \n\n"


def test_slides_are_pages() -> None:
    found = slides(saved(deck()))
    assert found.content == (
        "Rents in spring\n\nUp by 3 %\nin all cities\n\n\nNotes: Say thanks.\n\n"
        "City | Rent\nBonn | 12 EUR\n\nSource: a\nb\n\n"
    )
    locator = Locator(found)
    assert str(locator.place(found.content.index("in all"))) == "page 1, line 4"
    assert str(locator.place(found.content.index("Bonn"))) == "page 3, line 2"
    metadata = found.metadata
    assert (metadata.title, metadata.published_date) == ("Spring", "2024-03-01T00:00:00+00:00")
    assert metadata.media_type.endswith("presentationml.presentation")
    assert len(metadata.pages) == 3


def test_slides_without_text_are_empty() -> None:
    made: Any = pptx.Presentation()
    made.slides.add_slide(made.slide_layouts[6])
    with pytest.raises(EmptyDocumentError):
        slides(saved(made))


def part(data: bytes, name: str, content: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as given, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as made:
        for info in given.infolist():
            made.writestr(info.filename, content if info.filename == name else given.read(info))
    return stream.getvalue()


def test_what_is_no_deck_is_one_typed_error() -> None:
    data = saved(deck())
    with pytest.raises(UnreadableDocumentError, match="this PPTX file is damaged"):
        slides(part(data, "ppt/slides/slide1.xml", b"<p:sld"))
    with pytest.raises(UnreadableDocumentError, match="declares a document type"):
        slides(part(data, "ppt/slides/slide1.xml", b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'))
    with pytest.raises(DocumentTooLargeError, match="when unpacked"):
        slides(part(data, "ppt/slides/slide1.xml", b" " * 5_000_000), 2_000_000)
    with pytest.raises(UnreadableDocumentError, match="damaged"):
        slides(data[: len(data) // 2])


def test_a_package_without_properties_states_no_title_and_no_date(tmp_path: Path) -> None:
    document: Any = docx.Document()
    document.add_paragraph("Hello")
    document.core_properties.title = "A & B"
    document.core_properties.modified = datetime.datetime(2023, 5, 6, 7, 8, 9)
    data = saved(document)
    path = tmp_path / "a.docx"
    path.write_bytes(data)
    metadata = read(path).metadata
    assert (metadata.title, metadata.published_date) == ("A & B", "2023-05-06T07:08:09+00:00")
    with zipfile.ZipFile(io.BytesIO(data)) as given, zipfile.ZipFile(path, "w") as made:
        for info in given.infolist():
            if info.filename != "docProps/core.xml":
                content = given.read(info)
                made.writestr(info.filename, content.replace(b'"docProps/core.xml"', b'"docProps/app.xml"'))
    metadata = read(path).metadata
    assert (metadata.title, metadata.published_date) == ("Unknown Title", "Unknown Date")
