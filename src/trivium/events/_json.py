"""Types of JSON values, for what is read from and sent to other programs."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final, TypeAlias, cast

JSONValue: TypeAlias = "dict[str, JSONValue] | list[JSONValue] | str | int | float | bool | None"
"""A value that JSON can hold, as a parser gives it; check its class before use."""

JSONObject: TypeAlias = dict[str, Any]
"""Named JSON values, for a reader who knows the names."""

_encode: Final = json.JSONEncoder(sort_keys=True).encode


def to_sorted_json(value: object) -> Any:
    """Return a value as JSON's own values, as pydantic does, with sets in one order; see `in_order`.

    Raises:
        ValueError: it, or a part of it, has no such form.
    """
    from pydantic_core import to_jsonable_python  # loaded for contents only

    return in_order(to_jsonable_python(value), value)


def in_order(made: Any, value: object) -> Any:
    """Return the JSON of a value with sorted lists in place of its sets, whose order each process has anew.

    Args:
        made: the JSON of the value.
        value: the value: a set, or one with sets in it at any depth.
    """
    if isinstance(made, dict):
        named = cast("dict[str, Any]", made)
        values: Iterable[Any] = (getattr(value, name, None) for name in named)
        if isinstance(value, dict):  # its keys are perhaps no texts
            values = cast("dict[object, object]", value).values()
        return {name: in_order(each, of) for (name, each), of in zip(named.items(), values, strict=False)}
    if not isinstance(made, list) or not isinstance(value, (list, tuple, set, frozenset)):
        return cast("Any", made)
    parts = [
        in_order(each, of) for each, of in zip(cast("list[Any]", made), cast("Iterable[Any]", value), strict=False)
    ]
    if isinstance(value, (list, tuple)):
        return parts
    try:
        return sorted(parts)
    except TypeError:  # of several kinds
        return sorted(parts, key=_encode)
