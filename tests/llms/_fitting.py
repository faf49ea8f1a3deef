"""Whether a request's body is what a provider's own package says that it takes."""

from __future__ import annotations

import types
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Literal, NotRequired, Required, Union, get_args, get_origin

from typing_extensions import get_type_hints, is_typeddict  # the package's own are of this module

__all__ = ["misfit"]


def misfit(value: Any, hint: Any, at: str = "body") -> str:
    """The first place of a JSON value that a typed dict has no word for, or ""."""
    origin, choices = get_origin(hint), get_args(hint)
    if hint is Any or hint is object:
        return ""
    if origin in (Annotated, Required, NotRequired):
        return misfit(value, choices[0], at)
    if origin in (Union, types.UnionType):
        found = [misfit(value, each, at) for each in choices]
        return "" if "" in found else max(found, key=len)  # the longest path came furthest
    if origin is Literal:
        return "" if value in choices else f"{at} is {value!r}"
    if is_typeddict(hint):
        return _misfit_of_keys(value, hint, at)
    if origin in (dict, Mapping):
        return "" if isinstance(value, dict) else f"{at} is no object"
    if choices:
        if not isinstance(value, list):
            return f"{at} is no list"
        found = (misfit(each, choices[0], f"{at}[{index}]") for index, each in enumerate(value))  # pyright: ignore
        return next(filter(None, found), "")
    return "" if isinstance(value, hint) else f"{at} is {value!r}"


def _misfit_of_keys(value: Any, hint: Any, at: str) -> str:
    if not isinstance(value, dict):
        return f"{at} is no object"
    hints = _hints(hint)
    for key in value:  # pyright: ignore
        if key not in hints:
            return f"{at}.{key} is unknown"
    for key in hint.__required_keys__:
        if key not in value:
            return f"{at}.{key} is missing"
    found = (misfit(each, hints[key], f"{at}.{key}") for key, each in value.items())  # pyright: ignore
    return next(filter(None, found), "")


@cache
def _hints(hint: Any) -> dict[str, Any]:
    return get_type_hints(hint, include_extras=True)
