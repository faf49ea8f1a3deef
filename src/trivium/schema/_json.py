"""Types of JSON values, for what is read from and sent to other programs."""

from __future__ import annotations

from typing import TypeAlias

__all__ = ["JSONObject", "JSONValue"]

JSONValue: TypeAlias = "dict[str, JSONValue] | list[JSONValue] | str | int | float | bool | None"
"""A value that JSON can hold, as a parser gives it."""

JSONObject: TypeAlias = dict[str, JSONValue]
"""A JSON object, as a parser gives it."""
