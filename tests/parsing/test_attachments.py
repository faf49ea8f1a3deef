"""Files attached to e-mails: each is read as a file of its own, at its own pages and lines, within limits."""

from __future__ import annotations

import gzip
from email.message import EmailMessage
from functools import partial
from io import BytesIO
from itertools import chain, repeat
from pathlib import Path

import openpyxl
import pytest

from cli._command import needs_program
from parsing._pdf import pdf
from parsing.test_scans import page_image
from trivium.exceptions import ConfigurationError
from trivium.extraction import Case, parse_fields
from trivium.parsing import (
    Locator,
    MailDocument,
    PagedDocument,
    Parser,
    ParsingConfig,
    Place,
    ReadLimits,
    Splitter,
    read,
)
from trivium.parsing.chunks import chunk
from trivium.schema import Document

INVOICE = pdf([["Invoice 4711", "of Ada Byron"], ["The total is 99.50 EUR"]])


def mail(*attached: tuple[str, bytes], subject: str = "Your order", html: str = "") -> EmailMessage:
    """A message with files, whose kinds it does not tell."""
    message = EmailMessage()
    message["From"], message["Subject"] = "shop@example.org", subject
    message.set_content("Dear Ada,\nsee the file.\n")
    if html:
        message.add_alternative(html, subtype="html")
    for name, data in attached:
        message.add_attachment(data, maintype="application", subtype="octet-stream", filename=name)
    return message


def read_mail(
    folder: Path, message: EmailMessage | bytes, limits: ReadLimits | None = None, **options: int
) -> Document:
    path = folder / "order.eml"
    path.write_bytes(message if isinstance(message, bytes) else message.as_bytes())
    return read(path, limits=limits, **options)  # type: ignore[arg-type] # pyright: ignore


def names(document: Document) -> list[str]:
    return [each.name for each in document.attachments] if isinstance(document, MailDocument) else []


def workbook() -> bytes:
    book, file = openpyxl.Workbook(), BytesIO()
    for sheet, rows in ("Pens", [["item", "price"], ["pen", 3]]), ("Inks", [["item", "price"], ["ink", 4]]):
        made = book.create_sheet(sheet)
        for row in rows:
            made.append(row)
    book.save(file)
    return file.getvalue()


def test_each_kind_is_read_at_its_own_places(tmp_path: Path) -> None:
    inner = mail(("b.txt", b"deep\n"), subject="Offer")
    files = (
        ("a.pdf", INVOICE),
        ("list.xlsx", workbook()),
        ("a.txt.gz", gzip.compress(b"one\ntwo\n")),
        ("offer.eml", inner),
    )
    document = read_mail(
        tmp_path, mail(*((name, data if isinstance(data, bytes) else data.as_bytes()) for name, data in files))
    )
    assert names(document) == ["a.pdf", "list.xlsx", "a.txt.gz", "offer.eml", "offer.eml/b.txt"]
    locator = Locator(document)
    assert {word: str(locator.place(document.content.rindex(word))) for word in (
        "of Ada", "99.50", "ink", "two", "Subject: Offer", "deep", "Attachment: a.pdf"
    )} == {
        "of Ada": "attachment a.pdf, page 1, line 2", "99.50": "attachment a.pdf, page 2, line 1",
        "ink": "attachment list.xlsx, page 3, line 2", "two": "attachment a.txt.gz, line 2",
        "Subject: Offer": "attachment offer.eml, line 2", "deep": "attachment offer.eml/b.txt, line 1",
        "Attachment: a.pdf": "attachment a.pdf, page 1, line 1",
    }  # fmt: skip
    assert str(locator.place(document.content.index("see the file"))) == "line 11"
    assert locator.place(len(document.content)).attachment == "offer.eml/b.txt"
    for each in chunk(document, size=60):
        about = each.metadata
        assert document.content[about.start : about.end] == each.content
        place = locator.place(about.start)
        assert place == Place(about.page, about.line, about.attachment)
        assert tuple(place) == (about.page, about.line)
    assert [each.metadata.position for each in chunk(document)] == list(range(len(list(chunk(document)))))


