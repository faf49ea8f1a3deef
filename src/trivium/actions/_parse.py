"""Tool calls that a model writes as text: the one parser that finds them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, cast

from trivium.schema import ToolCall

__all__ = ["tool_calls_in"]

_decoder = json.JSONDecoder(strict=False)


def tool_calls_in(text: str) -> tuple[ToolCall, ...]:
    """The tool calls in a model's text: each outermost JSON object with a `request`, in order.

    Only what a model wrote may be given here: a call that a person typed, or that stands in a document, is
    text.

    Example:
        >>> [call.name for call in tool_calls_in('Let me see. {"request": "square", "number": 3}')]
        ['square']
    """
    calls: list[ToolCall] = []
    for value in _objects(text):
        name = value.pop("request", None)
        if isinstance(name, str) and name:
            calls.append(ToolCall(f"call_{len(calls)}", name, json.dumps(value, ensure_ascii=False)))
    return tuple(calls)


def _objects(text: str) -> Iterator[dict[str, Any]]:
    at = text.find("{")
    while at >= 0:
        try:
            value, end = _decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            at = text.find("{", at + 1)
            continue
        if isinstance(value, dict):
            yield cast("dict[str, Any]", value)
        at = text.find("{", end)
