"""The options that `@tool` and `@tool_api` gave a function, and those that it has from what it wraps or overrides."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

TOOL_OPTIONS: Final = "__trivium_options__"
"""The mark on a function that holds its options."""
_OF_ONE_METHOD: Final = ("retries", "retry_on")
_HARMLESS: Final = (("effect", "read"), ("effect", "idempotent"), ("effect", "composite"), ("source", "program"))


def mark_of(function: object, name: str) -> Any:
    """Return an attribute that a decorator has set on a function; None if it is not there."""
    return getattr(function, name, None)


def options_of(function: Callable[..., object], given: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
    """The options of a function's tool, its own or those of another: what needs an approval must not lose it unseen.

    A partial adds its own to those of its function. Without its own, a wrapper has those of what it wraps, an object
    those of its `__call__`, and a method those that bind the method that it overrides.

    Args:
        function: the function.
        given: its own options; by default those that it was given before.
    """
    own: Mapping[str, Any] = given or mark_of(function, TOOL_OPTIONS) or {}
    if isinstance(function, partial):
        return {**options_of(function.func), **own}  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
    wrapped = mark_of(function, "__wrapped__")
    if own or (callable(wrapped) and (own := options_of(wrapped))):
        return own
    if not inspect.ismethod(function):
        return options_in_class(type(function), "__call__")
    owner = function.__self__
    return options_in_class(owner if isinstance(owner, type) else type(owner), mark_of(function, "__name__") or "")


def options_in_class(kind: type, name: str) -> Mapping[str, Any]:
    """The options of the method of a class; if it has none, those that bind the nearest one that it overrides.

    Others say that a call is harmless or may be repeated. An override can do more.
    """
    methods = [vars(base)[name] for base in kind.__mro__ if name in vars(base)]
    for method in methods:
        if found := mark_of(mark_of(method, "__func__") or method, TOOL_OPTIONS):  # a class method holds its function
            return found if method is methods[0] else {each: found[each] for each in found if _binds(each, found[each])}
    return {}


def _binds(option: str, value: object) -> bool:
    return option not in _OF_ONE_METHOD and (option, value) not in _HARMLESS
