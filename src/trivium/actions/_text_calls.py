"""The calls of tool messages in a model's text, written as JSON or XML."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import jiter

from trivium.actions._tool import unfenced
from trivium.actions._tool_message import ToolMessage
from trivium.exceptions import ToolArgumentsError
from trivium.schema import ToolCall
from trivium.schema.lowlevel import ToolCallReader, tool_calls_in

__all__ = ["calls_in_text"]

_REQUEST = re.compile(r"<request>\s*+(?:<!\[CDATA\[)?\s*+([\w.-]+)")
_FRAME = re.compile(r"\A\s*(?:TOOL:)?\s*|</?tool_call>")
_BROKEN = re.compile(r"""\s*+\[?\s*+\{.*?["']?request["']?\s*+:\s*+["']([\w.-]+)["']""", re.DOTALL)
Classes = Mapping[str, type[ToolMessage]]


def calls_in_text(text: str, known: Classes, *, everywhere: bool = True) -> tuple[ToolCall, ...]:
    """Find the calls in a model's text: those in XML if an `XMLToolMessage` is known, else those in JSON.

    Args:
        text: the text of a model; never of anybody else.
        known: the tool messages by name. Calls of other tools in JSON are found too.
        everywhere: find calls within sentences too; else a text is calls, one or several, or text. A code fence,
            `<tool_call>` and the word TOOL may surround a call. A text that begins as a call and is no JSON is a
            call with the whole text as its arguments, which fit no tool.

    Example:
        >>> class Square(ToolMessage):
        ...     request: str = "square"
        ...     purpose: str = "To square a <number>."
        ...     number: int
        >>> calls_in_text('I call {"request": "square", "number": 3}.', {"square": Square})
        (ToolCall(id='', name='square', arguments='{"number": 3}'),)
        >>> calls_in_text('I call {"request": "square", "number": 3}.', {"square": Square}, everywhere=False)
        ()
    """
    body = text if everywhere else _FRAME.sub("", unfenced(text)).strip()
    if "<" in body and (found := tuple(find_xml_calls(body, known))):
        is_whole = everywhere or (body.startswith("<") and body.endswith(">"))
        return found if is_whole else ()
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


def find_xml_calls(text: str, known: Classes) -> Iterator[ToolCall]:
    """Find the calls that are written as XML; see `calls_in_text`."""
    kinds: list[Any] = [each for each in known.values() if _is_xml(each)]
    by_root = {each._get_root_element(): each for each in kinds}
    for kind in by_root.values():
        for candidate in kind.find_candidates(text):
            found = _REQUEST.search(candidate)
            if found is not None and _is_xml(known.get(found[1])):
                yield ToolCall("", found[1], _arguments(known[found[1]], candidate))


def _is_xml(kind: type[ToolMessage] | None) -> bool:
    return hasattr(kind, "find_candidates")  # not by isinstance: most programs need not load the class


def _values(kind: Any, candidate: str) -> dict[str, Any] | None:
    try:
        return kind.extract_field_values(candidate)
    except ToolArgumentsError:
        return None


def _arguments(kind: type[ToolMessage], candidate: str) -> str:
    """The arguments as JSON; the text itself if it cannot be read, so that the model gets its validation error."""
    values = _values(kind, candidate)
    if values is None:
        return candidate
    return json.dumps({name: value for name, value in values.items() if name != "request"}, ensure_ascii=False)
