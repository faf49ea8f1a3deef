"""Calls of tools and their results as a user reads them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple, cast

from pydantic_core import to_jsonable_python

from trivium.schema import ActionReturn


class CalledTool(NamedTuple):
    """The call of a tool, as the model wrote it.

    Args:
        name: the name of the tool.
        arguments: the arguments, as JSON text or as an object.
    """

    name: str
    arguments: str | Mapping[str, Any]


def call_text(name: str, arguments: str | Mapping[str, object]) -> str:
    """Return a tool call as Python code would write it: what does not print is escaped, also in names.

    Example:
        >>> call_text("add", '{"a": 1, "b": "two"}'), call_text("add", "{")
        ("add(a=1, b='two')", 'add({)')
    """
    given: object = arguments
    if isinstance(arguments, str):
        with suppress(ValueError, RecursionError):
            given = json.loads(arguments or "{}")
    if isinstance(given, Mapping):
        named = cast("Mapping[str, object]", given).items()
        given = ", ".join(f"{_shown(key)}={value!r}" for key, value in named)
    return f"{_shown(name)}({given})"


def approval_question(name: str, arguments: Mapping[str, object], why: str = "") -> str:
    """Return the question whether a call may run, with the reason of a policy that asks.

    Example:
        >>> approval_question("pay", {"to": "Bob"}, "It spends.")
        "May pay(to='Bob') run? It spends."
    """
    return " ".join(filter(None, (f"May {call_text(name, arguments)} run?", why)))


def _shown(name: str) -> str:
    return name if name.isprintable() else repr(name)


def result_text(result: object) -> str:
    """Return the result of a tool as text."""
    if isinstance(result, ActionReturn):
        return str(result.errmsg or result.format_result())
    if isinstance(result, str):
        return result
    try:
        return json.dumps(result, ensure_ascii=False, default=to_jsonable_python)
    except (TypeError, ValueError):
        return str(result)
