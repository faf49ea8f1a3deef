"""Files, frames and rows as tables."""

from __future__ import annotations

import datetime
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from trivium.agents.special.sql import check_query
from trivium.agents.special.table import ReadOnlyTables
from trivium.agents.special.table._creating import plain_names
from trivium.exceptions import (
    ConfigurationError,
    DocumentNotFoundError,
    EmptyDocumentError,
    UnreadableDocumentError,
)  # fmt: skip
from trivium.parsing import read

from ._workbooks import read_rows, workbook

pytestmark = pytest.mark.usefixtures("forked_processes")
GOOD, GOOD_ROWS = "name,city,amount\n" + "Ada,Oslo,1\n" * 100, [("Ada", "Oslo", 1)] * 100


def _saved(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_headers_become_names_that_need_no_quotes(tmp_path: Path) -> None:
    path = _saved(tmp_path, "My Data (2024).csv", "Unit Price ($), ,order,2024,Größe,unit price\n1.5,a,b,3,x,y\n")
    tables = ReadOnlyTables(path)
    (table,) = tables.tables()
    assert table.name == "my_data_2024"
    assert [each.name for each in table.columns] == [
        "unit_price",
        "column1",
        "c_order",
        "c_2024",
        "größe",
        "unit_price_2",
    ]
    assert '"Unit Price ($)"' in table.columns[0].comment
    assert tables.query("SELECT unit_price, c_order, c_2024, größe FROM my_data_2024").rows == [(1.5, "b", 3, "x")]
    tables.close()


def test_types_are_found_also_where_they_change_late(tmp_path: Path) -> None:
    rows = "\n".join(f"{at},2024-01-01" for at in range(50_000))
    path = _saved(tmp_path, "data.csv", f"number,day\n{rows}\nlast,never\n")
    assert read_rows(path, "SELECT count(*), max(number) FROM data") == [(50_001, "last")]


@pytest.mark.parametrize(
    ("first", "last", "value"),
    [
        ("1", "00123", "00123"),
        ("1", "1_000", "1_000"),
        ("1", "+5", "+5"),
        ("1", "1e5", "100000.0"),
        ("1.5", "007", "007"),
        ("2024-01-05", "2024-01-06 23:59:00", "2024-01-06 23:59:00"),
        ("2024-01-05", "2024-01-06T23:59:00Z", "2024-01-06T23:59:00Z"),
        ("2024-01-05 10:00:00", "2024-01-06 10:00:00+02:00", "2024-01-06 10:00:00+02:00"),
    ],
)
def test_a_late_value_of_another_form_is_read_as_it_is(tmp_path: Path, first: str, last: str, value: str) -> None:
    path = _saved(tmp_path, "data.csv", "n,v\n" + f"1,{first}\n" * 30_000 + f"2,{last}\n")
    assert read_rows(path, "SELECT CAST(v AS VARCHAR) FROM data WHERE n = 2") == [(value,)]


@pytest.mark.parametrize(
    ("name", "content", "options", "expected"),
    [
        ("data.tsv", "a\tb\n1\t2\n", {}, [(1, 2)]),
        ("data.csv", "a;b\n1;x\n", {}, [(1, "x")]),
        ("data.csv", '\ufeffa,b\n"x, y","say ""hi"""\n', {}, [("x, y", 'say "hi"')]),
        ("data.csv", "a,b\nå,é\n".encode("latin-1"), {"encoding": "latin-1"}, [("å", "é")]),
        ("data.csv", "a,b\nå,é\n".encode("utf-16"), {}, [("å", "é")]),
        ("data.csv", "a,b\n", {}, []),
        ("data[1]*.csv", "a,b\n1,2\n", {}, [(1, 2)]),
    ],
)
def test_text_files_are_read_as_they_come(
    tmp_path: Path, name: str, content: str | bytes, options: dict[str, Any], expected: Any
) -> None:
    assert read_rows({"data": _saved(tmp_path, name, content)}, **options) == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (GOOD + "Bob,Bergen\n", [*GOOD_ROWS, ("Bob", "Bergen", None)]),
        ("a,b\n" + "1,2\n" * 60_000 + "3\n", [(1, 2)] * 60_000 + [(3, None)]),
        ('a;b;c\n1;2\n"x\ny";"say ""hi""";3\n', [("1", "2", None), ("x\ny", 'say "hi"', 3)]),
        ("date,n\n2024-01-05,1\n05/06/2024,2\n", [("2024-01-05", 1), ("05/06/2024", 2)]),
        ('day,"the date"\n2024-01-05,2024-01-05\n2024-01-06,05/06/2024\n2024-01-07\n',
         [(datetime.date(2024, 1, 5), "2024-01-05"), (datetime.date(2024, 1, 6), "05/06/2024"),
          (datetime.date(2024, 1, 7), None)]),
        ("Report of 2024\n\na,b\n1,2\n3,4\n", [(1, 2), (3, 4)]),
        ("Sales, all of them\n\na,b,c\n1,2,3\n", [(1, 2, 3)]),
        ("\n\na,b\n1\n", [(1, None)]),
        ("Account;Giro;\nIBAN;DE1;\n;;\nPayee;For;Sum\nAda;;-1.200,50\n", [("Ada", None, -1200.5)]),
        ('"Account";"Giro"\n""\n"Payee";"For";"Sum"\n"Ada";"a;\nb";"5,00"\n', [("Ada", "a;\nb", 5.0)]),
        ("a;;\nx;y;z\n;;\nu;v;w\n", [("x", "y", "z"), (None, None, None), ("u", "v", "w")]),
        ('"name, first"\nAda\n', [("Ada",)]),
        ("sep=;\na;b\n1,5;2\n", [(1.5, 2)]),
        ("sep=:\r\na:b\r\n1:2\r\n", [(1, 2)]),
        ("a,b\n" + "1,2\n" * 30_000 + "3,\"x, y\"\n", [(1, "2")] * 30_000 + [(3, "x, y")]),
    ],
)  # fmt: skip
def test_a_row_that_differs_changes_no_other(tmp_path: Path, content: str, expected: list[tuple[Any, ...]]) -> None:
    path = _saved(tmp_path, "data.csv", content)
    assert read_rows(path, "SELECT * FROM data", max_rows=100_000) == expected
    assert read_rows(path, "SELECT count(*) FROM data") == [(len(expected),)]


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (GOOD + "Bob,Bergen,1,2\n", "line 102 has 4 values, and there are 3 headers"),
        ("name,note\nAda,hello, world\nBob,fine\n", "line 2 has 3 values, and there are 2 headers"),
        ("a,b\n" + "1,2\n" * 60_000 + "3,4,5\n", "line 60002 has 3 values"),
        ("a,b\n1,2,3\n4,5,6\n", "line 2 has 3 values"),
    ],
)  # fmt: skip
def test_a_row_that_is_too_long_is_named_by_its_line(tmp_path: Path, content: str, line: str) -> None:
    with pytest.raises(UnreadableDocumentError, match=line):
        ReadOnlyTables(_saved(tmp_path, "data.csv", content))


