"""Tool calls that a model writes as text, in JSON or XML: found all at once, or as the text arrives."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import jiter

from trivium.exceptions import ToolArgumentsError
from trivium.schema._lenient_json import DEEPEST, QUOTES, read_json
from trivium.schema._values import ToolCall

_MARKS = {True: re.compile(r'[^"{}]*+(["{}]?)'), False: re.compile(r"""[^"'“{}]*+(["'“{}]?)""")}
_STRINGS = {each[0]: re.compile(rf"(?:[^{each[-1]}\\]|\\.)*+({each[-1]}?)", re.DOTALL) for each in ('"', "'", "“”")}
_OPENING = re.compile(r"\{\s*+(.{0,12})", re.DOTALL)
_FIRST_KEY = "request"
_REQUEST = re.compile(r"<request>\s*+(?:<!\[CDATA\[)?\s*+([\w.-]+)")
_FRAME = re.compile(r"\A\s*(?:TOOL:)?\s*|</?tool_call>")
_BROKEN = re.compile(r"""\s*+\[?\s*+\{.*?["']?request["']?\s*+:\s*+["']([\w.-]+)["']""", re.DOTALL)


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


def calls_in_text(text: str, known: Mapping[str, Any], *, everywhere: bool = True) -> tuple[ToolCall, ...]:
    """Find the calls in a model's text: those in XML if an `XMLToolMessage` is known, else those in JSON.

    Args:
        text: the text of a model; never of anybody else.
        known: the classes of tool messages by name. Calls of other tools in JSON are found too.
        everywhere: find calls within sentences too; else a text is calls, one or several, or text. A code fence,
            `<tool_call>` and the word TOOL may surround a call. A text that begins as a call and is no JSON is a
            call with the whole text as its arguments, which fit no tool.

    Example:
        >>> from trivium.actions import ToolMessage
        >>> class Square(ToolMessage):
        ...     request: str = "square"
        ...     purpose: str = "To square a <number>."
        ...     number: int
        >>> calls_in_text('I call {"request": "square", "number": 3}.', {"square": Square})
        (ToolCall(id='', name='square', arguments='{"number": 3}'),)
        >>> calls_in_text('I call {"request": "square", "number": 3}.', {"square": Square}, everywhere=False)
        ()
    """
    body = text if everywhere else _FRAME.sub("", unfence(text)).strip()
    if "<" in body and (found := tuple(find_xml_calls(body, known))):
        return found if everywhere or (body.startswith("<") and body.endswith(">")) else ()
    if everywhere:
        return tool_calls_in(body) or broken_call(body)
    parts = ToolCallReader().feed(body, is_end=True)
    if any(isinstance(part, str) and part.strip(" \n\t,[]") for part in parts):
        return broken_call(body)
    return tuple(part for part in parts if isinstance(part, ToolCall))


def broken_call(text: str) -> tuple[ToolCall, ...]:
    """Return a call that fits no tool, of a text that begins as a call and is no JSON: its model is told so."""
    opening = _BROKEN.match(text)
    if opening is None:
        return ()
    try:
        jiter.from_json(text.encode("utf-8", "replace"))
    except ValueError:
        return (ToolCall("", opening[1], text),)
    return ()


def find_xml_calls(text: str, known: Mapping[str, Any]) -> Iterator[ToolCall]:
    """Find the calls that are written as XML; see `calls_in_text`."""
    by_root = {each._get_root_element(): each for each in known.values() if _is_xml(each)}
    for kind in by_root.values():
        for candidate in kind.find_candidates(text):
            found = _REQUEST.search(candidate)
            if found is not None and _is_xml(known.get(found[1])):
                yield ToolCall("", found[1], _arguments(known[found[1]], candidate))


def _is_xml(kind: object) -> bool:
    return hasattr(kind, "find_candidates")  # as `XMLToolMessage` has it


def _arguments(kind: Any, candidate: str) -> str:
    """The arguments as JSON; the text itself if it cannot be read, so that the model gets its validation error."""
    values: dict[str, Any] | None = None
    with suppress(ToolArgumentsError):
        values = kind.extract_field_values(candidate)
    if values is None:
        return candidate
    return json.dumps({name: value for name, value in values.items() if name != "request"}, ensure_ascii=False)


def unfence(text: str) -> str:
    """Return the content of a code fence if the text is one; else the text."""
    if "```" not in text:  # most
        return text
    plain = text.strip()
    return plain.partition("\n")[2].rpartition("```")[0] if plain.startswith("```") else text
