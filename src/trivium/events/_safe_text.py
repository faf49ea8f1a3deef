"""Text that is safe to write to a terminal: whatever a model or a tool wrote, it moves no cursor and hides nothing."""

from __future__ import annotations

import unicodedata

# Marks that reorder the text around them; the joiners that emoji and many scripts need are no such marks.
_REORDERING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff")


def safe_text(text: str) -> str:
    """Return the text without control characters and marks that reorder it; line breaks stay, tabs become spaces.

    Example:
        >>> safe_text("a\\x1b[2Jb\\tc\\r\\n"), safe_text("naïve 表 👩\u200d🔬")
        ('a[2Jb    c\\n', 'naïve 表 👩\u200d🔬')
    """
    if text.isascii() and text.isprintable():  # most pieces
        return text
    kept: list[str] = []
    for each in text:
        category = unicodedata.category(each)
        if each.isprintable() or each == "\n":
            kept.append(each)
        elif each == "\t":
            kept.append("    ")
        elif category == "Cs":  # half of a character
            kept.append("?")
        elif category not in ("Cc", "Co", "Cn") and each not in _REORDERING:
            kept.append(each)
    return "".join(kept)


def safe_line(text: object) -> str:
    """Return the text of a value on one line, as `safe_text`."""
    return safe_text(" ".join(str(text).split()))