def test_any_encoding_that_python_knows_is_read(tmp_path: Path) -> None:
    path = _saved(tmp_path, "data.csv", "a,b\n“å”,one €\n".encode("cp1252"))
    assert read_rows(path, encoding="cp1252") == [("“å”", "one €")]
    for wrong in ("nothing", "hex"):
        with pytest.raises(ConfigurationError, match=f"'{wrong}' is no encoding of text: give one that Python knows"):
            ReadOnlyTables(path, encoding=wrong)
    with pytest.raises(UnreadableDocumentError, match="it is not ascii: give another encoding"):
        ReadOnlyTables(path, encoding="ascii")


def test_tables_of_one_name_are_all_kept(tmp_path: Path) -> None:
    named = ReadOnlyTables({"A b": [{"x": 1}], "a_b": [{"x": 2}], "2024/sales": [{"x": 3}]})
    assert [each.name for each in named.tables()] == ["a_b", "a_b_2", "c_2024_sales"]
    assert named.query("SELECT a_b.x, a_b_2.x FROM a_b, a_b_2").rows == [(1, 2)]
    named.close()
    files = [_saved(tmp_path, "a b.csv", "x\n1\n"), _saved(tmp_path, "A-b.csv", "x\n2\n")]
    assert read_rows(files, "SELECT a_b.x, a_b_2.x FROM a_b, a_b_2") == [(1, 2)]


