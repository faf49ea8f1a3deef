"""Tool calls of models that make none by themselves: told in words, and read from answers held to a JSON schema."""

from __future__ import annotations

from collections.abc import Iterator

from trivium.llms._protocol import Delta, Finish, Request
from trivium.llms.local._constraints import Constraint, Envelope, chat_messages, constraint
from trivium.llms.wire._answers import MessageReader
from trivium.schema import JSONObject, Usage

__all__ = ["SchemaCallReader", "without_tools"]


def without_tools(request: Request) -> tuple[Request, Constraint]:
    """A request whose tools stand in its system message, and whose answer has the form of a call; and that form.

    Raises:
        ConfigurationError: `tool_choice` names no tool of the request.
    """
    form = constraint(request)
    schema = None if form.schema is None else {key: value for key, value in form.schema.items() if key[:2] != "x-"}
    messages = chat_messages(request.messages, form)
    return request._replace(messages=messages, tools=(), tool_choice="auto", output_schema=schema), form


class SchemaCallReader:
    """Takes the calls out of the text of an answer.

    Args:
        message: reads the answer.
        form: what the answer was held to.
    """

    def __init__(self, message: MessageReader, form: Constraint) -> None:
        self._message = message
        self._envelope = Envelope(form, form.tool)

    @property
    def usage(self) -> Usage | None:
        """What the server has said that the answer used, so far."""
        return self._message.usage

    @property
    def over(self) -> bool:
        """Whether the server has said that nothing follows."""
        return self._message.over

    def read(self, chunk: JSONObject) -> Iterator[Delta]:
        """The deltas of one event's object."""
        return self._taken_out(self._message.read(chunk))

    def whole(self, answer: JSONObject) -> Iterator[Delta]:
        """The deltas of a whole answer."""
        return self._taken_out(self._message.whole(answer))

    def end(self, done: bool) -> Iterator[Delta]:
        """What is left of the text, usage, and why it stopped."""
        return self._taken_out(self._message.end(done))

    def _taken_out(self, deltas: Iterator[Delta]) -> Iterator[Delta]:
        for delta in deltas:
            if isinstance(delta, str):
                yield from self._envelope.feed(delta)
            elif isinstance(delta, Finish):
                yield from self._envelope.end(delta.reason != "length")
                yield Finish("tool_calls") if self._envelope.called and delta.reason == "stop" else delta
            else:
                yield delta
