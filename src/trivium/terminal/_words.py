"""Text that a terminal may be given: whatever a model or a tool wrote, it moves no cursor and hides nothing."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping
from typing import Any, cast

from pydantic_core import to_jsonable_python

__all__ = ["call_text", "cut", "shown"]

# Marks that reorder what stands around them; the joiners that emoji and many scripts need are no such marks.
_REORDERING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff")


def shown(text: str) -> str:
    """The text without what would steer the terminal; line breaks stay, tabs are spaces.

    Example:
        >>> shown("a\\x1b[2Jb\\tc\\r\\n"), shown("naïve 表 👩\u200d🔬")
        ('a[2Jb    c\\n', 'naïve 表 👩\u200d🔬')
    """
    if text.isascii() and text.isprintable():  # most pieces
        return text
    return "".join(map(_character, text))


def _character(each: str) -> str:
    if each.isprintable() or each == "\n":
        return each
    if each == "\t":
        return "    "
    if unicodedata.category(each) == "Cs":  # half of a character
        return "?"
    return "" if unicodedata.category(each) in ("Cc", "Co", "Cn") or each in _REORDERING else each


def one_line(text: object) -> str:
    """Text on one line."""
    return shown(" ".join(str(text).split()))


def call_text(name: str, arguments: str | Mapping[str, Any]) -> str:
    """A tool call as a person writes it.

    Example:
        >>> call_text("add", '{"a": 1, "b": "two"}'), call_text("add", "{")
        ("add(a=1, b='two')", 'add({)')
    """
    given: Any = arguments
    if isinstance(arguments, str):
        try:
            given = json.loads(arguments or "{}")
        except (ValueError, RecursionError):
            given = arguments
    if not isinstance(given, Mapping):
        return f"{name}({given})"
    values = cast("Mapping[str, Any]", given).items()
    return f"{name}({', '.join(f'{key}={value!r}' for key, value in values)})"


def result_text(result: Any) -> str:
    """What a tool returned as a person reads it."""
    if hasattr(result, "format_result"):
        return str(result.errmsg or result.format_result())
    if isinstance(result, str):
        return result
    try:
        return json.dumps(result, ensure_ascii=False, default=to_jsonable_python)
    except (TypeError, ValueError):
        return str(result)


def cut(text: str, width: int) -> str:
    """The text on one line that is no wider than `width` cells of a terminal; what is cut off is an ellipsis.

    Example:
        >>> cut("one\\ntwo three", 8), cut("表表表", 5)
        ('one two…', '表表…')
    """
    from rich.cells import cell_len, chop_cells

    line = one_line(text)
    if cell_len(line) <= width:
        return line
    parts = chop_cells(line, max(1, width - 1))
    return f"{parts[0] if parts else ''}…"