def test_a_mail_comes_back_from_its_json_as_a_text(tmp_path: Path) -> None:
    document = read_mail(tmp_path, mail(("b.txt", b"first\nsecond\n")))
    again = MailDocument.model_validate_json(document.model_dump_json())
    assert (again.content, again.metadata) == (document.content, document.metadata)
    assert "".join(each.content for each in chunk(again)).endswith("second")


def test_a_long_mail_is_read_apart_with_its_files(tmp_path: Path) -> None:
    document = read_mail(tmp_path, mail(("long.txt", b"a line of it\n" * 90_000), ("a.pdf", INVOICE)))
    assert names(document) == ["long.txt", "a.pdf"]
    assert "99.50" in document.content


def test_values_of_a_file_have_its_boxes(tmp_path: Path) -> None:
    case = Case(read_mail(tmp_path, mail(("a.pdf", INVOICE))), parse_fields("total: money, sender"))
    assert case.check({"total": "99.50 EUR", "sender": "shop@example.org"}) == []
    total, sender = case.result()["fields"].values()
    assert (total["attachment"], total["page"], total["line"], total["quote"]) == ("a.pdf", 2, 1, "99.50 EUR")
    assert [box[0] for box in total["boxes"]] == [2]
    assert "attachment" not in sender
    assert "boxes" not in sender


@pytest.mark.parametrize(
    ("dpi", "html", "is_read"),
    [(30, '<img src="cid:logo">', False), (30, "<p>Dear Ada", True), (400, "<img src='cid:logo'>", True)],
)
def test_small_pictures_of_the_text_are_left_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, dpi: int, html: str, is_read: bool
) -> None:
    file, message = BytesIO(), mail(html=html)
    page_image(dpi=dpi).save(file, "bmp", dpi=(200, 200))
    assert (len(file.getvalue()) > 100_000) == (dpi == 400)
    related = message.get_payload()[1]  # type: ignore[index] # pyright: ignore
    related.add_related(file.getvalue(), "image", "bmp", cid="<logo>", filename="logo.bmp")  # type: ignore[union-attr] # pyright: ignore
    document = read_mail(tmp_path, message, ReadLimits(scanned_pages=0))  # none is read, so that none takes time
    assert "Attachment: logo.bmp" in document.content
    assert ("attachment logo.bmp: it has 1 scanned page" in caplog.text) == is_read


def test_a_scan_is_read_by_ocr(tmp_path: Path) -> None:
    needs_program("tesseract", "tesseract-ocr")
    file = BytesIO()
    page_image([(60, 700, "Invoice number: 4711-2024")]).save(file, "png", dpi=(200, 200))
    case = Case(read_mail(tmp_path, mail(("scan.png", file.getvalue()))), parse_fields("number"))
    case.check({"number": "4711-2024"})
    assert case.result()["fields"]["number"]["ocr_confidence"] > 0.5


