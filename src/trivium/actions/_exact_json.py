"""JSON of a model, read exactly: no key twice, no NaN, and no boolean for a number."""

from __future__ import annotations

import json
from collections.abc import Callable
from math import isfinite
from typing import Any

from pydantic import ValidationError


def read_exact_json(text: str) -> Any:
    """Return the value of a text.

    Raises:
        ValueError: it is no JSON, an object has a key twice, or a number is not finite.
    """
    return json.loads(text, object_pairs_hook=_with_each_key_once, parse_float=_finite, parse_constant=_finite)


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


def _finite(text: str) -> float:
    if not isfinite(number := float(text)):
        raise ValueError(f"{text} is no number in JSON")
    return number


def _with_each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):  # which of the values counts is anybody's guess
        raise ValueError(f"a key stands twice in one object: {', '.join(key for key, _ in pairs)}")
    return found
