"""Line items as plain columns: CSV, spreadsheets and Parquet, continued from the journal beside them."""

from __future__ import annotations

import csv
import io
import subprocess
from collections.abc import Sequence
from datetime import date
from math import inf
from pathlib import Path
from typing import Any, cast

import pytest
from rich.console import Console

from trivium.cli._records import CSV
from trivium.cli._tables import TableFile
from trivium.cli._views import records_view
from trivium.extraction import Field, parse_fields

from ._command import Command, needs_program, script_of

FIELDS = "number, due: date, items: list of {goods, count: integer, price: money}, seller: {name}"
ITEMS = [{"goods": "=Lamp", "count": 2, "price": "EUR 3"}, {"goods": "Desk", "count": 1, "price": "EUR 80"}]
VALUES = [("=Lamp", 2, 3.0, "EUR"), ("Desk", 1, 80.0, "EUR")]


@pytest.fixture
def invoice(trivium: Command) -> Command:
    (trivium.folder / "bill.txt").write_text("Bill 7 of Acme, due 2024-05-01\n=Lamp 2 EUR 3\nDesk 1 EUR 80\n")
    (trivium.folder / "answers.json").write_text(
        script_of({"number": "7", "due": "2024-05-01", "items": ITEMS, "seller": {"name": "Acme"}})
    )
    return trivium


def extract(command: Command, *arguments: str) -> Any:
    ended = command("extract", "bill.txt", "--fields", FIELDS, "--model", "scripted:answers.json", *arguments)
    assert ended.status == 0, ended.err
    return ended


def as_rows(command: Command, output: str) -> list[dict[str, Any]]:
    path = command.folder / output
    if output.endswith(".csv"):
        rows: list[dict[str, Any]] = list(csv.DictReader(io.StringIO(path.read_text())))
        return [
            {**row, "items.count": int(row["items.count"]), "items.price": float(row["items.price"]),
             "due": date.fromisoformat(row["due"]), "row": int(row["row"])} for row in rows
        ]  # fmt: skip
    if output.endswith(".parquet"):
        return pytest.importorskip("pyarrow.parquet").read_table(path).to_pylist()
    sheet = pytest.importorskip("openpyxl").load_workbook(path).active
    header, *rows = sheet.iter_rows(values_only=True)
    found: list[dict[str, Any]] = [dict(zip(header, row, strict=True)) for row in rows]
    return [{**row, "due": row["due"].date()} for row in found]


@pytest.mark.parametrize("output", ["out.csv", "out.xlsx", "out.parquet"])
def test_each_line_item_is_a_row_of_plain_columns(invoice: Command, output: str):
    ended = extract(invoice, "--output", output)
    assert ended.err.rstrip().endswith(f"; records in {output}")
    assert "Desk | 1 | 80 EUR" in ended.out
    rows = as_rows(invoice, output)
    names = ("items.goods", "items.count", "items.price", "items.price_currency")
    assert [tuple(row[name] for name in names) for row in rows] == VALUES
    assert [(row["row"], row["number"], row["due"], row["seller.name"]) for row in rows] == [
        (at, "7", date(2024, 5, 1), "Acme") for at in (1, 2)
    ]
    assert [(int(row["items.goods_line"]), row["items.price_quote"]) for row in rows] == [(2, "EUR 3"), (3, "EUR 80")]

    again = extract(invoice, "--output", output, "--report", "out.html")
    assert again.err.startswith("nothing is left to do")
    assert as_rows(invoice, output) == rows
    assert "<mark" in (invoice.folder / "out.html").read_text()
    beside = sorted(each.name for each in invoice.folder.glob(f"{output}*"))
    assert beside == [output, f"{output}.journal"]
    assert (invoice.folder / f"{output}.journal").stat().st_mode & 0o077 == 0


def test_a_table_goes_on_from_its_runs_and_asks_for_nothing_twice(invoice: Command):
    def rows() -> list[tuple[str, str]]:
        return [(row["source"], row["number"]) for row in as_rows(invoice, "out.csv") if row["row"] == 1]

    (invoice.folder / "late.txt").touch()
    command = ["extract", "bill.txt", "late.txt", "--model", "scripted:answers.json", "--output", "out.csv"]
    ended = invoice(*command, "--fields", FIELDS)
    assert (ended.status, rows()) == (1, [("bill.txt", "7")])
    other = invoice(*command, "--fields", FIELDS.replace("due: date", "due"))
    assert (other.status, other.error[:39]) == (2, "out.csv was begun with other fields; gi")
    (invoice.folder / "late.txt").write_bytes((invoice.folder / "bill.txt").read_bytes())
    (invoice.folder / "out.csv").unlink()  # it is made of the record
    ended = invoice(*command, "--fields", FIELDS)
    assert (ended.status, sorted(rows())) == (0, [("bill.txt", "7"), ("late.txt", "7")])
    assert "1 file finished before" in ended.err
    assert invoice("runs", "--journal", "out.csv.journal").out.count("done") == 2
    ended = invoice(*command, "--fields", FIELDS, "--journal", "runs.db", "--restart")
    assert (ended.status, sorted(rows())) == (0, [("bill.txt", "7"), ("late.txt", "7")])
    assert invoice("runs").out.count("done") == 2


