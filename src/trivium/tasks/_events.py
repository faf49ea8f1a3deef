"""The events of a task."""

from __future__ import annotations

from typing import Literal, NamedTuple

from trivium.commander import Event
from trivium.events import Display, JSONObject, on_one_line, to_json_value
from trivium.schema import Entity, Message


class Response(NamedTuple):
    """The response of a responder in its turn.

    Args:
        task: the name of the task.
        responder: "Agent", "LLM", "User", or the name of a sub-task.
        message: its response; None: it had none.
        could_respond: False where it was passed over, since the message was not for it.
        is_result: whether this is the outcome of the step; the others were asked before it.
    """

    task: str
    responder: str
    message: Message | None
    could_respond: bool = True
    is_result: bool = False


class ResponseEvent(Event[Response, Literal["response"]]):
    """A responder of a task was asked for a response; emitted at the node of the task's step."""

    __slots__ = ()

    def detail(self, content: bool = False) -> str:
        """Name the responder, and say what came of asking it."""
        task, responder, message, could_respond, is_result = self.data
        if message is None:
            return f"{responder} {'has no response' if could_respond else 'was passed over'} in {task}"
        said = f": {message.content}" if content else ""
        return on_one_line(f"{responder} responds in {task}{' (the result of the step)' if is_result else ''}{said}")

    def display(self) -> Display:
        """Return the text of the response, where it is the outcome of the step and not the user's."""
        _, responder, message, _, is_result = self.data
        text = message.content if message is not None and is_result and responder != Entity.USER else ""
        sender = message.sender if message is not None and responder in tuple(Entity) else ""
        return Display("response", text if isinstance(text, str) else "", responder, sender)

    def fields(self, content: bool = False) -> JSONObject:
        """Return the parts of the response; the message only on request."""
        known = {name: value for name, value in self.data._asdict().items() if name != "message"}
        return {**known, **({"message": to_json_value(self.data.message)} if content else {})}
