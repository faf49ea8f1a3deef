"""Borders of words: where one begins and ends, in any script, and within numbers and compounds."""

from __future__ import annotations

import re

SPACELESS = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
"""Letters of scripts that set no space between words, so that every position is a border; for a set of characters."""

_SPACELESS = re.compile(f"[{SPACELESS}]")

_INSIDE_COMPOUND = frozenset("-/@.&:+~\\")


def is_word(character: str) -> bool:
    """Test whether a character is one of a word or number that goes on beside it, as no Chinese one is."""
    return (character.isalnum() or character == "_") and not _SPACELESS.match(character)


def begins_word(text: str, start: int) -> bool:
    """Test whether a word or number begins at this offset: "." and "," join digits, as in 1.2.

    >>> begins_word("in 2012", 3), begins_word("in 2012", 5)
    (True, False)
    """
    if start == 0 or not is_word(text[start]):
        return True
    before = text[start - 1]
    cuts_number = before in ".," and text[start].isdecimal() and text[max(0, start - 2)].isdecimal()
    return not is_word(before) and not cuts_number


def ends_word(text: str, end: int) -> bool:
    """Test whether a word or number ends before this offset: "+" and "#" belong to one, as in C++.

    >>> ends_word("C++", 1), ends_word("C++", 3)
    (False, True)
    """
    if end == len(text):
        return True
    last, after = text[end - 1], text[end]
    if after in "+#" and (is_word(last) or last == after):
        return is_word(text[end + 1 : end + 2])
    if after in ".," and last.isdecimal():
        return not text[end + 1 : end + 2].isdecimal()
    return not (is_word(last) and is_word(after))


def is_in_compound(text: str, start: int, end: int) -> bool:
    """Test whether a span is a part of a longer name, as "example" is in "www.example.com"."""
    left = start > 1 and text[start - 1] in _INSIDE_COMPOUND and is_word(text[start - 2])
    return left or (end + 1 < len(text) and text[end] in _INSIDE_COMPOUND and is_word(text[end + 1]))
