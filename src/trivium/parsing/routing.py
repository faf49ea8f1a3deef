"""Addresses in a text: who is meant, and what is said to them."""

from __future__ import annotations

import re

__all__ = ["parse_addressed_message"]


def parse_addressed_message(content: str, addressing: str = "@") -> tuple[str | None, str]:
    """Return the last name that a text addresses and the text behind it; None and the whole text if there is none.

    Args:
        content: the text.
        addressing: the text in front of a name.

    Example:
        >>> parse_addressed_message("Thank you @bob, I ask @alice. @alice, where is the mirror?")
        ('alice', 'where is the mirror?')
    """
    found = [*re.finditer(rf"{re.escape(addressing)}(\w+)\W?", content)]
    return (found[-1][1], content[found[-1].end() :].strip()) if found else (None, content)
