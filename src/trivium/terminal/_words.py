"""Text that fits into a part of a terminal's line."""

from __future__ import annotations

from trivium.events import safe_line


def cut(text: str, width: int) -> str:
    """Return the text on one line of at most `width` cells of a terminal; an ellipsis replaces the rest.

    Example:
        >>> cut("one\\ntwo three", 8), cut("表表表", 5)
        ('one two…', '表表…')
    """
    from rich.cells import cell_len, chop_cells

    line = safe_line(text)
    if cell_len(line) <= width:
        return line
    parts = chop_cells(line, max(1, width - 1))
    return f"{parts[0] if parts else ''}…"
