"""Tool calls of models without native ones: described in the system message, read from answers under a schema."""

from __future__ import annotations

from collections.abc import Iterator

from trivium.llms._protocol import Delta, Finish, Request
from trivium.llms.local._constraints import Constraint, Envelope, chat_messages, constraint
from trivium.llms.wire._answers import ChangedReader, MessageReader


def without_tools(request: Request) -> tuple[Request, Constraint]:
    """Return a request whose system message describes the tools and whose answer is a call, and the answer's form.

    Raises:
        ConfigurationError: `tool_choice` names no tool of the request.
    """
    form = constraint(request)
    schema = None if form.schema is None else {key: value for key, value in form.schema.items() if key[:2] != "x-"}
    messages = chat_messages(request.messages, form)
    return request._replace(messages=messages, tools=(), tool_choice="auto", output_schema=schema), form


class SchemaCallReader(ChangedReader):
    """Reads the calls in the text of an answer.

    Args:
        message: the reader of the answer.
        form: the form to which the answer was constrained.
    """

    def __init__(self, message: MessageReader, form: Constraint) -> None:
        super().__init__(message)
        self._envelope = Envelope(form, form.tool)

    def changed(self, deltas: Iterator[Delta]) -> Iterator[Delta]:
        """Yield the deltas with the calls that stand in the text."""
        for delta in deltas:
            if isinstance(delta, str):
                yield from self._envelope.feed(delta)
            elif isinstance(delta, Finish):
                yield from self._envelope.end(delta.reason != "length")
                yield Finish("tool_calls") if self._envelope.called and delta.reason == "stop" else delta
            else:
                yield delta
