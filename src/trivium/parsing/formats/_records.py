"""CSV and TSV: records as lines, each with the names of its columns and its place in the file."""

from __future__ import annotations

import csv
import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from io import StringIO
from itertools import chain, islice
from typing import TypeAlias

from trivium.parsing.formats._decoding import decode, tidy
from trivium.parsing.formats._formats import Original, Parsed
from trivium.parsing.formats._lines import join_lines
from trivium.parsing.formats._rows import column_names, row_line

__all__ = ["parse_csv", "parse_tsv", "record_lines"]

_SEPARATORS = ",;\t|"
_QUOTED = re.compile(r'"(?:[^"]|"")*+"')
_MOST_LINES = 1000  # of one record; where a quote is never closed, it is an ordinary character

Record: TypeAlias = tuple[int, list[str]]
"""The line on which a record begins, and its cells."""


def parse_csv(original: Original) -> Parsed:
    """Records as lines with the names of their columns; what separates them is found out."""
    return _parsed(original, None)


def parse_tsv(original: Original) -> Parsed:
    """Records as lines, separated by tabs."""
    return _parsed(original, "\t")


def _parsed(original: Original, separator: str | None) -> Parsed:
    lines = StringIO(tidy(decode(original.data, original.charset)), newline="\n")  # `splitlines` knows more line ends
    text, pairs = join_lines(record_lines(lines, separator))
    return Parsed(text, lines=pairs)


def record_lines(lines: Iterable[str], separator: str | None = None) -> Iterator[tuple[int, str]]:
    """Each record that holds anything as one line, as `row_line` writes it, after the line on which it begins.

    Args:
        lines: the file, line by line; they are read one record ahead at most.
        separator: between cells; None finds it out by the first line that is not blank.

    >>> list(record_lines(["name;rent\\n", 'Ada;"9\\n', '50"\\n', "Bob;8"]))
    [(1, 'name | rent\\n'), (2, 'name: Ada | rent: 9 50\\n'), (4, 'name: Bob | rent: 8\\n')]
    """
    names: tuple[str, ...] | None = None
    for number, cells in _records(iter(lines), separator):
        if text := row_line(cells, names or ()):
            yield number, f"{text}\n"
            names = column_names(cells) if names is None else names


def _records(lines: Iterator[str], separator: str | None) -> Iterator[Record]:
    ahead: deque[str] = deque()  # lines of what was no record after all
    number = 1
    while line := ahead.popleft() if ahead else next(lines, ""):
        separator = separator or _separator(line)
        cells, taken = None, [line]
        if separator and '"' in line:
            cells = _quoted(taken, chain(_drained(ahead), lines), separator)
        if cells is None:
            ahead.extendleft(reversed(taken[1:]))
            del taken[1:]
            cells = line.rstrip("\n").split(separator) if separator else [line]
        yield number, cells
        number += line.endswith("\n")  # one that is too long comes in pieces
        number += len(taken) - 1


def _quoted(taken: list[str], following: Iterator[str], separator: str) -> list[str] | None:
    """The cells of the record that begins with the line taken, and takes more; None if its quotes do not fit.

    No line is taken twice in vain: one that leaves a quote open at the start of a record closes it within one.
    """

    def lines() -> Iterator[str]:
        yield taken[0]
        for line in islice(following, _MOST_LINES):
            taken.append(line)
            yield line

    try:
        return next(csv.reader(lines(), delimiter=separator, strict=True))
    except csv.Error:
        return None


def _drained(ahead: deque[str]) -> Iterator[str]:
    while ahead:
        yield ahead.popleft()


def _separator(line: str) -> str | None:
    counts = Counter(_QUOTED.sub("", line))
    found = max(_SEPARATORS, key=lambda each: counts[each])
    return found if counts[found] else None
