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

from trivium.exceptions import DocumentError, DocumentLimitError, DocumentTooLargeError
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
    tables = SheetTables()
    for number, cells in numbered_rows(sheets[title]):
        if area is None or area[1] <= number <= area[3]:
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
                    check_is_one_table(row, number, tables, title, original)
                yield number, row


def area_of(wanted: str, sheets: Collection[str], file: str) -> tuple[str, tuple[int, int, int, int] | None]:
    """Return the title of a sheet, and the first and last columns and rows of a part of it, as of `Sales!A12:C40`.

    Raises:
        LookupError: there is no such sheet, or no such part.
    """
    if wanted in sheets:
        return wanted, None
    title, _, part = wanted.rpartition("!")
    if title not in sheets:
        raise LookupError(f"{file} has no sheet {title or wanted!r}; it has {', '.join(sheets)}")
    from openpyxl.utils.cell import range_boundaries

    try:
        left, top, right, bottom = range_boundaries(part)
    except ValueError:
        raise LookupError(f"{part!r} is no part of a sheet: write it as in Excel, {title}!A12:C40") from None
    return title, (left or 1, top or 1, right or _LAST_COLUMN, bottom or _LAST_ROW)


def check_is_one_table(row: Sequence[Any], number: int, tables: SheetTables, title: str, original: Original) -> None:
    """Look at the next row of a sheet.

    Raises:
        UnreadableDocumentError: another table begins there.
    """
    values = ["" if cell is None or cell is UNSAVED else str(cell).strip() for cell in row]
    tables.names_for(number, values, {at for at, cell in enumerate(row) if isinstance(cell, str) and values[at]})
    if tables.further:
        below = tables.further[0]
        rows = (1, below - 1), (below, _LAST_ROW), (1, _LAST_ROW)
        first, second, whole = (f"sheet={f'{title}!{top}:{bottom}'!r}" for top, bottom in rows)
        text = f"row {number} of the sheet {title!r} begins another table; give one of them"
        raise original.unreadable(f"{text} ({first} or {second}), or all rows as one table ({whole})")


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
