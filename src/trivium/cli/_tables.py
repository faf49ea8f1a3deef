"""Records as a spreadsheet, a Parquet file, or CSV with line items: written at the end."""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Sequence
from contextlib import suppress
from datetime import date
from decimal import Decimal
from math import inf
from pathlib import Path
from typing import Any
from uuid import uuid4
from zipfile import BadZipFile, ZipFile

from trivium.cli._columns import Columns, Record
from trivium.cli._records import CSV, storage
from trivium.exceptions import ConfigurationError, MissingExtraError
from trivium.extraction import Field

_LONGEST = 32_767
"""The most characters of a cell in a spreadsheet."""

_WRITER = "trivium extract"
_DIGITS, _LARGEST = 15, 9.99e307
_FIRST_DAY = "1900-03-01"
"""A spreadsheet rounds a number of more digits, knows none beyond, and shows no day before, or another one."""

_NEEDS = {"xlsx": ("openpyxl", "table"), "parquet": ("pyarrow", "lancedb")}


class TableFile:
    """A table of records, written at the end.

    Args:
        path: the table.
        fields: the fields of each record.
        shape: "xlsx", "parquet" or "csv".
        confidence: a column with the confidence of each value, too.

    Attributes:
        finished: the records of the table, by source.

    Raises:
        FieldsError: two columns would have one name.
        MissingExtraError: the package that writes the form is not installed.
    """

    def __init__(self, path: Path, fields: Sequence[Field], *, shape: str, confidence: bool = False) -> None:
        package, extra = _NEEDS.get(shape, ("", ""))
        if package and importlib.util.find_spec(package) is None:
            raise MissingExtraError(package, extra)
        self.path, self._shape, self._form = path, shape, CSV(fields, confidence=confidence)
        self.finished: dict[str, Record] = {}

    def check_unchanged(self) -> None:
        """Refuse a spreadsheet that another program has saved since: writing it anew would lose what was changed.

        Raises:
            ConfigurationError: it was, and the file is still there.
        """
        with storage(self.path, {}):
            if self._shape == "xlsx" and self.path.exists() and self.path.stat().st_size and not _is_own(self.path):
                raise ConfigurationError(
                    f"{self.path} may have been changed by another program, and would be written anew: rename it to "
                    "keep its changes (the records are in the journal), or give --restart"
                )

    def append(self, record: Record) -> None:
        """Add a record."""
        self.finished[record["source"]] = record

    def finish(self) -> None:
        """Write the table, completely or not at all; one of no records is not written."""
        if not self.finished:
            return
        part = self.path.with_name(f"{self.path.name}.{uuid4().hex[:8]}.part")
        with storage(self.path, {}):
            try:
                self._write(part)
                os.replace(part, self.path)
            finally:
                part.unlink(missing_ok=True)

    def _write(self, part: Path) -> None:
        if self._shape == "csv":
            text = self._form.header + "".join(map(self._form.write, self.finished.values()))
            part.write_bytes(text.encode("utf-8", "replace"))
            return
        columns = self._form.columns
        rows = [[_plain(cell) for cell in row] for each in self.finished.values() for row in columns.rows(each)]
        (_write_sheet if self._shape == "xlsx" else _write_parquet)(part, columns, rows)


def _plain(cell: object) -> Any:
    """Return a cell: a list as JSON, and text without what is not Unicode."""
    text = json.dumps(cell, ensure_ascii=False) if isinstance(cell, list) else cell
    return text.encode("utf-8", "replace").decode() if isinstance(text, str) else text


def _is_own(path: Path) -> bool:
    """Tell whether `_write_sheet` saved a spreadsheet last: each program writes who did."""
    with suppress(BadZipFile, KeyError), ZipFile(path) as book, book.open("docProps/core.xml") as about:
        return _WRITER.encode() in about.read(1 << 16)
    return False


def _write_sheet(path: Path, columns: Columns, rows: Sequence[Sequence[Any]]) -> None:
    import openpyxl
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

    book = openpyxl.Workbook()
    book.properties.lastModifiedBy = _WRITER
    sheet: Any = book.active
    sheet.title = "records"
    sheet.append(columns.names)
    sheet.freeze_panes = "B2"
    kinds = [columns.kinds.get(name) for name in columns.names]
    for number, row in enumerate(rows, 2):
        for column, (cell, kind) in enumerate(zip(row, kinds, strict=True), 1):
            place = sheet.cell(number, column)
            if isinstance(cell, str) and kind == "date" and cell >= _FIRST_DAY:
                place.value = date.fromisoformat(cell)
            elif isinstance(cell, str) or _is_beyond_sheets(cell):
                place.value = ILLEGAL_CHARACTERS_RE.sub(" ", str(cell))[:_LONGEST]
                place.data_type = "s"  # words of a document are never a formula
            else:
                place.value = cell
    book.save(path)


def _is_beyond_sheets(cell: Any) -> bool:
    """True for a number that a spreadsheet would round."""
    if not isinstance(cell, int | float) or isinstance(cell, bool):
        return False
    digits = "".join(map(str, Decimal(str(cell)).as_tuple().digits)).strip("0")
    return len(digits) > _DIGITS or abs(cell) > _LARGEST


def _write_parquet(path: Path, columns: Columns, rows: Sequence[Sequence[Any]]) -> None:
    import pyarrow as pa  # pyright: ignore[reportMissingTypeStubs] - it has none
    import pyarrow.parquet as parquet  # pyright: ignore[reportMissingTypeStubs]

    library: Any = pa

    def column(kind: str, cells: Sequence[Any]) -> Any:
        if kind == "date":
            return library.array([date.fromisoformat(cell) if cell else None for cell in cells], library.date32())
        if kind == "number":
            return library.array([None if cell is None else _as_float(cell) for cell in cells], library.float64())
        if kind == "boolean":
            return library.array(cells, library.bool_())
        if kind != "integer":
            return library.array(cells, library.string())
        largest = max((abs(cell) for cell in cells if cell is not None), default=0)
        if largest < 2**63:
            return library.array(cells, library.int64())
        as_decimal = largest < 10**38
        exact = [None if cell is None else Decimal(cell) if as_decimal else str(cell) for cell in cells]
        return library.array(exact, library.decimal128(38, 0) if as_decimal else library.string())

    kinds = [columns.kinds.get(name, "text") for name in columns.names]
    arrays = [column(kind, [row[at] for row in rows]) for at, kind in enumerate(kinds)]
    writer: Any = parquet
    writer.write_table(library.table(arrays, names=columns.names), path)


def _as_float(number: float) -> float:
    try:
        return float(number)
    except OverflowError:
        return inf if number > 0 else -inf
