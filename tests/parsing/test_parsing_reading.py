"""Reading files: text in any encoding comes through; whatever cannot be read is one typed line."""

from __future__ import annotations

import codecs
import gzip
import io
import logging
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import trivium.parsing
from trivium.exceptions import (
    ConfigurationError,
    DocumentError,
    DocumentNotFoundError,
    DocumentTooLargeError,
    EmptyDocumentError,
    MissingExtraError,
    UnreadableDocumentError,
)
from trivium.parsing import read
from trivium.parsing.formats._decoding import decode, tidy
from trivium.parsing.formats._formats import Original, detect_media_type
from trivium.parsing.formats._streaming import read_parts

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"


def write(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def zipped(names: Mapping[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in names.items():
            archive.writestr(name, data)
    return stream.getvalue()


def tarred() -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("empty"))
    return stream.getvalue()


# --- text ---------------------------------------------------------------------------------------------------

VISIBLE = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc"], exclude_characters="\ufeff") | st.just("\n"),
    min_size=1,
).filter(str.strip)


@given(VISIBLE, st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32"]))
def test_unicode_texts_come_through(tmp_path_factory: pytest.TempPathFactory, text: str, encoding: str) -> None:
    path = write(tmp_path_factory.mktemp("text"), "a.txt", text.encode(encoding))
    assert read(path).content == text


@given(st.binary())
def test_bytes_never_crash_the_decoder(data: bytes) -> None:
    text = tidy(decode(data))
    assert text.encode("utf-8").decode("utf-8") == text
    assert "\r" not in text


@given(st.binary())
def test_bytes_never_crash_the_recognition(data: bytes) -> None:
    try:
        found = detect_media_type(Original(data, "a", "", 1000))
    except DocumentError as error:
        found = str(error)
    assert "\n" not in found


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"caf\xe9 \x80 5", "café € 5"),
        (b"odd \x81 byte \xe9", "odd \x81 byte é"),
        ("äöü ÄÖÜ".encode() + b" \xe9", "äöü ÄÖÜ é"),  # one wrong byte does not spoil the rest
        (b"a\r\nb\rc\n\n d\t\x0ce", "a\nb\nc\n\n d\t\x0ce"),
        (codecs.BOM_UTF16_LE + "né".encode("utf-16-le") + b"\0", "né\ufffd"),
        (codecs.BOM_UTF16_BE + "né".encode("utf-16-be"), "né"),
        (b"\x1b[1mlog\x1b[0m line", "\x1b[1mlog\x1b[0m line"),
        (b"x" * 200 + b"\0 hole", "x" * 200 + "\0 hole"),
    ],
)
def test_odd_bytes_of_real_text(tmp_path: Path, data: bytes, text: str) -> None:
    document = read(write(tmp_path, "a.txt", data))
    assert document.content == text
    assert document.metadata.media_type == "text/plain"


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("a.md", b"# A *b*", "text/markdown"),
        ("a.txt", b"<!DOCTYPE html><p>a", "text/plain"),
        ("README", b"# a", "text/plain"),
        ("a.unknown", b"any text", "text/plain"),
        ("copyright.2", b"From here on: all rights\nMessage: none", "text/plain"),
        ("page", b"\xef\xbb\xbf <!doctype HTML><p>a", "text/html"),
        ("page.php", b"<?xml version='1.0'?>\n<!-- c --><html><p>a</html>", "text/html"),
        ("error.pdf", b"<html><body>Not found", "text/html"),
        ("cur,S=2", b"Return-Path: <a@b>\nFrom: a@b\n\nhello", "message/rfc822"),
        ("changelog.gz", gzip.compress(b"first", mtime=0) + gzip.compress(b" second", mtime=0), "text/plain"),
        ("page.html.gz", gzip.compress(b"<p>first second", mtime=0), "text/html"),
        ("about.txt", b"A PDF file begins with %PDF-1.4", "text/plain"),
        ("BZh.txt", b"BZh is how bzip2 begins", "text/plain"),
    ],
)
@pytest.mark.usefixtures("forked_processes")
def test_the_format_is_recognised(tmp_path: Path, name: str, data: bytes, kind: str) -> None:
    document = read(str(write(tmp_path, name, data)))
    assert document.metadata.media_type == kind
    assert document.metadata.source == str(tmp_path / name)
    assert document.metadata.pages == ()