def test_rows_that_are_no_table_are_told_with_column_and_value() -> None:
    with pytest.raises(ConfigurationError, match="the columns are not of one length: 'a' has 1, 'b' has 2"):
        ReadOnlyTables({"a": [1], "b": [1, 2]})
    with pytest.raises(ConfigurationError, match=f"the column 'n' has {2**130}, which DuckDB cannot hold"):
        ReadOnlyTables([{"n": 1}, {"n": 2**130}])
    with pytest.raises(ConfigurationError, match="dict is no table"):
        ReadOnlyTables({"one": {"a": 1}})
    for content in (b"a\n1\n", bytearray(b"a\n1\n"), memoryview(b"a\n1\n")):
        with pytest.raises(ConfigurationError, match="is no table: give a file's path"):
            ReadOnlyTables({"sales": content})


def test_texts_and_large_numbers_stay_what_they_are() -> None:
    assert read_rows([{"a": "\\N", "b": 2**70}, {"a": None, "b": None}, {"a": "", "b": -1}]) == [
        ("\\N", 2**70),
        (None, None),
        ("", -1),
    ]
    assert read_rows([{"a": None}, {"a": "x"}]) == [(None,), ("x",)]
    assert read_rows([{"a": "\ud800"}]) == [("?",)]


def test_a_header_that_is_a_word_of_sql_is_marked_as_one_that_begins_with_a_digit() -> None:
    assert read_rows([{"When": 1, "2024": 2}], "SELECT c_when, c_2024 FROM data") == [(1, 2)]


def test_a_file_whose_name_is_a_word_of_sql_is_marked_too(tmp_path: Path) -> None:
    files = [_saved(tmp_path, f"{name}.csv", f"a\n{at}\n") for at, name in enumerate(("order", "user"))]
    assert read_rows(files, "SELECT c_order.a, user.a FROM c_order, user") == [(0, 1)]
    assert read_rows(files[0], "SELECT a FROM c_order") == [(0,)]
    assert read_rows({"Group": [{"a": 2}]}, "SELECT a FROM c_group") == [(2,)]


def test_no_word_of_sql_as_a_header_needs_quotes() -> None:
    from sqlglot import Dialect

    duckdb = Dialect.get_or_raise("duckdb")
    parser: Any = duckdb.parser_class
    words = {*duckdb.tokenizer_class.KEYWORDS, *parser.FUNCTIONS, *parser.FUNCTION_PARSERS, *parser.CONSTRAINT_PARSERS}
    names = plain_names(sorted(each for each in words if each.isidentifier()))
    assert len(names) > 500
    for name in names:
        sql = (
            f"SELECT {name}, max({name}), {name} + 1 FROM {name} AS t WHERE t.{name} > 0 AND NOT {name} = 3 "
            f"GROUP BY {name} ORDER BY {name} DESC"
        )
        assert check_query(sql, "duckdb", tables=[name]) == sql


def test_what_is_no_table_is_an_error_that_says_so(tmp_path: Path) -> None:
    with pytest.raises(DocumentNotFoundError, match="there is no file"):
        ReadOnlyTables(tmp_path / "none.csv")
    with pytest.raises(EmptyDocumentError, match="is empty"):
        ReadOnlyTables(_saved(tmp_path, "empty.csv", ""))
    with pytest.raises(UnreadableDocumentError, match="give encoding='cp1252'"):
        ReadOnlyTables(_saved(tmp_path, "western.csv", "a,b\nå,é\n".encode("cp1252")))
    with pytest.raises(UnreadableDocumentError, match="not text"):
        ReadOnlyTables(_saved(tmp_path, "binary.csv", b"\x00\x01\x02" * 50))
    with pytest.raises(UnreadableDocumentError, match="damaged"):
        ReadOnlyTables(_saved(tmp_path, "x.parquet", b"PAR1 not really"))
    with pytest.raises(UnreadableDocumentError, match="damaged"):
        ReadOnlyTables(_saved(tmp_path, "x.xlsx", b"PK not really"))
    with pytest.raises(UnreadableDocumentError, match=r"\.csv, \.tsv"):
        ReadOnlyTables(_saved(tmp_path, "x.docx", b"x"))
    nothing: list[Any] = [7, [1, 2], {}, [{}]]
    for wrong in nothing:
        with pytest.raises((ConfigurationError, EmptyDocumentError)):
            ReadOnlyTables(wrong)


