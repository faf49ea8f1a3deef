"""Tables and JSON as text: nothing of a table is lost, and each row is cited by its line or row in the file."""

from __future__ import annotations

import csv
import datetime
import io
import json
import re
import zipfile
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium.exceptions import DocumentTooLargeError, EmptyDocumentError, UnreadableDocumentError
from trivium.parsing import Locator, read
from trivium.parsing.formats._formats import Original
from trivium.parsing.formats._json_text import decode_escapes
from trivium.parsing.formats._number_format import number_text
from trivium.parsing.formats._reading import read_original
from trivium.schema import Document

pytestmark = pytest.mark.usefixtures("forked_processes")


def document(text: str, suffix: str = ".csv") -> Document:
    return read_original(Original(text.encode(), f"a{suffix}", suffix, 10_000_000))


# --- CSV and TSV ------------------------------------------------------------

CELL = st.text(alphabet='ab ,;"\n\téß', max_size=6)


@given(
    st.lists(st.lists(CELL, min_size=2, max_size=4), min_size=1, max_size=8),
    st.sampled_from([",", ";", "\t"]),
    st.sampled_from(["\n", "\r\n"]),
)
def test_each_record_is_a_line_cited_where_it_begins(rows: list[list[str]], separator: str, end: str) -> None:
    rows = [["name", "rent"], *([f"w{number}x", *row] for number, row in enumerate(rows))]
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter=separator, lineterminator=end)
    expected: list[int] = []
    for row in rows:
        expected.append(stream.getvalue().count("\n") + 1)
        writer.writerow(row)
    found = document(stream.getvalue())
    lines = found.content.splitlines()
    locator = Locator(found)
    assert lines[0] == "name | rent"
    for number, row in enumerate(rows[1:], 1):
        assert lines[number].startswith(f"name: w{number - 1}x")
        for cell in row:
            assert " ".join(cell.split()) in lines[number]
        offset = sum(len(line) + 1 for line in lines[:number])
        assert {locator.place(offset + at).line for at in range(len(lines[number]))} == {expected[number]}


@given(st.text(alphabet='ab,"\n', max_size=60))
def test_whatever_a_table_is_its_letters_and_lines_are_kept(text: str) -> None:
    names = [f"n{number}" for number in range(30)]  # no further table has more
    text = f"{','.join(names)}\n{text}"
    found = document(text)
    assert found.content.startswith(f"{' | '.join(names)}\n")
    assert [each for each in found.content if each in "ab"] == [each for each in text if each in "ab"]
    locator = Locator(found)
    lines = [locator.place(offset).line for offset in range(len(found.content))]
    assert lines == sorted(lines)
    assert lines[-1] <= text.count("\n") + 1


@pytest.mark.parametrize(
    ("table", "text"),
    [
        ("city,2023,2024\nBonn,1,\n", "city | 2023 | 2024\ncity: Bonn | 2023: 1\n"),
        ("1,2\n3,4\n", "1 | 2\n3 | 4\n"),
        ("only\none\ncolumn\n", "only\none\ncolumn\n"),
        ("\n\na;b\n1;2;3\n", "a | b\na: 1 | b: 2 | 3\n"),
        (
            'Account;Giro;\nBalance:;5,00;\n"";;\nDate;Payee;Sum\n1.3.;Ada;-2\n\nx;y\n',
            "Account | Giro\nAccount: Balance: | Giro: 5,00\nDate | Payee | Sum\nDate: 1.3. | Payee: Ada | Sum: -2\n"
            "Date: x | Payee: y\n",
        ),
        ("1,Ada\n2,Bob\n\nCy,Ulm\nDan,Bonn\n", "1 | Ada\n2 | Bob\nCy | Ulm\nDan | Bonn\n"),
        ("a,b\n1,2,3\n\nx,y,z\n", "a | b\na: 1 | b: 2 | 3\na: x | b: y | z\n"),
        ('a,b\n"open,1\nc,2\n', 'a | b\na: "open | b: 1\na: c | b: 2\n'),
        ('a,b\n5" disk,1\n', 'a | b\na: 5" disk | b: 1\n'),
        ("sep=;\na;b,c\n1;2,3\n", "a | b,c\na: 1 | b,c: 2,3\n"),
        ('"a, b",c\n1,2\n', "a, b | c\na, b: 1 | c: 2\n"),
        ("a\x0bb,c\n1\u2028,2\n", "a b | c\na b: 1 | c: 2\n"),
    ],
)
def test_tables_as_text(table: str, text: str) -> None:
    assert document(table).content == text


def test_a_quote_never_closed_costs_no_more_than_the_lines_it_could_span() -> None:
    table = "a,b\n" + '"open,1\n' + "x,2\n" * 5000
    assert document(table).content.count("a: x | b: 2\n") == 5000


