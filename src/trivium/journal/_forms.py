"""What the codec of the journal asks of values: their names and fields, their texts, and how large they are."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable, Iterator
from datetime import datetime, time, timezone
from typing import Any, Final, cast

from pydantic import BaseModel

from trivium.events import to_sorted_json

_JSON: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_ADDRESS: Final = re.compile(" at 0x[0-9A-Fa-f]{6,16}>")
_MANY: Final = 2_000
"""The parts from which on a value is large; as many are written at once."""


def loses_its_zone(value: Any) -> bool:
    """Tell that a time is one of a zone by its name, or one of two with the same digits: its text has neither."""
    return isinstance(value, datetime | time) and not (value.fold == 0 and isinstance(value.tzinfo, timezone | None))


def json_or_text(value: object) -> Any:
    """Return the JSON of a value as pydantic has it, or else its text; a text of its class if it has neither."""
    for form in (to_sorted_json, _text_of):
        try:
            found = form(value)
            return "".join((found,)) if isinstance(found, str) else found  # a text of no class of its own
        except Exception:  # noqa: S112 - an object of a user's that has no such form
            continue
    return f"<{told(type(value))}>"


def _text_of(value: object) -> str:
    """Return the text of a value, without the addresses of objects: each process has others."""
    return _ADDRESS.sub(">", str(value))


def told(kind: type) -> str:
    """Return the name of a class for people."""
    try:
        return kind.__qualname__ if kind.__module__ == "builtins" else full_name_of(kind)
    except Exception:  # of a metaclass of the user's
        return "value"


def written(value: Any) -> str:
    """Return the JSON of JSON's own values; of a long list in pieces, between which other threads can run."""
    if value.__class__ is list and len(value) > _MANY:
        pieces = (value[at : at + _MANY] for at in range(0, len(value), _MANY))
        return f"[{','.join(_JSON(each)[1:-1] for each in pieces)}]"
    if value.__class__ is dict and any(each.__class__ is list and len(each) > _MANY for each in value.values()):
        return f"{{{','.join(f'{_JSON(key)}:{written(each)}' for key, each in value.items())}}}"
    return _JSON(value)


def is_whole(text: str) -> bool:
    """Return whether a text has no half of a character (a lone surrogate), which UTF-8 cannot hold."""
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False


def clean(text: str) -> str:
    """Return a text that can be written as UTF-8."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def full_name_of(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def below(bases: Iterable[type]) -> Iterator[type]:
    """Yield these classes and all below them."""
    for each in bases:
        yield each
        yield from below(each.__subclasses__())


def field_names_of(kind: Any) -> tuple[str, ...] | None:
    if issubclass(kind, BaseModel):
        return tuple(kind.model_fields)
    if dataclasses.is_dataclass(kind):
        return tuple(each.name for each in dataclasses.fields(kind))
    return getattr(kind, "_fields", None)  # a named tuple has them


def field_values_of(value: Any) -> dict[str, Any]:
    if isinstance(value, BaseModel):
        return {**vars(value), **(value.__pydantic_extra__ or {})}
    kind: type[Any] = value.__class__
    return {name: getattr(value, name) for name in field_names_of(kind) or ()}


def is_large(value: object) -> bool:
    """Return whether a value has so many parts that it takes over a millisecond to write or read it."""
    found, left = 0, [value]
    while left and found < _MANY:
        each: Any = left.pop()
        inner = vars(each).values() if isinstance(each, BaseModel) else each
        if isinstance(each, dict):
            inner = cast("dict[Any, Any]", each).values()
        elif inner is each and not isinstance(each, list | tuple | set | frozenset):
            continue
        found += len(inner)
        left += inner if found < _MANY else ()
    return found >= _MANY
