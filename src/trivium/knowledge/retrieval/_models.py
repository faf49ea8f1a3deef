"""Small requests to a language model for an object of a given schema."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from trivium.commander import driver_neutral
from trivium.exceptions import ModelError
from trivium.llms import ModelProtocol, Request
from trivium.llms.lowlevel import call_model

MAX_TOKENS: Final = 300
"""Limit of an answer in tokens: within a schema, small models may go on without end."""


@driver_neutral
async def request_object(
    model: ModelProtocol, instruction: str, question: str, schema: Mapping[str, object]
) -> dict[str, Any] | None:
    """Ask a model one question and return the JSON object of its answer, or None if the model fails.

    A limit that was reached, a deadline and a cancellation are not failures of the model: they are raised.

    Args:
        model: any model.
        instruction: the system message.
        question: the user message.
        schema: JSON schema of the object.
    """
    messages = [{"role": "system", "content": instruction}, {"role": "user", "content": question}]
    parameters = {"temperature": 0, "max_tokens": MAX_TOKENS}
    try:
        reply = await call_model(model, Request(messages, output_schema=schema, parameters=parameters))
        found = json.loads(reply.text.strip().removeprefix("```json").removeprefix("```").removesuffix("```"))
    except (ModelError, ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", found) if isinstance(found, dict) else None


def object_schema(**properties: Mapping[str, object]) -> dict[str, object]:
    """Return the JSON schema of an object with exactly these properties, all required."""
    return {
        "type": "object",
        "properties": {name: dict(each) for name, each in properties.items()},
        "required": list(properties),
        "additionalProperties": False,
    }


def number_texts(texts: Sequence[str]) -> str:
    """Return the texts below each other, each after its number in brackets, from 1.

    >>> number_texts(["red", "blue"])
    '[1] red\\n\\n[2] blue'
    """
    return "\n\n".join(f"[{number}] {text}" for number, text in enumerate(texts, 1))


def named_places(answer: Mapping[str, object] | None, name: str, count: int) -> list[int] | None:
    """Return the places, from 0, that a model named by their numbers, each once; None if its answer is not valid.

    An answer is valid if it names none, or at least one that there is.

    Args:
        answer: the object of the answer, or None.
        name: the property with the list of numbers.
        count: the number of places.

    >>> named_places({"best": [2, "3", 99]}, "best", 3), named_places({"best": [99]}, "best", 3)
    ([1, 2], None)
    """
    given = (answer or {}).get(name)
    if not isinstance(given, list):
        return None
    listed = cast("list[object]", given)
    places = list(dict.fromkeys(each - 1 for each in map(integer_of, listed) if each and 0 < each <= count))
    return places if places or not listed else None


def integer_of(value: object) -> int | None:
    """Return an integer, which may be written as text; None for any other value.

    >>> integer_of("3"), integer_of(True)
    (3, None)
    """
    if isinstance(value, str) and re.fullmatch("[0-9]{1,9}", value.strip()):
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