def test_tabs_separate_a_tsv_file_though_commas_are_more() -> None:
    assert document("a,b,c\td\n1,2,3\t4\n", ".tsv").content == "a,b,c | d\na,b,c: 1,2,3 | d: 4\n"


# --- JSON ------------------------------------------------------------

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(VALUES)
def test_readable_json_is_the_same_value(value: Any) -> None:
    text = decode_escapes(json.dumps(value, indent=1))
    assert json.loads(text) == value
    assert len(text.splitlines()) >= len(json.dumps(value, indent=1).split("\n")) or "\u2028" not in text


def test_json_is_read_with_its_letters(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"name": "Caf\\u00e9 \\ud83d\\ude00"}\n{"name": "\\\\u00e9"}\n')
    found = read(path)
    assert found.content == '{"name": "Café 😀"}\n{"name": "\\\\u00e9"}\n'
    assert found.metadata.media_type == "application/jsonl"


# --- XLSX ------------------------------------------------------------


def workbook(change: Callable[[Any], None]) -> bytes:
    book: Any = openpyxl.Workbook()
    change(book)
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def sheet(data: bytes, limit: int = 10_000_000) -> Document:
    return read_original(Original(data, "a.xlsx", ".xlsx", limit))


def rents(book: Any) -> None:
    book.properties.title = "Rents"
    first = book.active
    first.title = "Flats"
    first["A1"] = "All flats"
    first.append([])
    first.append(["flat", "rent", "since", "let"])
    first.append([1, 950.5, datetime.datetime(2024, 3, 1), True])
    first["A7"], first["B7"] = "2\nb", 800.0
    secret = book.create_sheet("Secret")
    secret["A1"], secret.sheet_state = "hidden words", "hidden"
    last = book.create_sheet("Sums")
    last["B2"] = 1750


def test_a_workbook_is_read_sheet_by_sheet_and_row_by_row() -> None:
    found = sheet(workbook(rents))
    assert found.content == (
        "Flats\nAll flats\nflat | rent | since | let\nflat: 1 | rent: 950.5 | since: 2024-03-01 | let: TRUE\n"
        "flat: 2 b | rent: 800\nSums\n | 1750\n"
    )
    locator = Locator(found)
    places = {
        word: locator.place(found.content.index(word))[:2] for word in ("All", "flat |", "950.5", "2 b", "Sums", "1750")
    }
    assert places == {"All": (1, 1), "flat |": (1, 3), "950.5": (1, 4), "2 b": (1, 7), "Sums": (3, 1), "1750": (3, 2)}
    assert found.metadata.title == "Rents"
    assert found.metadata.published_date.startswith("2")  # when openpyxl saved it
    assert found.metadata.media_type.endswith("spreadsheetml.sheet")


def rewritten(data: bytes, name: str, old: bytes, new: bytes) -> bytes:
    """A package with something else in one of its parts."""
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as given_, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as made:
        for info in given_.infolist():
            part = given_.read(info)
            if info.filename == name:
                assert old in part
                part = part.replace(old, new)
            made.writestr(info.filename, part)
    return stream.getvalue()


SHEET = "xl/worksheets/sheet1.xml"


def test_the_saved_value_of_a_formula_is_shown() -> None:
    def change(book: Any) -> None:
        book.active["A1"] = "=6*7"

    data = rewritten(workbook(change), SHEET, b"</f><v></v>", b"</f><v>42</v>")
    assert sheet(data).content == "Sheet\n42\n"


