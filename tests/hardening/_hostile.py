"""Files that are made to cost their reader memory or time, each made in well under a second."""

from __future__ import annotations

import gzip
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping
from io import BytesIO
from pathlib import Path
from types import MappingProxyType
from typing import Final

from _bombs import packed_zeros

__all__ = ["DOCUMENTS", "TABLES", "docx", "pdf", "xlsx"]

_TYPES: Final = "http://schemas.openxmlformats.org/package/2006/content-types"
_RELATIONS: Final = "http://schemas.openxmlformats.org/package/2006/relationships"
_OFFICE: Final = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_WORD: Final = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_SHEET: Final = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_KINDS: Final = {
    "word/document.xml": "wordprocessingml.document.main",
    "xl/workbook.xml": "spreadsheetml.sheet.main",
}


def package(main: str, parts: Mapping[str, bytes]) -> bytes:
    """An Office package whose main part is one of the parts."""
    kind = f"application/vnd.openxmlformats-officedocument.{_KINDS[main]}+xml"
    names = "".join(
        f'<Override PartName="/{name}" ContentType="application/vnd.openxmlformats-officedocument.'
        f'spreadsheetml.{"sharedStrings" if "shared" in name else "worksheet"}+xml"/>'
        for name in parts
        if (name.startswith("xl/w") and name != main) or "shared" in name
    )
    made = {
        "[Content_Types].xml": f'<Types xmlns="{_TYPES}"><Default Extension="rels" ContentType="application/vnd.open'
        f'xmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>'
        f'<Override PartName="/{main}" ContentType="{kind}"/>{names}</Types>'.encode(),
        "_rels/.rels": f'<Relationships xmlns="{_RELATIONS}"><Relationship Id="rId1" Type="{_OFFICE}/officeDocument" '
        f'Target="{main}"/></Relationships>'.encode(),
        **parts,
    }
    file = BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in made.items():
            archive.writestr(name, content)
    return file.getvalue()


def docx(body: bytes) -> bytes:
    """A Word file with this body."""
    document = f'<w:document xmlns:w="{_WORD}"><w:body>'.encode() + body + b"</w:body></w:document>"
    return package("word/document.xml", {"word/document.xml": document})


def pptx(text: bytes) -> bytes:
    """A PowerPoint file with a text, or XML behind it, on its one slide."""
    from pptx import Presentation
    from pptx.util import Length

    made, file, honest = Presentation(), BytesIO(), BytesIO()
    slide = made.slides.add_slide(made.slide_layouts[6])
    slide.shapes.add_textbox(Length(0), Length(0), Length(9), Length(9)).text_frame.text = "MARK"
    made.save(honest)
    with zipfile.ZipFile(honest) as given, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in given.namelist():
            archive.writestr(name, given.read(name).replace(b"MARK", text))
    return file.getvalue()


def xlsx(rows: bytes, strings: bytes = b"") -> bytes:
    """An Excel file with these rows and shared strings."""
    book = f'<workbook xmlns="{_SHEET}" xmlns:r="{_OFFICE}"><sheets><sheet name="a" sheetId="1" r:id="rId1"/></sheets>'
    sheet = f'<worksheet xmlns="{_SHEET}"><sheetData>'.encode() + rows + b"</sheetData></worksheet>"
    links = f'<Relationships xmlns="{_RELATIONS}"><Relationship Id="rId1" Type="{_OFFICE}/worksheet" '
    links += f'Target="worksheets/sheet1.xml"/><Relationship Id="rId2" Type="{_OFFICE}/sharedStrings" '
    parts = {
        "xl/workbook.xml": f"{book}</workbook>".encode(),
        "xl/_rels/workbook.xml.rels": f'{links}Target="sharedStrings.xml"/></Relationships>'.encode(),
        "xl/worksheets/sheet1.xml": sheet,
        "xl/sharedStrings.xml": f'<sst xmlns="{_SHEET}">'.encode() + strings + b"</sst>",
    }
    return package("xl/workbook.xml", parts)


