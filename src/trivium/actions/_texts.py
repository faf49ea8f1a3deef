"""Results of tools as texts, which models read."""

from __future__ import annotations

import json
from enum import Enum
from typing import Any

from pydantic_core import PydanticSerializationError

from trivium.events import has_set, in_order, to_sorted_json
from trivium.exceptions import RecursionTooDeepError
from trivium.schema import Message


def sendable(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot encode, by question marks: a name of a file may have them."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def sendable_json(value: Any) -> Any:
    """Return a value of JSON whose texts can be encoded; see `sendable`."""
    return json.loads(sendable(_to_short_json(value)))


def as_text(value: Any) -> str:
    """Render a tool's result as a model reads it: text as it is, even in bytes, else JSON where possible, sets sorted.

    What UTF-8 cannot encode is a question mark in it. Of bytes that are no text it has the size.
    """
    if value.__class__ is str:  # first: most are
        return sendable(value)
    if value.__class__ is int:
        return str(value)  # as JSON has it, ten times as fast
    if isinstance(value, Message | Enum):
        return as_text(value.content if isinstance(value, Message) else value.value)
    return sendable(value if isinstance(value, str) else _to_text(value))


def _to_text(value: Any) -> str:
    if (found := _bytes_in(value)) is not None:
        try:
            return found.decode()
        except UnicodeDecodeError:
            return f"{len(found):,} bytes"
    if hasattr(value, "model_dump_json") and not isinstance(value, type):
        try:
            text = value.model_dump_json()
        except PydanticSerializationError:  # it has a text that UTF-8 cannot encode
            return _to_json(value)
        return _with_sorted_sets(text, value) if "[" in text and has_set(value) else text
    try:
        return _to_json(value)
    except (TypeError, ValueError):
        return str(value)
    except RecursionError:
        raise RecursionTooDeepError.of(f"a {type(value).__name__}") from None


def _bytes_in(value: Any) -> bytes | bytearray | None:
    """Return bytes as they are, and the content of a file; None for anything else, and for a file that has none."""
    if hasattr(value, "to_data_uri") and not isinstance(value, type):  # as `FileAttachment` has it
        return value.content or None
    return value if isinstance(value, bytes | bytearray) else None


def _with_sorted_sets(text: str, value: object) -> str:
    """Return the JSON of a model with its sets in one order, or as it is where that cannot be read again."""
    try:
        made = json.loads(text)
        return text if (sorted_ := in_order(made, value)) == made else _to_short_json(sorted_)
    except (TypeError, ValueError, RecursionError):  # text of another form, or an integer of over 4,300 digits
        return text


def to_json_parts(value: object) -> Any:
    """Convert a value to what JSON has. Files are read as in `as_text`.

    An iterator is not consumed: it may be endless, and the caller gets it too.
    """
    if _bytes_in(value) is not None:
        return _to_text(value)
    return repr(value) if hasattr(value, "__next__") else to_sorted_json(value)


_to_json = json.JSONEncoder(ensure_ascii=False, default=to_json_parts).encode
_to_short_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode  # as pydantic writes a model
