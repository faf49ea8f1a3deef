"""CSV and TSV: records as lines, with the names of their columns and their lines in the file."""

from __future__ import annotations

import csv
import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from io import StringIO
from itertools import islice
from typing import TypeAlias

from trivium.parsing.formats._decoding import decode, tidy
from trivium.parsing.formats._formats import Original, Parsed
from trivium.parsing.formats._lines import join_lines
from trivium.parsing.formats._rows import column_names, row_line

_SEPARATORS = ",;\t|"
_DECLARED = re.compile(r'"?sep=([^\w\s"]|\t)"?\s*', re.IGNORECASE)
_QUOTED = re.compile(r'"(?:[^"]|"")*+"')
_MOST_LINES = 1000  # lines of one record; a quote that is not closed within them is an ordinary character

Record: TypeAlias = tuple[int, list[str]]
"""The first line of a record, and its cells."""


def parse_csv(original: Original) -> Parsed:
    """Return records as lines with the names of their columns; the separator is detected."""
    return _parsed(original, None)


def parse_tsv(original: Original) -> Parsed:
    """Return records as lines; tabs separate the cells."""
    return _parsed(original, "\t")


def _parsed(original: Original, separator: str | None) -> Parsed:
    lines = StringIO(tidy(decode(original.data, original.charset)), newline="\n")  # `splitlines` knows more line ends
    text, pairs = join_lines(record_lines(lines, separator))
    return Parsed(text, lines=pairs)


def record_lines(lines: Iterable[str], separator: str | None = None) -> Iterator[tuple[int, str]]:
    """Return each record that is not empty as one line, as `row_line` formats it, with its first line in the file.

    Args:
        lines: the lines of the file; at most one record is read ahead.
        separator: the separator of cells; None: detected in the first line that is not blank.

    >>> list(record_lines(["name;rent\\n", 'Ada;"9\\n', '50"\\n', "Bob;8"]))
    [(1, 'name | rent\\n'), (2, 'name: Ada | rent: 9 50\\n'), (4, 'name: Bob | rent: 8\\n')]
    """
    names, widest, is_below_empty = tuple[str, ...](), 0, True
    for number, cells in _records(iter(lines), separator):
        width = sum(map(bool, map(str.strip, cells)))
        # Of the first table, or of one that is wider than all above it: banks put remarks there.
        found = column_names(cells) if is_below_empty and width > widest else ()
        if width:
            yield number, f"{row_line(cells, () if found else names)}\n"
        names, widest, is_below_empty = found or names, max(width, widest), not width


def declared_separator(line: str) -> str | None:
    """Return the separator that the first line of a file declares to Excel, and that is no record; else None.

    >>> declared_separator("sep=;\\n"), declared_separator("sep;name\\n")
    (';', None)
    """
    declared = _DECLARED.fullmatch(line)
    return declared[1] if declared else None


def _records(lines: Iterator[str], separator: str | None) -> Iterator[Record]:
    ahead: deque[str] = deque()  # lines that were read for a quote that is not closed
    first, number = next(lines, ""), 1
    if declared := declared_separator(first):
        separator, number = declared, 2
    else:
        ahead.append(first)

    def next_line() -> str:
        return ahead.popleft() if ahead else next(lines, "")

    while line := ahead.popleft() if ahead else next(lines, ""):  # not a call: a table may have millions of lines
        separator = separator or detect_separator(line)
        cells, taken = None, [line]
        if separator and '"' in line:
            cells = quoted_cells(taken, iter(next_line, ""), separator)
        if cells is None:
            ahead.extendleft(reversed(taken[1:]))
            del taken[1:]
            cells = line.rstrip("\n").split(separator) if separator else [line]
        yield number, cells
        number += line.endswith("\n")  # a line that is too long comes in pieces
        number += len(taken) - 1


def quoted_cells(taken: list[str], following: Iterator[str], separator: str) -> list[str] | None:
    """Return the cells of a record with quotes, which may take several lines; None if a quote is not closed.

    Args:
        taken: its first line; further lines of the record are appended.
        following: the lines behind it.
        separator: the separator of cells.
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


def detect_separator(line: str) -> str | None:
    """Return the separator that is most frequent outside of quotes; None if there is none."""
    counts = Counter(_QUOTED.sub("", line))
    found = max(_SEPARATORS, key=lambda each: counts[each])
    return found if counts[found] else None
