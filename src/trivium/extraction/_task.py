"""The extraction task: an extractor that answers through a typed message, and a checker that believes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trivium.actions import FinalResultTool, ToolMessage
from trivium.agents import Agent, ChatAgent
from trivium.commander import this_call
from trivium.extraction._case import Case
from trivium.extraction._fields import Field
from trivium.extraction._record import record_message
from trivium.tasks import Task

__all__ = ["Checker", "extraction_task", "instruction"]


def instruction(fields: Sequence[Field]) -> str:
    """What the extractor is told: the fields, and to copy."""
    lines = [f"- {field.name}: {field.description or field.kind}" for field in fields]
    return "\n".join(
        [
            "You read a document and fill in a record. Copy each value exactly as it stands in the document.",
            "Use null for what the document does not state.",
            "",
            "Fields:",
            *lines,
        ]
    )


class Checker(Agent):
    """Accepts a value only if it stands in the document; sends the others back, as often as the case allows."""

    def record(self, record: ToolMessage) -> str | FinalResultTool:
        """Handle the extractor's record."""
        case: Case = this_call().context
        complaints = case.check(record.arguments())
        if complaints and case.tries_left > 0:
            return "These values do not stand in the document. Correct them or use null:\n" + "\n".join(complaints)
        return FinalResultTool(content=case.result())


def extraction_task(fields: Sequence[Field], model: Any) -> Task:
    """A task that fills in the fields from the document that is its run's context, a `Case`.

    Args:
        fields: what to look for.
        model: a model or its name, as for any agent.

    Returns:
        A task; one object serves any number of documents at once, a session each.

    Example:
        >>> from trivium import Document
        >>> from trivium.extraction import Case, parse_fields
        >>> from trivium.testing import ScriptedModel, call_tool
        >>> fields = parse_fields("tenant, rent: money")
        >>> task = extraction_task(fields, ScriptedModel([call_tool("record", tenant="Ada", rent="900 EUR")]))
        >>> case = Case(Document(content="Ada pays EUR 900."), fields)
        >>> task.run(case.question(), context=case).content["fields"]["rent"]["value"]
        {'amount': 900, 'currency': 'EUR'}
    """
    record = record_message(fields)
    extractor = ChatAgent(model, name="extractor", system_message=instruction(fields), parameters={"max_tokens": 800})
    extractor.enable_message(record, handle=False, force=True)
    checker = Checker(name="checker")
    checker.enable_message(record, use=False)
    task = Task(extractor, interactive=False)
    task.add_sub_task(Task(checker, interactive=False, single_round=True))
    return task
