"""Partial answers of a type: while the model streams, those who listen get the value so far."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from trivium.commander import CallNode, current
from trivium.commander.lowlevel import change_scope, emit, scope_of
from trivium.llms.lowlevel import model_node
from trivium.module import PartialEvent
from trivium.schema import Message, ModelStatusCode

if TYPE_CHECKING:
    from trivium.agents._answer_format import AnswerFormat
    from trivium.events import RunEvent


def listening_node(form: AnswerFormat) -> CallNode | None:
    """Return the node of a model call whose partial answers are events; None where nobody listens.

    The agent's call emits the value that the text states so far, each time that it changes.
    """
    above = current.get()
    if above is None or not scope_of(above).listeners:
        return None
    turn, node = cast("CallNode", above), model_node()
    text, last = "", None

    def listen(event: RunEvent) -> None:
        nonlocal text, last
        if event.kind != "delta" or not isinstance(event.data, str):
            return
        text += event.data
        value = form.partial_value(text)
        if value is not None and value != last:
            last = value
            message = Message(content=text, sender=turn.name, stream_state=ModelStatusCode.STREAM_ING)
            emit(turn, PartialEvent, message.replace(output=value))

    change_scope(node, listeners=(listen,))
    return node