def test_what_cannot_be_read_is_named_and_the_rest_is_read(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    document = read_mail(
        tmp_path, mail(("x.zip", b"PK\x03\x04"), ("none.txt", b""), ("b.txt", b"read\n"), ("b.txt", b"too\n"))
    )
    assert names(document) == ["b.txt", "b.txt (2)"]
    assert "Attachment: x.zip\nAttachment: none.txt\n" in document.content
    path = tmp_path / "order.eml"
    said = [record.getMessage() for record in caplog.records]
    assert [line.partition(": ")[0] for line in said] == [
        f"{path}, attachment {name}" for name in ("x.zip", "none.txt")
    ]


@pytest.mark.parametrize(
    ("kind", "name"),
    [("pkcs7-signature", "smime.p7s"), ("octet-stream", "smime.p7s"), ("pgp-encrypted", "version.txt")],
)
def test_a_signature_is_named_only(tmp_path: Path, caplog: pytest.LogCaptureFixture, kind: str, name: str) -> None:
    message = mail()
    message.add_attachment(b"Version: 1\n", maintype="application", subtype=kind, filename=name)
    assert read_mail(tmp_path, message).content.endswith(f"Attachment: {name}\n")
    assert not caplog.text


@pytest.mark.parametrize(
    ("limits", "options", "read_files", "limit"),
    [
        (ReadLimits(attachments=2), {}, ["a.txt", "in.eml"], "attachments"),
        (ReadLimits(mail_depth=1), {}, ["a.txt", "in.eml", "c.txt"], "mail_depth"),
        (ReadLimits(attachments=0), {}, [], "attachments"),
        (None, {"max_bytes": 4000}, ["a.txt", "in.eml", "in.eml/b.txt"], "max_bytes"),
    ],
)
def test_limits_are_named(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    limits: ReadLimits | None,
    options: dict[str, int],
    read_files: list[str],
    limit: str,
) -> None:
    inner = mail(("b.txt", b"deep\n")).as_bytes()
    packed = gzip.compress(b"It is long. " * 320)  # fits by itself, but not with the others
    last = ("c.txt", packed) if limit == "max_bytes" else ("c.txt", b"last\n")
    document = read_mail(tmp_path, mail(("a.txt", b"first\n"), ("in.eml", inner), last), limits, **options)
    assert names(document) == read_files
    assert f"{limit}" in caplog.text


def test_all_files_of_a_mail_have_a_time_together(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = chain([0.0, 1.0, 61.0], repeat(61.0))  # of the files: the third begins too late
    monkeypatch.setattr("trivium.parsing.formats._attachments.monotonic", partial(next, clock))
    document = read_mail(tmp_path, mail(*((name, b"text\n") for name in ("a.txt", "b.txt", "c.txt"))))
    assert names(document) == ["a.txt"]
    assert "takes longer than 60 seconds" in caplog.text
    assert "ReadLimits(seconds=…), of which all attachments get 4 times" in caplog.text


def test_no_more_files_are_read_than_twice_the_bound_of_text(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    files = [(f"{number}.txt.gz", gzip.compress(b"It is long. " * 250)) for number in range(9)]
    assert names(read_mail(tmp_path, mail(*files), max_bytes=4500)) == ["0.txt.gz"]
    assert [number for number in range(9) if f"attachment {number}.txt.gz: it holds more" in caplog.text] == [1, 2]
    assert "much more text with its attachments, and no more are read" in caplog.text


def test_a_long_name_keeps_the_format_of_its_file(tmp_path: Path) -> None:
    document = read_mail(tmp_path, mail((f"{'a' * 300}.csv", b"town,people\nOslo,7\n")))
    assert names(document) == ["a" * 200]
    assert "town: Oslo | people: 7" in document.content


@pytest.mark.parametrize("name", ["attachments", "mail_depth"])
def test_a_limit_is_a_number(name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"{name} is a whole number"):
        ReadLimits(**{name: -1})


def test_any_splitter_keeps_the_places_of_a_file(tmp_path: Path) -> None:
    document = read_mail(tmp_path, mail(("a.pdf", INVOICE)))
    for splitter in Splitter:
        found = Parser(ParsingConfig(splitter=splitter, chunk_size=40, overlap=0)).split([document])
        (place,) = [each.metadata for each in found if "99.50" in each.content]
        assert str(place.citation).endswith("order.eml, attachment a.pdf, page 2, line 1")  # type: ignore[attr-defined] # pyright: ignore


def test_pages_that_ocr_would_read_are_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    file = BytesIO()
    page_image().save(file, "png", dpi=(200, 200))
    document = read_mail(tmp_path, mail(("scan.png", file.getvalue()), ("a.pdf", INVOICE)))
    assert names(document) == ["a.pdf"]
    assert isinstance(document, MailDocument)
    assert isinstance(document.attachments[0].document, PagedDocument)
    assert "attachment scan.png: its text is an image" in caplog.text