@pytest.mark.parametrize(
    ("rows", "lines"),
    [
        (
            [["Item", "Sum"], ["Lamp", "=2*3"], [], ["Total", "=B2"]],
            ["Item | Sum", "Item: Lamp | Sum: (not calculated)", "Item: Total | Sum: (not calculated)"],
        ),
        (
            [["Item", "Price"], ["Lamp", 3], [], ["Branches"], ["Branch", "Manager"], ["Ulm", "Ada"]],
            ["Item | Price", "Item: Lamp | Price: 3", "Branches", "Branch | Manager", "Branch: Ulm | Manager: Ada"],
        ),
        (
            [["Name", "City"], ["Ada", "Ulm"], [], ["Item", "Colour", "Price"], ["Lamp", "red", 3]],
            ["Name | City", "Name: Ada | City: Ulm", "Item | Colour | Price", "Item: Lamp | Colour: red | Price: 3"],
        ),
        (  # a form, and the items below it
            [
                *(["For:", "Ada"], ["To:", "Ulm"], ["By:", "Bo"], ["Due:", "1 May"], ["No:", 7], [], ["Item", "Price"]),
                ["Lamp", 3],
            ],
            [
                *("For: | Ada", "To: | Ulm", "By: | Bo", "Due: | 1 May", "No: | 7", "Item | Price"),
                "Item: Lamp | Price: 3",
            ],
        ),
        (  # names above names
            [
                *(["Item", "2023", None, "2024"], [None, "Units", "Sum", "Units", "Sum"]),
                *(["Lamp", 1, 5, None, 7], ["Desk", 2, 6]),
            ],
            [
                *("Item | 2023 |  | 2024", " | Units | Sum | Units | Sum"),
                *("Item: Lamp | 2023 Units: 1 | 2023 Sum: 5 | 2024 Sum: 7", "Item: Desk | 2023 Units: 2 | 2023 Sum: 6"),
            ],
        ),
        (
            [["Name", "City", None, "Job"], ["Ada", "Ulm", "new", "cook"]],
            ["Name | City |  | Job", "Name: Ada | City: Ulm | new | Job: cook"],
        ),
        (  # groups of one table
            [["Name", "City", "Rent"], ["Ada", "Ulm", 5], [], ["Bob", "Bonn"], [], ["Cy", "Ulm"]],
            [
                "Name | City | Rent",
                "Name: Ada | City: Ulm | Rent: 5",
                "Name: Bob | City: Bonn",
                "Name: Cy | City: Ulm",
            ],
        ),
    ],
)
def test_formulas_without_values_are_told_and_each_table_of_a_sheet_has_its_own_names(
    rows: list[list[object]], lines: list[str]
) -> None:
    def change(book: Any) -> None:
        for row in rows:
            book.active.append(row)

    assert sheet(workbook(change)).content.splitlines() == ["Sheet", *lines]


def test_a_huge_size_that_a_sheet_claims_costs_nothing() -> None:
    def change(book: Any) -> None:
        book.active["A1"] = "x"
        book.active["B900"] = "y"

    data = rewritten(workbook(change), SHEET, b'ref="A1:B900"', b'ref="A1:XFD1048576"')
    assert sheet(data).content == "Sheet\nx\n | y\n"


def test_empty_cells_without_number_are_too_large() -> None:
    def change(book: Any) -> None:
        for row in range(1, 200):
            book.active.cell(row, 16384, "x")

    with pytest.raises(DocumentTooLargeError, match="empty"):
        sheet(workbook(change), 1_000_000)


def test_a_row_far_below_costs_nothing() -> None:
    def change(book: Any) -> None:
        book.active["A2"] = "x"

    data = rewritten(workbook(change), SHEET, b'<row r="2"', b'<row r="2000000000"')
    assert sheet(data, 1_000_000).content == "Sheet\nx\n"


def test_what_unpacks_to_more_than_the_limit_is_refused() -> None:
    data = rewritten(workbook(rents), SHEET, b"</worksheet>", b" " * 5_000_000 + b"</worksheet>")
    assert len(data) < 50_000
    with pytest.raises(DocumentTooLargeError, match="when unpacked"):
        sheet(data, 1_000_000)


LAUGHS = b'<!DOCTYPE a [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>'


@pytest.mark.parametrize("part", [SHEET, "xl/workbook.xml", "docProps/core.xml", "xl/styles.xml"])
def test_entities_are_refused(part: str) -> None:
    data = workbook(rents)
    root = next(each for each in (b"<worksheet", b"<workbook", b"<cp:coreProperties", b"<styleSheet")
                if each in zipfile.ZipFile(io.BytesIO(data)).read(part))  # fmt: skip
    with pytest.raises(UnreadableDocumentError, match="declares a document type"):
        sheet(rewritten(data, part, root, LAUGHS + root))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-7", "cp037"])
def test_entities_do_not_hide_behind_an_encoding(encoding: str) -> None:
    data = workbook(rents)
    text = f"<?xml version='1.0' encoding='{encoding}'?>{LAUGHS.decode()}<a>&b;</a>"
    old = zipfile.ZipFile(io.BytesIO(data)).read("xl/styles.xml")
    with pytest.raises(UnreadableDocumentError, match="declares a document type"):
        sheet(rewritten(data, "xl/styles.xml", old, text.encode(encoding)))


def test_damaged_and_empty_workbooks() -> None:
    with pytest.raises(UnreadableDocumentError, match="this XLSX file is damaged"):
        sheet(rewritten(workbook(rents), SHEET, b"</worksheet>", b""))

    def hide(book: Any) -> None:
        book.active["A1"] = "x"
        book.create_sheet("other")["A1"] = "y"
        book.active.sheet_state = "hidden"

    assert sheet(workbook(hide)).content == "other\ny\n"
    with pytest.raises(EmptyDocumentError):
        sheet(workbook(lambda book: book.create_sheet("empty")))


