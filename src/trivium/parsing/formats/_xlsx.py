"""XLSX, read by openpyxl: sheets as pages, rows as lines."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from io import BytesIO
from typing import Any

from trivium.exceptions import MissingExtraError
from trivium.parsing.formats._dates import iso_date
from trivium.parsing.formats._decoding import tidy
from trivium.parsing.formats._formats import Original, Parsed
from trivium.parsing.formats._lines import split_line_marks, with_line_mark
from trivium.parsing.formats._number_format import NumberForm, duration_text, formed, number_forms
from trivium.parsing.formats._packages import (
    UNSAVED,
    numbered_rows,
    open_workbook,
    read_properties,
    reading_package,
)
from trivium.parsing.formats._rows import column_names, joined_names, row_line

_BYTES_A_CELL = 4  # size of a cell for the limit: a few bytes can stand for thousands of empty ones
_EXACT = 2**53
_ROWS_ABOVE_NAMES = 5  # a sheet may have a title and remarks above its table


def parse_xlsx(original: Original) -> Parsed:
    """Return the name of each sheet and its rows, as `row_line` formats them; hidden sheets are empty pages.

    A formula is represented by its saved value; one without is `(not calculated)`.

    Raises:
        UnreadableDocumentError: it is damaged or encrypted.
        DocumentTooLargeError: it holds more than the limit, packed, as text or in empty cells.
        MissingExtraError: openpyxl is not installed.
    """
    try:
        import openpyxl as _  # noqa: F401
    except ImportError:
        raise MissingExtraError("openpyxl", "documents") from None
    parts: list[str] = []
    pages: list[int] = []
    with reading_package(original, "XLSX"):
        book = open_workbook(BytesIO(original.data))
        size = 0
        for sheet in book.worksheets:
            pages.append(size)
            for row, line in sheet_lines(sheet, original):
                size += len(line)
                if size > original.limit:
                    raise original.too_large("more text")
                parts.append(with_line_mark(line, row))
        title, published = read_properties(original)
    text, lines = split_line_marks("".join(parts))
    return Parsed(text, title, tuple(pages), lines, published)


def sheet_lines(sheet: Any, original: Original) -> Iterator[tuple[int, str]]:
    """Return the lines of a sheet with the numbers of their rows; the name of the sheet is a line of row 1.

    Raises:
        DocumentTooLargeError: it has too many cells.
    """
    if sheet.sheet_state != "visible":
        return
    name = f"{tidy(str(sheet.title))}\n"
    tables = SheetTables()
    cells = 0
    forms: dict[int, tuple[NumberForm, ...] | None] = {}
    for number, row in numbered_rows(sheet):
        cells += 1 + len(row)
        if cells * _BYTES_A_CELL > original.limit:
            raise original.too_large("more cells, most of them empty,")
        values = [cell_text(value, cell, forms) if (value := cell.value) is not None else "" for cell in row]
        if not any(values):
            continue
        if name:
            yield 1, name
            name = ""
        texts = {column for column, cell in enumerate(row) if values[column] and isinstance(cell.value, str)}
        yield number, f"{row_line(values, tables.names_for(number, values, texts))}\n"


class SheetTables:
    """The names of columns on a sheet, which may have several tables, each below an empty row.

    A row of names begins another table if it has a text where the table above has numbers, dates or no column.

    Attributes:
        further: of each table below the first the number of the row from which on it stands, with what is above it.
    """

    def __init__(self) -> None:
        self.further: list[int] = []
        self._below_empty = 0
        self._names: tuple[str, ...] = ()
        self._last = self._above = 0
        self._may_begin = False
        self._texts: set[int] = set()
        self._others: set[int] = set()

    @property
    def has_names(self) -> bool:
        """Tell that the first names were found."""
        return bool(self._names)

    def names_for(self, number: int, values: Sequence[str], texts: set[int]) -> tuple[str, ...]:
        """Return the names of the columns for a row, by its number, its values and its columns of text; or none."""
        if number > self._last + 1:
            self._may_begin, self._below_empty, self._above = True, number, 0
        self._last = number
        if not self._names:
            if self._above < _ROWS_ABOVE_NAMES:
                self._begin(column_names(values))
                self._above += 1
            return ()
        filled = {column for column, value in enumerate(values) if value}
        is_first = not self._texts and not self._others and not self._may_begin
        if is_first and texts == filled and (names := joined_names(self._names, values)):
            self._begin(names)
            return ()
        if self._may_begin:
            if len(filled) == len(texts) == 1:  # a title
                return ()
            self._may_begin = False
            if self._are_new(texts) and (names := column_names(values)):
                self.further.append(self._below_empty)
                self._begin(names)
                return ()
        self._texts |= texts
        self._others |= filled - texts
        return self._names

    def _begin(self, names: tuple[str, ...]) -> None:
        self._names, self._texts, self._others, self._may_begin = names, set(), set(), False

    def _are_new(self, texts: set[int]) -> bool:
        named = {column for column, name in enumerate(self._names) if name}
        return any(column in self._others or column not in named for column in texts - self._texts)


def cell_text(value: object, cell: Any, forms: dict[int, tuple[NumberForm, ...] | None]) -> str:
    """Return the value of a cell as people write it.

    Args:
        value: what it holds.
        cell: the cell.
        forms: the number formats that are known, by the numbers of their styles; others are added.
    """
    if value is UNSAVED:
        return "(not calculated)"
    if isinstance(value, str):
        return tidy(value).strip()
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, int | float):
        return _number(value, cell, forms)
    if isinstance(value, datetime.timedelta):
        return duration_text(value)
    if isinstance(value, datetime.datetime | datetime.date):
        return iso_date(value) or ""
    return tidy(str(value)).strip()


def _number(value: float, cell: Any, forms: dict[int, tuple[NumberForm, ...] | None]) -> str:
    style: int = cell._style_id
    try:
        form = forms[style]
    except KeyError:
        form = forms[style] = _forms_of(cell)
    if form is not None and (shown := formed(value, form)) is not None:
        return shown
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < _EXACT else repr(value)
    return str(value)


def _forms_of(cell: Any) -> tuple[NumberForm, ...] | None:
    try:
        return number_forms(str(cell.number_format))
    except (AttributeError, LookupError):  # it names a style that is not in the file
        return None
