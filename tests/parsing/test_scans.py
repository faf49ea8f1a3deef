"""Scans and images, read by the real tesseract: turned, skewed, in several languages, with boxes; and its limits."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Generator
from functools import reduce
from itertools import count
from pathlib import Path
from time import monotonic

import pypdfium2  # pyright: ignore[reportMissingTypeStubs]
import pytest
from PIL import Image, ImageChops, ImageOps

from _forked import forking
from cli._command import needs_program
from parsing._pdf import Placed, pdf, placed_pdf
from trivium.exceptions import DocumentTimeoutError, DocumentTooLargeError, OCRMissingError, UnreadableDocumentError
from trivium.extraction import Case, parse_fields
from trivium.parsing import Box, PagedDocument, ReadLimits, locate, read
from trivium.parsing.formats import _ocr
from trivium.parsing.formats._formats import Original
from trivium.parsing.lowlevel import start_apart

PAGE: list[Placed] = [
    (60, 700, "Invoice number:"), (330, 700, "4711-2024"),
    (60, 660, "The total of this order:"), (330, 660, "EUR 99.50"),
    (60, 600, "Please pay it by the end of the month to the account that you know, and"),
    (60, 580, "write the number of the invoice. Thank you for your trust in our company."),
    (60, 540, "Ada Byron"), (60, 300, "All goods remain our property until they are paid for in full."),
]  # fmt: skip


@pytest.fixture(scope="session")
def tesseract() -> str:
    """Where the engine is; a test without it fails."""
    return needs_program("tesseract", "tesseract-ocr")


@pytest.fixture
def forked() -> Generator[None]:
    """What reads images is forked from a process that has loaded what it needs."""
    with forking("trivium.parsing.formats._apart_program", "trivium.parsing.formats._ocr", "PIL.TiffImagePlugin"):
        yield


def page_image(placed: list[Placed] = PAGE, dpi: int = 200) -> Image.Image:
    """The page as a scanner sees it."""
    page = pypdfium2.PdfDocument(placed_pdf([placed], size=12))[0]
    return page.render(scale=dpi / 72, grayscale=True).to_pil()  # pyright: ignore


def read_image(folder: Path, image: Image.Image, name: str = "a.png", **options: object) -> PagedDocument:
    image.save(folder / name, dpi=(200, 200))
    document = read(folder / name, **options)  # type: ignore[arg-type] # pyright: ignore
    assert isinstance(document, PagedDocument)
    return document


def turned(image: Image.Image, degrees: float) -> Image.Image:
    return image.rotate(degrees, Image.Resampling.BICUBIC, expand=True, fillcolor=255)


@pytest.mark.usefixtures("tesseract", "forked")
@pytest.mark.parametrize("name", ["a.png", "a.jpg", "a.tiff", "a.pdf", "a.gif", "a.webp", "a.bmp"])
def test_images_are_read(tmp_path: Path, name: str) -> None:
    page_image(PAGE[:4]).convert("RGB").save(tmp_path / name, resolution=200, dpi=(200, 200))
    document = read(tmp_path / name)
    assert isinstance(document, PagedDocument)
    lines = document.content.splitlines()
    assert lines[0] == "Invoice number:   4711-2024"
    assert "The total of this order:   EUR 99.50" in lines
    assert document.metadata.pages == (0,)
    assert [round(side) for side in document.layout.sizes[0]] == [612, 792]
    start = document.content.index("EUR 99.50")
    assert locate(document, start).page == 1
    assert 0.5 < (document.layout.confidence(start, start + 9) or 0) <= 1


@pytest.mark.usefixtures("tesseract", "forked")
@pytest.mark.parametrize("mode", ["RGBA", "LA", "P"])
@pytest.mark.parametrize(("ink", "hidden"), [("black", "black"), ("white", "black"), ("white", "white")])
def test_letters_on_a_transparent_ground_are_read(tmp_path: Path, mode: str, ink: str, hidden: str) -> None:
    letters = ImageOps.invert(page_image().crop((0, 0, 1700, 700)))  # its first four lines
    image = Image.new("RGBA", letters.size, hidden)
    image.paste(ink, mask=letters)
    image.putalpha(letters)
    document = read_image(tmp_path, image.quantize(16) if mode == "P" else image.convert(mode))
    assert "Invoice number:   4711-2024" in document.content


@pytest.mark.usefixtures("tesseract", "forked")
@pytest.mark.parametrize("degrees", [0, -5, 93, 180, 270])
def test_turned_and_skewed_pages_and_the_ink_in_the_boxes(tmp_path: Path, degrees: float) -> None:
    image = turned(page_image(), degrees)
    document = read_image(tmp_path, image)
    assert "Invoice number:   4711-2024\n" in document.content
    start = document.content.index("4711-2024")
    box = reduce(Box.union, document.layout.boxes(start, start + 9))
    others = turned(page_image([each for each in PAGE if each[2] != "4711-2024"]), degrees)
    table = [255 * (each > 99) for each in range(256)]
    ink = ImageChops.difference(image, others).point(table).getbbox()
    assert [200 / 72 * each for each in box[1:]] == pytest.approx(ink, abs=12)


@pytest.mark.usefixtures("tesseract", "forked")
@pytest.mark.parametrize("degrees", [90, 180, 270])
def test_a_receipt_with_few_letters_may_be_turned(tmp_path: Path, degrees: int) -> None:
    receipt = page_image([(60, 560, "Corner Shop"), (60, 540, "Total:"), (160, 540, "EUR 99.50")])
    document = read_image(tmp_path, turned(receipt.crop((0, 500, 1000, 900)), degrees))
    assert " ".join(document.content.split()) == "Corner Shop Total: EUR 99.50"


@pytest.mark.usefixtures("tesseract", "forked")
@pytest.mark.parametrize(("seconds", "is_turned"), [(0, True), (10, False)])
def test_a_page_is_turned_while_there_is_time(monkeypatch: pytest.MonkeyPatch, seconds: int, is_turned: bool) -> None:
    monkeypatch.setattr(_ocr, "monotonic", count(step=seconds).__next__)
    receipt = page_image([(60, 560, "Corner Shop"), (60, 540, "Total:"), (160, 540, "EUR 99.50")])
    image = turned(receipt.crop((0, 500, 1000, 900)), 180)
    text, _ = _ocr.OCR(Original(b"", "a.png", ".png", 1000)).read_page(image, 1, (360, 144), 0)
    assert ("Corner Shop" in text) == is_turned


@pytest.mark.usefixtures("tesseract", "forked")
def test_a_page_that_cannot_be_read_is_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    page_image().save(tmp_path / "a.tiff", save_all=True, append_images=[ImageOps.mirror(page_image())])
    assert "4711-2024" in read(tmp_path / "a.tiff").content
    (told,) = caplog.messages
    assert told == f"{tmp_path / 'a.tiff'}: OCR could hardly read page 2: scan it anew at 300 dpi"


@pytest.mark.usefixtures("tesseract", "forked")
def test_pages_are_reported_and_several_images_are_pages(tmp_path: Path) -> None:
    second = page_image([(60, 700, "The second page has the name of Bob Brown.")])
    page_image().save(tmp_path / "a.tiff", save_all=True, append_images=[second])
    seen: list[tuple[int, int]] = []
    document = read(tmp_path / "a.tiff", on_page=lambda page, count: seen.append((page, count)))
    assert seen == [(1, 2), (2, 2)]
    assert str(locate(document, document.content.index("Bob Brown"))) == "page 2, line 1"
    with pytest.raises(DocumentTooLargeError, match="2 scanned pages") as caught:
        read(tmp_path / "a.tiff", limits=ReadLimits(scanned_pages=1))
    assert (caught.value.limit, caught.value.value) == ("scanned_pages", 1)


@pytest.mark.parametrize("suffix", ["tiff", "pdf"])
def test_too_many_scans_are_refused_before_any_is_read(tmp_path: Path, suffix: str) -> None:
    path, seen = tmp_path / f"a.{suffix}", list[tuple[int, int]]()
    page_image().save(path, save_all=True, append_images=[page_image()] * 2, resolution=200)
    with pytest.raises(DocumentTooLargeError, match="3 scanned pages, the limit is 2"):
        read(path, limits=ReadLimits(scanned_pages=2), on_page=lambda page, count: seen.append((page, count)))
    assert seen == []


@pytest.mark.usefixtures("tesseract", "forked")
def test_pages_with_text_do_not_count_as_scans(tmp_path: Path) -> None:
    made = pypdfium2.PdfDocument(pdf([["A page with a text layer, which is read as it is."]]))
    page_image().save(tmp_path / "scan.pdf", resolution=200)
    for each in (tmp_path / "scan.pdf", pdf([["One more page with a text layer of its own."]])):
        made.import_pages(pypdfium2.PdfDocument(each))  # pyright: ignore[reportUnknownMemberType]
    made.save(tmp_path / "all.pdf")  # pyright: ignore[reportUnknownMemberType]
    assert "4711-2024" in read(tmp_path / "all.pdf", limits=ReadLimits(scanned_pages=1)).content
    with pytest.raises(DocumentTooLargeError, match="1 scanned pages, the limit is 0"):
        read(tmp_path / "all.pdf", limits=ReadLimits(scanned_pages=0))


@pytest.mark.usefixtures("tesseract", "forked")
def test_a_scanned_page_among_others(tmp_path: Path) -> None:
    words = pypdfium2.PdfDocument(pdf([["A page with a text layer, which is read as it is."]]))
    page_image().save(tmp_path / "scan.pdf", resolution=200)
    words.import_pages(pypdfium2.PdfDocument(tmp_path / "scan.pdf"))  # pyright: ignore[reportUnknownMemberType]
    words.save(tmp_path / "both.pdf")  # pyright: ignore[reportUnknownMemberType]
    document = read(tmp_path / "both.pdf")
    assert isinstance(document, PagedDocument)
    text = document.content
    assert text.startswith("A page with a text layer, which is read as it is.\n\n")
    start = text.index("4711-2024")
    assert str(locate(document, start)) == "page 2, line 1"
    assert document.layout.confidence(0, 10) is None
    assert document.layout.confidence(start, start + 9) is not None


@pytest.mark.usefixtures("tesseract", "forked")
def test_evidence_has_the_confidence_of_ocr(tmp_path: Path) -> None:
    document = read_image(tmp_path, page_image())
    case = Case(document, parse_fields("total: money"))
    assert case.check({"total": "99.50 EUR"}) == []
    found = case.result()["fields"]["total"]
    assert (found["value"], found["page"]) == ({"amount": 99.5, "currency": "EUR"}, 1)
    assert 0.5 < found["ocr_confidence"] <= 1
    assert [box[0] for box in found["boxes"]] == [1]


@pytest.mark.usefixtures("tesseract", "forked")
def test_languages_are_chosen_or_found(tmp_path: Path) -> None:
    assert "4711" in read_image(tmp_path, page_image(), languages=["eng"]).content
    with pytest.raises(OCRMissingError, match="apt-get install tesseract-ocr-xyz") as caught:
        read_image(tmp_path, page_image(), languages=["xyz"])
    assert caught.value.package == "tesseract-ocr-xyz"


@pytest.mark.usefixtures("tesseract", "forked")
@pytest.mark.parametrize("name", ["de", "german", "deu+eng"])
def test_a_language_by_another_name_is_no_package(tmp_path: Path, name: str) -> None:
    with pytest.raises(OCRMissingError, match=r'languages=\["deu", "eng"\].*; installed: .*\beng\b') as caught:
        read_image(tmp_path, page_image(), languages=[name])
    assert "apt-get" not in str(caught.value)
    assert caught.value.package == ""


def without_tesseract(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the process find no program but those of a folder."""
    monkeypatch.setenv("PATH", str(folder))


