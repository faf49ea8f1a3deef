"""Names that a query writes without the quotes that they need."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

_BESIDE: Final = r"""'(?:[^']|'')*'|"[^"]*"|`[^`]*`|--[^\n]*|/\*.*?\*/"""
"""Texts, quoted names and comments."""


def quote_bare(sql: str, written: Mapping[str, str]) -> tuple[str, list[str]]:
    """Return a query with known names as they are to be written, and those that it wrote otherwise.

    Args:
        sql: the query; its texts, quoted names and comments stay as they are.
        written: how each name is written.

    Example:
        >>> quote_bare("SELECT full name, `full name` FROM t", {"Full Name": "`Full Name`"})
        ('SELECT `Full Name`, `full name` FROM t', ['`Full Name`'])
    """
    known, found = {name.lower(): text for name, text in written.items()}, dict[str, None]()

    def write(match: re.Match[str]) -> str:
        text = known.get((match["name"] or "").lower())
        if text is None:
            return match.group()
        found[text] = None
        return text

    names = "|".join(map(re.escape, sorted(known, key=len, reverse=True)))  # the longest of two that begin alike
    quoted = re.sub(rf"{_BESIDE}|(?<!\w)(?P<name>{names})(?!\w)", write, sql, flags=re.IGNORECASE | re.DOTALL)
    return quoted, list(found)
