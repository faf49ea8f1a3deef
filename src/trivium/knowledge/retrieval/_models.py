"""Small questions to a model, whose answers have a form."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from trivium.commander import portable
from trivium.exceptions import ModelError
from trivium.llms import LanguageModel, Request
from trivium.llms._call import ask

__all__ = ["MAX_TOKENS", "answer_of", "numbered", "schema_of"]

MAX_TOKENS: Final = 300
"""Small models run on within a schema: their answers are short ones."""


@portable
async def answer_of(
    model: LanguageModel, instruction: str, question: str, schema: Mapping[str, Any]
) -> dict[str, Any] | None:
    """What a model answers to one question, in the form of a schema of an object; None where it cannot.

    A limit that was reached, a deadline and a stop are no failures of the model: they are raised.
    """
    messages = [{"role": "system", "content": instruction}, {"role": "user", "content": question}]
    parameters = {"temperature": 0, "max_tokens": MAX_TOKENS}
    try:
        reply = await ask(model, Request(messages, output_schema=schema, parameters=parameters))
        found = json.loads(reply.text.strip().removeprefix("```json").removeprefix("```").removesuffix("```"))
    except (ModelError, ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", found) if isinstance(found, dict) else None


def schema_of(**properties: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of an object that has just these, all of them."""
    return {
        "type": "object",
        "properties": {name: dict(each) for name, each in properties.items()},
        "required": list(properties),
        "additionalProperties": False,
    }


def numbered(texts: Sequence[str]) -> str:
    """Texts under their numbers, from 1."""
    return "\n\n".join(f"[{number}] {text}" for number, text in enumerate(texts, 1))
