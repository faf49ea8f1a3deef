"""The answer of a database, and how a model reads it."""

from __future__ import annotations

import json
from typing import Any, Final, NamedTuple, cast

__all__ = ["Rows"]

MAX_CELL: Final = 300
MAX_TEXT: Final = 8000


class Rows(NamedTuple):
    """What a query gave.

    Args:
        columns: their names.
        rows: the values, as the database's driver gives them.
        is_cut: whether there are more rows than these.

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
        """The rows as lines; what is left out is said.

        Args:
            max_cell: characters of a value.
            max_text: characters of all rows together; rows beyond are left out.
        """
        lines, size = [" | ".join(self.columns)], 0
        for row in self.rows:
            line = " | ".join(_cell(value, max_cell) for value in row)
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


def _cell(value: Any, size: int) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bytes | bytearray | memoryview):
        return f"<{memoryview(cast('bytes', value)).nbytes} bytes>"
    if isinstance(value, dict | list):
        value = json.dumps(value, ensure_ascii=False, default=str)
    text = " ".join(str(value).split())
    return text if len(text) <= size else f"{text[: size - 1]}…"
