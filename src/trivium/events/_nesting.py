"""How deeply JSON is nested. No I/O."""

from __future__ import annotations

from typing import Any, Final, cast

MAX_NESTING: Final = 200
"""The levels of what a model writes: as many as pydantic takes, and a journal keeps. Python's own limit is another on
each version, and a reader that is written in C may go deeper than what is written in Python could follow."""


def is_deeper(value: object, most: int = MAX_NESTING) -> bool:
    """Tell that a value of JSON has more levels of objects and lists.

    >>> is_deeper([{"a": []}], 3), is_deeper([{"a": []}], 2)
    (False, True)
    """
    level = [value]
    for _ in range(most + 1):
        nested = [cast("dict[str, Any] | list[Any]", each) for each in level if isinstance(each, (dict, list))]
        if not nested:
            return False
        level = [child for each in nested for child in (each.values() if isinstance(each, dict) else each)]
    return True
