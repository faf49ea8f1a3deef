"""Several tables on one sheet: the error that names them, and the parts that can be chosen."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from trivium.agents.special.table import ReadOnlyTables
from trivium.exceptions import ConfigurationError, UnreadableDocumentError


def _workbook(folder: Path, *rows: list[Any]) -> Path:
    from openpyxl import Workbook

    book: Any = Workbook()
    for row in rows:
        book.active.append(row)
    book.save(folder / "data.xlsx")
    return folder / "data.xlsx"


def _read(file: Path, sheet: str) -> list[tuple[Any, ...]]:
    tables = ReadOnlyTables(file, sheet=sheet)
    try:
        return tables.query("SELECT * FROM data").rows
    finally:
        tables.close()


def test_of_several_tables_on_a_sheet_one_is_chosen(tmp_path: Path) -> None:
    rows = [["Item", "Price"], ["pen", 3], [], ["Towns"], ["Town", "Land", "People"], ["Oslo", "Norway", 7]]
    file = _workbook(tmp_path, *rows)
    with pytest.raises(UnreadableDocumentError, match="row 5 of the sheet 'Sheet' begins another table") as raised:
        ReadOnlyTables(file)
    first, second, whole = re.findall("sheet='([^']+)'", str(raised.value))
    assert (first, _read(file, sheet=first)) == ("Sheet!1:3", [("pen", 3)])
    assert (second, _read(file, sheet=second)) == ("Sheet!4:1048576", [("Oslo", "Norway", 7)])
    assert _read(file, sheet="Sheet!B5:C6") == [("Norway", 7)]
    with pytest.raises(UnreadableDocumentError, match="row 5 has 3 values, and there are 2 headers"):
        ReadOnlyTables(file, sheet=whole)


def test_a_remark_below_an_empty_row_can_stay_in_its_table(tmp_path: Path) -> None:
    file = _workbook(tmp_path, ["Item", "Price"], ["pen", 3], [], ["ink", "on request"])
    assert _read(file, sheet="Sheet!A:B") == [("pen", "3"), ("ink", "on request")]


@pytest.mark.parametrize(
    ("sheet", "said"),
    [
        ("Other!A1:B2", "has no sheet 'Other'; it has Sheet"),
        ("Sheet!A1-B2", "'A1-B2' is no part of a sheet"),
    ],
)
def test_a_part_that_is_none_is_named(tmp_path: Path, sheet: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        ReadOnlyTables(_workbook(tmp_path, ["Item"], ["pen"]), sheet=sheet)