def test_a_spreadsheet_that_another_program_saved_is_not_written_anew(invoice: Command):
    openpyxl = pytest.importorskip("openpyxl")
    extract(invoice, "--output", "out.xlsx")
    book = openpyxl.load_workbook(invoice.folder / "out.xlsx")
    book.active["B2"], book.properties.lastModifiedBy = "8", "Ada"
    book.save(invoice.folder / "out.xlsx")
    (invoice.folder / "late.txt").write_bytes((invoice.folder / "bill.txt").read_bytes())
    command = ["extract", "bill.txt", "late.txt", "--fields", FIELDS, "--model", "scripted:answers.json"]
    ended = invoice(*command, "--output", "out.xlsx")
    assert (ended.status, ended.error[:53]) == (2, "out.xlsx may have been changed by another program, an")
    assert openpyxl.load_workbook(invoice.folder / "out.xlsx").active["B2"].value == "8"
    (invoice.folder / "out.xlsx").rename(invoice.folder / "mine.xlsx")
    assert invoice(*command, "--output", "out.xlsx").status == 0
    assert len(as_rows(invoice, "out.xlsx")) == 4


def test_a_document_whose_model_repeats_itself_is_finished_too(invoice: Command):
    wrong = {"number": "8", "due": "2024-05-01", "items": ITEMS, "seller": {"name": "Acme"}}
    (invoice.folder / "answers.json").write_text(script_of(*[wrong] * 12))
    extract(invoice, "--output", "out.csv", "--tries", "9")
    assert extract(invoice, "--output", "out.csv").err.startswith("nothing is left to do")


def test_line_items_on_a_pipe(invoice: Command):
    rows = list(csv.DictReader(io.StringIO(extract(invoice, "--format", "csv").out)))
    assert [row["items.goods"] for row in rows] == ["=Lamp", "Desk"]
    (record,) = extract(invoice).records
    assert [item["price"]["line"] for item in record["fields"]["items"]["parts"]] == [2, 3]


@pytest.mark.parametrize(
    ("fields", "column"),
    [
        ("source", "source"),
        ("refused, total", "refused"),
        ("total, total_line", "total_line"),
        ("total_quote, total", "total_quote"),
        ("total: money, total_currency", "total_currency"),
        ("row, items: list of {goods}", "row"),
        ("seller: {name}, seller.name", "seller.name"),
    ],
)
@pytest.mark.parametrize("output", [("--output", "out.csv"), ("--output", "out.xlsx"), ("--format", "csv")])
def test_no_two_columns_have_one_name(invoice: Command, fields: str, column: str, output: tuple[str, str]):
    ended = invoice("extract", "bill.txt", "--fields", fields, "--model", "scripted:answers.json", *output)
    assert (ended.status, ended.out) == (2, "")
    assert f"two columns '{column}': give the field of that name another one" in ended.error
    assert not list(invoice.folder.glob("out.*"))


@pytest.mark.parametrize("output", ["out.csv", "out.jsonl", "out.parquet"])
def test_an_order_may_have_an_id_and_a_purpose(invoice: Command, output: str):
    (invoice.folder / "answers.json").write_text(script_of({"id": "7", "purpose": "Desk", "name": "Acme"}))
    arguments = ["extract", "bill.txt", "--fields", "id, purpose, name", "--model", "scripted:answers.json"]
    ended = invoice(*arguments, "--output", output, "--report", "out.html")
    assert (ended.status, "3 backed" in ended.err) == (0, True), ended.err
    assert (ended.out.count("Desk"), (invoice.folder / "out.html").read_text().count("<mark")) == (1, 3)
    assert invoice(*arguments, "--output", output).err.startswith("nothing is left to do")


def test_a_table_that_is_not_ours_stays(invoice: Command):
    (invoice.folder / "out.xlsx").write_text("mine")
    arguments = ["extract", "bill.txt", "--fields", FIELDS, "--model", "scripted:answers.json", "--output", "out.xlsx"]
    ended = invoice(*arguments)
    assert ended.status == 2
    assert "out.xlsx exists, and out.xlsx.journal has no records of it" in ended.error
    assert (invoice.folder / "out.xlsx").read_text() == "mine"
    assert not (invoice.folder / "out.xlsx.journal").exists()
    assert invoice(*arguments, "--restart").status == 0


def test_libreoffice_opens_the_spreadsheet(invoice: Command):
    needs_program("soffice", "libreoffice-calc-nogui")
    extract(invoice, "--output", "out.xlsx")
    command = ["soffice", "--headless", "--convert-to", "csv", "--outdir", "converted", "out.xlsx"]
    subprocess.run(command, cwd=invoice.folder, check=True, capture_output=True, timeout=120)
    rows = list(csv.DictReader(io.StringIO((invoice.folder / "converted" / "out.csv").read_text())))
    assert [row["items.goods"] for row in rows] == ["=Lamp", "Desk"]


