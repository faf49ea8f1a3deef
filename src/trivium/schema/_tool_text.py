"""Tool calls that a model writes as JSON in its text: found all at once, or as the text arrives."""

from __future__ import annotations

import json
import re
from typing import Any

import jiter

from trivium.schema._lenient_json import DEEPEST, QUOTES, read_json
from trivium.schema._values import ToolCall

_MARKS = {True: re.compile(r'[^"{}]*+(["{}]?)'), False: re.compile(r"""[^"'“{}]*+(["'“{}]?)""")}
_STRINGS = {each[0]: re.compile(rf"(?:[^{each[-1]}\\]|\\.)*+({each[-1]}?)", re.DOTALL) for each in ('"', "'", "“”")}
_OPENING = re.compile(r"\{\s*+(.{0,12})", re.DOTALL)
_FIRST_KEY = "request"


class WrittenArguments(str):
    """Arguments that a model has written in its text: nobody has checked them yet, so they match the schema exactly."""

    __slots__ = ()


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
        self._depth, self._scanned, self._quote = 0, 0, ""  # within the object that `_held` begins with

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
                self._depth, self._scanned, self._quote = 0, 0, ""
            at = end
        self._held = held[at:]
        return found

    def _object_end(self, held: str, at: int) -> int | None:
        """Return the end of the object that begins at `at`: `at` if it is none, None if that is not clear yet."""
        opening = _OPENING.match(held, at)
        first = opening[1] if opening else ""
        if first and first[0] not in '"}' and not _names_a_call(first):
            return at
        marks = _MARKS[_is_plain(first)]
        while found := (_STRINGS[self._quote] if self._quote else marks).match(held, at + self._scanned):
            self._scanned = found.end() - at
            if not found[1]:  # what comes next is read on from here
                break
            if self._quote or found[1] in QUOTES:
                self._quote = "" if self._quote else found[1]
                continue
            self._depth += (found[1] == "{") - (found[1] == "}")
            if not 0 < self._depth <= DEEPEST:
                return at if self._depth else found.end()
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
        return ToolCall("", name, WrittenArguments(json.dumps(value, ensure_ascii=False) if is_json else text))


def _is_plain(first: str) -> bool:
    """Return True if an object that begins so has all its strings in double quotes."""
    return first[:1] in ("", '"', "}")


def _names_a_call(first: str) -> bool:
    """Return True if an object that begins so, with other quotes or none, is or may become a call."""
    name = first[1:] if first[0] in QUOTES else first
    return _FIRST_KEY.startswith(name[: len(_FIRST_KEY)])


def unfence(text: str) -> str:
    """Return the content of a code fence if the text is one; else the text."""
    if "```" not in text:  # most
        return text
    plain = text.strip()
    return plain.partition("\n")[2].rpartition("```")[0] if plain.startswith("```") else text
