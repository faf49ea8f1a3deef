"""The rows that a query returns, and their text for a model."""

from __future__ import annotations

import json
from typing import Any, Final, NamedTuple, cast

MAX_CELL: Final = 300
MAX_TEXT: Final = 8000


class Rows(NamedTuple):
    """The rows that a query returned.

    Args:
        columns: the names of the columns.
        rows: the values, as the database's driver returns them.
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
        lines, size = [" | ".join(self.columns)], 0
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
    """Write a value on one line, in at most `size` characters."""
    if value is None:
        return "NULL"
    if isinstance(value, bytes | bytearray | memoryview):
        return f"<{memoryview(cast('bytes', value)).nbytes} bytes>"
    if isinstance(value, dict | list):
        value = json.dumps(value, ensure_ascii=False, default=str)
    text = " ".join(str(value).split())
    return text if len(text) <= size else f"{text[: size - 1]}…"
