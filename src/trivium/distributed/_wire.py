"""What travels between processes: messages, sessions, events and errors as JSON. No I/O.

What comes in is a person's word, whatever it says of itself: of a message only what it says, who says it and what
goes along with it are read. So nobody outside can forge a tool call, an answer of the model or the end of a task.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any, NoReturn, cast

from pydantic_core import to_jsonable_python

from trivium.actions import ToolCallEvent, ToolResultEvent
from trivium.commander import Event
from trivium.exceptions import DeadlineExceededError, LimitExceededError, ModelError, RunKilledError
from trivium.llms import DeltaEvent, Reasoning
from trivium.schema import Entity, Message, Usage

__all__ = ["Failure", "Session", "as_dict", "as_event", "failure_of", "incoming", "read_json", "returned", "session_of"]

Session = int | str
"""What a session is called outside: a number or a text; a text that writes a number is that number."""

MAX_NAME = 256
_ROLES = frozenset(
    {"assistant", "model", "tool", *(str(entity).lower() for entity in Entity if entity is not Entity.USER)}
)
_FAILURES: tuple[tuple[type[Exception], int, str], ...] = (
    (DeadlineExceededError, 504, "the run took longer than the server allows"),
    (LimitExceededError, 422, "the run reached a limit that the server sets; ask for less"),
    (RunKilledError, 503, "the run was stopped"),
    (ModelError, 502, "the model behind the agent could not answer; the server's log says why"),
)


class Failure(Exception):
    """What a client is told: an HTTP status, a kind, and a text that gives nothing away."""

    def __init__(self, status: int, kind: str, message: str) -> None:
        super().__init__(message)
        self.status, self.kind, self.message = status, kind, message

    def body(self) -> dict[str, Any]:
        """The answer as JSON."""
        return {"error": {"type": self.kind, "message": self.message}}


def failure_of(error: BaseException) -> Failure:
    """What a client is told of an error: its cause where that is known, and nothing of the inside."""
    if isinstance(error, Failure):
        return error
    for kind, status, text in _FAILURES:
        if isinstance(error, kind):
            return Failure(status, kind.__name__, text)
    return Failure(500, "InternalError", "the agent failed; the server's log says why")


def read_json(body: bytes | str) -> Any:
    """JSON as the standard has it: no NaN, and no text that cannot be written again.

    Raises:
        Failure: it is none; status 422.
    """
    try:
        value = json.loads(body, parse_constant=_no_number)
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        raise Failure(422, "InvalidRequest", "the body is not JSON") from None
    return value


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


def session_of(value: Any) -> Session:
    """The session that a client names, in JSON or in a path: `"7"` and `7` are one session, `"07"` is another.

    Raises:
        Failure: it is neither a whole number nor a text of 1 to 256 characters; status 422.

    Example:
        >>> session_of("7"), session_of(7), session_of("07"), session_of("ada")
        (7, 7, '07', 'ada')
    """
    text = str(value) if isinstance(value, int | str) and not isinstance(value, bool) else ""
    if not 0 < len(text) <= MAX_NAME:
        raise Failure(422, "InvalidRequest", f"session_id is a whole number or a text of 1 to {MAX_NAME} characters")
    if len(text) < 20 and text.isascii() and text.removeprefix("-").isdigit() and str(int(text)) == text:
        return int(text)
    return text


def incoming(value: Any, names: Iterable[str], structured: bool) -> list[Message]:
    """The messages that a client sends, as a person's.

    Args:
        value: text, a dict of a message, or a list of these.
        names: of the modules that are served: no sender may pass for one of them.
        structured: take contents that are not text too.

    Raises:
        Failure: it is none of these; status 422.
    """
    many = cast("list[Any]", value) if isinstance(value, list) else [value]
    if not many:
        raise Failure(422, "InvalidRequest", "message is empty: give a text, a message, or a list of them")
    ours = {*_ROLES, *(name.lower() for name in names)}
    return [_incoming(each, ours, structured) for each in many]


def _incoming(value: Any, ours: set[str], structured: bool) -> Message:
    value = {"content": value} if isinstance(value, str) else value
    if not isinstance(value, dict) or "content" not in value:
        raise Failure(422, "InvalidRequest", "a message is a text, or an object with a content")
    given = cast("dict[str, Any]", value)
    if not structured and not isinstance(given["content"], str):
        raise Failure(422, "InvalidRequest", "the content of a message is a text")
    sender = given.get("sender")
    if not isinstance(sender, str) or len(sender) > MAX_NAME or sender.strip().lower() in ours:
        sender = "user"
    kind = given.get("type")
    return Message(
        content=given["content"],
        sender=sender,
        type=kind if isinstance(kind, str) else None,
        extra_info=given.get("extra_info"),
    )


def returned(value: Any) -> Message:
    """The message that a server answered with: what it says, who says it and what it cost, and nothing that acts."""
    given = cast("dict[str, Any]", value)
    kind, usage = given.get("type"), given.get("usage")
    message = Message(
        content=given.get("content"),
        sender=str(given.get("sender") or "user"),
        type=kind if isinstance(kind, str) else None,
        extra_info=given.get("extra_info"),
    )
    return message.replace(usage=_usage(cast("dict[str, Any]", usage))) if isinstance(usage, dict) else message


def _usage(given: Mapping[str, Any]) -> Usage:
    numbers: dict[str, Any] = {each.name: given.get(each.name) for each in fields(Usage)}
    zeros = {each.name: each.default for each in fields(Usage)}
    return Usage(**{name: max(n, 0) for name, n in numbers.items() if isinstance(n, type(zeros[name]))})


def as_dict(value: Any) -> Any:
    """A message, or anything else, as JSON values; what JSON does not know becomes text."""
    return to_jsonable_python(value, fallback=str, inf_nan_mode="null")


def as_event(event: Event) -> dict[str, Any] | None:
    """What a client sees of an event, or None where it is not meant for one."""
    told: dict[str, Any]
    if isinstance(event, DeltaEvent) and isinstance(event.data, str):
        told = {"type": "delta", "text": event.data}
    elif isinstance(event, DeltaEvent) and isinstance(event.data, Reasoning):
        told = {"type": "reasoning", "text": event.data.text}
    elif isinstance(event, ToolCallEvent):
        told = {"type": "tool_call", "name": event.data[0], "arguments": as_dict(event.data[1])}
    elif isinstance(event, ToolResultEvent):
        told = {"type": "tool_result", "result": as_dict(event.data)}
    else:
        return None
    return {**told, "path": event.node._path()}