def test_a_missing_engine_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page_image().save(tmp_path / "a.pdf", resolution=200)
    without_tesseract(tmp_path, monkeypatch)
    for name in ("a.png", "a.pdf"):
        with pytest.raises(OCRMissingError, match=r"tesseract.*apt-get install tesseract-ocr\b") as caught:
            read_image(tmp_path, page_image(), name)
        assert caught.value.source == str(tmp_path / name)
        assert caught.value.package == "tesseract-ocr"


def test_a_document_with_text_is_read_without_an_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = pypdfium2.PdfDocument(pdf([["A page with a text layer."]]))
    page_image().save(tmp_path / "scan.pdf", resolution=200)
    words.import_pages(pypdfium2.PdfDocument(tmp_path / "scan.pdf"))  # pyright: ignore[reportUnknownMemberType]
    words.save(tmp_path / "both.pdf")  # pyright: ignore[reportUnknownMemberType]
    without_tesseract(tmp_path, monkeypatch)
    document = read(tmp_path / "both.pdf")
    assert isinstance(document, PagedDocument)
    assert document.content.strip() == "A page with a text layer."
    assert document.unread_pages == (2,)


# --- Chinese and Japanese -------------------------------------------------------------------------------------


def stand_in(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str, languages: str = "eng") -> None:
    """A program in the place of tesseract that knows some languages, and then does what the script says."""
    program = folder / "tesseract"
    listed = languages.replace(" ", "\\n")
    program.write_text(f'#!/bin/sh\n[ "$1" = --list-langs ] && printf "List:\\n{listed}\\n" && exit\n{script}\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


def table_row(word: str, left: int, width: int, confidence: int) -> str:
    """A word in the table that the engine writes."""
    return f"5\t1\t1\t1\t1\t1\t{left}\t44\t{width}\t29\t{confidence}\t{word}"


@pytest.mark.usefixtures("forked")
@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("房屋 62 76|租赁 137 49|合同 201 48", "房屋租赁合同"),
        ("さ 217 17|くら 227 17|株 246 29", "さくら株"),  # boxes overlap
        ("人民 220 61|币 294 29|3500 325 68|元 405 28|，共 436 50", "人民币 3500 元，共"),
        ("单价 62 76|金额 300 76", "单价   金额"),
        ("the 62 76|end 150 50", "the end"),
    ],
)
def test_no_space_is_read_within_chinese_and_japanese(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, text: str
) -> None:
    """The words are what the real engine gives, with the left edges and widths of their boxes."""
    rows = [word.split() for word in words.split("|")]
    table = "\n".join(table_row(word, int(left), int(width), 90) for word, left, width in rows)
    (tmp_path / "table").write_text(table, encoding="utf-8")
    stand_in(tmp_path, monkeypatch, f"cat {tmp_path}/table")
    document = read_image(tmp_path, page_image())
    assert document.content.strip() == text
    word, left, width = rows[-1]
    (box,) = document.layout.boxes(text.rindex(word[-1]), len(text))
    assert box.right == pytest.approx(72 / 200 * (int(left) + int(width)), abs=0.1)


