"""Types of JSON values, for what is read from and sent to other programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import MemberDescriptorType
from typing import Any, Final, TypeAlias, cast

JSONValue: TypeAlias = "dict[str, JSONValue] | list[JSONValue] | str | int | float | bool | None"
"""A value that JSON can hold, as a parser gives it; check its class before use."""

JSONObject: TypeAlias = dict[str, Any]
"""Named JSON values, for a reader who knows the names."""

_encode: Final = json.JSONEncoder(sort_keys=True).encode
_PLAIN: Final = frozenset({str, int, float, bool, type(None), bytes})


def to_sorted_json(value: object) -> Any:
    """Return a value as JSON's own values, as pydantic does, with sets in one order; see `in_order`.

    Raises:
        ValueError: it, or a part of it, has no such form.
    """
    from pydantic_core import to_jsonable_python  # loaded for contents only

    made = to_jsonable_python(value)
    return in_order(made, value) if has_set(value) else made


def has_set(value: object) -> bool:
    """Return whether there is a set in a value at any depth, as far as `in_order` looks."""
    left, seen = [value], set[int]()
    while left:
        each = left.pop()
        kind = type(each)
        if issubclass(kind, (set, frozenset)):
            return True
        if id(each) in seen:  # a field that no JSON shows may lead back
            continue
        seen.add(id(each))
        inner = cast("Iterable[object]", each) if issubclass(kind, (list, tuple)) else _named_in(each).values()
        left += [part for part in inner if part.__class__ not in _PLAIN]
    return False


def in_order(made: Any, value: object) -> Any:
    """Return the JSON of a value with sorted lists in place of its sets, whose order each process has anew.

    Args:
        made: the JSON of the value.
        value: the value: a set, or one with sets in it at any depth.
    """
    if isinstance(made, dict):
        named = cast("dict[str, Any]", made)
        found = _named_in(value)
        values = found.values() if isinstance(value, dict) else map(found.get, named)  # its keys are perhaps no texts
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


def _named_in(value: object) -> Mapping[Any, object]:
    """Return a dict, or the fields of a model or a dataclass: no property, which runs code that nobody asked for."""
    if isinstance(value, dict):
        return cast("dict[object, object]", value)
    has_fields, is_model, slots = _form_of(type(value))
    found: dict[str, object] = getattr(value, "__dict__", {}) if has_fields else {}
    extra: dict[str, object] | None = getattr(value, "__pydantic_extra__", None) if is_model else None
    if not slots and not extra:
        return found
    return {**found, **{name: getattr(value, name, None) for name in slots}, **(extra or {})}


@lru_cache(maxsize=256)
def _form_of(kind: type) -> tuple[bool, bool, tuple[str, ...]]:
    """Return whether a class has fields, whether it is a model, and which fields are slots."""
    is_model, fields = hasattr(kind, "__pydantic_extra__"), getattr(kind, "__dataclass_fields__", ())
    slots = tuple(name for name in fields if isinstance(getattr(kind, name, None), MemberDescriptorType))
    return is_model or bool(fields), is_model, slots
