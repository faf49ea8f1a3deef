"""The rows that a query returns, and their text for a model."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any, Final, NamedTuple, cast

MAX_CELL: Final = 300
MAX_TEXT: Final = 8000


class Rows(NamedTuple):
    """The rows that a query returned.

    Args:
        columns: the names of the columns.
        rows: the values, as the database's driver returns them; JSON, PostgreSQL's and DuckDB's intervals, and dates
            that Python has not, such as `infinity`, are texts.
        is_cut: True if there are more rows than these.

    Example:
        >>> print(Rows(("city", "people"), [("Oslo", 709037), ("Bergen", None)]).text())
        city | people
        Oslo | 709037
        Bergen | NULL
        (2 rows)
    """

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    is_cut: bool = False

    def text(self, max_cell: int = MAX_CELL, max_text: int = MAX_TEXT) -> str:
        """Write the rows as lines; the last line tells how many there are, and that some are left out.

        Args:
            max_cell: the most characters of a value.
            max_text: the most characters of all rows together; further rows are left out.
        """
        lines, size = [" | ".join(shorten_value(column, max_cell) for column in self.columns)], 0
        for row in self.rows:
            line = " | ".join(shorten_value(value, max_cell) for value in row)
            size += len(line) + 1
            if size > max_text:
                break
            lines.append(line)
        shown = len(lines) - 1
        if shown < len(self.rows) or self.is_cut:
            lines.append(f"(the first {shown} rows; there are more: count, group or filter them in the query)")
        else:
            lines.append(f"({shown} row{'' if shown == 1 else 's'})")
        return "\n".join(lines)


def shorten_value(value: object, size: int) -> str:
    """Write a value on one line, in at most `size` characters; in quotes if it holds what separates two values."""
    if value is None:
        return "NULL"
    if isinstance(value, bytes | bytearray | memoryview):
        return f"<{memoryview(cast('bytes', value)).nbytes} bytes>"
    if isinstance(value, timedelta):
        value = f"{'-' if value < timedelta() else ''}{_clock(abs(value))}"
    if isinstance(value, dict | list):
        value = json.dumps(value, ensure_ascii=False, default=str)
    words = str(value).split()
    text = " ".join(words)
    text = text if len(text) <= size else f"{text[: size - 1]}…"
    return f'"{text}"' if "|" in words else text


def _clock(span: timedelta) -> str:
    minutes, rest = divmod(span, timedelta(minutes=1))
    fraction = f".{rest.microseconds:06}" if rest.microseconds else ""
    return f"{minutes // 60:02}:{minutes % 60:02}:{rest.seconds:02}{fraction}"