# --- languages that nobody names ------------------------------------------------------------------------------

READINGS = {
    "eng": (66, "Cuethaonnaty"), "deu": (70, "Rechnungüber"), "fra": (60, "Rechnûngûber"),
    "jpn": (99, "請求書番号合計金額支払日"), "rus": (92, "Счётнаоплату"), "ukr": (85, "Счетнаоплату"),
}  # fmt: skip


@pytest.mark.usefixtures("forked")
@pytest.mark.parametrize(
    ("installed", "stands", "text", "left_out"),
    [
        ("deu eng fra jpn rus ukr", "Script: Cyrillic", READINGS["rus"][1], {"jpn", "deu", "fra"}),
        ("deu eng fra jpn rus ukr", "Script: Latin", READINGS["deu"][1], {"jpn", "rus", "ukr"}),
        ("deu eng fra jpn rus ukr", "Script: Fraktur", READINGS["deu"][1], {"jpn", "rus", "ukr"}),
        ("deu eng fra jpn", "Script: Korean", READINGS["jpn"][1], {"deu", "fra"}),
        ("deu eng fra rus", "Script: Thai", READINGS["rus"][1], set[str]()),  # of which no language is there
        ("deu eng fra rus", "Too few characters", READINGS["rus"][1], set[str]()),
    ],
)
def test_languages_of_the_script_are_tried_and_the_surest_reading_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installed: str, stands: str, text: str, left_out: set[str]
) -> None:
    for name, (confidence, word) in READINGS.items():
        (tmp_path / name).write_text(table_row(word, 60, 200, confidence), encoding="utf-8")
    script = f"""
        [ $(wc -c) -lt 99999 ] && exit  # the first page, which is blank
        case "$*" in *--psm*) echo "{stands}"; exit;; esac
        echo "$4" >> {tmp_path}/read
        cat "{tmp_path}/${{4%%+*}}"
    """
    stand_in(tmp_path, monkeypatch, script, installed)
    blank = Image.new("L", (100, 100), 255)
    blank.save(tmp_path / "a.tiff", save_all=True, append_images=[page_image()])
    assert read(tmp_path / "a.tiff").content.strip() == text
    asked = set((tmp_path / "read").read_text().split())
    assert {name for name in asked if "+" not in name} == set(installed.split()) - left_out


