"""JSON in the text of a model: where it stands, and its value in spite of faults that leave one meaning."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, Final, cast

from trivium.schema.lowlevel import read_json

__all__ = [
    "datetime_to_json",
    "extract_top_level_json",
    "flatten",
    "get_json_candidates",
    "is_valid_json",
    "parse_imperfect_json",
    "top_level_json_field",
    "try_repair_json_yaml",
]

_TOKENS: Final = re.compile(r""""(?:[^"\\\n]|\\.)*+"|'(?:[^'\\\n]|\\.)*+'|\\.|[{}]""")


def is_valid_json(json_str: str) -> bool:
    """Return True if a text is JSON, without any fault.

    Example:
        >>> is_valid_json('{"a": 1}'), is_valid_json("{'a': 1}")
        (True, False)
    """
    try:
        json.loads(json_str)
    except (ValueError, RecursionError):
        return False
    return True


def flatten(nested_list: Iterable[Any]) -> Iterator[Any]:
    """Yield the items of a list, and in place of each list or tuple among them its items.

    Example:
        >>> list(flatten(["a", ["b", ("c",)]]))
        ['a', 'b', 'c']
    """
    for item in nested_list:
        if isinstance(item, (list, tuple)):
            yield from flatten(cast("Iterable[Any]", item))
        else:
            yield item


def get_json_candidates(s: str) -> list[str]:
    """Return the outermost parts of a text that stand between braces; a brace in quotes is none.

    Example:
        >>> get_json_candidates('First {"a": {"b": 1}}, then {c}.')
        ['{"a": {"b": 1}}', '{c}']
    """
    opened, found, at = list[int](), list[tuple[int, int]](), s.find("{")
    while at >= 0 and (token := _TOKENS.search(s, at)):
        at = token.end()
        if token[0] == "{":
            opened.append(token.start())
        elif token[0] == "}" and opened:
            start = opened.pop()
            while found and found[-1][0] > start:  # they stand within this one
                found.pop()
            found.append((start, at))
            at = at if opened else s.find("{", at)  # outside of braces a quote is an apostrophe
    return [s[start:end] for start, end in found]


def parse_imperfect_json(json_string: str) -> dict[str, Any] | list[Any]:
    """Return the object or list that a text is; faults that leave one meaning are read over.

    Raises:
        ValueError: it is neither, or what was meant would be a guess.

    Example:
        >>> parse_imperfect_json("{'city': 'Rom', days: 3,}")
        {'city': 'Rom', 'days': 3}
    """
    value = read_json(json_string)
    if isinstance(value, (dict, list)):
        return cast("dict[str, Any] | list[Any]", value)
    raise ValueError(f"neither an object nor a list: {json_string}")


def try_repair_json_yaml(s: str) -> str | None:
    """Return the JSON that a text is without its faults, of a list the first item; None where it would be a guess.

    Example:
        >>> try_repair_json_yaml("{'a': True}"), try_repair_json_yaml("{a b}")
        ('{"a": true}', None)
    """
    try:
        value = parse_imperfect_json(s)
    except ValueError:
        return None
    first = next(iter(value), None) if isinstance(value, list) else value
    return None if first is None else json.dumps(first)


def extract_top_level_json(s: str) -> list[str]:
    """Return the outermost JSON objects in a text, without their faults.

    Example:
        >>> extract_top_level_json("I call {'a': 1} and {b c}.")
        ['{"a": 1}']
    """
    return [each for part in get_json_candidates(s) if (each := try_repair_json_yaml(part)) is not None]


def top_level_json_field(s: str, f: str) -> Any:
    """Return the value that the first outermost JSON object with this field has for it; "" if there is none.

    Args:
        s: the text.
        f: the name of the field.

    Example:
        >>> top_level_json_field('{"a": 1} {"b": 2}', "b")
        2
    """
    values = map(json.loads, extract_top_level_json(s))
    return next((value[f] for value in values if f in value), "")


def datetime_to_json(obj: Any) -> Any:
    """Return a time as text in ISO 8601, and anything else as it is.

    Example:
        >>> datetime_to_json(datetime(2026, 1, 2, 3))
        '2026-01-02T03:00:00'
    """
    return obj.isoformat() if isinstance(obj, datetime) else obj
