"""Text that the user and the program wrote, and the test whether a value stands in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from unicodedata import category

_OPENING: Final = frozenset({"Ps", "Pi", "Pf"})
"""The Unicode categories of brackets and quotation marks before a value …"""
_CLOSING: Final = frozenset({"Pe", "Pi", "Pf"})
"""… and after it."""
_MARKS: Final = frozenset(",.;:!?，。；：！？、")
"""Marks of a sentence, one after a value. Others, as in "x.org…" and "x.org...", may say that it is cut short."""
_LONGEST: Final = 8
"""The most signs beside a value."""
_MOST: Final = 20_000_000
"""The most characters to search for one decision, which then takes less than a tenth of a second …"""
_STEP: Final = 200
"""… and the cost of a step, in characters."""


class TrustedText:
    """The words of the user and the program.

    A value stands in a text if it does so exactly (case and white space count), and between white space or the text's
    ends; brackets and quotation marks may be around it, a currency sign beside a number, and one mark of a sentence
    after it. Digits that only white space parts from further digits are a part of a number.

    Args:
        texts: the texts.

    Example:
        >>> text = TrustedText(["Send 50 euros to (bob@x.org)."])
        >>> text.holds("bob@x.org"), text.holds(50.0), text.holds("ob@x.org"), text.holds("x.org"), text.holds("")
        (True, True, False, False, True)
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts, self._left = texts, _MOST

    @property
    def is_exhausted(self) -> bool:
        """True if there was too much to search: nothing more is found."""
        return self._left <= 0

    def holds(self, value: object) -> bool:
        """Test whether a value stands in one of the texts as whole words; None and "" say nothing, and need not."""
        self._left -= _STEP
        if self._left <= 0:
            return False
        if value is None or value == "":
            return True
        if isinstance(value, bool):  # no text says it in a form that could be found
            return False
        forms = {str(value), str(int(value))} if isinstance(value, float) and value.is_integer() else {str(value)}
        return any(self._find(form, text) for form in forms for text in self._texts)

    def _find(self, value: str, text: str) -> bool:
        at = -1
        while self._left > 0:
            start, at = at + 1, text.find(value, at + 1)
            self._left -= _STEP + (at if at >= 0 else len(text)) - start
            if at < 0:
                return False
            end = at + len(value)
            before, after = text[max(at - _LONGEST, 0) : at][::-1], text[end : end + _LONGEST]
            if _is_edge(value[0], before, "\"'`<", _OPENING, 0) and _is_edge(value[-1], after, "\"'`>", _CLOSING, 1):
                return True
        return False


def _is_edge(last: str, beside: str, signs: str, categories: frozenset[str], marks: int) -> bool:
    """Test whether a word ends before what stands beside it.

    Args:
        last: the last character of the word.
        beside: the characters beside it, the nearest first.
        signs: the characters that may stand between the word and white space …
        categories: … and their categories.
        marks: the number of marks of a sentence that may stand there, too.
    """
    for at, sign in enumerate(beside):
        if sign.isspace():
            return at > 0 or not last.isdigit() or not beside.lstrip()[:1].isdigit()
        if sign in _MARKS and marks:
            marks -= 1
        elif not (sign in signs or category(sign) in categories or (category(sign) == "Sc" and last.isdigit())):
            return False
    return len(beside) < _LONGEST
