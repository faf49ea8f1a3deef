"""Whether what an earlier run wrote can be a value of the field that is asked for now."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from datetime import date
from typing import Any, cast

from trivium.extraction import Field

__all__ = ["described", "fits", "read_cell"]

_JSON_KINDS = {"number", "integer", "money", "boolean", "list"}
_MONEY_CELL = '{"amount": '


def fits(field: Field, value: Any) -> bool:
    """Whether a value of a finished record can be one of this field; none always can.

    >>> fits(Field("starts", "date"), "1 March 2024"), fits(Field("starts", "date"), "2024-03-01")
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
        return isinstance(value, list) and (item is None or all(fits(item, each) for each in cast("list[Any]", value)))
    return isinstance(value, str) and _is_spelled(field, value)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_spelled(field: Field, value: str) -> bool:
    if field.kind == "choice":
        return value in field.choices
    if field.kind != "date":
        return True
    with suppress(ValueError):
        return date.fromisoformat(value).isoformat() == value
    return False


def read_cell(field: Field, text: str) -> Any:
    """The value of a cell of CSV: a text of its own where the field's kind has no other form.

    An amount of money is known by its form also where a text is asked for now.
    """
    if not text:
        return None
    if field.kind in _JSON_KINDS or text.startswith(_MONEY_CELL):
        with suppress(ValueError):
            return json.loads(text)
    return text


def described(field: Field) -> str:
    """The kind of a field, in the words of a field list."""
    if field.kind == "choice":
        return "|".join(field.choices)
    return f"list of {described(field.item)}" if field.item is not None else field.kind