def zeros(count: int, before: bytes = b"", behind: bytes = b"") -> bytes:
    """A deflated run of that many spaces: one block of them is packed, and stands there again and again."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    start, block = (packer.compress(each) + packer.flush(zlib.Z_FULL_FLUSH) for each in (before, b" " * (1 << 20)))
    return start + block * (count >> 20) + packer.compress(behind) + packer.flush()


def lying(name: str, honest: bytes, size: int) -> bytes:
    """The package with one more part of that size, which says that it has 1,000 bytes."""
    kept = BytesIO(honest)
    with zipfile.ZipFile(kept, "a") as archive:
        archive.writestr(name, b"")
    data = bytearray(kept.getvalue())
    packed = zeros(size, b"<a>", b"</a>")
    crc = zlib.crc32(b"<a>" + b" " * 997)
    with zipfile.ZipFile(BytesIO(data)) as archive:
        info, start = archive.getinfo(name), archive.start_dir
    head = info.header_offset
    struct.pack_into("<H", data, head + 8, zipfile.ZIP_DEFLATED)
    struct.pack_into("<3I", data, head + 14, crc, len(packed), 1000)
    directory = data[start:]
    at = directory.rindex(name.encode()) - 46
    struct.pack_into("<H", directory, at + 10, zipfile.ZIP_DEFLATED)
    struct.pack_into("<3I", directory, at + 16, crc, len(packed), 1000)
    end = directory.rindex(b"PK\5\6")
    struct.pack_into("<I", directory, end + 16, start + len(packed))
    return bytes(data[:start]) + packed + bytes(directory)


def lying_document() -> bytes:
    """A Word file whose footnotes say that they have 1,000 bytes, and have 2 GB."""
    return lying("word/footnotes.xml", docx(b"<w:p><w:r><w:t>hello</w:t></w:r></w:p>"), 2 << 30)


def nested(depth: int) -> bytes:
    """Archives in archives, ten in each; the innermost are of 10 MB."""
    data = b" " * (10 << 20)
    for _ in range(depth):
        file = BytesIO()
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for number in range(10):
                archive.writestr(f"{number}.zip", data)
        data = file.getvalue()
    return data


def pdf(content: bytes, times: int = 1, forms: int = 0) -> bytes:
    """A PDF of one page that shows a content several times; each of some forms shows the next ten times."""
    packed = zlib.compress(content, 9)
    resources = "<< /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> /XObject << /X 5 0 R >> >>"
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Resources {resources} "
        f"/Contents [{'4 0 R ' * times}] >>".encode(),
        b"<< /Filter /FlateDecode /Length %d >>\nstream\n%s\nendstream" % (len(packed), packed),
    ]
    for number in range(forms):
        shown = (b"/X Do " * 10) if number + 1 < forms else b"BT /F1 9 Tf (x) Tj ET"
        mine = resources.replace("5 0 R", f"{6 + number} 0 R").encode()
        head = b"<< /Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources %s /Length %d >>" % (mine, len(shown))
        objects.append(head + b"\nstream\n" + shown + b"\nendstream")
    data = bytearray(b"%PDF-1.4\n")
    places = list[int]()
    for number, each in enumerate(objects, 1):
        places.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    start = len(data)
    data += b"xref\n0 %d\n0000000000 65535 f \n%s" % (len(objects) + 1, table)
    data += b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start)
    return bytes(data)


def mail(parts: Iterable[bytes]) -> bytes:
    """The headers of a message, and what comes behind them."""
    return b"From: a@b.example\nMessage-ID: <1@b.example>\nMIME-Version: 1.0\n" + b"".join(parts)


def nested_mail(depth: int) -> bytes:
    """A message whose parts are nested."""
    return mail(b'Content-Type: multipart/mixed; boundary="%d"\n\n--%d\n' % (number, number) for number in range(depth))


_MB: Final = 1 << 20
_PARAGRAPH: Final = b"<w:p><w:r><w:t>a</w:t></w:r></w:p>"
DOCUMENTS: Final[Mapping[str, Callable[[], bytes]]] = MappingProxyType(
    {
        "lying.docx": lying_document,
        "nested.zip": lambda: nested(3),
        "nested.docx": lambda: package("word/document.xml", {"word/document.xml": nested(2)}),
        "bomb.gz": lambda: gzip.compress(packed_zeros(256 * _MB, b" ")),
        "members.gz": lambda: gzip.compress(b"") * 300_000,
        "long.docx": lambda: docx(_PARAGRAPH * (30 * _MB // len(_PARAGRAPH))),
        "deep.docx": lambda: docx(b"<w:sdt>" * 2_000_000),
        "table.docx": lambda: docx(b"<w:tbl><w:tr><w:tc>" * 80 + _PARAGRAPH * 200_000 + b"</w:tc></w:tr></w:tbl>" * 80),
        "sections.docx": lambda: docx((b"<w:p><w:pPr><w:sectPr/></w:pPr></w:p>") * 800_000),
        "strings.xlsx": lambda: xlsx(b'<row><c t="s"><v>0</v></c></row>', b"<si><t>a</t></si>" * 1_800_000),
        "cell.xlsx": lambda: xlsx(b'<row><c t="inlineStr"><is><t>%s</t></is></c></row>' % (b"x" * (30 * _MB))),
        "wide.xlsx": lambda: xlsx(b'<row><c r="XFD1"><v>1</v></c></row>' * 900_000),
        "spaces.html": lambda: b"<html>" + b"\n" * (30 * _MB),
        "tags.html": lambda: b"<html>" + b"<p>a" * (6 * _MB),
        "deep.html": lambda: b"<html>" + b"<div>" * (2 * _MB),
        "tables.html": lambda: b"<html>" + b"<table><tr><td>a" * (1_500_000),
        "wide.html": lambda: b"<html>" + b"<br>\n\n\xf0\x9f\x98\x80" * 3_000_000,
        "entities.html": lambda: b"<html>" + b"&amp;&#1" * 3_500_000,
        "page.html": lambda: b"<html>" + b"<div><p>fish <b>and</b> <i>chips</i></div>\n" * (600_000),
        "lists.html": lambda: b"<ul><li>" * 300_000,
        "letters.eml": lambda: mail([b'Content-Type: multipart/mixed; boundary="a"\n\n', b"--a\n\nx\n" * 10_000]),
        "address.eml": lambda: b"To: " + b"a@b.example, " * 2_000_000 + b"\n\nx",
        "deep.eml": lambda: nested_mail(500_000),
        "headers.eml": lambda: mail(b"Subject: =?utf-8?q?%d?=\n" % number for number in range(900_000)),
        "parts.eml": lambda: mail([b'Content-Type: multipart/mixed; boundary="a"\n\n', b"--a\n\nx\n" * 1_000_000]),
        "lines.eml": lambda: mail([b"Content-Transfer-Encoding: base64\n\n", b"YQ==\n" * 6_000_000]),
        "content.pdf": lambda: pdf(b"0 g\n" * (15 * _MB)),
        "repeated.pdf": lambda: pdf(b"BT /F1 9 Tf (x) Tj ET\n" * 10_000, times=10_000),
        "forms.pdf": lambda: pdf(b"/X Do", forms=9),
        "loop.pdf": lambda: pdf(b"BT (x) Tj ET").replace(b"[3 0 R] /Count 1", b"[2 0 R] /Count 9"),
        "runs.docx": lambda: docx(b"<w:p>" + b"<w:r><w:t>a</w:t></w:r>" * 1_000_000 + b"</w:p>"),
        "slide.pptx": lambda: pptx(b"x" * (14 * _MB)),
        "paragraphs.pptx": lambda: pptx(b"</a:t></a:r></a:p>" + b"<a:p><a:r><a:t>a</a:t></a:r></a:p>" * 600_000),
        "deep.pptx": lambda: pptx(b"</a:t></a:r></a:p>" + b"<a:p>" * 2_000_000),
        "image.png": lambda: b"\x89PNG\r\n\x1a\n" + b"\0" * 1000,
        "deep.jsonl": lambda: b'{"a":' * 1_000_000,
        "open.csv": lambda: b'"' + b"x\n" * (14 * _MB),
        "deep.json": lambda: b"[" * (30 * _MB),
        "commas.csv": lambda: b"," * (30 * _MB),
        "quotes.csv": lambda: b'a,b\n"' + b"1,2\n" * (7 * _MB),
        "one-line.txt": lambda: b"a" * (30 * _MB),
        "emoji.txt": lambda: b"\xf0\x9f\x98\x80\r" * (6 * _MB),
    }
)
"""What `read` is given: for each name the content."""


def write_commas(path: Path) -> None:
    """A line of 200 MB of commas."""
    with path.open("wb") as file:
        for _ in range(200):
            file.write(b"," * _MB)


def write_open_quote(path: Path) -> None:
    """A quote that is never closed before 200 MB of rows."""
    with path.open("wb") as file:
        file.write(b'a,b\n"')
        for _ in range(200):
            file.write(b"1,2\n" * (_MB // 4))


def write_lying_book(path: Path) -> None:
    """An Excel file of 1.5 MB that unpacks to 1.5 GB, as its shared strings say or not."""
    path.write_bytes(lying("xl/more.xml", xlsx(b"<row><c><v>1</v></c></row>"), 1500 * _MB))


def write_book(path: Path) -> None:
    """An Excel file of 1.5 MB whose shared strings unpack to 1.5 GB, and that says so."""
    honest = xlsx(b'<row><c t="s"><v>0</v></c></row>').replace(b"xl/sharedStrings.xml", b"xl/sharedStrings.xm_")
    whole = "xl/sharedStrings.xml"
    made = bytearray(lying(whole, honest, 1500 * _MB))
    size = 1500 * _MB + 7
    for at in (made.index(whole.encode()) - 8, made.rindex(whole.encode()) - 22):
        struct.pack_into("<I", made, at, size)
    path.write_bytes(bytes(made))


def write_wide_book(path: Path) -> None:
    """An Excel file of rows that each have one cell, the last that is possible."""
    path.write_bytes(xlsx(b'<row><c r="XFD1"><v>1</v></c></row>' * 200_000))


def write_later_quote(path: Path) -> None:
    """A quote that is never closed, far behind the rows in which a layout is found."""
    path.write_bytes(b"a,b\n" + b"1,2\n" * 1_000_000 + b'"1,2\n' + b"1,2\n" * 1000)


def write_wide_rows(path: Path) -> None:
    """Two columns, and rows of a million values."""
    with path.open("wb") as file:
        file.write(b"a,b\n")
        for _ in range(50):
            file.write(b"," * 1_000_000 + b"\n")


def write_closed_quote(path: Path) -> None:
    """A value in quotes of 100 MB, of lines."""
    with path.open("wb") as file:
        file.write(b'a,b\n"')
        for _ in range(100):
            file.write(b"1,2\n" * (_MB // 4))
        file.write(b'",2\n')


def write_cell(path: Path) -> None:
    """A table with one value of 100 MB."""
    with path.open("wb") as file:
        file.write(b"a,b\n1,")
        for _ in range(100):
            file.write(b"x" * _MB)
        file.write(b"\n")


def write_parquet(path: Path) -> None:
    """A Parquet file of 1,000 bytes with 4,000 texts of a megabyte."""
    write_query(path, "SELECT repeat('x', 1000000) AS a FROM range(4000)")


def write_wide_parquet(path: Path) -> None:
    """A Parquet file of one row with 3,000 columns."""
    write_query(path, f"SELECT {', '.join(f'1 AS c{number}' for number in range(3000))}")


def write_query(path: Path, sql: str) -> None:
    """The rows of a query as a Parquet file."""
    import duckdb

    with duckdb.connect(config={"memory_limit": "1GB", "threads": 1}) as database:
        database.execute(f"COPY ({sql}) TO '{path}' (FORMAT parquet, COMPRESSION zstd)")


TABLES: Final[Mapping[str, Callable[[Path], None]]] = MappingProxyType(
    {
        "commas.csv": write_commas,
        "quote.csv": write_open_quote,
        "later-quote.csv": write_later_quote,
        "wide-rows.csv": write_wide_rows,
        "closed-quote.csv": write_closed_quote,
        "cell.csv": write_cell,
        "lying.xlsx": write_lying_book,
        "strings.xlsx": write_book,
        "wide.xlsx": write_wide_book,
        "texts.parquet": write_parquet,
        "wide.parquet": write_wide_parquet,
    }
)
"""What a table is made of: for each name a function that writes the file."""
