"""Numbers of text files by their marks, 1.234,56 and 1,234.56, and dates with dots: one kind in a file."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest

from trivium.agents.special.table import ReadOnlyTables
from trivium.agents.special.table._text_files import dates_as_texts
from trivium.exceptions import UnreadableDocumentError

pytestmark = pytest.mark.usefixtures("forked_processes")

GERMAN = (
    "Datum;Betrag;Menge;PLZ\n01.03.2024;1.234,56;1.000;01067\n02.03.2024;-12,50;2.500;80331\n03.03.2024;0,99;3;99999\n"
)


def _table(folder: Path, text: str) -> tuple[list[Any], dict[str, str], dict[str, str]]:
    """The rows of a text file, the types of its columns, and what is said about them."""
    (folder / "data.csv").write_text(text)
    tables = ReadOnlyTables(folder / "data.csv", max_rows=40_000)
    rows, (table,) = tables.query("SELECT * FROM data").rows, tables.tables()
    tables.close()
    return rows, {each.name: each.type for each in table.columns}, {each.name: each.comment for each in table.columns}


@pytest.mark.parametrize(
    ("text", "values"),
    [
        (GERMAN, [(date(2024, 3, 1), 1234.56, 1000, "01067"), (date(2024, 3, 2), -12.5, 2500, "80331"),
                  (date(2024, 3, 3), 0.99, 3, "99999")]),
        ("A;B\n1,5;2.500\n-0,25;1\n", [(1.5, 2500), (-0.25, 1)]),
        ("A;B\n1.234.567;1.000\n;+2\n", [(1234567, 1000), (None, 2)]),
        ('A,B\n"1.234,56","2.500"\n"0,5","1"\n', [(1234.56, 2500), (0.5, 1)]),
        ('A,B,C\n"1,234.56","1,000",1.500\n"12.50","2,500",2.000\n', [(1234.56, 1000, 1.5), (12.5, 2500, 2.0)]),
        ("A\tB\n1,234,567\t1,000\n12\t2\n", [(1234567, 1000), (12, 2)]),
        ("A;B\n0.5;1.234\n2.25;2.500\n", [(0.5, 1.234), (2.25, 2.5)]),
        ("A,B\n1.234,x\n2.500,y\n", [(1.234, "x"), (2.5, "y")]),
        ("A;B\n" + "1;2\n" * 30_000 + "1.234,5;2.500\n", [(1.0, 2)] * 30_000 + [(1234.5, 2500)]),
        ("A;B\n" + "1;2\n" * 30_000 + "0,5;12.500\n", [(1.0, 2)] * 30_000 + [(0.5, 12500)]),
        ("A,B\nx,1\n" + "x,2\n" * 30_000 + "x,1.6\n", [("x", 1.0)] + [("x", 2.0)] * 30_000 + [("x", 1.6)]),
        ("A;B;C\n1,5;nan;2.500\n2,5;nan;3.100\n", [(1.5, ANY, 2500), (2.5, ANY, 3100)]),
        ("A;B\n" + "1;2.500\n" * 30_000 + "0,5;1\n", [(1.0, 2500)] * 30_000 + [(0.5, 1)]),
    ],
)  # fmt: skip
def test_numbers_are_read_by_the_marks_of_their_file(tmp_path: Path, text: str, values: list[Any]) -> None:
    assert _table(tmp_path, text)[0] == values


@pytest.mark.parametrize(
    ("text", "values", "comment"),
    [
        ("A;B\nx;1.234,50 €\ny;3,00 €\n", [1234.5, 3], "in €"),
        ('A,B\nx,"$1,234.50"\ny,-$99.00\n', [1234.5, -99], "in $"),
        ("A;B\nx;EUR 20\ny;EUR -1 500\n", [20, -1500], "in EUR"),
        ("A,B\nx,12%\ny,5.5 %\n", [12, 5.5], "in %"),
        ("A;B\nx;1 234,50\ny;5,50\n", [1234.5, 5.5], ""),
        ("A;B\nx;1\u202f234\ny;12\u00a0345\nz;5\n", [1234, 12345, 5], ""),
        ("A,B\nx,5\ny,NA\nz,30\n", [5, None, 30], "NULL where the file has a word such as NA"),
        ("A,B\nx,1.5 zł\ny,-\nz,\n", [1.5, None, None], "in zł, NULL where the file has a word such as NA"),
        ("A,B\nx,5 €\ny,7 $\n", ["5 €", "7 $"], ""),
        ("A,B\nx,5 €\ny,7\n", ["5 €", "7"], ""),
        ("A,B\nx,A5\ny,A7\n", ["A5", "A7"], ""),
        ("A,B\nx,555 123\ny,555 124\n", ["555 123", "555 124"], ""),
        ("A,B\nx,007\ny,NA\n", ["007", "NA"], ""),
        ("A,B\nx,NA\ny,-\n", ["NA", "-"], ""),
        ("A,B\n" + "x,5\n" * 30_000 + "y,NA\n", [*[5] * 30_000, None], "NULL where the file has a word such as NA"),
    ],
)
def test_numbers_with_one_unit_or_words_for_missing_ones_are_numbers(
    tmp_path: Path, text: str, values: list[Any], comment: str
) -> None:
    rows, _, comments = _table(tmp_path, text)
    assert [row[1] for row in rows] == values
    assert comments["b"].split("; ")[2:] == [comment] * bool(comment)


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("A;B\n1.234;x\n2.500;y\n", "a"),
        ("A\n1.234\n2.500\n", "a"),
        ("A\tB\n1,500\tx\n2,250\ty\n", "a"),
        ("Datum,A\n01.03.2024,1.234\n02.03.2024,2.500\n", "a"),
        ("A;B;C\n12,5;2.5;1.234\n0,5;1.5;2.500\n", "ac"),
        ('A,B\n"1,5",x\n"2,10",y\n', "a"),
    ],
)
def test_numbers_whose_marks_are_unknown_stay_texts_and_the_model_is_told(
    tmp_path: Path, text: str, columns: str
) -> None:
    rows, kinds, comments = _table(tmp_path, text)
    assert {each for each in kinds if "numbers whose marks are unknown" in comments[each]} == {*columns}
    assert all(kinds[each] == "VARCHAR" for each in columns)
    assert any(part in text for part in rows[0] if isinstance(part, str))


def test_the_comment_of_a_column_says_how_its_numbers_may_be_read(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("A;B\n1.234;x\n2.500;y\n")
    tables = ReadOnlyTables(tmp_path / "data.csv")
    ways = tables.tables()[0].columns[0].comment.partition("unknown: ")[2].split(" or ")
    assert [tables.query(f"SELECT sum({each}) FROM data").rows[0][0] for each in ways] == [3734.0, 3.734]
    tables.close()


@pytest.mark.parametrize(
    "text",
    [
        "Teil;N\n1.2.3;1\n1.10;2\n",
        "PLZ;N\n01067;1\n80331;2\n",
        "IP;N\n10.0.0.1;1\n",
        "Liste;N\n1,2,3;1\n4,5;2\n",
        "Teil;N\n10.12.11;1\n11.10.12;2\n",
    ],
)
def test_what_is_no_number_stays_text(tmp_path: Path, text: str) -> None:
    rows, kinds, comments = _table(tmp_path, text)
    assert next(iter(kinds.values())) == "VARCHAR"
    assert rows[0][0] == text.partition("\n")[2].partition(";")[0]
    assert "marks are unknown" not in "".join(comments.values())


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("D;N\n01.03.24;1\n02.04.24;2\n", [date(2024, 3, 1), date(2024, 4, 2)]),
        ("D;N\n15.03.99;1\n02.04.24;2\n", [date(1999, 3, 15), date(2024, 4, 2)]),
        ("D;N\n99.03.15;1\n24.04.02;2\n", [date(1999, 3, 15), date(2024, 4, 2)]),
    ],
)
def test_with_dots_the_day_stands_first(tmp_path: Path, text: str, values: list[date]) -> None:
    assert [row[0] for row in _table(tmp_path, text)[0]] == values


def test_a_folder_is_no_table(tmp_path: Path) -> None:
    with pytest.raises(UnreadableDocumentError, match="is a folder: name its files"):
        ReadOnlyTables(tmp_path)


def test_few_formats_of_dates_are_tried_on_all_rows() -> None:
    import duckdb

    read = list[str]()
    with duckdb.connect() as database:

        def execute(sql: str) -> list[Any]:
            read.append(sql)
            return database.execute(sql).fetchall()

        execute("CREATE TABLE t AS SELECT '25/12/2024 10:30' AS day FROM range(50)")
        assert dates_as_texts(execute, "t", ["day"]) == {"day": ["strptime(day, '%d/%m/%Y %H:%M')"]}
    assert [each.count("try_strptime") for each in read if "LIMIT" not in each] == [0, 1]
