"""The test for a call that a model only quotes from what it has read."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

from trivium.actions import calls_in_text
from trivium.schema import ToolCall

_ESCAPE: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_MAIL_MARKS: Final = re.compile(r"^[ \t]*(?:>[ \t]?)+", re.MULTILINE)
_WORD: Final = re.compile(r"\w+")
_NUMBER: Final = re.compile(r"\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")


def is_quoted(call: ToolCall, read: Sequence[str], asked: str, known: Mapping[str, Any]) -> bool:
    """Test whether a call that a model wrote as text stands in what it has read, in whatever form and order.

    It does if a text holds the same call, or if its name and each value of its arguments stand somewhere in the texts,
    and the values not in what the user asked too.

    Args:
        call: the call.
        read: the texts that the model has read, and that are not of the user.
        asked: the words of the user.
        known: the tools, by name.
    """
    texts = [form for text in read for form in (text, _plain(text))]
    given = _parsed(call)
    if any(_parsed(each) == given and each.name == call.name for text in texts for each in calls_in_text(text, known)):
        return True
    values = list(_leaves(given))
    return _stand_in([call.name, *values], "\n".join(texts)) and not _stand_in(values or [call.name], asked)


def _stand_in(values: Sequence[object], text: str) -> bool:
    words, numbers = _words(text), {float(each) for each in _NUMBER.findall(text)}
    return all(
        _words(each) in words if isinstance(each, str) else abs(cast("float", each)) in numbers for each in values
    )


def _words(text: str) -> str:
    return f" {' '.join(_WORD.findall(text.casefold()))} "


def _plain(text: str) -> str:
    """Return a text without the marks of HTML, JSON and mail that stand for other letters, or for none."""
    return _ESCAPE.sub(_letter, _MAIL_MARKS.sub("", html.unescape(text)))


def _letter(escape: re.Match[str]) -> str:
    code = escape[1]
    return chr(int(code[1:], 16)) if len(code) > 1 else " " if code in "nrt" else code


def _parsed(call: ToolCall) -> object:
    try:
        return json.loads(call.arguments)
    except (ValueError, RecursionError):
        return call.arguments


def _leaves(value: object) -> Iterator[object]:
    """Yield the texts and numbers within a JSON value."""
    if isinstance(value, dict | list):
        inner = cast("dict[str, object] | list[object]", value)
        for each in inner.values() if isinstance(inner, dict) else inner:
            yield from _leaves(each)
    elif isinstance(value, str) or (isinstance(value, int | float) and not isinstance(value, bool)):
        yield value