def test_markup_of_text_and_markdown_is_kept(tmp_path: Path) -> None:
    for name in ("a.md", "a.txt"):
        assert read(write(tmp_path, name, b"# <b>A</b> &amp; *b*\n")).content == "# <b>A</b> &amp; *b*\n"


# --- what cannot be read ------------------------------------------------------------------------------------

BINARIES = [
    (PNG, "a PNG image"),
    (b"\xff\xd8\xff\xe0\0\x10JFIF", "a JPEG image"),
    (b"GIF89a\x01\0\x01\0", "a GIF image"),
    (b"RIFF\x24\0\0\0WEBPVP8 ", "a WebP image"),
    (b"\0\0\0\x18ftypheic\0\0\0\0", "a video or HEIC image"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0\0", "an old Office"),
    (b"{\\rtf1\\ansi text}", "an RTF document"),
    (b"\x7fELF\x02\x01\x01\0\0", "a program"),
    (b"SQLite format 3\0\x10\0", "an SQLite database"),
    (bytes(range(256)), "binary data"),
    (tarred(), "a tar archive"),
    (gzip.compress(tarred(), mtime=0), "a tar archive"),
    (gzip.compress(gzip.compress(b"text", mtime=0), mtime=0), "compressed twice"),
    (zipped({"a.txt": b"a"}), "a ZIP archive"),
    (zipped({"xl/workbook.xml": b"<a/>"}), "this XLSX file is damaged"),
    (zipped({"content.xml": b"<a/>"}), "an OpenDocument file"),
    (b"PK\x03\x04 cut off", "damaged ZIP or Office"),
    (gzip.compress(b"some text", mtime=0)[:-9], "damaged gzip"),
    (b"\x1f\x8b\x08\0broken", "damaged gzip"),
    (zipped({"word/document.xml": b"<a/>"}), "damaged"),
    (b"%PDF-1.4\nnothing", "this PDF is damaged"),
]


def failure(path: Path, **options: Any) -> DocumentError:
    with pytest.raises(DocumentError) as caught:
        read(path, **options)
    error = caught.value
    assert "\n" not in str(error)
    assert str(error).startswith(str(path).splitlines()[0])
    assert error.source == str(path)
    assert error.__cause__ is None
    return error


@pytest.mark.parametrize(("data", "said"), BINARIES)
@pytest.mark.parametrize("suffix", ["", ".txt", ".docx"])
@pytest.mark.usefixtures("forked_processes")
def test_binaries_are_named(tmp_path: Path, data: bytes, said: str, suffix: str) -> None:
    error = failure(write(tmp_path, f"file{suffix}", data))
    assert isinstance(error, UnreadableDocumentError)
    assert said in str(error)
    assert ";" in str(error)  # what to do follows


@pytest.mark.parametrize("name", ["a.txt", "a.html", "a.eml", "a.pdf", "a.docx", "a"])
@pytest.mark.parametrize("data", [b"", b" \n\t\r\n", codecs.BOM_UTF8, codecs.BOM_UTF16_LE, gzip.compress(b"", mtime=0)])
@pytest.mark.usefixtures("forked_processes")
def test_files_without_text(tmp_path: Path, name: str, data: bytes) -> None:
    assert isinstance(failure(write(tmp_path, name, data)), EmptyDocumentError)


def test_a_page_that_shows_nothing_is_empty(tmp_path: Path) -> None:
    error = failure(write(tmp_path, "a.html", b"<title>T</title><script>text</script>"))
    assert isinstance(error, EmptyDocumentError)


def test_a_missing_file(tmp_path: Path) -> None:
    error = failure(tmp_path / "nowhere.txt")
    assert isinstance(error, DocumentNotFoundError)
    assert isinstance(error, FileNotFoundError)
    below_a_file = write(tmp_path, "a.txt", b"a") / "b.txt"
    assert isinstance(failure(below_a_file), DocumentNotFoundError)


@pytest.mark.parametrize("name", ["line\nbreak.txt", "nul\0.txt", "x" * 400])
def test_names_that_cannot_be_opened(tmp_path: Path, name: str) -> None:
    with pytest.raises(DocumentError) as caught:
        read(tmp_path / name)
    assert len(str(caught.value).splitlines()) == 1
    assert "\0" not in str(caught.value)


def test_a_name_that_is_not_text(tmp_path: Path) -> None:
    path = write(tmp_path, os.fsdecode(b"caf\xe9.txt"), b"text")
    assert read(path).metadata.source == str(tmp_path / "caf\\xe9.txt")


def test_a_folder(tmp_path: Path) -> None:
    assert "folder" in str(failure(tmp_path))


def test_permission_denied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> object:
        raise PermissionError(13, "Permission denied")

    path = write(tmp_path, "a.txt", b"a")
    monkeypatch.setattr(Path, "open", refuse)  # the tests may run as root, who is never refused
    error = failure(path)
    assert isinstance(error, UnreadableDocumentError)
    assert "permission denied" in str(error)


def test_a_file_over_the_limit(tmp_path: Path) -> None:
    path = write(tmp_path, "a.txt", b"a" * 2001)
    error = failure(path, max_bytes=2000)
    assert isinstance(error, DocumentTooLargeError)
    assert "2,001 bytes" in str(error)
    assert "2,000 bytes" in str(error)
    assert len(read(path, max_bytes=2001).content) == 2001


def test_what_has_no_size_is_limited_too() -> None:
    assert isinstance(failure(Path("/dev/zero"), max_bytes=2000), DocumentTooLargeError)


@pytest.mark.parametrize("data", [
    gzip.compress(b"a" * 3_000_000, mtime=0),
    zipped({"word/document.xml": b" " * 3_000_000}),
    zipped({"word/document.xml": b"", "word/media/a.png": b" " * 9_000_000}),
])  # fmt: skip
def test_bombs_are_not_unpacked(tmp_path: Path, data: bytes) -> None:
    error = failure(write(tmp_path, "bomb", data), max_bytes=2_000_000)
    assert isinstance(error, DocumentTooLargeError)
    assert "2,000,000 bytes" in str(error)


# --- optional packages --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("module", "package", "data"),
    [("pypdfium2", "pypdfium2", b"%PDF-1.4"), ("docx", "python-docx", zipped({"word/document.xml": b""}))],
)
def test_a_missing_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, package: str, data: bytes
) -> None:
    write(tmp_path, f"{module}.py", b"raise ImportError")  # the process that reads the file finds it first
    monkeypatch.syspath_prepend(tmp_path)  # pyright: ignore[reportUnknownMemberType]
    with pytest.raises(MissingExtraError, match=rf"{package}.*documents") as caught:
        read(write(tmp_path, "a", data))
    assert (caught.value.package, caught.value.extra) == (package, "documents")


