"""Types of JSON values, for what is read from and sent to other programs."""

from __future__ import annotations

from typing import Any, TypeAlias

JSONValue: TypeAlias = "dict[str, JSONValue] | list[JSONValue] | str | int | float | bool | None"
"""A value that JSON can hold, as a parser gives it; check its class before use."""

JSONObject: TypeAlias = dict[str, Any]
"""Named JSON values, for a reader who knows the names."""
