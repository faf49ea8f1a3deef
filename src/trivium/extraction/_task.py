"""The extraction task: an extractor that answers by a typed message, and a checker that verifies each value."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from trivium.actions import FinalResultTool, ToolMessage
from trivium.agents import Agent, AgentConfig, ChatAgent, ChatAgentConfig
from trivium.commander import driver_neutral, this_call
from trivium.exceptions import ArgumentTypeError, MalformedAnswerError
from trivium.extraction._case import Case
from trivium.extraction._fields import Field, as_fields, json_schema
from trivium.extraction._record import record_message
from trivium.llms import Delta, LocalModel, Request
from trivium.llms.lowlevel import WrappedModel, deltas_of
from trivium.schema import Message
from trivium.tasks import Task

_TOKENS, _ITEM_TOKENS, _ROW_TOKENS = 120, 20, 60
"""The most tokens of an answer for one value, for one item of a list, and for one group of a list."""

_LONGEST_LIST = 12_000
"""The tokens of the longest answer for a list: servers refuse to be asked for more than their models write."""

_LIKELIEST = 5
"""The likeliest tokens at each place of the answer, beside the one that stands there."""

_INSTRUCTION = (
    "You read a document and take facts out of it. Copy words exactly as they stand in the document. "
    "Use null for what the document does not state."
)
_SIGNAL = re.compile(r"DONE|__PASS__|__SEND__")
"""Words that control a task; a complaint may quote them, and must not end or send anything by them."""


class Checker(Agent):
    """Accepts a value only if it is in the document; has the extractor asked for the others, and for further fields."""

    def record(self, record: ToolMessage, message: Message) -> str | FinalResultTool:
        """Handle the extractor's record."""
        case = _case()
        case.check(record.arguments(), message.logprobs)
        if (question := case.next_question()) is not None:
            return _SIGNAL.sub(lambda found: found[0].lower(), question)
        return FinalResultTool(content=case.result())

    def handle_message_fallback(self, msg: Message) -> str | FinalResultTool:
        """Have an extractor that only talks asked again, then for further fields; the right values of its records stay.

        Raises:
            MalformedAnswerError: it gave no record at all.
        """
        case = _case()
        if (question := case.question_after_talk() or case.next_question()) is not None:
            return question
        if not case.questions:
            raise MalformedAnswerError("the model gave no record; try another model, or fewer fields", str(msg.content))
        return FinalResultTool(content=case.result())


class AskedModel(WrappedModel):
    """A model that sees of the record the fields alone that the case asks for now."""

    @driver_neutral
    async def stream(self, request: Request) -> AsyncGenerator[Delta]:
        """Send the request to the model with the schema of these fields."""
        asked = _case().asked
        tools = [replace(tool, parameters=json_schema(asked)) for tool in request.tools]
        async with aclosing(deltas_of(self._model, request._replace(tools=tools))) as deltas:
            async for delta in deltas:
                yield delta


def extraction_task(fields: Sequence[Field], model: Any) -> Task:
    """Make a task that fills in the fields from a document; the context of its run is the document's `Case`.

    Args:
        fields: the fields.
        model: a model or its name, as for any agent.

    Returns:
        A task; one object serves any number of documents at once, each in its own session.

    Example:
        >>> from trivium import Document
        >>> from trivium.extraction import Case, parse_fields
        >>> from trivium.testing import ScriptedModel, call_tool
        >>> fields = parse_fields("tenant, rent: money")
        >>> task = extraction_task(fields, ScriptedModel([call_tool("record", tenant="Ada", rent="900 EUR")]))
        >>> case = Case(Document(content="Ada pays EUR 900."), fields)
        >>> task.run(case.question(), context=case).content_any["fields"]["rent"]["value"]
        {'amount': 900, 'currency': 'EUR'}

    Raises:
        FieldsError: these are no fields, or two of them have one name.
    """
    fields = as_fields(fields)
    record = record_message(fields)
    parameters = {"max_tokens": 300 + sum(map(_tokens, fields))}
    # A document may have a recipient: it addresses nobody.
    config = ChatAgentConfig(llm=model, name="extractor", recognize_recipient_in_content=False)
    extractor = ChatAgent(config, system_message=_INSTRUCTION, parameters=parameters)
    if isinstance(extractor.model, LocalModel):  # others give none of a tool call, or refuse the parameter
        extractor.parameters = {**parameters, "logprobs": _LIKELIEST}
    extractor.llm = AskedModel(extractor.model)
    extractor.enable_message(record, handle=False, force=True)
    checker = Checker(AgentConfig(llm=None, name="checker", recognize_recipient_in_content=False))
    checker.enable_message(record, use=False)
    task = Task(extractor, interactive=False)
    task.add_sub_task(Task(checker, interactive=False, single_round=True))
    return task


def _case() -> Case:
    case = this_call().context
    if not isinstance(case, Case):
        raise ArgumentTypeError(
            f"the context of an extraction is the Case of its document, not {case!r:.60}: write case = Case(document, "
            "fields), then task.run(case.question(), context=case)",
            "context",
        )
    return case


def _tokens(field: Field) -> int:
    if field.kind == "list":
        return min(field.max_items * (_ROW_TOKENS if field.columns else _ITEM_TOKENS), _LONGEST_LIST)
    return _TOKENS * max(1, len(field.columns))
