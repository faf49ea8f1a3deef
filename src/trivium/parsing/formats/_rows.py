"""Rows of tables as lines that can be read, found and cited by themselves."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
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
    are_names = _hold_no_value(filled) and sum(name.endswith((":", "：")) for name in filled) in (0, len(filled))
    return names if are_names and len(filled) > 1 and len(set(filled)) == len(filled) else ()


def joined_names(names: Sequence[str], cells: Sequence[str]) -> tuple[str, ...]:
    """Return the names of columns with those in the row below them, if that is a second row of names; else none.

    It is if a name reaches over columns that have their own names there, and the first column has one name only.

    >>> joined_names(["Item", "2023", "", "2024"], ["", "Units", "Sum", "Units", "Sum"])
    ('Item', '2023 Units', '2023 Sum', '2024 Units', '2024 Sum')
    >>> joined_names(["Name", "City", ""], ["Ada", "Bonn", "new"]), joined_names(["", "Sum"], ["Ada", "open"])
    ((), ())
    """
    above, reaches, joined = "", False, list[str]()
    for name, cell in zip_longest(names, map(_on_one_line, cells), fillvalue=""):
        reaches = reaches or bool(above and cell and not name)
        above = name or (above and cell and above)
        joined.append(f"{above} {cell}".strip())
    filled = [name for name in joined if name]
    is_second = reaches and not (names[0] and cells[0]) and len(set(filled)) == len(filled)
    return tuple(joined) if is_second and _hold_no_value(filter(None, map(_on_one_line, cells))) else ()


def _hold_no_value(names: Iterable[str]) -> bool:
    return all(_YEAR.fullmatch(name) or not _VALUE.fullmatch(name) for name in names)


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
