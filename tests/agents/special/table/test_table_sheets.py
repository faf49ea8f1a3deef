"""Several tables on one sheet: the error that names them, and the parts that can be chosen."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from trivium.agents.special.table import ReadOnlyTables
from trivium.exceptions import ConfigurationError, UnreadableDocumentError

from ._workbooks import read_rows, workbook

pytestmark = pytest.mark.usefixtures("forked_processes")


def test_of_several_tables_on_a_sheet_one_is_chosen(tmp_path: Path) -> None:
    rows = [["Item", "Price"], ["pen", 3], [], ["Towns"], ["Town", "Land", "People"], ["Oslo", "Norway", 7]]
    file = workbook(tmp_path, *rows)
    with pytest.raises(UnreadableDocumentError, match="row 5 of the sheet 'Sheet' begins another table") as raised:
        ReadOnlyTables(file)
    first, second, whole = re.findall("sheet='([^']+)'", str(raised.value))
    assert (first, read_rows(file, sheet=first)) == ("Sheet!1:3", [("pen", 3)])
    assert (second, read_rows(file, sheet=second)) == ("Sheet!4:1048576", [("Oslo", "Norway", 7)])
    assert read_rows(file, sheet="Sheet!B5:C6") == [("Norway", 7)]
    with pytest.raises(UnreadableDocumentError, match="row 5 has 3 values, and there are 2 headers"):
        ReadOnlyTables(file, sheet=whole)


@pytest.mark.parametrize(
    "below",
    [
        [["Note:", "without VAT"]],
        [["Source:", "the shop", "2024"]],
        [["Legend"], ["x", "sold out"], ["y", "on order"]],
        [["ink", "on request", "none"], ["nib", 1.5, 2]],
        [[None, "Average", "Total"], [None, 3, 7]],
        [["Group B", "(from March)"], ["ink", 2, 1], [], ["Group C", "(from May)", "(few)"], ["nib", 1.5, 2]],
    ],
)
def test_remarks_and_words_in_place_of_numbers_are_no_other_table(tmp_path: Path, below: list[list[Any]]) -> None:
    file = workbook(tmp_path, ["Item", "Price", "Pieces"], ["pen", 3, 7], [], *below)
    tables = ReadOnlyTables(file)
    assert len(tables.query("SELECT * FROM data").rows) == 1 + len(list(filter(None, below)))
    tables.close()


@pytest.mark.parametrize(
    "below",
    [
        [["Item", "Price", "Pieces"], ["ink", 2, 1]],
        [["Name", "Town", "Land", "Street"]],
        [["People", "Town"], [7, "Oslo"]],
    ],
)
def test_another_table_is_noticed_by_its_names_or_its_numbers(tmp_path: Path, below: list[list[Any]]) -> None:
    file = workbook(tmp_path, ["Item", "Price", "Pieces"], ["pen", 3, 7], [], *below)
    with pytest.raises(UnreadableDocumentError, match="row 4 of the sheet 'Sheet' begins another table"):
        ReadOnlyTables(file)


@pytest.mark.parametrize("part", ["Sheet!A2:A3", "'Sheet'!A2:A3", "Sheet!A3:A2", "Sheet!$A$2:$A$3"])
def test_a_part_is_written_as_in_excel(tmp_path: Path, part: str) -> None:
    assert read_rows(workbook(tmp_path, ["Item"], ["pen"], ["ink"], ["nib"]), sheet=part) == [("ink",)]


@pytest.mark.parametrize(
    ("sheet", "said"),
    [
        ("Other!A1:B2", "has no sheet 'Other'; it has Sheet"),
        ("Sheet!A1-B2", "'A1-B2' is no part of a sheet"),
        ("Sheet!A0:B2", "'A0:B2' is no part of a sheet"),
        ("Sheet!", "'' is no part of a sheet"),
    ],
)
def test_a_part_that_is_none_is_named(tmp_path: Path, sheet: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        ReadOnlyTables(workbook(tmp_path, ["Item"], ["pen"]), sheet=sheet)