def test_excel_files_are_read_by_sheet(tmp_path: Path) -> None:
    from openpyxl import Workbook

    book: Any = Workbook()
    book.active.title = "First"
    for row in ([None, None], ["Item", "Sold on"], ["pen", datetime.date(2024, 1, 5)], [None, None], ["007", None]):
        book.active.append(row)
    book.create_sheet("Other").append(["x"])
    book.save(tmp_path / "book.xlsx")
    rows = read_rows(tmp_path / "book.xlsx", "SELECT item, sold_on FROM book ORDER BY 1")
    assert rows == [("007", None), ("pen", datetime.datetime(2024, 1, 5))]
    assert read_rows(tmp_path / "book.xlsx", "SELECT count(*) FROM book", sheet="Other") == [(0,)]
    with pytest.raises(ConfigurationError, match="it has First, Other"):
        ReadOnlyTables(tmp_path / "book.xlsx", sheet="Third")


def test_codes_and_formulas_of_a_sheet_are_told(tmp_path: Path) -> None:
    from openpyxl import Workbook

    book: Any = Workbook()
    sums = ([None, "=SUM(B2:B3)"], [None, None, None, None, "=A1"])
    for row in (["plz", "n", "total", "year"], [1067, 1, "=B2*2", 2024, "=A1"], [80331, 2, 4, 2025], *sums):
        book.active.append(row)
    for cell, form in {"A2": "00000", "A3": "00000", "D2": "0000", "D3": "0000"}.items():
        book.active[cell].number_format = form
    book.save(tmp_path / "book.xlsx")
    tables = ReadOnlyTables(tmp_path / "book.xlsx")
    assert tables.query("SELECT * FROM book").rows == [("01067", 1, None, 2024), ("80331", 2, 4, 2025)]
    ((_, *numbers, _),) = (each.columns for each in tables.tables())
    assert all("NULL where a formula has no saved value" in each.comment for each in numbers)
    tables.close()


def test_rows_and_columns_of_a_program_keep_their_types() -> None:
    day = datetime.date(2024, 1, 5)
    rows = [
        {"Name": "007", "n": 1, "f": True, "d": day, "t": '"a",\nb'},
        {"Name": None, "n": 2.5, "d": None, "t": "\\n"},
    ]
    assert read_rows(rows) == [("007", 1.0, True, day, '"a",\nb'), (None, 2.5, None, None, "\\n")]
    assert read_rows({"a": [1, 2], "b": ["x", "y"]}) == [(1, "x"), (2, "y")]
    assert read_rows({"one": [{"a": 1}], "two": [{"a": 2}]}, "SELECT one.a, two.a FROM one, two") == [(1, 2)]


def test_frames_are_read_through_arrow() -> None:
    pyarrow: Any = import_module("pyarrow")  # it has no types

    class Frame:
        """What polars and pandas have too."""

        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
            return pyarrow.table({"City": ["Oslo"], "n": [7]}).__arrow_c_stream__(requested_schema)

    assert read_rows(Frame()) == [("Oslo", 7)]


def test_parquet_and_several_files_at_once(tmp_path: Path) -> None:
    import duckdb

    duckdb.sql(f"COPY (SELECT 1 AS id, 'x' AS \"A b\") TO '{tmp_path}/one.parquet'")
    files = [tmp_path / "one.parquet", _saved(tmp_path, "two.csv", "id,c\n1,y\n")]
    assert read_rows(files, "SELECT a_b, c FROM one JOIN two USING (id)") == [("x", "y")]


def test_the_copy_goes_when_it_is_closed_and_when_it_is_dropped() -> None:
    code = """
import glob, sys, tempfile
tempfile.tempdir = sys.argv[1]
from trivium.agents.special.table import ReadOnlyTables
tables = ReadOnlyTables([{"a": 1}])
assert len(glob.glob(sys.argv[1] + "/trivium-tables-*")) == 1
tables = ReadOnlyTables([{"a": 1}])
assert len(glob.glob(sys.argv[1] + "/trivium-tables-*")) == 1
tables.close(); tables.close()
assert not glob.glob(sys.argv[1] + "/trivium-tables-*")
tables = ReadOnlyTables([{"a": 1}])
"""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-c", code, folder], check=True, timeout=60)
        assert not list(Path(folder).iterdir())


