"""What the formats share: reading JSON of unknown make, and what stands in a chat message. No I/O."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeAlias, cast

import jiter

from trivium.llms._protocol import ChatMessage, Request
from trivium.llms.wire._answers import replace_surrogates
from trivium.llms.wire._tool_names import legal_names
from trivium.schema import JSONObject, JSONValue

__all__ = [
    "Body",
    "CallNames",
    "Data",
    "arguments_of",
    "arguments_text",
    "data_of",
    "family",
    "fresh_id",
    "get_count",
    "get_dict",
    "get_dicts",
    "get_text",
    "is_json",
    "own_state",
]

_RELEASE: Final = re.compile(r"[-@](\d{8}|\d{4}-\d\d-\d\d|latest|\d{3}|(preview|exp)\b.*)$")


Body: TypeAlias = dict[str, Any]
"""A JSON object that is sent, or a part of it: it holds values that users gave."""


class CallNames(NamedTuple):
    """How tools and calls are called on the way.

    Args:
        tools: what is sent instead of the name of a tool.
        ids: what is sent instead of the id of a call.
        own: the name of a tool by the one that was sent.
        answer: the tool whose arguments are the answer, where an answer must have a form that only a tool can hold it
            to; else "".
        taken: the ids of all calls in the request.
    """

    tools: Mapping[str, str]
    ids: Mapping[str, str]
    own: Mapping[str, str]
    answer: str = ""
    taken: frozenset[str] = frozenset()

    @classmethod
    def of(cls, request: Request, is_answer_a_call: bool) -> CallNames:
        """The names in a request.

        Args:
            request: the question.
            is_answer_a_call: whether the answer must come as the arguments of a tool.
        """
        calls = [call for message in request.messages for call in message.get("tool_calls") or ()]
        tools = [tool.name for tool in request.tools]
        sent = legal_names([*tools, *(called_tool(call) for call in calls)])
        results = (message.get("tool_call_id") for message in request.messages)
        taken = frozenset(str(each) for each in (*(call.get("id") for call in calls), *results) if each)
        answer = "answer" if is_answer_a_call else ""
        while answer and (answer in tools or answer in sent.values()):
            answer += "_"
        return cls(sent, legal_names(sorted(taken)), {name: own for own, name in sent.items()}, answer, taken)


def called_tool(call: ChatMessage) -> str:
    """The name of the tool that a call in a chat message calls."""
    return str(call.get("function", call).get("name"))


def fresh_id(given: Any, taken: Collection[str], prefix: str = "call_") -> str:
    """The id that a server gave a call, or one made up where it is missing or taken: a history with it is valid."""
    known = replace_surrogates(given) if isinstance(given, str) else ""
    return known if known and known not in taken else f"{prefix}{uuid.uuid4().hex[:12]}"


def family(model: str) -> str:
    """A model's name without its release, which is what two names of one model differ in.

    Example:
        >>> family("claude-sonnet-4-5-20250929"), family("models/gemini-3-pro-preview")
        ('claude-sonnet-4-5', 'gemini-3-pro')
    """
    return _RELEASE.sub("", model.rpartition("/")[2].lower())


def own_state(message: ChatMessage, form: str, model: str) -> list[Body]:
    """What a model wants back of its own thoughts in a message; nothing of another form, or of another model."""
    state: Any = message.get("reasoning_state")
    if isinstance(state, Mapping):  # as it was stored
        fields = cast("Mapping[str, Any]", state)
        state = (fields.get("form"), fields.get("model"), fields.get("items"))
    if not isinstance(state, tuple | list) or len(cast("list[Any]", state)) != 3:
        return []
    its_form, its_model, items = cast("list[Any]", state)
    if its_form != form or not isinstance(items, tuple | list) or family(str(its_model)) != family(model):
        return []
    return [cast("dict[str, Any]", item) for item in cast("list[Any]", items) if isinstance(item, dict)]


def arguments_of(call: ChatMessage) -> Body:
    """The arguments of a call in a chat message as an object; others are put into one, as the model wrote them."""
    arguments: Any = call.get("function", call).get("arguments") or {}
    if isinstance(arguments, str):
        try:
            arguments = jiter.from_json(arguments.encode(), allow_inf_nan=False)
        except ValueError:  # NaN and half a character too are no JSON
            return {"arguments": arguments}
    return cast("dict[str, Any]", arguments) if isinstance(arguments, dict) else {"arguments": arguments}


def arguments_text(given: Any) -> str:
    """Arguments as JSON text; a text is what the model wrote, and nothing is nothing."""
    if given is None or isinstance(given, str):
        return replace_surrogates(given or "")
    return replace_surrogates(json.dumps(given, ensure_ascii=False))


class Data(NamedTuple):
    """What a part of a message holds beside text.

    Args:
        kind: its MIME type, "" where that is not said.
        data: its bytes as base64, "" where it is only pointed at.
        url: where it is.
        file_id: what the provider calls it, where it was uploaded.
        name: its file name.
    """

    kind: str = ""
    data: str = ""
    url: str = ""
    file_id: str = ""
    name: str = ""


def data_of(part: ChatMessage) -> Data | None:
    """What a chat message's part `image_url`, `file` or `input_audio` holds; None for any other part."""
    kind = part.get("type")
    value: Any = part.get(str(kind))
    held: dict[str, Any] = dict(cast("Mapping[str, Any]", value)) if isinstance(value, Mapping) else {"url": value}
    if kind == "input_audio":
        return Data(f"audio/{held.get('format') or 'wav'}", str(held.get("data") or ""))
    if kind not in ("image_url", "file"):
        return None
    where = str(held.get("url") or held.get("file_data") or "")
    name, file_id = str(held.get("filename") or ""), str(held.get("file_id") or "")
    if not where.startswith("data:"):
        return Data(url=where, file_id=file_id, name=name)
    mime, _, data = where.removeprefix("data:").partition(";base64,")
    return Data(mime, data, name=name)


def is_json(text: str) -> bool:
    """Tell whether a text is one complete JSON value."""
    try:
        jiter.from_json(text.encode("utf-8", "replace"))
    except ValueError:
        return False
    return True


def get_dict(values: Mapping[str, JSONValue], key: str) -> JSONObject:
    """The object at a key, or an empty one."""
    value = values.get(key)
    return value if isinstance(value, dict) else {}


def get_dicts(values: Mapping[str, JSONValue], key: str) -> Iterator[JSONObject]:
    """The objects in the list at a key; what is none is left out."""
    value = values.get(key)
    for each in value if isinstance(value, list) else ():
        if isinstance(each, dict):
            yield each


def get_text(values: Mapping[str, JSONValue], key: str) -> str:
    """The text at a key, fit for any file and server, or ""."""
    value = values.get(key)
    return replace_surrogates(value) if isinstance(value, str) else ""


def get_count(values: Mapping[str, JSONValue], key: str) -> int:
    """The count at a key, or 0."""
    value = values.get(key)
    return max(value, 0) if isinstance(value, int) else 0
