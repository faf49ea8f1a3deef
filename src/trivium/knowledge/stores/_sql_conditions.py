"""Conditions as SQL; the kind of store compiles the comparisons."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from trivium.knowledge.stores._filters import AllOf, Compare, Filter, Not

Condition: TypeAlias = tuple[str, list[Any]]
"""A test in SQL and its parameters."""


def sql_condition(wanted: Filter, compared: Callable[[Compare], Condition]) -> Condition:
    """Compile a condition to SQL that is never NULL.

    Args:
        wanted: the condition.
        compared: compiles a comparison to SQL that is never NULL.

    >>> sql_condition(AllOf((Not(AllOf(())), Compare("page", "gt", 3))), lambda it: (f"{it.field} > ?", [it.value]))
    ('(((NOT (true))) AND (page > ?))', [3])
    """
    if isinstance(wanted, Compare):
        return compared(wanted)
    if isinstance(wanted, Not):
        text, values = sql_condition(wanted.of, compared)
        return f"(NOT {text})", values
    parts = [sql_condition(each, compared) for each in wanted.of]
    word, none = ("AND", "true") if isinstance(wanted, AllOf) else ("OR", "false")
    return _joined([text for text, _ in parts], word, none), [value for _, values in parts for value in values]


def _joined(parts: list[str], word: str, none: str) -> str:
    """Join tests as a balanced tree, because SQLite limits the depth to 1,000."""
    if len(parts) <= 1:
        return f"({parts[0] if parts else none})"
    half = len(parts) // 2
    return f"({_joined(parts[:half], word, none)} {word} {_joined(parts[half:], word, none)})"
