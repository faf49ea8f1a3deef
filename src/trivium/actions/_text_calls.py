"""The calls of tool messages in a model's text, written as JSON or XML."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from trivium.actions._handlers import infer_request
from trivium.actions._tool_message import ToolMessage
from trivium.exceptions import ToolArgumentsError
from trivium.schema import ToolCall
from trivium.schema.lowlevel import tool_calls_in

__all__ = ["calls_in_text"]

_REQUEST = re.compile(r"<request>\s*+(?:<!\[CDATA\[)?\s*+([\w.-]+)")
Classes = Mapping[str, type[ToolMessage]]


def calls_in_text(text: str, known: Classes, handled: Classes | None = None) -> tuple[ToolCall, ...]:
    """Find the calls in a model's text: those in XML if an `XMLToolMessage` is known, else those in JSON.

    Args:
        text: the text of a model; never of anybody else.
        known: the tool messages by name. Calls of other tools in JSON are found too.
        handled: the tool messages that a call without a name may mean (see `infer_request`); default: none.

    Example:
        >>> class Square(ToolMessage):
        ...     request: str = "square"
        ...     purpose: str = "To square a <number>."
        ...     number: int
        >>> calls_in_text('I call {"number": 3}.', {}, {"square": Square})
        (ToolCall(id='', name='square', arguments='{"number": 3}'),)
    """
    found = tuple(find_xml_calls(text, known, handled or {})) if "<" in text else ()
    return found or tool_calls_in(text, lambda values: _name_of(values, handled or {}))


def _name_of(values: Mapping[str, object], handled: Classes) -> str | None:
    meant = infer_request(values, handled.values())
    return None if meant is None else meant.name()


def find_xml_calls(text: str, known: Classes, handled: Classes) -> Iterator[ToolCall]:
    """Find the calls that are written as XML; see `calls_in_text`."""
    kinds: list[Any] = [each for each in known.values() if _is_xml(each)]
    by_root = {each._get_root_element(): each for each in kinds}
    for kind in by_root.values():
        for candidate in kind.find_candidates(text):
            found = _REQUEST.search(candidate)
            name = infer_xml_request(candidate, handled) if found is None else found[1]
            if name is not None and _is_xml(known.get(name)):
                yield ToolCall("", name, _arguments(known[name], candidate))


def _is_xml(kind: type[ToolMessage] | None) -> bool:
    return hasattr(kind, "find_candidates")  # not by isinstance: most programs need not load the class


def infer_xml_request(candidate: str, handled: Classes) -> str | None:
    """Return the name of the only tool that an XML call without a name fits; None if there is no such tool."""
    fitting: list[str] = []
    for name, kind in handled.items():
        values = _values(kind, candidate) if _is_xml(kind) else None
        if values and infer_request(values, [kind]) is not None:
            fitting.append(name)
    return fitting[0] if len(fitting) == 1 else None


def _values(kind: Any, candidate: str) -> dict[str, Any] | None:
    try:
        return kind.extract_field_values(candidate)
    except ToolArgumentsError:
        return None


def _arguments(kind: type[ToolMessage], candidate: str) -> str:
    """The arguments as JSON; the text itself if it cannot be read, so that its validation tells the model why."""
    values = _values(kind, candidate)
    if values is None:
        return candidate
    return json.dumps({name: value for name, value in values.items() if name != "request"}, ensure_ascii=False)
