"""Values in a table: each column has the type that holds all of its values of Python; headers that look like values."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy
import pytest

from trivium.agents.special.table import ReadOnlyTables

pytestmark = pytest.mark.usefixtures("forked_processes")
_EAST = datetime.timezone(datetime.timedelta(hours=2))


@pytest.mark.parametrize(
    ("values", "kind", "found"),
    [
        ([datetime.datetime(2024, 1, 1, 1, tzinfo=_EAST)], "TIMESTAMP WITH TIME ZONE", ["2023-12-31 23:00:00"]),
        ([datetime.time(10, tzinfo=_EAST)], "TIME WITH TIME ZONE", ["10:00:00+02"]),
        ([datetime.time(10, tzinfo=_EAST), datetime.time(9)], "VARCHAR", ["10:00:00+02:00", "09:00:00"]),
        ([datetime.timedelta(hours=-1)], "INTERVAL", ["-01:00:00"]),
        ([datetime.timedelta(hours=-30, microseconds=5), "soon"], "VARCHAR", ["-29:59:59.999995", "soon"]),
        ([Decimal("0.10"), Decimal(10**17), 7], "DECIMAL(20,2)", ["0.10", "100000000000000000.00", "7.00"]),
        ([Decimal("1E+2"), Decimal("1")], "DECIMAL(3,0)", ["100", "1"]),
        ([Decimal("0.5"), 0.25], "DOUBLE", ["0.5", "0.25"]),
        ([Decimal("1E-40"), Decimal("1E+9999")], "DOUBLE", ["1e-40", "inf"]),
        ([Decimal("NaN"), Decimal(1)], "DOUBLE", ["nan", "1.0"]),
        ([numpy.int64(3), numpy.int64(30)], "BIGINT", ["3", "30"]),
        ([numpy.float64(2.5), numpy.float32(10)], "DOUBLE", ["2.5", "10.0"]),
        ([numpy.bool_(True), numpy.datetime64("NaT")], "BOOLEAN", ["true", None]),
        ([numpy.datetime64("2024-01-05")], "DATE", ["2024-01-05"]),
        ([numpy.datetime64("2024-01-05T10:00:00.5", "ns")], "TIMESTAMP", ["2024-01-05 10:00:00.5"]),
        ([numpy.datetime64("99999-01-05")], "VARCHAR", ["99999-01-05"]),
        (numpy.array([1, 2]), "BIGINT", ["1", "2"]),
        (range(2), "BIGINT", ["0", "1"]),
    ],
)
def test_a_value_of_python_has_the_type_that_holds_all_of_it(values: Any, kind: str, found: list[str | None]) -> None:
    shown = "a AT TIME ZONE 'UTC'" if kind.startswith("TIMESTAMP WITH") else "a"
    tables = ReadOnlyTables({"a": values})
    rows = tables.query(f"SELECT typeof(a), CAST({shown} AS VARCHAR) FROM data").rows
    tables.close()
    assert rows == [(kind, each) for each in found]


@pytest.mark.parametrize(("value", "is_told"), [(Decimal("12345678901234.1234567890"), True), (Decimal("1.5"), False)])
def test_a_decimal_whose_product_has_too_many_digits_says_so(value: Decimal, is_told: bool) -> None:
    tables = ReadOnlyTables({"a": [value]})
    assert ("CAST(… AS DOUBLE) in a product" in tables.tables()[0].columns[0].comment) is is_told
    tables.close()


@pytest.mark.parametrize(
    ("text", "is_told"),
    [
        ("2025-01-01,Ada,100\n2025-01-02,Bo,200\n", True),
        ("Ada,100\nBo,200\n", True),
        ("Region,2019,2020\nNorth,5,6\n", False),
        ("Region,2025-01-01,2025-02-01\nNorth,5,6\n", False),
        ("a,b\n1,2025-01-01\n", False),
    ],
)
def test_a_first_line_that_looks_like_data_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, text: str, is_told: bool
) -> None:
    (tmp_path / "data.csv").write_text(text)
    tables = ReadOnlyTables(tmp_path / "data.csv")
    (table,) = tables.tables()
    tables.close()
    assert ("data.csv: its first line was read as headers, but looks like data" in caplog.text) == is_told
    assert any("the file may have no headers" in each.comment for each in table.columns) == is_told
