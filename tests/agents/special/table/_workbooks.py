"""Workbooks of the tests of tables, and the rows that are read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trivium.agents.special.table import ReadOnlyTables


def workbook(folder: Path, *rows: list[Any]) -> Path:
    """Write an XLSX file with these rows on its one sheet."""
    from openpyxl import Workbook

    book: Any = Workbook()
    for row in rows:
        book.active.append(row)
    book.save(folder / "data.xlsx")
    return folder / "data.xlsx"


def read_rows(data: Any, sql: str = "SELECT * FROM data", **options: Any) -> list[tuple[Any, ...]]:
    """Return the rows of a query over a table, which is closed again."""
    tables = ReadOnlyTables(data, **options)
    try:
        return tables.query(sql).rows
    finally:
        tables.close()
