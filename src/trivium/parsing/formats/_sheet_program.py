"""The program of the process that reads an Excel sheet: its order on stdin, a row a line as JSON on stdout."""

from __future__ import annotations

import datetime
import json
import re
import sys
import zipfile
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from trivium.exceptions import DocumentError, DocumentLimitError, DocumentTooLargeError, UnreadableDocumentError
from trivium.parsing.formats._apart import limit_process
from trivium.parsing.formats._formats import Original
from trivium.parsing.formats._packages import UNSAVED, check_package, numbered_rows, open_workbook
from trivium.parsing.formats._sheets import SheetOrder
from trivium.parsing.formats._xlsx import SheetTables

_LAST_COLUMN, _LAST_ROW = 16_384, 1_048_576  # of Excel


def send_rows() -> None:
    """Send the rows, then null; or what is wrong, as an object."""
    order = SheetOrder(**json.loads(sys.stdin.buffer.readline()))
    limit_process(order.memory, order.seconds)
    try:
        for number, row in rows_of(order):
            write_answer([number, *map(pack, row)])
        write_answer(None)
    except ImportError:
        write_answer({"package": "openpyxl"})
    except MemoryError:  # the end without an answer says so
        raise SystemExit(1) from None
    except DocumentError as error:
        write_answer({"text": str(error), **({"limit": error.limit} if isinstance(error, DocumentLimitError) else {})})
    except LookupError as error:
        write_answer({"configuration": str(error.args[0])})
    except Exception as error:  # a damaged file raises any error
        write_answer({"text": f"{order.file} cannot be read ({error}): it is damaged, or no Excel file"})


def rows_of(order: SheetOrder) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """Yield the rows that are not empty, with their numbers."""
    original = Original(b"", order.file, "", order.unpacked_bytes, option="TableLimits(unpacked_bytes=…)")
    with zipfile.ZipFile(order.file) as archive:
        check_package(archive, original)
    sheets = {each.title: each for each in open_workbook(order.file).worksheets}
    if not sheets:
        raise original.empty()
    title, area = area_of(order.sheet or next(iter(sheets)), sheets, Path(order.file).name)
    zeros: dict[int, int] = {}
    table = OneTable(title, original)
    for number, cells in numbered_rows(sheets[title]):
        if area is not None and number > area[3]:
            return
        if area is None or area[1] <= number:
            inside = cells if area is None else cells[area[0] - 1 : area[2]]
            row = tuple(code_of(each, zeros) if type(each.value) is int else each.value for each in inside)
            if len(row) > order.columns:
                text = (
                    f"{order.file}: row {number} has {len(row):,} cells, the limit is {order.columns:,} columns; leave "
                )
                text += "out some, or raise TableLimits(columns=…)"
                raise DocumentTooLargeError(text, order.file, "columns")
            if any(cell is not None for cell in row):
                if area is None:
                    table.check(number, row)
                yield number, row


def area_of(wanted: str, sheets: Collection[str], file: str) -> tuple[str, tuple[int, int, int, int] | None]:
    """Return the title of a sheet, and the first and last columns and rows of a part of it, as of `Sales!A12:C40`.

    Raises:
        LookupError: there is no such sheet, or no such part.
    """
    if wanted in sheets:
        return wanted, None
    title, _, part = wanted.rpartition("!")
    if title not in sheets and len(title) > 2 and title[0] == title[-1] == "'":  # as Excel writes a name with blanks
        title = title[1:-1].replace("''", "'")
    if title not in sheets:
        raise LookupError(f"{file} has no sheet {title or wanted!r}; it has {', '.join(sheets)}")
    from openpyxl.utils.cell import range_boundaries

    try:
        bounds = range_boundaries(part)
    except ValueError:
        bounds = (0, 0, 0, 0)
    if 0 in bounds or not any(bounds):
        raise LookupError(f"{part!r} is no part of a sheet: write it as in Excel, {title}!A12:C40")
    left, top, right, bottom = bounds
    (left, right), (top, bottom) = sorted((left or 1, right or _LAST_COLUMN)), sorted((top or 1, bottom or _LAST_ROW))
    return title, (left, top, right, bottom)


class OneTable:
    """The check that the rows of a sheet are one table.

    A row that looks like the names of another table may be a remark, or hold words in place of numbers. So it counts
    only if it repeats the names, if it has a text beside them, or if numbers below it stand in other columns.

    Args:
        title: the name of the sheet.
        original: the file.
    """

    def __init__(self, title: str, original: Original) -> None:
        self._title, self._original, self._tables = title, original, SheetTables()
        self._names: list[str] = []
        self._texts, self._numbers = set[int](), set[int]()
        self._held: tuple[int, int] | None = None

    def check(self, number: int, row: Sequence[Any]) -> None:
        """Look at the next row.

        Raises:
            UnreadableDocumentError: another table begins there, or above it.
        """
        values = ["" if cell is None or cell is UNSAVED else str(cell).strip() for cell in row]
        texts = {at for at, cell in enumerate(row) if isinstance(cell, str) and values[at]}
        numbers = {at for at, value in enumerate(values) if value} - texts
        known = len(self._tables.further)
        names = self._tables.names_for(number, values, texts)
        named = {at for at, name in enumerate(self._names) if name}
        if not self._names:
            self._names = values if self._tables.has_names else []
        elif self._tables.further[known:]:
            self._held = number, self._tables.further[-1]
            if values == self._names or texts - named:
                raise self._error(*self._held)
        elif self._held and numbers:
            if numbers - named or numbers & self._texts - self._numbers:
                raise self._error(*self._held)
            self._held = None
        if names and not self._held:
            self._texts |= texts
            self._numbers |= numbers

    def _error(self, number: int, below: int) -> UnreadableDocumentError:
        rows = (1, below - 1), (below, _LAST_ROW), (1, _LAST_ROW)
        first, second, whole = (f"sheet={f'{self._title}!{top}:{bottom}'!r}" for top, bottom in rows)
        text = f"row {number} of the sheet {self._title!r} begins another table; give one of them"
        return self._original.unreadable(f"{text} ({first} or {second}), or all rows as one table ({whole})")


def code_of(cell: Any, zeros: dict[int, int]) -> int | str:
    """Return a whole number, or its text if its format puts zeros before it, as 00000 for 01067.

    Args:
        cell: the cell.
        zeros: the zeros of the formats that are known, by the numbers of their styles; others are added.
    """
    style: int = cell._style_id
    if style not in zeros:
        try:
            found = re.fullmatch("00+", str(cell.number_format))
        except (AttributeError, LookupError):  # it names a style that is not in the file
            found = None
        zeros[style] = len(found[0]) if found else 0
    return str(cell.value).zfill(zeros[style]) if 0 <= cell.value < 10 ** (zeros[style] - 1) else cell.value


def pack(value: object) -> object:
    """Return a value of JSON; for a time, the name of its type with its text or its parts."""
    if value is UNSAVED:
        return {"formula": ""}
    if isinstance(value, datetime.timedelta):
        return {"timedelta": [value.days, value.seconds, value.microseconds]}
    if isinstance(value, datetime.date | datetime.time):
        return {type(value).__name__: value.isoformat()}
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def write_answer(answer: object) -> None:
    """Write one line."""
    sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n")


if __name__ == "__main__":
    send_rows()
    sys.stdout.buffer.flush()
