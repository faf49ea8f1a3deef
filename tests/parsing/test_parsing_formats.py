"""DOCX files made by python-docx, and PDF files written by hand, object by object."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import docx
import pypdf
import pytest
from docx.enum.style import WD_STYLE_TYPE
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls

from parsing._pdf import pdf
from trivium.exceptions import DocumentError, DocumentTooLargeError, UnreadableDocumentError
from trivium.parsing import Place, locate, read
from trivium.schema import Document

pytestmark = pytest.mark.usefixtures("forked_processes")


def outcome(path: Path) -> str:
    """The text, or that of the error."""
    try:
        return read(path).content
    except DocumentError as error:
        return str(error)


# --- DOCX ---------------------------------------------------------------------------------------------------


def read_docx(folder: Path, document: Any) -> Document:
    path = folder / "a.docx"
    document.save(str(path))
    return read(path)


def test_docx_in_reading_order(tmp_path: Path) -> None:
    document: Any = docx.Document()
    document.core_properties.title = "Contract 7"
    document.sections[0].header.paragraphs[0].text = "ACME GmbH"
    document.sections[0].footer.paragraphs[0].text = "Bank 123"
    document.add_heading("Contract", 0)
    document.add_paragraph("First\tpart\nsecond line")
    table = document.add_table(rows=2, cols=2)
    for cell, text in zip(
        (c for row in table.rows for c in row.cells), ["Item", "Price", "Tea\nor so", "5 €"], strict=True
    ):
        cell.text = text
    document.add_paragraph("Before")
    document.add_paragraph("")
    document.add_paragraph("")
    document.add_heading("End", 1)
    footer = document.add_section().footer
    footer.is_linked_to_previous = False
    footer.paragraphs[0].text = "Bank 456"
    found = read_docx(tmp_path, document)
    assert found.content == (
        "ACME GmbH\n\nContract\nFirst\tpart\nsecond line\n\nItem | Price\nTea or so | 5 €\n\n"
        "Before\n\nEnd\n\nBank 123\n\nBank 456\n"
    )
    assert found.metadata.title == "Contract 7"
    assert found.metadata.media_type.endswith("wordprocessingml.document")
    document.core_properties.title = ""
    assert read_docx(tmp_path, document).metadata.title == "Contract"


MATH = "http://schemas.openxmlformats.org/officeDocument/2006/math"


def paragraph(inner: str) -> Any:
    return parse_xml(
        f"<w:p {nsdecls('w')} xmlns:mc='http://schemas.openxmlformats.org/markup-compatibility/2006'>{inner}</w:p>"
    )


@pytest.mark.parametrize(
    ("inner", "text"),
    [
        ("<w:r><w:rPr><w:vanish/></w:rPr><w:t>hidden</w:t></w:r><w:r><w:t>seen</w:t></w:r>", "seen\n"),
        ("<w:r><w:rPr><w:vanish w:val='0'/></w:rPr><w:t>seen</w:t></w:r>", "seen\n"),
        ("<w:r><w:t>old </w:t></w:r><w:ins><w:r><w:t>new</w:t></w:r></w:ins>", "old new\n"),
        ("<w:r><w:t>kept</w:t></w:r><w:del><w:r><w:delText>gone</w:delText></w:r></w:del>", "kept\n"),
        ("<w:sdt><w:sdtContent><w:r><w:t>form field</w:t></w:r></w:sdtContent></w:sdt>", "form field\n"),
        (  # a prompt that nobody has replaced, and an answer
            "<w:r><w:t>Name: </w:t></w:r><w:sdt><w:sdtPr><w:showingPlcHdr/></w:sdtPr><w:sdtContent><w:r><w:t>Click here"
            "</w:t></w:r></w:sdtContent></w:sdt><w:sdt><w:sdtPr><w:showingPlcHdr w:val='0'/></w:sdtPr><w:sdtContent>"
            "<w:r><w:t>Ada</w:t></w:r></w:sdtContent></w:sdt>",
            "Name: Ada\n",
        ),
        ("<w:showingPlcHdr/><w:r><w:t>no prompt</w:t></w:r>", "no prompt\n"),
        (f"<m:nary xmlns:m='{MATH}'><m:sub/><m:sup/><m:e><m:r><m:t>x</m:t></m:r></m:e></m:nary>", "x\n"),
        (
            f"<m:oMath xmlns:m='{MATH}'><m:sSup><m:e><m:r><m:t>x</m:t></m:r></m:e><m:sup><m:r><m:t>2</m:t></m:r>"
            "</m:sup></m:sSup><m:f><m:num><m:r><m:t>1</m:t></m:r></m:num><m:den><m:r><m:t>4</m:t></m:r></m:den></m:f></m:oMath>",
            "x^2 1/4\n",
        ),
        (
            "<w:hyperlink><w:r><w:t>link</w:t></w:r></w:hyperlink><w:r><w:noBreakHyphen/><w:t>x</w:t></w:r>",
            "link-x\n",
        ),
        ("<w:r><w:t>Kün\u00addi\u00adgung</w:t><w:softHyphen/><w:t>en</w:t></w:r>", "Kündigungen\n"),
        ("<w:r><w:instrText>PAGE</w:instrText><w:t>3</w:t></w:r><!-- c -->", "3\n"),
        *(
            (f"<w:r><w:fldChar><w:ffData>{field}</w:ffData></w:fldChar><w:t> let</w:t></w:r>", text)
            for field, text in [
                ("<w:checkBox><w:checked/></w:checkBox>", "☒ let\n"),
                ("<w:checkBox><w:default w:val='1'/></w:checkBox>", "☒ let\n"),
                ("<w:checkBox><w:default w:val='1'/><w:checked w:val='0'/></w:checkBox>", "☐ let\n"),
                (
                    "<w:ddList><w:result w:val='1'/><w:listEntry w:val='a'/><w:listEntry w:val='b'/></w:ddList>",
                    "b let\n",
                ),
            ]
        ),
        ("<w:r><w:sym w:font='Wingdings' w:char='F0FE'/><w:t> let</w:t></w:r>", "☒ let\n"),
        ("<w:r><w:sym w:font='Wingdings' w:char='F06F'/><w:sym w:font='Symbol' w:char='F0B7'/></w:r>", "☐\n"),
        ("<w:r><w:sym w:font='MS Gothic' w:char='2612'/><w:t> let</w:t></w:r>", "☒ let\n"),
        ("<w:pPr><w:tabs><w:tab w:val='left'/></w:tabs></w:pPr><w:r><w:t>tab stop</w:t></w:r>", "tab stop\n"),
        (
            "<w:r><mc:AlternateContent><mc:Choice Requires='x'><w:txbxContent><w:p><w:r><w:t>box</w:t></w:r>"
            "</w:p></w:txbxContent></mc:Choice><mc:Fallback><w:t>box</w:t></mc:Fallback></mc:AlternateContent></w:r>",
            "box\n",
        ),
    ],
)
def test_docx_parts_of_a_paragraph(tmp_path: Path, inner: str, text: str) -> None:
    document: Any = docx.Document()
    document.element.body.insert(0, paragraph(inner))
    assert read_docx(tmp_path, document).content == text


def level(depth: int, kind: str, text: str, more: str = "") -> str:
    inner = f"<w:start w:val='1'/><w:numFmt w:val='{kind}'/><w:lvlText w:val='{text}'/>{more}"
    return f"<w:lvl w:ilvl='{depth}'>{inner}</w:lvl>"


def test_numbered_paragraphs_of_a_docx_have_their_numbers(tmp_path: Path) -> None:
    document: Any = docx.Document()
    levels = (
        level(0, "upperRoman", "§ %1", "<w:pStyle w:val='Heading1'/>"),
        level(1, "decimal", "%1.%2", "<w:isLgl/>"),
        level(2, "lowerLetter", "(%3)"),
        level(3, "bullet", "o"),
    )
    numbering = document.part.numbering_part.element
    spaces = nsdecls("w")
    numbering.append(parse_xml(f"<w:abstractNum {spaces} w:abstractNumId='90'>{''.join(levels)}</w:abstractNum>"))
    for number, more in ((91, ""), (92, "<w:lvlOverride w:ilvl='1'><w:startOverride w:val='5'/></w:lvlOverride>")):
        one = f"<w:num {spaces} w:numId='{number}'><w:abstractNumId w:val='90'/>{more}</w:num>"
        numbering.append(parse_xml(one))
    heading = document.styles["Heading 1"].element.get_or_add_pPr()
    heading.append(parse_xml(f"<w:numPr {spaces}><w:numId w:val='91'/></w:numPr>"))

    def add(text: str, depth: int, number: int = 91) -> None:
        list_ = f"<w:numPr {spaces}><w:ilvl w:val='{depth}'/><w:numId w:val='{number}'/></w:numPr>"
        document.add_paragraph(text)._p.get_or_add_pPr().append(parse_xml(list_))

    document.add_heading("Rent", 1)
    for text, depth in (("due", 1), ("late", 1), ("fee", 2), ("", 2), ("note", 3), ("more", 2)):
        add(text, depth)
    document.add_heading("Pets", 1)
    for text, depth, number in (("dogs", 1, 91), ("cats", 1, 92), ("fish", 1, 92), ("none", 1, 0), ("odd", 1, 77)):
        add(text, depth, number)
    lines = [line for line in read_docx(tmp_path, document).content.splitlines() if line]
    assert lines == [
        "§ I Rent", "1.1 due", "1.2 late", "(a) fee", "note", "(c) more", "§ II Pets",
        "2.1 dogs", "2.5 cats", "2.6 fish", "none", "odd",
    ]  # fmt: skip


def test_cells_of_a_docx_that_reach_over_rows_are_repeated(tmp_path: Path) -> None:
    document: Any = docx.Document()
    table = document.add_table(5, 3)
    for row, texts in enumerate([("Flat", "Item", "Price"), ("12", "rent", "5"), ("", "heat", "7"), (), ("", "", "9")]):
        for column, text in enumerate(texts):
            table.cell(row, column).text = text
    table.cell(0, 0).merge(table.cell(0, 1))
    table.cell(1, 0).merge(table.cell(3, 0))
    lines = read_docx(tmp_path, document).content.splitlines()
    assert lines == ["Flat Item | Price", "12 | rent | 5", "12 | heat | 7", " |  |", " |  | 9"]


def test_a_table_in_a_cell_of_a_docx_has_rows_of_its_own(tmp_path: Path) -> None:
    document: Any = docx.Document()
    table = document.add_table(2, 2)
    for row, texts in enumerate([("Work", "Price"), ("Advice", "net")]):
        for column, text in enumerate(texts):
            table.cell(row, column).text = text
    inner = table.cell(1, 1).add_table(2, 2)
    for cell, text in zip(
        (each for row in inner.rows for each in row.cells), ["day", "800", "hour", "110"], strict=True
    ):
        cell.text = text
    content = read_docx(tmp_path, document).content
    assert content == "Work | Price\n\nAdvice\n\nnet\n\nday | 800\nhour | 110\n"


def test_each_of_forty_tables_in_each_other_is_read_once(tmp_path: Path) -> None:
    document: Any = docx.Document()
    inner = document
    for _ in range(40):  # read twice at each level, it would take days
        inner = inner.add_table(1, 1).cell(0, 0)
    inner.text = "the innermost"
    assert read_docx(tmp_path, document).content.split("\n\n")[-1].strip() == "the innermost"


def test_raised_lowered_and_struck_text_of_a_docx(tmp_path: Path) -> None:
    document: Any = docx.Document()
    for parts in (
        ["249", "^9", "^9", " € was ", "~300", "~,00 € ", "!"],
        ["500,00", "^2)", " €, H", "_2", "O, 20 m", "^2"],
        ["Total", "~ ", "new ", "~old"],
    ):
        line = document.add_paragraph()
        for part in parts:
            font = line.add_run(part.lstrip("^_~")).font
            font.superscript, font.strike = part.startswith("^") or None, part.startswith("~") or None
            if part.startswith("_"):
                font.subscript = True
    table: Any = document.add_table(1, 2)
    table.cell(0, 0).text = "1.250"
    table.cell(0, 0).paragraphs[0].add_run("1").font.superscript = True
    found = read_docx(tmp_path, document).content
    assert found == "249^99 € was ~~300,00 €~~ !\n500,00^2) €, H2O, 20 m2\nTotal new ~~old~~\n\n1.250^1 |\n"


def test_text_that_a_style_of_a_docx_hides_is_left_out(tmp_path: Path) -> None:
    document: Any = docx.Document()
    hidden = document.styles.add_style("Hidden", WD_STYLE_TYPE.PARAGRAPH)
    hidden.font.hidden = True
    document.styles.add_style("Also Hidden", WD_STYLE_TYPE.PARAGRAPH).base_style = hidden
    document.styles.add_style("Word", WD_STYLE_TYPE.CHARACTER).font.hidden = True
    for style in ("Hidden", "Also Hidden"):
        document.add_paragraph("obey me", style=style)
    shown = document.add_paragraph("seen ", style="Hidden").runs[0]
    shown.font.hidden = False
    line = document.add_paragraph("and this")
    line.add_run(" obey me", style="Word")
    document.sections[0].header.paragraphs[0].add_run("obey me").font.hidden = True
    assert read_docx(tmp_path, document).content == "seen\nand this\n"


def test_a_hidden_default_style_of_a_docx_is_that_of_paragraphs_without_one(tmp_path: Path) -> None:
    document: Any = docx.Document()
    document.styles["Normal"].font.hidden = True
    document.styles.add_style("Shown", WD_STYLE_TYPE.PARAGRAPH).font.hidden = False
    document.styles.add_style("Word", WD_STYLE_TYPE.CHARACTER).font.hidden = True
    document.add_paragraph("obey me")
    document.add_paragraph("", style="Shown").add_run("seen")
    document.add_paragraph("obey me ").add_run("both show it", style="Word")
    assert read_docx(tmp_path, document).content == "seen\nboth show it\n"


def test_docx_content_control_around_paragraphs(tmp_path: Path) -> None:
    document: Any = docx.Document()
    control = f"<w:sdt {nsdecls('w')}><w:sdtContent><w:p><w:r><w:t>inside</w:t></w:r></w:p></w:sdtContent></w:sdt>"
    document.element.body.insert(0, parse_xml(control))
    assert read_docx(tmp_path, document).content == "inside\n"


def test_docx_first_page_header_only_where_shown(tmp_path: Path) -> None:
    for shown, text in ((True, "first\n\nbody\n"), (False, "body\n")):
        document: Any = docx.Document()
        document.sections[0].different_first_page_header_footer = True
        document.sections[0].first_page_header.paragraphs[0].text = "first"
        document.sections[0].different_first_page_header_footer = shown
        document.add_paragraph("body")
        assert read_docx(tmp_path, document).content == text


def with_part(folder: Path, change: dict[str, bytes], *, name: str = "changed.docx") -> Path:
    """A DOCX file whose parts are replaced, or added to."""
    document: Any = docx.Document()
    document.add_paragraph("body")
    stream = io.BytesIO()
    document.save(stream)
    with zipfile.ZipFile(stream) as old:
        parts = {part: old.read(part) for part in old.namelist()}
    with zipfile.ZipFile(folder / name, "w") as new:
        for part, data in {**parts, **change}.items():
            new.writestr(part, data)
    return folder / name


def test_docx_footnotes(tmp_path: Path) -> None:
    schemas = "http://schemas.openxmlformats.org"
    kind = f"{schemas}/officeDocument/2006/relationships/footnotes"
    relation = (
        f'<Relationships xmlns="{schemas}/package/2006/relationships">'
        f'<Relationship Id="rId1" Type="{kind}" Target="footnotes.xml"/></Relationships>'
    ).encode()
    note = "<w:footnote><w:p><w:r><w:t>a note</w:t></w:r></w:p></w:footnote>"
    notes = f"<w:footnotes {nsdecls('w')}>{note}</w:footnotes>"
    path = with_part(tmp_path, {"word/_rels/document.xml.rels": relation, "word/footnotes.xml": notes.encode()})
    assert read(path).content == "body\n\na note\n"


@pytest.mark.parametrize("part", ["word/document.xml", "[Content_Types].xml", "word/_rels/document.xml.rels"])
def test_damaged_docx(tmp_path: Path, part: str) -> None:
    with pytest.raises(UnreadableDocumentError, match="damaged") as caught:
        read(with_part(tmp_path, {part: b"<broken"}))
    assert "\n" not in str(caught.value)


def test_a_template_is_no_docx_and_the_error_shows_no_internal_name(tmp_path: Path) -> None:
    docx.Document().save(str(tmp_path / "b.docx"))
    types = zipfile.ZipFile(tmp_path / "b.docx").read("[Content_Types].xml").replace(b"document.main", b"template.main")
    with pytest.raises(UnreadableDocumentError, match=r"damaged \(file is not a Word file, content type is"):
        read(with_part(tmp_path, {"[Content_Types].xml": types}))


def test_entities_of_a_docx_are_not_expanded(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("content of secret")
    xml = (
        f"<!DOCTYPE d [<!ENTITY f SYSTEM 'file://{secret}'>]><w:document {nsdecls('w')}><w:body><w:p><w:r>"
        "<w:t>a</w:t><w:t>&f;</w:t></w:r></w:p></w:body></w:document>"
    )
    assert "content of secret" not in outcome(with_part(tmp_path, {"word/document.xml": xml.encode()}))


# --- PDF ----------------------------------------------------------------------------------------------------


def save(folder: Path, data: bytes, name: str = "a.pdf") -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def test_pdf_pages_and_places(tmp_path: Path) -> None:
    data = pdf([["Invoice 4711", "Total 5 €"], [], ["Page three", "Garçon", "last"]], "/Title (The invoice)")
    document = read(save(tmp_path, data))
    assert document.content == "Invoice 4711\nTotal 5 €\n\n\n\nPage three\nGarçon\nlast\n\n"
    assert document.metadata.title == "The invoice"
    assert document.metadata.media_type == "application/pdf"
    assert [document.content[start:][:6] for start in document.metadata.pages] == [
        "Invoic",
        "\n\nPage",
        "Page t",
    ]
    places = [locate(document, document.content.index(word)) for word in ("Invoice", "Total", "Page", "last")]
    assert places == [Place(1, 1), Place(1, 2), Place(3, 1), Place(3, 3)]


@pytest.mark.parametrize("title", ["untitled", r"\(anonymous\)", " "])
def test_what_programs_write_for_no_title_is_none(tmp_path: Path, title: str) -> None:
    assert read(save(tmp_path, pdf([["text"]], f"/Title ({title})"))).metadata.title == "Unknown Title"


def test_a_pdf_is_known_by_its_content(tmp_path: Path) -> None:
    assert read(save(tmp_path, pdf([["text"]]), "a.txt")).metadata.media_type == "application/pdf"
    assert read(save(tmp_path, b"odd first line\n" + pdf([["text"]]))).content == "text\n\n"


def test_a_scan_asks_for_ocr(tmp_path: Path) -> None:
    with pytest.raises(UnreadableDocumentError, match=r"scan.*OCR") as caught:
        read(save(tmp_path, pdf([[], []])))
    assert caught.value.source == str(tmp_path / "a.pdf")


def encrypted(user_password: str) -> bytes:
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(pdf([["text"]])))
    writer.encrypt(user_password, "owner", algorithm="RC4-128")
    stream = io.BytesIO()
    writer.write(stream)
    return stream.getvalue()


def test_an_encrypted_pdf_says_so(tmp_path: Path) -> None:
    with pytest.raises(UnreadableDocumentError, match=r"encrypted.*without password"):
        read(save(tmp_path, encrypted("user")))


def test_a_pdf_that_only_forbids_changes_is_read(tmp_path: Path) -> None:
    assert read(save(tmp_path, encrypted(""))).content == "text\n\n"


def test_damaged_pdfs_are_typed_errors_or_text(tmp_path: Path) -> None:
    data = pdf([["some text", "and more"]])
    for cut in range(10, len(data), 97):
        spoilt = data[:cut] + b"\0\xff<<" + data[cut + 4 :]
        for broken in (data[:cut], spoilt):
            found = outcome(save(tmp_path, broken))
            assert found.endswith("\n\n") or len(found.splitlines()) == 1


def test_a_pdf_with_more_text_than_the_limit(tmp_path: Path) -> None:
    pages = pdf([["many words " * 5] * 4]).replace(
        b"/Kids [4 0 R] /Count 1", b"/Kids [" + b"4 0 R " * 40 + b"] /Count 40"
    )
    with pytest.raises(DocumentTooLargeError, match="more text"):
        read(save(tmp_path, pages), max_bytes=4000)
