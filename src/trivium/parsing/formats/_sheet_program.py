"""The program of the process that reads an Excel sheet: its order on stdin, a row a line as JSON on stdout."""

from __future__ import annotations

import datetime
import json
import re
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trivium.exceptions import DocumentError, DocumentLimitError, DocumentTooLargeError
from trivium.parsing.formats._apart import limit_process
from trivium.parsing.formats._formats import Original
from trivium.parsing.formats._packages import UNSAVED, check_package, numbered_rows, open_workbook
from trivium.parsing.formats._sheets import SheetOrder


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
    if order.sheet is not None and order.sheet not in sheets:
        raise LookupError(f"{Path(order.file).name} has no sheet {order.sheet!r}; it has {', '.join(sheets)}")
    sheet = sheets[order.sheet] if order.sheet else next(iter(sheets.values()))
    zeros: dict[int, int] = {}
    for number, cells in numbered_rows(sheet):
        row = tuple(code_of(each, zeros) if type(each.value) is int else each.value for each in cells)
        if len(row) > order.columns:
            text = (
                f"{order.file}: row {number} has {len(row):,} cells, the limit is {order.columns:,} columns; leave out "
            )
            raise DocumentTooLargeError(f"{text}some, or raise TableLimits(columns=…)", order.file, "columns")
        if any(cell is not None for cell in row):
            yield number, row


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
