"""Rows of tables as lines that can be read, found and cited by themselves."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import zip_longest

_YEAR = re.compile(r"(?:19|20)\d\d")
_VALUE = re.compile(r"[-+]?[\W\d_]*\d[\W\d_]*")  # a number, an amount, a date or a time


def column_names(cells: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the columns if the first row of a table holds names; else none.

    Names are at least two different texts. A year can be a name; other numbers and dates are values, and so is what
    stands beside a label with a colon, as in a form.

    >>> column_names(["City", "2023", "2024"]), column_names(["Bonn", "1,5", ""]), column_names(["Notes"])
    (('City', '2023', '2024'), (), ())
    >>> column_names(["Customer:", "Ada"]), column_names(["客户：", "王"])
    ((), ())
    """
    names = tuple(map(_on_one_line, cells))
    filled = [name for name in names if name]
    are_names = all(_YEAR.fullmatch(name) or not _VALUE.fullmatch(name) for name in filled)
    are_names = are_names and sum(name.endswith((":", "：")) for name in filled) in (0, len(filled))
    return names if are_names and len(filled) > 1 and len(set(filled)) == len(filled) else ()


def row_line(cells: Sequence[str], names: Sequence[str] = ()) -> str:
    """Return a row as one line: the values with the names of their columns; with names, empty cells are left out.

    >>> row_line(["Bonn", "", "7 km"], ["City", "State", "Way"]), row_line(["Bonn", "", "7 km"])
    ('City: Bonn | Way: 7 km', 'Bonn |  | 7 km')
    """
    values = [_on_one_line(cell) for cell in cells]
    if not names:
        while values and not values[-1]:
            values.pop()
        return " | ".join(values)
    pairs = zip_longest(names, values[: len(names)], fillvalue="")
    named = [f"{name}: {value}" if name else value for name, value in pairs if value]
    return " | ".join([*named, *filter(None, values[len(names) :])])


def _on_one_line(cell: str) -> str:
    is_tidy = cell.isprintable() and "  " not in cell  # splitting would take most of the time of a long table
    return cell.strip() if is_tidy else " ".join(cell.split())
