"""Addresses in a model's text: `TO[name]: …`, or a JSON object with a `recipient`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from trivium.schema._tool_text import ToolCallReader
from trivium.schema._values import ToolCall

_ADDRESS: Final = re.compile(r"\s*TO\[\s*([\w-]+)\s*\]:\s*")


def recipient_in(text: str) -> tuple[str, str]:
    """Return the recipient that a text names, "" where it names none, and the rest of the text.

    Example:
        >>> recipient_in('{"recipient": "sub-2", "x": 1}')
        ('sub-2', '{"recipient": "sub-2", "x": 1}')
    """
    found = _ADDRESS.match(text)
    if found is not None:
        return found[1], text[found.end() :]
    return next((name for each in _objects(text) if (name := named_recipient(each))), ""), text


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the outermost JSON objects in a text."""
    for part in ToolCallReader().feed(text, is_end=True) if '"recipient"' in text else ():
        try:
            value = json.loads(part.arguments if isinstance(part, ToolCall) else part, strict=False)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield cast("dict[str, Any]", value)


def named_recipient(arguments: Mapping[str, Any] | None) -> str:
    """Return the `recipient` among the arguments of a call; "" where there is none."""
    found = (arguments or {}).get("recipient")
    return found if isinstance(found, str) else ""