# --- limits ---------------------------------------------------------------------------------------------------


def test_an_engine_that_does_not_come_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(tmp_path, monkeypatch, f"echo $$ > {tmp_path}/pid; exec sleep 60")
    started = monotonic()
    with pytest.raises(DocumentTimeoutError):
        read_image(tmp_path, page_image(), limits=ReadLimits(seconds=2))
    assert monotonic() - started < 10
    pid = (tmp_path / "pid").read_text().strip()
    state = subprocess.run(["ps", "-o", "stat=", "-p", pid], capture_output=True, text=True, check=False).stdout
    assert state.strip() in ("", "Z")


def test_an_engine_that_fails_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(tmp_path, monkeypatch, "echo 'Error: it is broken' >&2; exit 1")
    with pytest.raises(UnreadableDocumentError, match="it is broken"):
        read_image(tmp_path, page_image())


def test_no_process_that_reads_a_file_has_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "OPENAI_API_KEY": "sk-secret",
        "MY_WORD": "swordfish",
        "LC_TIME": "C",
        "OPENBLAS_CORETYPE": "Haswell",
    }.items():
        monkeypatch.setenv(name, value)
    stand_in(tmp_path, monkeypatch, f"{{ env; ps eww -o args= -p $PPID; }} > {tmp_path}/env; exit 1")
    with pytest.raises(UnreadableDocumentError):
        read_image(tmp_path, page_image())
    with start_apart(Path("-")) as process:  # which reads its program from stdin
        told = process.communicate(b"import os; print(*map('='.join, os.environ.items()), sep='\\n')")[0].decode()
    for each in ((tmp_path / "env").read_text(), told):
        assert "LC_TIME=C" in each
        assert "OPENBLAS_CORETYPE=Haswell" in each
        assert "PYTHONPATH=" in each
        assert "sk-secret" not in each
        assert "swordfish" not in each


