"""A citation names the lines of the file, whatever its format: what is quoted stands there."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import unescape
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium.agents.special._reading import Reading
from trivium.knowledge import Hit, Library, SQLiteStore, SQLiteStoreConfig, find_sources
from trivium.knowledge.retrieval._extraction import narrow_chunk
from trivium.parsing import Chunk
from trivium.parsing._chunk import splice

HTML = """<html>
<head><title>Letters</title></head>
<body>
<p>Alpha is the first
letter.</p>


<ul>
<li>Beta is the second letter.

</li><li>
Gamma is the
third letter.</li></ul>
<p>Delta   is the fourth letter. Epsilon
is the fifth letter.</p></body></html>
"""
CSV = 'name,note\nada,"one\n\nline"\nbob,"two\nlines here"\ncyd,three\n'
MAIL = (
    "From: Ada <ada@example.org>\nSubject: Boiler\nMIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\n"
    "Content-Transfer-Encoding: quoted-printable\n\nThe boiler was=20\nmended by =\nCy Young.\n\nIt cost 80 EUR.\n"
)


def chunks_of(path: Path) -> list[Chunk]:
    with SQLiteStore(SQLiteStoreConfig(embedding=None)) as store:
        Library(store, size=200).ingest(path)
        return [chunk for chunk in store.scan()]


def letters(text: str) -> str:
    return re.sub(r"\W+", "", unescape(re.sub(r"<[^>]*>|=20|=\n", "", text)))


def check(chunk: Chunk, lines: Sequence[str]) -> int:
    reading = Reading("q", [chunk], 10**6)
    for number in range(1, len(reading.sentences) + 1):
        cited = reading.citation((number, number), 1)
        there = "\n".join(lines[cited.line - 1 : cited.end_line])
        assert letters(cited.quote) in letters(there), (cited, there)
    return len(reading.sentences)


@pytest.mark.parametrize(("name", "text"), [("a.html", HTML), ("a.txt", HTML.replace("\n", "\r\n"))])
def test_a_sentence_is_cited_by_its_own_lines(tmp_path: Path, name: str, text: str):
    (tmp_path / name).write_bytes(text.encode())
    assert sum(check(chunk, text.splitlines()) for chunk in chunks_of(tmp_path / name)) >= 4


def test_a_sentence_of_a_mail_or_a_table_is_cited_by_the_line_where_it_begins(tmp_path: Path):
    for name, text, wanted in (
        ("a.csv", CSV, {"ada": 2, "bob": 5, "cyd": 7}),
        ("a.eml", MAIL, {"boiler was": 7, "cost": 11}),
    ):
        (tmp_path / name).write_text(text)
        (chunk,) = chunks_of(tmp_path / name)
        for words, line in wanted.items():
            assert chunk.line_at(chunk.content.index(words)) == line


def test_what_is_left_of_a_chunk_keeps_its_lines(tmp_path: Path):
    (tmp_path / "a.html").write_text(HTML)
    for chunk in chunks_of(tmp_path / "a.html"):
        reading = Reading("q", [chunk], 10**6)
        left = narrow_chunk(chunk, [(each.start, each.end) for each in reading.sentences[::2]])
        assert left is not None
        assert check(left, HTML.splitlines()) >= 1


@given(
    st.lists(st.tuples(st.integers(0, 3), st.text("ab \n", min_size=1, max_size=8)), min_size=1, max_size=6), st.data()
)
def test_the_lines_of_slices_are_those_of_what_they_were_cut_from(parts: list[tuple[int, str]], data: st.DataObject):
    whole, lines, line = "", list[int](), 1
    pairs = list[tuple[int, int]]()
    for skipped, text in parts:
        line += skipped
        pairs.append((len(whole), line))
        for letter in text:
            lines.append(line)
            line += letter == "\n"
        whole += text
    chunk = Chunk.of(whole, source="a", line=lines[0], source_lines=tuple(pairs[1:]))
    assert [chunk.line_at(at) for at in range(len(whole))] == lines
    cuts = sorted(data.draw(st.sets(st.integers(0, len(whole)), min_size=2, max_size=4)))
    spans = list(zip(cuts[::2], cuts[1::2], strict=False))
    slices = [("-" if at else "", chunk, *span) for at, span in enumerate(spans)]
    made = splice(slices, chunk.metadata, line=chunk.line_at(spans[0][0]))
    place = 0
    for at, (start, end) in enumerate(spans):
        place += bool(at)
        for offset in range(start, end):
            assert made.line_at(place) == lines[offset]
            place += 1


def test_a_place_that_is_none_is_told():
    with pytest.raises(TypeError, match="3 is not a place"):
        list(find_sources(3))  # pyright: ignore[reportArgumentType] - it is wrong
    assert Hit(Chunk.of("a"), 1.0).chunk.line_at(0) == 0


def test_the_headers_of_a_mail_are_cited_by_their_own_lines_and_their_names_say_nothing(tmp_path: Path):
    mail = "From: Ada <a@x.org>\nTo: Bo <b@x.org>\nSubject: Boiler\nDate: Fri, 3 May 2024 10:00:00 +0000\n\nIt hums.\n"
    (tmp_path / "a.eml").write_text(mail)
    (chunk,) = chunks_of(tmp_path / "a.eml")
    assert check(chunk, mail.splitlines()) == 5
    reading = Reading("When was it written?", [chunk], 10**6)
    (span,) = reading.supporting_spans("The date is 2024-05-03.")
    assert reading.citation(span, 1).place.endswith(":4")
    assert not reading.supporting_spans("The date is unknown.", [4])
    assert not reading.supporting_spans("It has a subject.", [3])


def test_a_row_of_a_table_is_cited_by_itself(tmp_path: Path):
    rows = [(f"Person{at}", at * 7) for at in range(60)]
    (tmp_path / "p.csv").write_text("name,amount\n" + "".join(f"{name},{amount}\n" for name, amount in rows))
    book: Any = openpyxl.Workbook()
    for row in [("name", "amount"), *rows]:
        book.active.append(row)
    book.save(tmp_path / "p.xlsx")
    for name in ("p.csv", "p.xlsx"):
        chunk = next(each for each in chunks_of(tmp_path / name) if "Person33" in each.content)
        reading = Reading("How much has Person33?", [chunk], 10**6)
        at = next(at for at, each in enumerate(reading.sentences, 1) if "Person33" in each.text)
        cited = reading.citation((at, at), 1)
        assert (cited.quote, cited.line, cited.end_line) == ("name: Person33 | amount: 231", 35, 35)
