"""Values and their types: whether a value has a type, and a value as text and back."""

from __future__ import annotations

import json
import typing
from collections.abc import Iterable, Mapping
from inspect import signature
from types import UnionType
from typing import Any, Final, Literal, TypeAlias, Union, get_args, get_origin

from pydantic import BaseModel

PrimitiveType: TypeAlias = int | float | bool | str
_YES: Final = ("true", "yes", "1")


def is_instance_of(obj: Any, type_hint: Any) -> bool:
    """Return True if a value has a type, and so has each of its items.

    Args:
        obj: the value.
        type_hint: a class, Any, or a union, Literal, list, tuple, set or mapping of types.

    Example:
        >>> is_instance_of([1, None], list[int | None]), is_instance_of({"a": "b"}, dict[str, int])
        (True, False)
    """
    if type_hint is Any:
        return True
    origin, kinds = get_origin(type_hint), get_args(type_hint)
    if origin is Literal:
        return any(type(obj) is type(each) and obj == each for each in kinds)
    if origin in (Union, UnionType):
        return any(is_instance_of(obj, each) for each in kinds)
    if not isinstance(obj, origin or type_hint):
        return False
    columns: tuple[Iterable[Any], ...] = ()
    if issubclass(type(obj), Mapping):
        columns = obj, obj.values()
    elif issubclass(type(obj), (list, tuple, set, frozenset)):
        columns = (obj,)
    if origin is tuple and type_hint is not typing.Tuple and kinds[1:] != (...,):  # noqa: UP006 - the bare one
        columns = tuple(zip(*columns, strict=True))
        if len(columns) != len(kinds):
            return False
    return all(is_instance_of(item, kind) for items, kind in zip(columns, kinds, strict=False) for item in items)


def to_string(msg: Any) -> str:
    """Return a value as text: a text as it is, None as "", all else as JSON if that can be.

    Example:
        >>> to_string({"a": [1]}), to_string(None), to_string(1j)
        ('{"a": [1]}', '', '1j')
    """
    if msg is None or isinstance(msg, str):
        return msg or ""
    if isinstance(msg, BaseModel):
        return msg.model_dump_json()
    try:
        return json.dumps(msg)
    except (TypeError, ValueError, RecursionError):
        return str(msg)


def from_string(s: str, output_type: type[PrimitiveType]) -> PrimitiveType | None:
    """Return the number, truth value or text that a text is; None if it is none.

    Args:
        s: the text.
        output_type: int, float, bool or str. For bool, "true", "yes" and "1" are True, all else is False.

    Example:
        >>> from_string("12", int), from_string("twelve", int), from_string("Yes", bool)
        (12, None, True)
    """
    if output_type is bool:
        return s.lower() in _YES
    try:
        return output_type(s) if output_type in (int, float, str) else None
    except ValueError:
        return None


def is_callable(obj: Any, k: int = 1) -> bool:
    """Return True if an object can be called and has `k` parameters.

    Example:
        >>> is_callable(lambda x: x), is_callable(lambda x, y: x), is_callable(3)
        (True, False, False)
    """
    try:
        return callable(obj) and len(signature(obj).parameters) == k
    except ValueError:  # some builtins do not tell
        return False