SHOWN = [
    (1234.5, '#,##0.00\\ "€"', "1,234.50 €"),
    (1234.5, "[$€-407] #,##0.00", "€ 1,234.50"),
    (1234567.891, "[$EUR] #,##0.00", "EUR 1234567.891"),
    (-1234.5, "$#,##0.00_);[Red]($#,##0.00)", "($1,234.50)"),
    (-5, '0.00 "EUR";[Red]0.00 "EUR"', "-5.00 EUR"),
    (0.125, "0.0%", "12.5%"),
    (0.005, "0.##%", "0.5%"),
    (1234, "00000", "01234"),
    (-7, "000", "-007"),
    (datetime.timedelta(days=1, hours=12), "[h]:mm", "36:00"),
    (1234.5, "#,##0.00", "1234.5"),
    (5, "0.00E+00", "5"),
    (5, "# ?/?", "5"),
    (5, "General", "5"),
    (5, '0 "kg"', "5"),
    (5, '"ABC"0', "5"),
    (50.25, "[>=1000]#,##0 €;0.00 €", "50.25"),
    (0.5, "[<0]-0.0%;0.0%", "0.5"),
    (-50, "[Red][<0]-#,##0.00 €;[Blue]#,##0.00 €", "-50"),
    (0.5, ".00 €", "0.5"),
    (-12.5, '#,##0.00 "€ (brutto)"', "-12.50 € (brutto)"),
    (-0.05, '0.0%" (yoy)"', "-5.0% (yoy)"),
    (-3, '"Steuer-" 0 €', "-Steuer- 3 €"),
    (-3, '0 €;"EUR (netto) "0 €', "-EUR (netto) 3 €"),
    (-3, "0.00 €;[Red]\\-[$€] 0.00", "-€ 3.00"),
    (-3, "€ -0.00", "-3"),
    (3, "(0 €)", "3"),
    (5, '"1"0 €', "5"),
    (0.5, "0%%", "0.5"),
    (12.5, "0." + "0" * 31 + "%", "12.5"),
    (123456789012, "#,##0." + "0" * 20 + " €", "123,456,789,012." + "0" * 20 + " €"),
    (1234.567, "#,##0 €", "1234.567 €"),
    (0.12345, "0.0%", "12.345%"),
    (-0.001, "0%", "-0.1%"),
    (1e-300, "0.00 €", "1e-300"),
    (5.7, "00", "5.7"),
    (3 * 1.37, "0.00 €", "4.11 €"),
    (1e300, "0%", "1e+300"),
]


def test_numbers_are_read_as_excel_shows_them() -> None:
    def change(book: Any) -> None:
        for row, (value, number_format, _) in enumerate(SHOWN, 1):
            cell = book.active.cell(row, 1, value)
            cell.number_format = number_format

    found = sheet(workbook(change)).content.splitlines()
    assert found == ["Sheet", *(text for *_, text in SHOWN)]


@given(st.floats() | st.integers(), st.text('0#?,.%;-_*\\"[]$€ EAd/@()', max_size=20) | st.text(max_size=10))
def test_any_number_format_gives_a_number_or_nothing(value: float, number_format: str) -> None:
    text = number_text(value, number_format)
    assert text is None or text == text.strip()


FORMATS = [
    "#,##0.00 [$€-407]", "0 €", '"CHF" #,##0;[Red]"CHF" #,##0', "$#,##0.00_);[Red]($#,##0.00)", "0%", "0.0##%",
    '0.0%" (yoy)"', '"Steuer-" 0.0 "€"', "00000", "#,##0,", "[>=9]0 €;0.00 €", ".00 €", "0,000 €", "00,000,000 $",
    "-0 €", "0 €-", '"EUR" 0;"EUR" -0', "0.000000000000000000000000000000%", "#.## €", '"."0 €', "0.00",
]  # fmt: skip
NUMBERS = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**16), 10**16)
AMOUNTS = st.decimals(-(10**9), 10**9, places=3).map(float)


def _number_in(text: str, number_format: str) -> float:
    found = re.search(r"[0-9][0-9,]*(?:[.][0-9]+)?", text)
    assert found is not None
    number = Decimal(found[0].replace(",", "")).scaleb(-2 if "%" in number_format else 0)
    is_negative = "-" in text.replace("Steuer-", "") or "($" in text
    return float(-number if is_negative else number)


@given(NUMBERS | AMOUNTS, st.sampled_from(FORMATS))
def test_a_number_keeps_its_value_in_any_format(value: float, number_format: str) -> None:
    if (text := number_text(value, number_format)) is not None:
        read_back = _number_in(text, number_format)
        assert f"{read_back:.15g}" == f"{value:.15g}" or read_back == value == 0


@given(AMOUNTS, st.sampled_from([each for each in FORMATS if number_text(1, each)]))
def test_an_amount_keeps_its_value(value: float, number_format: str) -> None:
    text = number_text(value, number_format)
    assert text is None or _number_in(text, number_format) == value
    assert text is not None or number_format == "00000"
