"""Text that is safe to write to a terminal: whatever a model or a tool wrote, it moves no cursor and hides nothing."""

from __future__ import annotations

import re
from functools import lru_cache
from unicodedata import category

_JOINERS = "\u200c\u200d"
"""The invisible characters that emoji and many scripts need. Others reorder the text, or have words read as one."""
_FLAG = re.compile("(\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f)")
"""The flag of a part of a country, such as Wales, spelt in tags. Elsewhere tags are invisible text."""


def safe_text(text: str) -> str:
    """Return the text with spaces for control characters and for invisible ones; line breaks and joiners stay.

    Example:
        >>> safe_text("a\\x1b[2Jb\\tc\\r\\n"), safe_text("naïve 表 👩\u200d🔬")
        ('a [2Jb    c\\n', 'naïve 表 👩\u200d🔬')
    """
    if text.isascii() and text.isprintable():  # most pieces
        return text
    parts = _FLAG.split(text.replace("\r\n", "\n"))
    parts[::2] = ("".join(map(_safe, part)) for part in parts[::2])
    return "".join(parts)


@lru_cache(maxsize=1 << 14)
def _safe(character: str) -> str:
    if character == "\t":
        return "    "
    kind = category(character)
    if kind == "Cs":  # half of a character
        return "?"
    return character if kind == "Zs" or character.isprintable() or character in f"\n{_JOINERS}" else " "


def safe_line(text: object) -> str:
    """Return the text of a value on one line, as `safe_text`."""
    return " ".join(safe_text(str(text)).split())
