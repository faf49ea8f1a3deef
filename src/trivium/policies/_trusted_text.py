"""Text that the user and the program wrote, and the test whether a value stands in it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

__all__ = ["TrustedText"]

_JOINING: Final = frozenset("@_-/\\+=&#~%")
"""Characters that make one word of the text before and after them: an address, a path, a number with its sign."""
_PUNCTUATION: Final = frozenset(".,:;!?")
"""Characters that do so only between two letters or digits."""


class TrustedText:
    """The words of the user and the program.

    Args:
        texts: the texts.

    Example:
        >>> text = TrustedText(["Send 50 euros to bob@x.org."])
        >>> text.holds("bob@x.org"), text.holds(50.0), text.holds("ob@x.org"), text.holds("x.org"), text.holds("")
        (True, True, False, False, True)
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = [_plain(text) for text in texts]

    def holds(self, value: object) -> bool:
        """Test whether a value stands in one of the texts as whole words; None and "" say nothing, and need not."""
        if value is None or value == "":
            return True
        if isinstance(value, bool):  # no text says it in a form that could be found
            return False
        forms = {str(value), str(int(value))} if isinstance(value, float) and value.is_integer() else {str(value)}
        return any(_stands_in(_plain(form), text) for form in forms for text in self._texts)

    def identifies(self, value: object) -> bool:
        """Test whether a value stands in a text and has at least three characters, one of them a letter."""
        return isinstance(value, str) and len(value) > 2 and any(map(str.isalpha, value)) and self.holds(value)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _stands_in(value: str, text: str) -> bool:
    if not value:
        return True
    at = text.find(value)
    while at >= 0:
        before, after = text[max(at - 2, 0) : at], text[at + len(value) : at + len(value) + 2]
        if not _joins(before[::-1]) and not _joins(after):
            return True
        at = text.find(value, at + 1)
    return False


def _joins(beside: str) -> bool:
    """Test whether the characters beside a value, the nearest first, belong to the same word."""
    first, second = beside[:1], beside[1:]
    return first.isalnum() or first in _JOINING or (first in _PUNCTUATION and second.isalnum())
