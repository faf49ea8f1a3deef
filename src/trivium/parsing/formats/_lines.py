"""Marks in a text that hold the lines of the file: they stay with the text while it is cut, moved and joined.

A mark is a lone surrogate, then three more that hold a number, directly before a character. No other text holds one:
`tidy` replaces lone surrogates, and entities cannot create them.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from sys import maxsize
from typing import TypeAlias

LinePairs: TypeAlias = tuple[tuple[int, int], ...]
"""Offsets and their lines in the file, as in `DocMetaData.source_lines`."""

_MARK = re.compile("\ud800([\udc00-\udfff]{3})")
_HEADING = re.compile("\ud801([\udc00-\udfff])")
# The mark comes behind blanks and invisible characters, or a line of only these would count as text.
_BLANKS = "(?:[^\\S\n]|[\xad\u200b\u2060\ufeff])*+"
_FIRST_SEEN = re.compile(rf"(?m)^{_BLANKS}(?=\S)")
_LEADING = re.compile(r"(?:\s|[\xad\u200b\u2060\ufeff])*+(?=\S)")


def line_mark(line: int) -> str:
    """Return the mark of a line, below 2**30."""
    return "\ud800" + "".join(chr(0xDC00 + (line >> shift & 1023)) for shift in (20, 10, 0))


def with_line_mark(text: str, line: int) -> str:
    """Put the mark of a line before the first visible character of a text; a blank text stays as it is."""
    return _put(text, line_mark(line))


def with_heading_mark(text: str, level: int) -> str:
    """Put the mark of a heading of a level before the first visible character of a text."""
    return _put(text, f"\ud801{chr(0xDC00 + level)}")


def _put(text: str, sign: str) -> str:
    leading = _LEADING.match(text)
    return f"{text[: leading.end()]}{sign}{text[leading.end() :]}" if leading else text


def without_heading_marks(text: str) -> str:
    """Remove the marks of headings."""
    return _HEADING.sub("", text)


def split_heading_marks(text: str, lines: LinePairs = ()) -> tuple[str, LinePairs, LinePairs]:
    """Remove the marks of headings; return the text, its lines, and the offsets and levels of the headings.

    >>> split_heading_marks("a\\n" + with_heading_mark("b", 2) + "\\nc", ((6, 9),))
    ('a\\nb\\nc', ((4, 9),), ((2, 2),))
    """
    found = list(_HEADING.finditer(text))
    starts = [each.start() for each in found]
    headings = [
        (each.start() - 2 * before, ord(each[1]) - 0xDC00)
        for before, each in enumerate(found)
        if text[max(0, each.start() - 1) : each.start()] in ("", "\n")
    ]
    moved = tuple((at - 2 * bisect_left(starts, at), line) for at, line in lines)
    return without_heading_marks(text), moved, tuple(headings)


def with_line_marks(text: str, line: int) -> str:
    """Put marks before the first visible character of each line of a text, counted from `line`.

    >>> split_line_marks(with_line_marks("a\\n\\n  b", 7).replace("\\n", " "))
    ('a    b', ((0, 7), (5, 9)))
    """
    starts = _FIRST_SEEN.finditer(text)
    parts: list[str] = []
    done = 0
    for start in starts:
        line += text.count("\n", done, start.start())
        parts += (text[done : start.end()], line_mark(line))
        line += text.count("\n", start.start(), start.end())
        done = start.end()
    return "".join([*parts, text[done:]])


def split_line_marks(text: str) -> tuple[str, LinePairs]:
    """Remove the marks of lines; return the text and their offsets and lines, without those that are consecutive."""
    parts: list[str] = []
    pairs: list[tuple[int, int]] = []
    offset, done, expected = 0, 0, 0
    for found in _MARK.finditer(text):
        part = text[done : found.start()]
        offset, done = offset + len(part), found.end()
        parts.append(part)
        line = 0
        for digit in found[1]:
            line = line << 10 | ord(digit) - 0xDC00
        expected += part.count("\n")
        if not pairs or line != expected:
            pairs.append((offset, line))
            expected = line
    return "".join([*parts, text[done:]]), tuple(pairs)


def join_lines(lines: Iterator[tuple[int, str]], most: int = maxsize) -> tuple[str, LinePairs]:
    """Join the next lines until the text is longer than `most`; return it with offsets and lines in the file.

    >>> join_lines(iter([(1, "a\\n"), (2, "b\\n"), (5, "c\\n")]))
    ('a\\nb\\nc\\n', ((0, 1), (4, 5)))
    """
    parts: list[str] = []
    pairs: list[tuple[int, int]] = []
    size = expected = 0
    for number, line in lines:
        if number != expected or not pairs:
            pairs.append((size, number))
        expected = number + 1
        parts.append(line)
        size += len(line)
        if size > most:
            break
    return "".join(parts), tuple(pairs)


def line_starts(text: str, pairs: Iterable[tuple[int, int]] = ()) -> Iterator[tuple[int, int]]:
    """Return the offset and the number of each line of a text, in order; `pairs` give the lines of the file.

    >>> list(line_starts("a\\nb\\nc")), list(line_starts("a b\\nc", [(0, 3), (2, 4)]))
    ([(0, 1), (2, 2), (4, 3)], [(0, 3), (2, 4), (4, 5)])
    """
    at, line = 0, 1
    for offset, number in (*pairs, (len(text) + 1, 0)):
        while at < offset:
            yield at, line
            end = text.find("\n", at, offset - 1) + 1
            at, line = (end, line + 1) if end else (offset, line)
        at, line = offset, number
    # The last pair is only there to end the loop.
