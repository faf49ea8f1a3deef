"""Partial answers of a type: while the model streams, those who listen get the value so far."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from trivium.commander import CallNode, current
from trivium.commander.lowlevel import change_scope, emit, scope_of
from trivium.llms.lowlevel import ModelNode, model_node
from trivium.module import PartialEvent
from trivium.schema import Message, ModelStatusCode

if TYPE_CHECKING:
    from trivium.agents._answer_format import AnswerFormat
    from trivium.events import RunEvent

__all__ = ["listening_node"]


class _PartialAnswers:
    """A listener of one model call: emits the value that its text states so far, each time that it changes.

    Args:
        form: the type.
        node: the call of the agent, which emits them.
    """

    __slots__ = ("_form", "_last", "_node", "_text")

    def __init__(self, form: AnswerFormat, node: CallNode) -> None:
        self._form, self._node = form, node
        self._text, self._last = "", None

    def __call__(self, event: RunEvent) -> None:
        """Read one event."""
        if event.kind != "delta" or not isinstance(event.data, str):
            return
        self._text += event.data
        value = self._form.partial_value(self._text)
        if value is not None and value != self._last:
            self._last = value
            message = Message(content=self._text, sender=self._node.name, stream_state=ModelStatusCode.STREAM_ING)
            emit(self._node, PartialEvent, message.replace(output=value))


def listening_node(form: AnswerFormat) -> ModelNode | None:
    """Return the node of a model call whose partial answers are events; None where nobody listens."""
    above = current.get()
    if above is None or not scope_of(above).listeners:
        return None
    node = model_node()
    change_scope(node, listeners=(_PartialAnswers(form, cast("CallNode", above)),))
    return node