def test_importing_imports_no_optional_package() -> None:
    program = (
        "import sys, trivium.parsing as parsing\n"
        "assert not [name for name in sys.modules if name.startswith('trivium.parsing._')]\n"
        "assert all(getattr(parsing, name) for name in parsing.__all__)\n"
        "assert not {'pypdfium2', 'PIL', 'docx', 'bs4', 'lxml'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True)


def test_public_names() -> None:
    assert trivium.parsing.__all__ == sorted(trivium.parsing.__all__)
    assert set(trivium.parsing.__all__) <= set(dir(trivium.parsing))
    missing = "nothing"
    with pytest.raises(AttributeError, match=missing):
        getattr(trivium.parsing, missing)


def test_nothing_is_logged_or_printed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    with caplog.at_level(logging.DEBUG):
        failure(write(tmp_path, "a.pdf", b"%PDF-1.4\n1 0 obj\n<< /Broken\ntrailer << /Root 1 0 R >>\nstartxref\n7\n"))
    assert [record for record in caplog.records if record.name.startswith("pypdf")] == []
    assert capfd.readouterr() == ("", "")
    logging.getLogger("pypdf._reader").warning("other users of pypdf still see its remarks")
    assert len(caplog.records) == 1


@pytest.mark.parametrize(
    ("front", "title", "date"),
    [
        ("---\ntitle: Garden guide\ndate: 2024-03-01\n---\n", "Garden guide", "2024-03-01"),
        ("--- \r\nTags: [a]\r\nTitle:  'Ada''s: a guide' # draft\r\n...\r\n", "Ada's: a guide", None),
        (
            '+++\ntitle = "The \\"best\\" guide"\ndate = 2024-03-01T10:30:00Z\n+++\n',
            'The "best" guide',
            "2024-03-01T10:3",
        ),
        ("---\ntitle: C# for all # 2nd\nsubtitle: x\n---\n", "C# for all", None),
        ("---\nsubtitle: x\n title: deeper\n---\n", None, None),
        ("---\ntitle: >-\n  folded\ndate: soon\n---\n", None, None),
        ("---\ntitle:\n---\n", None, None),
        ("---\ntitle: never closed\n", None, None),
        ("\n---\ntitle: not at the start\n---\n", None, None),
    ],
)
def test_markdown_has_the_title_and_the_date_of_its_front_matter(
    tmp_path: Path, front: str, title: str | None, date: str | None
):
    (tmp_path / "a.md").write_bytes(f"{front}# Heading\n".encode())
    document = read(tmp_path / "a.md")
    assert document.content == f"{front}# Heading\n".replace("\r\n", "\n")
    assert document.metadata.title == (title or "Unknown Title")
    assert document.metadata.published_date.startswith(date or "Unknown Date")


@pytest.mark.parametrize(
    ("text", "encoding", "is_told"),
    [
        ("Привет мир, это текст. Арендатор: Ада", "cp1251", True),
        ("これは日本語のテキストです。", "shift_jis", True),
        ("中文文本内容", "gb18030", True),
        ("Die Straße ist größer – „sehr“ schön, à la carte…", "cp1252", False),
        ("Привет мир", "utf-8", False),
        ("日本語", "utf-16", False),
        ("plain", "ascii", False),
        ("Аренда\nквартиры", "cp1251", True),
        ("Καλημέρα σας, το κείμενο", "cp1253", True),
        ("Contents\nChapter one·················5\nChapter two················9\nCafé\n", "cp1252", False),
        (f"Report\n{'—' * 40}\nThe café is open.\n", "cp1252", False),
        (f"{'ä' * 40}\nÜber\n{'ö' * 40}\n", "cp1252", False),
        ("Invoice\n\xa0\xa0\xa0\xa0Müller\n\xa0\xa0\xa0\xa0 total 5 €\n\xa0\xa0\xa0Übung", "cp1252", False),
        ("He said “…” then “…”.", "cp1252", False),
        ("«\xa0À bientôt\xa0»\xa0: «\xa0Été\xa0»", "cp1252", False),
        ("Rating: ••••• \n ¤¤¤ §§§", "cp1252", False),
        ("ÄÖÜ ÀÉÈ\n", "cp1252", False),
        ("letters: äöüÄÖÜß, äöüÄÖÜß, àáâãäåæçèéê\n", "cp1252", False),
        ("Kundennr;Name;Betrag\n1;Škoda Plzeň;5,00 Kč\n2;Dvořák;6,00 Kč\n", "cp1250", True),
        ("A működési költségű díjat a felelősség szerint", "cp1250", True),
        ("Vă rugăm să achitaţi factura. Aceşti bani", "iso8859-2", True),
        ("請求書\n御中\n合計金額:\\132,000(税込)\nボールペン 10 120円 1,200円\n", "cp932", True),
        ("Müller;Noël;Ærø;Nuñez;João;Guðrún Þór;Hernández;Molière;5 m³;£5;¿Qué?;1º;Trivium™", "cp1252", False),
    ],
)
def test_what_is_probably_no_western_text_is_told(
    tmp_path: Path, text: str, encoding: str, is_told: bool, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "a.txt").write_bytes(text.encode(encoding))
    with caplog.at_level("WARNING", "trivium.parsing"):
        found = read(tmp_path / "a.txt").content
        for part in read_parts(io.BytesIO(text.encode(encoding) * 60_000), "long.txt"):
            assert part.content
    told = [record.getMessage() for record in caplog.records]
    assert [each.rpartition("/")[2].partition(":")[0] for each in told] == (["a.txt", "long.txt"] if is_told else [])
    assert is_told or found == text


LEASES = {
    "cp1251": "Договор аренды. Арендатор обязуется вносить плату не позднее пятого числа каждого месяца.",
    "iso8859-5": "Договор аренды. Арендатор обязуется вносить плату не позднее пятого числа каждого месяца.",
    "cp1253": "Συμβόλαιο ενοικίασης. Ο ενοικιαστής υποχρεούται να καταβάλλει το μίσθωμα κάθε μήνα.",
    "cp1256": "عقد إيجار. يلتزم المستأجر بدفع الإيجار قبل اليوم الخامس من كل شهر.",
    "cp932": "賃貸借契約書。賃借人は毎月五日までに家賃を支払うものとする。敷金は二か月分です。",
    "euc-jp": "賃貸借契約書。賃借人は毎月五日までに家賃を支払うものとする。敷金は二か月分です。",
    "gb18030": "租赁合同。承租人应于每月五日前支付租金。押金为两个月租金。",
    "euc-kr": "임대차 계약서. 임차인은 매월 5일까지 임대료를 지급하여야 한다. 보증금은 두 달치이다.",
    "cp874": "สัญญาเช่า ผู้เช่าต้องชำระค่าเช่าภายในวันที่ห้าของทุกเดือน",
    "cp1250": "Sprzedawca: Łukasz Żółkiewski w Łodzi. Do zapłaty: 1234 zł",
    "iso8859-2": "Prosíme o úhradu faktury do konce měsíce: 5 Kč. Jiří Dvořák na Žižkově",
    "cp1254": "Sayın müşterimiz: sözleşmeniz gereğince ödemenizi şu tarihe kadar yapmanız rica olunur.",
    "cp1257": "Prašome apmokėti sąskaitą iki mėnesio pabaigos. Žąsų gatvė",
}


@pytest.mark.parametrize(("encoding", "text"), LEASES.items())
@pytest.mark.parametrize("name", ["a.txt", "a.csv", "a.html"])
def test_an_encoding_that_nobody_declares_is_guessed_and_the_guess_is_told(
    tmp_path: Path, name: str, encoding: str, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / name).write_bytes(f"{text}\n".encode(encoding))
    with caplog.at_level("WARNING", "trivium.parsing"):
        assert read(tmp_path / name).content.strip() == text
    [told] = [record.getMessage() for record in caplog.records]
    assert re.search(rf"{name}: it is read as [\w-]+, which is a guess: save it as UTF-8, or name", told)


@pytest.mark.parametrize(("encoding", "text"), LEASES.items())
def test_a_long_text_is_guessed_by_its_beginning(encoding: str, text: str) -> None:
    data = io.BytesIO(f"{text}\n".encode(encoding) * 40_000)
    assert "".join(part.content for part in read_parts(data, "long.txt")) == f"{text}\n" * 40_000


@pytest.mark.parametrize("text", ["éèêë àâä îïì ôöò ùûü", "Tastenfolge: äöüß, ÜÖÄ, öäü, ßüö", "ÄÖÜ ÄÖÜÄ ÉÈÊ ÀÂÄ"])
def test_lists_of_western_letters_are_read_as_they_are(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.txt").write_bytes(text.encode("cp1252"))
    assert read(tmp_path / "a.txt").content == text


@pytest.mark.parametrize("name", ["a.txt", "a.csv", "a.html", "a.md"])
def test_the_encoding_of_a_text_can_be_named(tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / name).write_bytes("Š ž\n".encode("iso8859-2"))
    with caplog.at_level("WARNING", "trivium.parsing"):
        assert read(tmp_path / name, encoding="iso8859-2").content.strip() == "Š ž"
    assert not caplog.records


def test_an_unknown_encoding_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="'cp1' is no encoding of texts: give one of Python's, such as cp1250"):
        read(tmp_path / "a.txt", encoding="cp1")


def test_a_guess_needs_charset_normalizer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "charset_normalizer", None)
    (tmp_path / "a.txt").write_bytes(LEASES["cp1251"].encode("cp1251"))
    with caplog.at_level("WARNING", "trivium.parsing"):
        assert read(tmp_path / "a.txt").content.startswith("Äîãîâîð àðåíäû")
    assert "read as Western text, but seems to be none" in caplog.text


@pytest.mark.parametrize("path", ["https://example.com/x.html", Path("https://example.com/x.html")])
def test_a_url_is_no_file_and_the_error_says_what_reads_it(path: Any):
    with pytest.raises(
        DocumentNotFoundError, match=r"^https://example\.com/x\.html: this is a URL, and files are read here"
    ):
        read(path)
