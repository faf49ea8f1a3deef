"""The rows of an Excel sheet as values, read in a process of its own."""

from __future__ import annotations

import json
import time
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from trivium.exceptions import ConfigurationError, DocumentTooLargeError, MissingExtraError, UnreadableDocumentError
from trivium.parsing.formats._apart import start_apart
from trivium.parsing.formats._formats import Original

_PROGRAM: Final = Path(__file__).with_name("_sheet_program.py")
_LONGEST: Final = 16 << 20  # bytes of a row


class SheetOrder(NamedTuple):
    """A sheet to read, or a part of it as `Sales!A12:C40`, and its limits, named as the user knows them.

    `memory` is in bytes of data of the process, `unpacked_bytes` those of the XML.
    """

    file: str
    sheet: str | None
    columns: int
    unpacked_bytes: int
    memory: int
    seconds: float


def sheet_rows(order: SheetOrder) -> Generator[tuple[int, list[Any]]]:
    """Return the rows that are not empty, with their numbers; dates and times as `{"date": "2024-03-01"}`.

    A formula without a saved value is `{"formula": ""}`, and a number whose format is 00000 a text such as "01067".

    Raises:
        DocumentLimitError: the sheet reaches a limit.
        UnreadableDocumentError: the file is damaged, or no Excel file.
        ConfigurationError: there is no such sheet.
        MissingExtraError: openpyxl is not installed.
    """
    source = Original(b"", order.file, "", order.unpacked_bytes)
    with start_apart(_PROGRAM) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        end = time.monotonic() + order.seconds
        try:
            process.stdin.write(json.dumps(order._asdict()).encode() + b"\n")
            process.stdin.close()
            while (line := process.stdout.readline(_LONGEST)).endswith(b"\n") and time.monotonic() < end:
                row: list[Any] | dict[str, Any] | None = json.loads(line)
                if row is None:  # the end
                    return
                if isinstance(row, dict):
                    raise _error(order, row)
                yield row[0], row[1:]
        except BrokenPipeError:
            raise source.unreadable("the process that reads it has ended") from None
        finally:
            process.kill()
        if time.monotonic() >= end:  # the process ends itself a second later, if it is stuck in a row
            raise source.too_slow(order.seconds, "TableLimits(seconds=…)")
        raise source.too_demanding(order.memory, "TableLimits(memory=…)")


def _error(order: SheetOrder, said: Mapping[str, Any]) -> Exception:
    if "package" in said:
        return MissingExtraError("openpyxl", "table")
    if "limit" in said:
        return DocumentTooLargeError(said["text"], order.file, said["limit"], order._asdict()[said["limit"]])
    if "configuration" in said:
        return ConfigurationError(said["configuration"])
    return UnreadableDocumentError(said["text"], order.file)
