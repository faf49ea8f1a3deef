"""Small requests to a language model for an object of a given schema."""

from __future__ import annotations

import json
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


def integers_in(given: object) -> list[int]:
    """Return the integers of a list; nothing of any other value.

    >>> integers_in([2, "3", True, 4]), integers_in(None)
    ([2, 4], [])
    """
    listed = cast("list[object]", given) if isinstance(given, list) else []
    return [each for each in listed if isinstance(each, int) and not isinstance(each, bool)]