@pytest.mark.slow
def test_a_file_larger_than_the_memory_that_is_given_can_be_asked(tmp_path: Path) -> None:
    path = tmp_path / "large.csv"
    block = b"".join(b"%s,%d,2024-01-01,Oslo\n" % (b"x" * 90, number) for number in range(10_000))
    with path.open("wb") as file:
        file.write(b"text,number,day,city\n")
        for _ in range(110):
            file.write(block)
    assert path.stat().st_size > 115_000_000
    code = """
import re, sys
from trivium.agents.special.table import ReadOnlyTables

def answers(source):
    tables = ReadOnlyTables({"large": source}, memory=1 << 26)
    return tables.query("SELECT count(*), max(number), count(DISTINCT city) FROM large").rows

def peak():
    return int(re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1]) // 1024

assert answers([{"number": 7, "city": "Oslo"}]) == [(1, 7, 1)]
before = peak()  # with all that is imported: Python takes 25 MB more where it has to compile that first
assert answers(sys.argv[1]) == [(1_100_000, 9999, 1)]
print(peak() - before)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], check=False, timeout=110, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 30, f"{done.stdout} MB"


@pytest.mark.parametrize(
    ("dates", "is_date"),
    [
        (["01/02/2024", "03/04/2024"], False),
        (["01/02/2024 10:00:00", "03/04/2024 11:30:00"], False),
        (["01-02-03", "04-05-06"], False),
        (["01/02/2024", "25/04/2024"], True),
        (["01/02/2024", "04/25/2024"], True),
        (["02/02/2024", "05/05/2024"], True),
        (["01.02.2024", "03.04.2024"], True),
        (["2024-01-02", "2024-03-04"], True),
    ],
)
@pytest.mark.parametrize("end", ["", "last\n"])
def test_dates_that_could_be_others_stay_as_they_are_written(
    tmp_path: Path, dates: list[str], is_date: bool, end: str
) -> None:
    rows = "".join(f"{each},1\n" for each in dates)
    path = _saved(tmp_path, "data.csv", f"Paid On,Amount\n{rows}" + (f",{end}" if end else ""))
    kind, first = read_rows(path, "SELECT typeof(paid_on), CAST(paid_on AS VARCHAR) FROM data")[0]
    assert (kind in ("DATE", "TIMESTAMP")) is is_date
    assert is_date or first == dates[0]


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("25/12/2024,01/02/2025\n13/11/2024,05/01/2025\n", ("DATE", "DATE")),
        ("01/02/2025,25/12/2024\n05/01/2025,13/11/2024\n", ("DATE", "DATE")),
        ("12/25/2024,01/02/2025\n11/13/2024,05/01/2025\n", ("DATE", "DATE")),
        ("05/05/2024,01/02/2025\n06/06/2024,05/01/2025\n", ("DATE", "VARCHAR")),
        ("2024-01-05 10:00:00,0850-01-01\n2024-02-06 11:00:00,0999-01-01\n", ("TIMESTAMP", "DATE")),
    ],
)
def test_a_file_has_one_format_of_dates(tmp_path: Path, text: str, kinds: tuple[str, str]) -> None:
    path = _saved(tmp_path, "data.csv", f"Ordered,Due\n{text}")
    assert read_rows(path, "SELECT typeof(ordered), typeof(due) FROM data")[0] == kinds
    if kinds == ("DATE", "DATE"):
        assert read_rows(path, "SELECT due - ordered FROM data")[0] in [(38,), (-38,), (8,)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("25/12/2024 10:30\n01/02/2024 09:00\n", "dates as texts: strptime(a, '%d/%m/%Y %H:%M')"),
        ("12/25/2024 10:30 AM\n", "dates as texts: strptime(a, '%m/%d/%Y %I:%M %p')"),
        (
            "01/02/2024 10:30\n",
            "dates as texts: strptime(a, '%d/%m/%Y %H:%M') or strptime(a, '%m/%d/%Y %H:%M')",
        ),
        ("25/12/2024 10:30\nsoon\n", ""),
        ("1.2.3\n1.2.10\n", ""),
    ],
)
def test_the_comment_of_a_column_says_how_its_dates_are_read(tmp_path: Path, text: str, said: str) -> None:
    tables = ReadOnlyTables(_saved(tmp_path, "data.csv", "a\n" + text))
    ((column,),) = (each.columns for each in tables.tables())
    assert column.type == "VARCHAR"
    assert column.comment.partition("; ")[2].removeprefix(text) == said
    tables.close()


def test_the_comment_of_a_column_says_that_the_order_of_its_dates_is_unknown(tmp_path: Path) -> None:
    path = _saved(tmp_path, "data.csv", "Paid On,Amount\n01/02/2024,1\n03/04/2024,2\n")
    tables = ReadOnlyTables(path)
    comment = tables.tables()[0].columns[0].comment
    assert comment.endswith(
        "dates whose order is unknown: strptime(paid_on, '%d/%m/%Y') or strptime(paid_on, '%m/%d/%Y')"
    )
    assert tables.query("SELECT month(strptime(paid_on, '%d/%m/%Y')) FROM data").rows == [(2,), (4,)]
    tables.close()


TABLE: list[list[Any]] = [["Name", "City", "Sold"], ["Ada", "Oslo", 10], ["Bo", None, 5]]


@pytest.mark.parametrize(
    "title",
    [
        [["Quarterly report"], []],
        [["Quarterly report"]],
        [["Report"], ["of 2024"], ["in EUR"]],
        [[], ["Report"], [], [datetime.date(2024, 1, 1)], [" "]],
    ],
)
def test_a_title_above_a_sheets_headers_is_left_out(tmp_path: Path, title: list[list[Any]]) -> None:
    assert read_rows(workbook(tmp_path, *title, *TABLE)) == [("Ada", "Oslo", 10), ("Bo", None, 5)]


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        ([[None, "City"], ["Ada", "Oslo"], ["Bob", "Rome"]], [("Ada", "Oslo"), ("Bob", "Rome")]),
        ([["Name"], ["Ada"], ["Bob"]], [("Ada",), ("Bob",)]),
        ([["Name", "City"], ["Ada"], [], ["Bob", "Rome"]], [("Ada", None), ("Bob", "Rome")]),
        ([["Name", "City"], ["Ada", "Oslo", " "], ["Bob", "Rome", "\u00a0"]], [("Ada", "Oslo"), ("Bob", "Rome")]),
        ([[" "], ["Name", "City"], ["Ada", "Oslo"]], [("Ada", "Oslo")]),
        ([["Name", " "], ["Ada", "Oslo"]], [("Ada", "Oslo")]),
        ([["Sales"], [], ["City", 2024], ["Oslo", 1]], [("Oslo", 1)]),
    ],
)
def test_a_sheet_without_a_title_keeps_all_rows(tmp_path: Path, rows: list[list[Any]], found: list[Any]) -> None:
    assert read_rows(workbook(tmp_path, *rows)) == found


def test_a_row_of_a_sheet_that_is_too_long_is_named(tmp_path: Path) -> None:
    for rows in (
        [["Name", "City"], ["Ada", "Oslo", 10]],
        [["Name", "City"], [], ["Ada", "Oslo", 10]],
        [["Id"], [1, 2]],
        [["Name", "City"], ["Ada", "Oslo"], ["Eve", "Paris"], [], ["Bob", "Rome", "Rome"]],
        [["Name"], ["Ada"], ["Bob"], [], ["Sum", "text"]],
        [[None, "Report"], [], ["Name", "City", "Sold"]],
    ):
        with pytest.raises(UnreadableDocumentError, match=rf"row {len(rows)} has . values, and there are . headers"):
            ReadOnlyTables(workbook(tmp_path, *rows))
    assert read_rows(workbook(tmp_path, ["Id"], [1], [], [2])) == [(1,), (2,)]


def test_a_sheet_of_charts_is_no_table(tmp_path: Path) -> None:
    from openpyxl import Workbook

    book: Any = Workbook()
    book.active.append(["Id"])
    book.create_chartsheet("Chart", 0)
    book.save(tmp_path / "data.xlsx")
    assert read_rows(tmp_path / "data.xlsx") == []
    assert read(tmp_path / "data.xlsx").content == "Sheet\nId\n"
    with pytest.raises(ConfigurationError, match="it has Sheet"):
        ReadOnlyTables(tmp_path / "data.xlsx", sheet="Chart")
