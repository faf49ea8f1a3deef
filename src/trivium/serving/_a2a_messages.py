"""What clients of A2A say and ask for. No I/O."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Final, NamedTuple, cast

from trivium.events import JSONObject
from trivium.serving._approvals import DECISION_BESIDE, Verdict
from trivium.serving._http import objects_in, page_asked, text_field
from trivium.serving._openai import attached
from trivium.serving._wire import Failure

MOST_IN_PAGE: Final = 100
_FORM: Final = (
    "the task waits for approvals: decide on each of them, in a part whose data is "
    '{"approvals": [{"digest": …, "approved": true or false, "reason": …}]}'
)


def object_in(given: JSONObject, name: str) -> JSONObject:
    """Return an object within another one; one that is not there is empty.

    Raises:
        Failure: it is something else.
    """
    found: object = given.get(name)
    if found is not None and not isinstance(found, dict):
        raise Failure(422, "InvalidParams", f"{name} is an object")
    return cast("JSONObject", found or {})


# ---- messages
def parse_message(params: JSONObject) -> JSONObject:
    """Return the message of a client, with the fields that are read here.

    Raises:
        Failure: there is none, or a field of it is missing or invalid.
    """
    given = object_in(params, "message")
    names = {name: text_field(given, name) for name in ("messageId", "contextId", "taskId")}
    parts = objects_in(given.get("parts"))
    if not names["messageId"] or not parts or given.get("role") != "ROLE_USER":
        raise Failure(422, "InvalidParams", "message has a messageId, the role ROLE_USER, and parts, at least one")
    return {**names, "role": "ROLE_USER", "parts": parts}


def spoken(message: JSONObject) -> list[JSONObject]:
    """Return the parts of a message as OpenAI's protocols have them.

    Raises:
        Failure: the module cannot read one.
    """
    return [_read(part) for part in message["parts"]]


def _read(part: JSONObject) -> JSONObject:
    kind = str(part.get("mediaType") or "application/octet-stream")
    match part:
        case {"text": str(text)}:
            return {"type": "text", "text": text}
        case {"data": data}:
            return {"type": "text", "text": json.dumps(data, ensure_ascii=False)}
        case {"raw": str(raw)}:
            return attached(f"data:{kind};base64,{raw}", kind, part.get("filename"))
        case {"url": str(url)} if kind.startswith("image/") and url.startswith("https://"):
            return attached(url, kind)
        case {"url": _}:
            text = "by their url only images at https://… are read here: send other files as raw, their bytes in base64"
            raise Failure(422, "ContentTypeNotSupported", text)
        case _:
            raise Failure(422, "InvalidParams", "a part has one of text, data, raw and url")


def parse_decisions(message: JSONObject) -> dict[str, Verdict]:
    """Return what a message decides on calls that wait, by their digests.

    Raises:
        Failure: it decides nothing, or says something else beside it.
    """
    data: list[object] = [part.get("data") for part in message["parts"]]
    given = [cast("JSONObject", each) if isinstance(each, dict) else {} for each in data]
    found = [decision for each in given for decision in objects_in(each.get("approvals")) or ()]
    if not found:
        raise Failure(422, "InvalidParams", _FORM)
    if any([*each] != ["approvals"] for each in given):
        raise Failure(422, "InvalidParams", f"the message holds {DECISION_BESIDE}")
    return {text_field(each, "digest"): Verdict.parse(each, _FORM, ("digest",)) for each in found}


# ---- tasks
def history_length(params: JSONObject) -> int | None:
    """Return how many messages of its history a task is sent with; None: all.

    Raises:
        Failure: it is no number from 0.
    """
    return _number(params, "historyLength", 0, 1 << 31)


def _number(params: JSONObject, name: str, least: int, most: int) -> int | None:
    found: object = params.get(name)
    if found is None:
        return None
    if not isinstance(found, int) or isinstance(found, bool) or not least <= found <= most:
        raise Failure(422, "InvalidParams", f"{name} is a whole number from {least} to {most}")
    return found


def cut_task(task: JSONObject, messages: int | None, with_artifacts: bool = True) -> JSONObject:
    """Return a task with the last messages of its history, and with its artifacts or without them."""
    without = {*(["history"] if messages == 0 else []), *([] if with_artifacts else ["artifacts"])}
    kept = {name: value for name, value in task.items() if name not in without}
    return {**kept, "history": kept["history"][-messages:]} if messages else kept


class TaskQuery(NamedTuple):
    """The tasks that a client wants to see.

    Args:
        context: their conversation; "" for all.
        state: their state; "" for all.
        since: the least time of their status, in seconds since the epoch.
        before: the time and the id of the last task of the page before; None: this is the first page.
        size: how many at once.
        messages: see `history_length`.
        with_artifacts: whether they have them.
    """

    context: str
    state: str
    since: float
    before: tuple[float, str] | None
    size: int
    messages: int | None
    with_artifacts: bool

    @classmethod
    def parse(cls, params: JSONObject) -> TaskQuery:
        """Return what the parameters of ListTasks say.

        Raises:
            Failure: one of them is invalid.
        """
        state = text_field(params, "status")
        before = page_asked(text_field(params, "pageToken") or None, "pageToken is the nextPageToken of an answer")
        return cls(
            text_field(params, "contextId"), "" if state == "TASK_STATE_UNSPECIFIED" else state,
            _time(text_field(params, "statusTimestampAfter")), before,
            _number(params, "pageSize", 1, MOST_IN_PAGE) or MOST_IN_PAGE // 2, history_length(params),
            params.get("includeArtifacts") is True,
        )  # fmt: skip


def _time(text: str) -> float:
    try:
        found = datetime.fromisoformat(text) if text else None
    except ValueError:
        found = None
    if text and (found is None or found.tzinfo is None):
        raise Failure(422, "InvalidParams", "statusTimestampAfter is a time as 2026-11-23T10:00:00Z")
    return 0.0 if found is None else found.timestamp()
