"""Rewriting: questions in other words, which search better."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast

from trivium.commander import driver_neutral, sync_function, sync_method
from trivium.exceptions import ConfigurationError
from trivium.knowledge.retrieval._models import object_schema, request_object
from trivium.llms import ModelProtocol
from trivium.schema import Message

_LONGEST: Final = 500  # characters of a question that a model writes
_STAND_ALONE: Final = (
    "You are given a dialogue and its last question. Write that question so that it can be understood without the "
    "dialogue: put names in the place of words as 'it' or 'they'. Add nothing else, and answer nothing. A question "
    "that can be understood already stays as it is."
)
_SEVERAL: Final = (
    "Write other wordings of the question, to search documents by: with other words for the same things, as a document "
    "would say it. Ask for nothing else, and answer nothing."
)


@driver_neutral
async def stand_alone_question_async(model: ModelProtocol, question: str, dialogue: Sequence[Message | str]) -> str:
    """Reword a question so that it can be understood without the dialogue before it.

    Args:
        model: any model.
        question: the last question.
        dialogue: the messages before it, oldest first; without any, the model is not called.

    Returns:
        The model's wording, or the question itself if the model fails to answer.

    Raises:
        LimitExceededError: the run has reached a limit of model calls, tokens or cost.

    Example:
        >>> from trivium.testing import ScriptedModel
        >>> model = ScriptedModel(['{"question": "When does the lease end?"}'])
        >>> stand_alone_question(model, "When does it end?", ["What is the rent of the lease?", "950 EUR."])
        'When does the lease end?'
    """
    if not dialogue:
        return question
    lines = [each if isinstance(each, str) else f"{each.sender}: {each.content}" for each in dialogue]
    said = "\n".join(lines)
    schema = object_schema(question={"type": "string", "maxLength": _LONGEST})
    answer = await request_object(model, _STAND_ALONE, f"Dialogue:\n{said}\n\nLast question: {question}", schema)
    return _text((answer or {}).get("question")) or question


stand_alone_question = sync_function(stand_alone_question_async)


class QueryRewriter:
    """A step that has a model word a question in several ways; the hits of all wordings are fused.

    The question itself is always the first wording; it is the only one if the model fails to answer.

    Args:
        model: any model.
        wordings: maximum number of added wordings (default 3).

    Raises:
        ConfigurationError: `wordings` is below 1.

    Example:
        >>> from trivium.testing import ScriptedModel
        >>> rewrite = QueryRewriter(ScriptedModel(['{"wordings": ["cost of the flat", "monthly rent"]}']))
        >>> rewrite("What is the rent?")
        ['What is the rent?', 'cost of the flat', 'monthly rent']
    """

    name = "rewrite"

    def __init__(self, model: ModelProtocol, wordings: int = 3) -> None:
        if wordings < 1:
            raise ConfigurationError(f"wordings is {wordings}: give the number of added wordings, at least 1")
        self._model, self._wordings = model, wordings

    @driver_neutral
    async def rewrite_async(self, question: str) -> list[str]:
        """Return the question and other wordings of it.

        Raises:
            LimitExceededError: the run has reached a limit of model calls, tokens or cost.
        """
        text = {"type": "string", "maxLength": _LONGEST}
        schema = object_schema(wordings={"type": "array", "items": text, "maxItems": self._wordings})
        answer = await request_object(self._model, _SEVERAL, f"{self._wordings} wordings of: {question}", schema)
        given = (answer or {}).get("wordings")
        listed = cast("list[object]", given) if isinstance(given, list) else []
        written = [_text(each) for each in listed[: self._wordings]]
        return list(dict.fromkeys([question, *filter(None, written)]))

    __call__ = sync_method(rewrite_async)


def _text(given: object) -> str:
    return " ".join(given.split())[:_LONGEST] if isinstance(given, str) else ""
