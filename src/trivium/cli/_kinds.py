"""Values of an earlier run: their text in CSV, and a test whether they can be values of a field."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from datetime import date
from typing import Any, cast

from trivium.extraction import Field

_JSON_KINDS = {"number", "integer", "money", "boolean", "list", "group"}


def is_value_of(field: Field, value: object) -> bool:
    """Test whether a value of a finished record can be a value of a field; None always can.

    >>> is_value_of(Field("starts", "date"), "1 March 2024"), is_value_of(Field("starts", "date"), "2024-03-01")
    (False, True)
    """
    if value is None:
        return True
    if field.kind in ("number", "integer"):
        return _is_number(value) and (field.kind == "number" or isinstance(value, int))
    if field.kind == "money":
        return isinstance(value, Mapping) and _is_number(cast("Mapping[str, Any]", value).get("amount"))
    if field.kind == "boolean":
        return isinstance(value, bool)
    if field.kind == "list":
        item = field.item
        items = cast("list[object]", value) if isinstance(value, list) else None
        return items is not None and (item is None or all(is_value_of(item, each) for each in items))
    if field.kind == "group":
        values = cast("Mapping[str, Any]", value if isinstance(value, Mapping) else {})
        names = {part.name for part in field.parts}
        return set(values) == names and all(is_value_of(part, values[part.name]) for part in field.parts)
    if field.kind == "choice":
        return value in field.choices
    if field.kind == "date":
        with suppress(ValueError):
            return isinstance(value, str) and date.fromisoformat(value).isoformat() == value
        return False
    return isinstance(value, str)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def read_cell(field: Field, text: str) -> Any:
    """Read the value of a cell of CSV: as JSON or as text, by the kind of the field."""
    if not text:
        return None
    if field.kind in _JSON_KINDS:
        with suppress(ValueError):
            return json.loads(text)
    return text


def kind_text(field: Field) -> str:
    """Write the kind of a field in the notation of a field list."""
    if field.kind == "choice":
        return "|".join(field.choices)
    if field.kind == "group":
        return "{" + ", ".join(f"{part.name}: {kind_text(part)}" for part in field.parts) + "}"
    return f"list of {kind_text(field.item)}" if field.item is not None else field.kind
