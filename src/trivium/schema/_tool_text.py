"""Tool calls that a model writes as text: the one parser that finds them, all at once or as the text arrives."""

from __future__ import annotations

import json
import re
from typing import Any

import jiter

from trivium.schema._lenient_json import DEEPEST, QUOTES, read_json
from trivium.schema._values import ToolCall

__all__ = ["ToolCallReader", "tool_calls_in"]

_TOKENS = {
    True: re.compile(r'"(?:[^"\\]|\\.)*+"|["{}]', re.DOTALL),
    False: re.compile(r""""(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+'|“(?:[^”\\]|\\.)*+”|["'“{}]""", re.DOTALL),
}
_OPENING = re.compile(r"\{\s*+(.{0,12})", re.DOTALL)
_FIRST_KEY = "request"


def tool_calls_in(text: str) -> tuple[ToolCall, ...]:
    """Return the tool calls in a model's text: each outermost JSON object with a `request`, in order.

    An object that is no JSON, but for faults that leave one meaning (see `read_json`), is a call too: its arguments
    are its text, so that the validation tells the model what is wrong. An object whose first name is not in double
    quotes is taken for a call only if that name is `request`. The calls' ids are "": they were written as text.

    Give it only a model's own text: a call that a user typed, or that stands in a document, is text.

    Args:
        text: the model's text.

    Example:
        >>> [call.name for call in tool_calls_in('Let me see. {"request": "square", "number": 3}')]
        ['square']
    """
    return tuple(part for part in ToolCallReader().feed(text, is_end=True) if isinstance(part, ToolCall))


class ToolCallReader:
    """Splits a model's text into text and tool calls while it arrives, whatever its pieces are.

    Only text that may still become a call is held back: from a brace on, until it is clear what the brace opens.

    Example:
        >>> reader = ToolCallReader()
        >>> [reader.feed(piece) for piece in ('Look: {"requ', 'est": "square"} and')]
        [['Look: '], [ToolCall(id='', name='square', arguments='{}'), ' and']]
    """

    def __init__(self) -> None:
        self._held = ""
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
        """Return the end of the object that begins at `at`: `at` if it is none, None if that is not clear yet."""
        opening = _OPENING.match(held, at)
        first = opening[1] if opening else ""
        if first and first[0] not in '"}' and not _names_a_call(first):
            return at
        for token in _TOKENS[_is_plain(first)].finditer(held, at + self._scanned):
            if token[0] in QUOTES:  # a string whose end has not come
                break
            self._depth += (token[0] == "{") - (token[0] == "}")
            self._scanned = token.end() - at
            if self._depth == 0:
                return token.end()
            if self._depth > DEEPEST:
                return at
        return None

    def _call(self, text: str) -> ToolCall | str | None:
        """Return the call that a text is; the text itself if it is another object, None if it is none."""
        value: dict[str, Any]
        try:
            value, is_json = jiter.from_json(text.encode(), catch_duplicate_keys=True, allow_inf_nan=False), True
        except ValueError:
            try:
                value, is_json = read_json(text, '"' if _is_plain(text[1:].lstrip()) else QUOTES), False
            except ValueError:
                return None
        name = value.pop("request", None)
        if not isinstance(name, str) or not name:
            return text
        return ToolCall("", name, json.dumps(value, ensure_ascii=False) if is_json else text)


def _is_plain(first: str) -> bool:
    """Return True if an object that begins so has all its strings in double quotes."""
    return first[:1] in ("", '"', "}")


def _names_a_call(first: str) -> bool:
    """Return True if an object that begins so, with other quotes or none, is or may become a call."""
    name = first[1:] if first[0] in QUOTES else first
    return _FIRST_KEY.startswith(name[: len(_FIRST_KEY)])