def test_the_confidence_of_each_value_is_a_column_where_the_model_tells_it():
    fields = parse_fields("number, total: money, seller: {name}")
    empty = {"value": None, "page": None, "line": None, "quote": None}
    number = {"value": "7", "page": None, "line": 1, "quote": "7", "confidence": 0.25}
    total = {"value": {"amount": 3, "currency": "EUR"}, "page": 1, "line": 2, "quote": "EUR 3", "confidence": 0.9}
    record = {"source": "a.txt", "fields": {"number": number, "total": total, "seller": empty}, "refused": {}}
    form = CSV(fields, confidence=True)
    (row,) = csv.DictReader(io.StringIO(form.header + form.write(record)))
    assert (row["number_confidence"], row["total_confidence"], row["seller.name_confidence"]) == ("0.25", "0.9", "")
    plain = CSV(fields[:2], confidence=True)
    two = {**record, "fields": {"number": number, "total": total}}
    assert plain.read(plain.header + plain.write(two)) == [two]
    assert "number_confidence" not in CSV(fields).header


def test_doubtful_values_are_listed_the_least_certain_first_with_alternatives():
    place = {"page": None, "line": 1, "quote": "x"}
    other = {"value": "2024-06-02", **place}
    entries = [
        {"value": "2024-05-01", **place, "confidence": 0.6, "alternatives": [other]},
        {"value": "4711", **place, "confidence": 0.4},
        {"value": "Ada", **place, "confidence": 0.97},
        {"value": ["2024-02-06"], **place, "alternatives": [other]},
    ]
    names = ("due", "number", "name", "paid")
    record = {"source": "a.txt", "fields": dict(zip(names, entries, strict=True)), "refused": {}}
    out = io.StringIO()
    console = Console(file=out, width=100)
    console.print(records_view([record], list(record["fields"]), console))
    text = out.getvalue()
    assert "line 1, 97% sure" in text
    assert text.index("40% sure  a.txt, number: 4711") < text.index("60% sure  a.txt, due: 2024-05-01; or 2024-06-02")
    assert "sure  a.txt, name" not in text
    assert "ambiguous  a.txt, paid: 2024-02-06; or 2024-06-02" in text


def test_a_least_confidence_needs_a_model_that_tells_probabilities(invoice: Command):
    arguments = ["extract", "bill.txt", "--fields", FIELDS, "--model", "scripted:answers.json"]
    ended = invoice(*arguments, "--min-confidence", "0.5")
    assert ended.status == 2
    assert "--min-confidence needs the probabilities of tokens" in ended.err


HUGE = 12345678901234567890
NUMBERS: dict[str, list[int]] = {
    "decimal128(38, 0)": [7, HUGE],
    "int64": [7, 2**63 - 1],
    "string": [7, HUGE * 10**30],
}


def table_of(path: Path, kind: str, values: Sequence[Any]) -> TableFile:
    table = TableFile(path, [Field("a", cast("Any", kind))], shape=path.suffix[1:])
    for at, value in enumerate(values):
        entry = {"value": value, "page": None, "line": 1, "quote": "x"}
        table.append({"source": str(at), "fields": {"a": entry}, "refused": {}})
    table.finish()
    return table


@pytest.mark.parametrize("kind", NUMBERS)
def test_large_whole_numbers_are_exact_in_parquet(tmp_path: Path, kind: str):
    parquet = pytest.importorskip("pyarrow.parquet")
    table_of(tmp_path / "out.parquet", "integer", [*NUMBERS[kind], None])
    column = parquet.read_table(tmp_path / "out.parquet")["a"]
    assert str(column.type) == kind
    assert [each if each is None else int(each) for each in column.to_pylist()] == [*NUMBERS[kind], None]


def test_numbers_and_amounts_in_parquet_are_floats(tmp_path: Path):
    parquet = pytest.importorskip("pyarrow.parquet")
    values = [9007199254740993, HUGE, 0.5, 10**400, -(10**400), None]
    table_of(tmp_path / "out.parquet", "number", values)
    found = parquet.read_table(tmp_path / "out.parquet")["a"].to_pylist()
    assert found == [9007199254740992.0, float(HUGE), 0.5, inf, -inf, None]


def test_what_a_spreadsheet_would_change_is_text_in_it(tmp_path: Path):
    openpyxl = pytest.importorskip("openpyxl")

    def column(kind: str, *values: Any) -> list[Any]:
        table_of(tmp_path / "out.xlsx", kind, values)
        return [
            row[1]
            for row in openpyxl.load_workbook(tmp_path / "out.xlsx").active.iter_rows(min_row=2, values_only=True)
        ]

    assert column("integer", 123456789012345, HUGE, -HUGE) == [123456789012345, str(HUGE), str(-HUGE)]
    assert column("number", 0.1, 1234567.12345678901, 10**20, 10**400) == [
        0.1,
        "1234567.123456789",
        10**20,
        str(10**400),
    ]
    assert column("boolean", True) == [True]
    days = column("date", "1900-03-01", "1900-02-28", "1899-12-31")
    assert [days[0].date().isoformat(), *days[1:]] == ["1900-03-01", "1900-02-28", "1899-12-31"]
