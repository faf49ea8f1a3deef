"""The typed message through which a model answers: one entry for each field."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from trivium.actions import ToolMessage
from trivium.extraction._fields import Field, json_schema
from trivium.schema import ToolSpec


def record_message(fields: Sequence[Field]) -> type[ToolMessage]:
    """Make a tool message `record` with these fields.

    Args:
        fields: the fields, in the order in which the model is to answer.

    Returns:
        A class: its spec holds the fields' JSON schema, its objects the values that a model proposed.

    Example:
        >>> from trivium.extraction import parse_fields
        >>> Record = record_message(parse_fields("tenant, rent: number"))
        >>> Record.parse('{"tenant": "Ada", "rent": 3}').arguments()
        {'tenant': 'Ada', 'rent': 3}
    """

    schema = json_schema(fields)

    class Record(ToolMessage):
        _effect = "composite"  # a durable run checks the values again: what is found stands in the case
        request: str = "record"
        purpose: str = "To give the values that stand in the document, copied exactly; null where it states none."
        found: dict[str, Any]  # apart from the message's own fields: a document may state a purpose, and has an id

        @classmethod
        def spec(cls) -> ToolSpec:
            return ToolSpec(cls.name(), cls.model_fields["purpose"].default, schema, strict=True)

        @classmethod
        def _made_of(cls, values: object, *, is_exact: bool = False) -> Self:
            return super()._made_of({"found": values}, is_exact=is_exact)

        def arguments(self) -> dict[str, Any]:
            return self.found

    return Record
