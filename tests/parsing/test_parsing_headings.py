"""The headings of a page and of a Word file are told to the chunkers."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from trivium.parsing import read
from trivium.parsing.chunks import chunk
from trivium.parsing.formats._formats import Original
from trivium.parsing.formats._html import parse_page
from trivium.parsing.formats._lines import split_heading_marks, split_line_marks, with_heading_mark, with_line_marks
from trivium.parsing.formats._reading import read_original
from trivium.schema import Document

PAGE = """<html><body><h1>Lease<br>of a flat</h1><p>Between two.</p>
<h2> <a href="#r">Rent</a> </h2><p>It is 950 EUR.<table><tr><td><h3>Key</h3><td>40 EUR</table>
<h2></h2><h2 hidden>Gone</h2>
<h2>Pets</h2>Dogs are welcome.<div><h3>Cats</h3>Too.</div></body></html>"""


def titled(document: Document) -> list[tuple[str, str]]:
    found = chunk(document, size=40)
    return [(each.metadata.heading, each.content.splitlines()[-1]) for each in found]


def test_a_chunk_of_a_page_knows_the_headings_above_it(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(PAGE)
    document = read(tmp_path / "a.html")
    content = document.content
    assert [content[at:].partition("\n")[0] for at, _ in document.metadata.headings] == [
        "Lease", "Rent", "Pets", "Cats",
    ]  # fmt: skip
    assert [level for _, level in document.metadata.headings] == [1, 2, 2, 3]
    assert content == parse_page(PAGE).text
    assert titled(document) == [
        ("Lease", "Between two."),
        ("Lease > Rent", "Key | 40 EUR"),
        ("Lease > Pets", "Dogs are welcome."),
        ("Lease > Pets > Cats", "Too."),
    ]


def test_a_chunk_of_a_word_file_knows_the_headings_above_it() -> None:
    import docx

    made, file = docx.Document(), BytesIO()
    made.add_heading("Lease", 0)
    made.add_paragraph("Between two.")
    made.add_heading("Rent", 1)
    made.add_paragraph("It is 950 EUR.")
    made.add_heading("Late", 2)
    made.add_paragraph("Then it is 960 EUR.")
    table = made.add_table(1, 2)
    table.cell(0, 0).paragraphs[0].text, table.cell(0, 0).paragraphs[0].style = "Key", "Heading 1"
    table.cell(0, 1).text = "40 EUR"
    made.save(file)
    document = read_original(Original(file.getvalue(), "a.docx", ".docx", 1 << 20))
    assert titled(document) == [
        ("Lease", "Between two."),
        ("Lease > Rent", "It is 950 EUR."),
        ("Lease > Rent > Late", "Key | 40 EUR"),
    ]


def test_the_headings_of_a_mail_of_html_leave_no_marks() -> None:
    mail = f"From: a\nContent-Type: text/html\n\n{PAGE}".encode()
    content = read_original(Original(mail, "a.eml", ".eml", 1 << 20)).content
    assert content.endswith("Cats\n\nToo.\n")
    assert content.encode()


LINES = st.lists(st.tuples(st.integers(0, 6), st.text("ab ", min_size=1, max_size=5)), min_size=1, max_size=8)


@given(LINES)
def test_marks_of_headings_and_of_lines_do_not_mind_each_other(lines: list[tuple[int, str]]) -> None:
    texts = [text.strip() or "x" for _, text in lines]
    whole = "\n".join(
        with_heading_mark(with_line_marks(text, 3 * at), level) if level else with_line_marks(text, 3 * at)
        for at, (text, (level, _)) in enumerate(zip(texts, lines, strict=True))
    )
    text, pairs, headings = split_heading_marks(*split_line_marks(whole))
    assert text == "\n".join(texts)
    starts = [sum(len(each) + 1 for each in texts[:at]) for at in range(len(texts))]
    assert dict(headings) == {start: level for start, (level, _) in zip(starts, lines, strict=True) if level}
    assert list(pairs) == [(start, 3 * at) for at, start in enumerate(starts)]
