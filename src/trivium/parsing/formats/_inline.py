"""Struck, raised and lowered text: characters mark it while a text is being written, and are then written as signs.

Without signs a raised footnote or the raised cents of a price would join the number before them: 249⁹⁹ is not 24999.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

STRUCK: Final = "\ufdd0\ufdd1"
RAISED: Final = "\ufdd2\ufdd3"
LOWERED: Final = "\ufdd4\ufdd5"
"""The characters before and behind a text of each kind."""

_SIGNS: Final = ((RAISED, "^"), (LOWERED, "_"))
_ANY: Final = re.compile("[\ufdd0-\ufdd5]")
_MARKS: Final = "(?:\ud800[\udc00-\udfff]{3}|\ud801[\udc00-\udfff])"  # of lines and headings, before a character
_HELD: Final = tuple(
    re.compile(f"{before}([^{before}{behind}]*+){behind}") for before, behind in (RAISED, LOWERED, STRUCK)
)
_STRUCK_TEXT: Final = re.compile(
    rf"(\S?){STRUCK[0]}({_MARKS}*+)([^{STRUCK}]*+){STRUCK[1]}(?={_MARKS}*+(\S?))"
)  # fmt: skip


class Around:
    """The marks of a kind around what is written within an element: none around an empty one."""

    def __init__(self, kind: str) -> None:
        self._before, self._behind = kind
        self._opened = self._written = 0

    def before(self) -> str:
        """Return what stands before a text that is about to be written."""
        if not self._opened or self._written:
            return ""
        self._written = 1
        return self._before

    def behind(self, *, is_end: bool) -> str:
        """Begin or end an element; return what stands behind the text that was written in it."""
        self._opened = max(0, self._opened + (-1 if is_end else 1))
        return "" if self._opened else self.close()

    def close(self) -> str:
        """End all elements of the kind, as the end of a paragraph does; return what stands behind their text."""
        was_written, self._opened, self._written = self._written, 0, 0
        return self._behind if was_written else ""


def without_inline_marks(text: str) -> str:
    """Remove what would count as a mark, which no text has for its own sake, and soft hyphens, which cut words."""
    return _ANY.sub("", text.replace("\u00ad", ""))


def marked_run(text: str, kinds: Iterable[str]) -> str:
    """Put the marks of kinds around a run, the text of one format."""
    text = without_inline_marks(text)
    for before, behind in sorted(kinds):
        text = f"{before}{text}{behind}"
    return text


def runs_with_signs(text: str) -> str:
    """Write the marks of joined runs as signs; Office programs cut one text into several runs."""
    for before, behind in (STRUCK, RAISED, LOWERED):
        text = text.replace(behind + before, "")
    return with_inline_signs(text)


def with_inline_signs(text: str) -> str:
    """Write the marks in a text as signs: ~~ around struck text, and ^ or _ where digits would join.

    >>> with_inline_signs("249\ufdd299\ufdd3 €, 10 m\ufdd22\ufdd3, \ufdd05 EUR\ufdd1")
    '249^99 €, 10 m2, ~~5 EUR~~'
    """
    if not _ANY.search(text):
        return text
    for held in _HELD:
        text = held.sub(_without_blanks, text)
    for (before, behind), sign in _SIGNS:
        # A space before three digits may set thousands apart, and so would not keep two numbers apart. Two digits
        # behind a comma or point are the cents of a price.
        cents = rf"(?<=[.,]{before})(?={_MARKS}*+\d\d{behind})"
        begins = rf"(?<=[\d{behind}])([.,'’]?| (?={before}{_MARKS}*+\d{{3}})){before}(?!{cents})(?={_MARKS}*+[-−]?\d)"
        text = re.sub(begins, rf"\1{sign}", text)
        text = re.sub(rf"(?<=\d){behind}(?={_MARKS}*+\d)", f"{sign} ", text)
        text = re.sub(rf"(?<=\d){behind}(?= {_MARKS}*+\d{{3}})", sign if sign == "^" else "", text)
        text = text.replace(before, "").replace(behind, "")
    return _ANY.sub("", _STRUCK_TEXT.sub(_struck_text, text))


def _without_blanks(found: re.Match[str]) -> str:
    """Put the blanks at the ends of a marked text outside its marks."""
    mark, inside, other = found[0][0], found[1], found[0][-1]
    bare = inside.strip()
    if not bare:
        return inside
    start = inside.index(bare)
    return f"{inside[:start]}{mark}{bare}{other}{inside[start + len(bare) :]}"


def _struck_text(found: re.Match[str]) -> str:
    """Mark struck text, apart from its neighbours unless it is a part of a word."""
    before, marks, text, after = found.groups()
    is_part = re.sub(_MARKS, "", text).isalpha() and (before.isalpha() or after.isalpha())
    left = " " if before and before not in "([{“‘\"'" and not is_part else ""
    right = " " if after and after not in ")]}”’\"'.,;:!?…" and not is_part else ""
    return f"{before}{left}{marks}~~{text}~~{right}"
