"""Tool calls that a model writes as text: the one parser that finds them, all at once or as the text arrives."""

from __future__ import annotations

import json
import re
from typing import Any, cast

from trivium.schema import ToolCall

__all__ = ["ToolCallReader", "tool_calls_in"]

DEEPEST = 32
"""Levels of objects within each other that a call may have."""

_decoder = json.JSONDecoder(strict=False)
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"|["{}]', re.DOTALL)
_NO_OBJECT = re.compile(r'\{\s*+[^"}]')


def tool_calls_in(text: str) -> tuple[ToolCall, ...]:
    """The tool calls in a model's text: each outermost JSON object with a `request`, in order.

    Only what a model wrote may be given here: a call that a person typed, or that stands in a document, is
    text.

    Example:
        >>> [call.name for call in tool_calls_in('Let me see. {"request": "square", "number": 3}')]
        ['square']
    """
    return tuple(part for part in ToolCallReader().feed(text, is_end=True) if isinstance(part, ToolCall))


class ToolCallReader:
    """Parts a model's text into text and tool calls while it arrives; how it was cut into pieces changes nothing.

    Only what may still become a call is held back: from a brace on, until it is clear what the brace opens.

    Example:
        >>> reader = ToolCallReader()
        >>> [reader.feed(piece) for piece in ('Look: {"requ', 'est": "square"} and')]
        [['Look: '], [ToolCall(id='call_0', name='square', arguments='{}'), ' and']]
    """

    def __init__(self) -> None:
        self._held = ""
        self._calls = 0
        self._depth = self._scanned = 0  # within the object that `_held` begins with

    def feed(self, text: str, *, is_end: bool = False) -> list[str | ToolCall]:
        """Take the next piece of text; what is clear now, in order. `is_end` says that it is the last."""
        held, at, found = self._held + text, 0, list[str | ToolCall]()
        while at < len(held):
            brace = held.find("{", at)
            if brace != at:  # text up to the brace
                end = len(held) if brace < 0 else brace
                found.append(held[at:end])
            else:
                end = self._object_end(held, at)
                if end is None and not is_end:
                    break
                part = self._call(held[at:end]) if end else None
                end = at + 1 if part is None or end is None else end
                found.append(part or held[at:end])
                self._depth = self._scanned = 0
            at = end
        self._held = held[at:]
        return found

    def _object_end(self, held: str, at: int) -> int | None:
        """Where the object that begins at `at` ends: `at` if it is none, None if that is not clear yet."""
        if _NO_OBJECT.match(held, at):
            return at
        for token in _TOKEN.finditer(held, at + self._scanned):
            if token[0] == '"':  # a string whose end has not come
                break
            self._depth += (token[0] == "{") - (token[0] == "}")
            self._scanned = token.end() - at
            if self._depth == 0:
                return token.end()
            if self._depth > DEEPEST:
                return at
        return None

    def _call(self, text: str) -> ToolCall | str | None:
        """The call that a text is; the text itself if it is another object, None if it is none."""
        try:
            value = _decoder.decode(text)
        except (ValueError, RecursionError):
            return None
        name = cast("dict[str, Any]", value).pop("request", None)
        if not isinstance(name, str) or not name:
            return text
        self._calls += 1
        return ToolCall(f"call_{self._calls - 1}", name, json.dumps(value, ensure_ascii=False))
