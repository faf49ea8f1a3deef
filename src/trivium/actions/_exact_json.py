"""JSON of a model, read exactly: no key twice, no NaN, no boolean for a number, and a Decimal as it is written."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from json import JSONDecodeError
from math import isfinite
from typing import Any, Final

from pydantic import ValidationError

_MORE: Final = re.compile(r'<think>|[\[\]{}]|"\s*:\s*\Z')
"""Signs that an object is part of something larger, one of several, or of thoughts without an end."""


class _Written(float):
    """A number that a float cannot hold as it is written; a field of type `Decimal` gets it in full."""

    written: str

    def __str__(self) -> str:
        return self.written


def read_exact_json(text: str) -> Any:
    """Return the value of a text; words, thoughts or a code fence may stand around an object if it is the only one.

    Raises:
        ValueError: it is no JSON, an object has a key twice, or a number is not finite.
    """
    text = text.removeprefix("\ufeff")
    try:
        return _read(text)
    except JSONDecodeError:
        said = text.rpartition("</think>")[2]
        start, end = said.find("{"), said.rfind("}") + 1
        if not 0 <= start < end or _MORE.search(said[:start]) or _MORE.search(said[end:]):
            raise
    return _read(said[start:end])


def refuse_booleans(validate_json: Callable[..., object], text: str) -> None:
    """Refuse JSON that has booleans where its type has numbers: pydantic takes them for 1 and 0.

    Args:
        validate_json: the method of the type.
        text: the JSON; a text without the words true and false need not be looked at.

    Raises:
        ValueError: it has one.
    """
    try:
        validate_json(text, strict=True)
    except ValidationError as error:
        for each in error.errors(include_url=False):
            if isinstance(each["input"], bool) and each["type"] in ("int_type", "float_type"):
                place = "".join(f"{part}: " for part in each["loc"])
                raise ValueError(f"{place}{json.dumps(each['input'])} stands where a number is asked for") from None


def _read(text: str) -> Any:
    return json.loads(text, object_pairs_hook=_with_each_key_once, parse_float=_finite, parse_constant=_finite)


def _finite(text: str) -> float:
    if not isfinite(number := float(text)):
        raise ValueError(f"{text} is no number in JSON")
    if repr(number) == text:  # most
        return number
    exact = _Written(number)
    exact.written = text
    return exact


def _with_each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):  # which of the values counts is anybody's guess
        raise ValueError(f"a key stands twice in one object: {', '.join(key for key, _ in pairs)}")
    return found
