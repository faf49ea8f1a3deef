"""Small values that messages hold: tokens, tools and their calls, outcomes."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Sequence, Set, ValuesView
from dataclasses import dataclass, field, fields
from operator import add, attrgetter
from types import NoneType
from typing import Any, Final, cast

from trivium.exceptions import ArgumentTypeError
from trivium.schema._status import STATUS_CODES, ActionStatusCode, ActionValidCode


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one model call, or a sum of them; and what they cost in US dollars, where that is known.

    Args:
        input_tokens: tokens read, all of them.
        output_tokens: tokens written, all of them.
        usd: what they cost; 0.0 is free or not known.
        cached_tokens: the part of those read that the provider had kept from an earlier request.
        cache_write_tokens: the part of those read that the provider keeps for later ones, where that costs extra.
        reasoning_tokens: the part of those written that are thoughts.

    Example:
        >>> Usage(100, 20, cached_tokens=80) + Usage(10, 5)
        Usage(input_tokens=110, output_tokens=25, cached_tokens=80)
    """

    input_tokens: int = 0
    output_tokens: int = 0
    usd: float = 0.0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(*map(add, _counts(self), _counts(other)))

    def __repr__(self) -> str:
        rare = "".join(f", {name}={count}" for name, count in list(zip(USAGE, _counts(self), strict=True))[2:] if count)
        return f"Usage(input_tokens={self.input_tokens}, output_tokens={self.output_tokens}{rare})"

    @property
    def total(self) -> int:
        """Input and output tokens together."""
        return self.input_tokens + self.output_tokens


USAGE: Final = tuple(each.name for each in fields(Usage))
"""The names of what a usage counts."""
_counts = attrgetter(*USAGE)


def as_usage(value: Any) -> Usage:
    """Return the usage that a value stands for: one that was dumped, or an `LLMTokenUsage`."""
    if not isinstance(value, dict) and not hasattr(value, "to_usage"):
        raise ArgumentTypeError(f"the usage of a message is a Usage, or its counts, not {value!r:.100}", "usage")
    return Usage(**cast("dict[str, Any]", value)) if isinstance(value, dict) else value.to_usage()


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """The description of a tool that is sent to a model: its name, its purpose, a JSON schema of its arguments."""

    name: str
    description: str
    parameters: dict[str, Any]
    strict: bool = False


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's wish to call a tool. `arguments` is JSON text as the model wrote it."""

    id: str
    name: str
    arguments: str


_LISTS: Final = (Iterator, Sequence, Set, ValuesView)


def as_tuple(name: str, value: Any) -> tuple[Any, ...]:
    """Return a list of a message as it holds it."""
    if value.__class__ is not tuple and (isinstance(value, str) or not isinstance(value, _LISTS)):
        raise ArgumentTypeError(f"the {name} of a message are a list, not {type(value).__name__}", name)
    return tuple(cast("Iterable[Any]", value))


def as_calls(value: Any) -> tuple[ToolCall, ...]:
    """Return the calls of a message, which may have been dumped."""
    if value.__class__ is tuple and {*map(type, value)} <= {ToolCall}:
        return value
    given = as_tuple("tool_calls", value)
    return tuple(each if isinstance(each, ToolCall) else ToolCall(**each) for each in given)


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A tool call as content of a message to an executor."""

    name: str
    parameters: dict[str, Any] | str = field(default_factory=dict[str, Any])


@dataclass(slots=True)
class ActionReturn:
    """The outcome of a tool call."""

    args: dict[str, Any] | None = None
    url: str | None = None
    type: str | None = None
    result: list[dict[str, Any]] | None = None
    errmsg: str | None = None
    state: ActionStatusCode = ActionStatusCode.SUCCESS
    thought: str | None = None
    valid: ActionValidCode = ActionValidCode.OPEN

    def replace(self, **changes: Any) -> ActionReturn:
        """Return a shallow copy with some of its values replaced."""
        return ActionReturn(**{**dict(zip(ActionReturn.__match_args__, _returned(self), strict=True)), **changes})

    __replace__ = replace

    def __deepcopy__(self, memo: dict[int, Any]) -> ActionReturn:
        # The meaning of the standard library's own, at a fifth of its price: each tool's result is copied.
        args, result = copied(self.args, memo), copied(self.result, memo)
        return ActionReturn(args, self.url, self.type, result, self.errmsg, self.state, self.thought, self.valid)

    def format_result(self) -> str:
        """Render the result as text: text items as they are, others as `[type](content)`, one a line."""
        shown = [(item["type"], item["content"]) for item in self.result or ()]
        return "\n".join([str(content) if kind == "text" else f"[{kind}]({content})" for kind, content in shown])


_returned = attrgetter(*ActionReturn.__match_args__)
ATOMS = frozenset({str, int, float, bool, bytes, frozenset, NoneType, ToolCall, Usage, *STATUS_CODES})
"""The classes of values that never change, and need no copy."""


def copied(value: Any, memo: dict[int, Any]) -> Any:
    """Return a deep copy: `copy.deepcopy`, with a short way for what messages mostly hold."""
    kind = value.__class__
    if kind is not dict and kind is not list and kind is not ActionReturn:
        if kind in ATOMS or (kind is tuple and ATOMS.issuperset(map(type, value))):  # a tuple: a message's tool calls
            return value
        try:
            return copy.deepcopy(value, memo)
        except Exception:  # a generator, a lock, a connection: there is one of it, and it travels as itself
            return value
    new = memo.get(id(value))
    if new is None and kind is ActionReturn:
        new = memo[id(value)] = value.__deepcopy__(memo)
    elif new is None:
        new = memo[id(value)] = value.copy()
        for key, each in new.items() if kind is dict else enumerate(new):
            if each.__class__ not in ATOMS:
                new[key] = copied(each, memo)
    return new
