"""What a task tells its listeners."""

from __future__ import annotations

from typing import NamedTuple

from trivium.commander import Event
from trivium.schema import Message

__all__ = ["Response", "ResponseEvent"]


class Response(NamedTuple):
    """What a responder had to say when it was its turn.

    Args:
        task: the name of the task.
        responder: "Agent", "LLM", "User", or the name of a sub-task.
        message: what it said; None is nothing.
        could_respond: False where it was passed over, since the message was not for it.
        is_result: whether this is what the step came to; the others tried before it.
    """

    task: str
    responder: str
    message: Message | None
    could_respond: bool = True
    is_result: bool = False


class ResponseEvent(Event[Response]):
    """Somebody in a task was asked for a response; on the node of the task's step."""

    __slots__ = ()
    kind = "response"