def test_the_engine_has_limited_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(tmp_path, monkeypatch, "ulimit -d >&2; exit 1")
    with pytest.raises(UnreadableDocumentError, match=str(100 << 10)):
        read_image(tmp_path, page_image(), limits=ReadLimits(memory=100 << 20))


def test_an_engine_without_memory_for_the_image_is_no_blank_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(tmp_path, monkeypatch, "echo 'Error in pixCreateNoInit: pixdata_malloc fail for data' >&2")
    with pytest.raises(DocumentTooLargeError, match=r"raise ReadLimits\(memory=…\)"):
        read_image(tmp_path, page_image())


def test_images_that_take_too_much(tmp_path: Path) -> None:
    Image.new("1", (30_000, 30_000)).save(tmp_path / "bomb.png")
    assert (tmp_path / "bomb.png").stat().st_size < 200_000
    Image.new("1", (12_500, 10_000)).save(tmp_path / "plan.png")
    for name in ("bomb.png", "plan.png"):
        with pytest.raises(DocumentTooLargeError, match=r"more than 120,000,000 pixels.*; scale it down") as caught:
            read(tmp_path / name)
        assert (caught.value.limit, caught.value.value) == ("pixels", 120_000_000)
        assert "max_bytes" not in str(caught.value)
    Image.new("RGB", (9000, 9000)).save(tmp_path / "large.png")
    with pytest.raises(DocumentTooLargeError):
        read(tmp_path / "large.png", limits=ReadLimits(memory=100 << 20))


def test_a_scan_of_500_megabytes(tmp_path: Path) -> None:
    path = tmp_path / "large.tiff"
    with path.open("wb") as file:
        file.write(b"II*\0")
        file.truncate(500 << 20)
    with pytest.raises(DocumentTooLargeError, match="524,288,000 bytes"):
        read(path)


def test_damaged_images_are_named(tmp_path: Path) -> None:
    page_image().save(tmp_path / "a.png")
    data = (tmp_path / "a.png").read_bytes()
    for cut in (8, 20, 100, len(data) // 2):
        (tmp_path / "b.png").write_bytes(data[:cut])
        with pytest.raises(UnreadableDocumentError, match="a PNG image, and damaged") as caught:
            read(tmp_path / "b.png")
        assert "object at" not in str(caught.value)  # what Pillow calls a file without a name
