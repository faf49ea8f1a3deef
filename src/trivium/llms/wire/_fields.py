"""Parts that the formats share: reading JSON of any form, and the parts of chat messages. No I/O."""

from __future__ import annotations

import json
import re
import uuid
import warnings
from base64 import b64encode
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final, NamedTuple, TypeAlias, cast
from urllib.parse import unquote_to_bytes

import jiter

from trivium.exceptions import ConfigurationError
from trivium.llms._protocol import ChatMessage, Request
from trivium.llms.wire._answers import ParsedObject, replace_surrogates
from trivium.llms.wire._tool_names import legal_names
from trivium.schema import JSONValue, NoEffectWarning

_RELEASE: Final = re.compile(r"[-@](\d{8}|\d{4}-\d\d-\d\d|latest|\d{3}|(preview|exp)\b.*)$")
_MADE_UP: Final = re.compile(r"\b(call|gemini)_[0-9a-f]{12}\b")
"""The form of ids from `fresh_id`."""


Body: TypeAlias = dict[str, Any]
"""A JSON object that is sent, or a part of it: it holds values that users gave."""


class Called(NamedTuple):
    """The calls in chat messages.

    Args:
        tools: the names of the tools, in the order of their first calls.
        ids: the ids of the calls and of their results.
        named: the names of the tools, by the ids of the calls.
    """

    tools: Collection[str]
    ids: Collection[str]
    named: Mapping[str, str]

    @classmethod
    def of(cls, messages: Iterable[ChatMessage]) -> Called:
        """Collect the calls."""
        tools, ids, named = dict[str, None](), set[str](), dict[str, str]()
        for message in messages:
            if "tool_calls" in message:
                for call in message["tool_calls"] or ():
                    tools[name := called_tool(call)] = None
                    named[str(call.get("id"))] = name
                    if call_id := call.get("id"):
                        ids.add(str(call_id))
            if "tool_call_id" in message and (call_id := message["tool_call_id"]):
                ids.add(str(call_id))
        return cls(tools, ids, named)

    def with_next(self, called: Called) -> Called:
        """Return it with what was called later."""
        tools = dict.fromkeys((*self.tools, *called.tools))
        return Called(tools, {*self.ids, *called.ids}, {**self.named, **called.named})


class CallNames(NamedTuple):
    """The names of tools and calls at the server.

    Args:
        tools: names that are sent, by tools' own names.
        ids: ids that are sent, by calls' own ids, where an interface restricts them.
        own: tools' own names, by the names that are sent.
        answer: the tool whose arguments are the answer, if only a tool can enforce the answer's schema; otherwise "".
        taken: ids of all calls in the request.
    """

    tools: Mapping[str, str]
    ids: Mapping[str, str]
    own: Mapping[str, str]
    answer: str = ""
    taken: frozenset[str] = frozenset()

    @classmethod
    def of(cls, request: Request, is_answer_a_call: bool, known: Sequence[Called] = (), start: int = 0) -> CallNames:
        """Collect the names of a request.

        Args:
            request: the request.
            is_answer_a_call: True if the answer must be the arguments of a tool.
            known: the calls in the messages before `start`.
            start: the first message whose calls are not known.
        """
        called = [*known, Called.of(request.messages[start:] if start else request.messages)]
        tools = [tool.name for tool in request.tools]
        sent = legal_names(chain(tools, *[each.tools for each in called]))
        taken = frozenset[str]().union(*[each.ids for each in called])
        answer = "answer" if is_answer_a_call else ""
        while answer and (answer in tools or answer in sent.values()):
            answer += "_"
        return cls(sent, {}, {name: own for own, name in sent.items()}, answer, taken)


def add_tools(body: Body, tools: Sequence[Body]) -> None:
    """Add an agent's tools to those in the parameters, which the server runs; of two with one name, the agent's stays.

    Raises:
        ConfigurationError: the parameter is not a list of tools.
    """
    given: Any = body.pop("tools", ())
    if not isinstance(given, list | tuple) or not all(isinstance(each, Mapping) for each in cast("list[Any]", given)):
        raise ConfigurationError(
            f'parameters={{"tools": …}} takes a list of tools, as [{{"type": "web_search"}}], not {given!r}'
        )
    own = {_tool_name(tool) for tool in tools} - {None}
    if both := [*(each for each in cast("list[Body]", given) if _tool_name(each) not in own), *tools]:
        body["tools"] = both


def leave_out(parameters: Body, name: str, model: str) -> None:
    """Remove a parameter that a model's interface does not take, or not with this value, and warn of it.

    Raises:
        NoEffectWarning: as a warning.
    """
    if (value := parameters.pop(name, None)) is not None:
        warnings.warn(f"{model} takes no {name}={value!r}: it is not sent", NoEffectWarning, stacklevel=2)


def _tool_name(tool: Mapping[str, Any]) -> object:
    function = tool.get("function", tool)
    return cast("Body", function).get("name") if isinstance(function, Mapping) else None


def object_of(parameters: Mapping[str, Any], name: str) -> Body:
    """Return the parameter of a name, which is an object; an empty one if it is not given.

    Raises:
        ConfigurationError: it is something else.
    """
    value: object = parameters.get(name) or {}
    if not isinstance(value, Mapping):
        raise ConfigurationError(f"the parameter {name} is a dict for this interface, not {value!r}")
    return dict(cast("Mapping[str, Any]", value))


def called_tool(call: ChatMessage) -> str:
    """Return the name of the tool that a call in a chat message calls."""
    return str(call.get("function", call).get("name"))


def fresh_id(given: object, taken: Collection[str], prefix: str = "call_") -> str:
    """Return the server's id of a call, or a new one if it is missing or taken, so that the history stays valid.

    The new one is random: `taken` has only the ids of the request, and a request may be only a part of the history.
    """
    known = replace_surrogates(given) if isinstance(given, str) else ""
    return known if known and known not in taken else f"{prefix}{uuid.uuid4().hex[:12]}"


def numbered_ids(text: str) -> str:
    """Replace ids from `fresh_id` by numbers in their order, so that requests that differ only in them are equal.

    Example:
        >>> numbered_ids('"id": "call_0123456789ab", "id": "call_ba9876543210", "result_of": "call_0123456789ab"')
        '"id": "call_1", "id": "call_2", "result_of": "call_1"'
    """
    numbers = dict[str, str]()
    return _MADE_UP.sub(lambda found: numbers.setdefault(found[0], f"{found[1]}_{len(numbers) + 1}"), text)


def family(model: str) -> str:
    """Return a model's name without its release: names of one model differ in it only.

    Example:
        >>> family("claude-sonnet-4-5-20250929"), family("models/gemini-3-pro-preview")
        ('claude-sonnet-4-5', 'gemini-3-pro')
    """
    return _RELEASE.sub("", model.rpartition("/")[2].lower())


def own_state(message: ChatMessage, form: str, model: str) -> list[Body]:
    """Return the reasoning state of a message, if it has this form and is of this model; otherwise nothing."""
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
    """Return the arguments of a call in a chat message as an object; any other text becomes a value of one."""
    arguments: Any = call.get("function", call).get("arguments") or {}
    if isinstance(arguments, str):
        try:
            arguments = jiter.from_json(arguments.encode(), allow_inf_nan=False)
        except ValueError:  # NaN and half a character too are no JSON
            return {"arguments": arguments}
    return cast("dict[str, Any]", arguments) if isinstance(arguments, dict) else {"arguments": arguments}


def arguments_text(given: object) -> str:
    """Return arguments as JSON text; a text stays as the model wrote it, and None is ""."""
    if given is None or isinstance(given, str):
        return replace_surrogates(given or "")
    return replace_surrogates(json.dumps(given, ensure_ascii=False))


class Data(NamedTuple):
    """The file in a part of a message.

    Args:
        kind: MIME type; "" if unknown.
        data: content as base64; "" if the part only refers to it.
        url: address of the file.
        file_id: the provider's id of an uploaded file.
        name: name of the file.
    """

    kind: str = ""
    data: str = ""
    url: str = ""
    file_id: str = ""
    name: str = ""


def data_of(part: ChatMessage) -> Data | None:
    """Return the file in a part `image_url`, `file` or `input_audio` of a chat message; None for any other part.

    Raises:
        ConfigurationError: the file is empty.
    """
    kind = part.get("type")
    value: Any = part.get(str(kind))
    held: dict[str, Any] = dict(cast("Mapping[str, Any]", value)) if isinstance(value, Mapping) else {"url": value}
    if kind == "input_audio":
        return Data(f"audio/{held.get('format') or 'wav'}", str(held.get("data") or ""))
    if kind not in ("image_url", "file"):
        return None
    where = str(held.get("url") or held.get("file_data") or "")
    name, file_id = str(held.get("filename") or ""), str(held.get("file_id") or "")
    head, _, data = where.removeprefix("data:").partition(",")
    mime = head.removesuffix(";base64")
    if not file_id and (not where or (where.startswith("data:") and not data)):
        shown = (name or mime)[:100]
        raise ConfigurationError(f"the file {shown} of a message is empty: leave it out, or give its content")
    if not where.startswith("data:"):
        return Data(url=where, file_id=file_id, name=name)
    if mime == head:  # its content is percent-encoded
        data = b64encode(unquote_to_bytes(data)).decode()
    return Data(mime, data, name=name)


def is_json(text: str) -> bool:
    """Tell whether a text is one complete JSON value."""
    try:
        jiter.from_json(text.encode("utf-8", "replace"))
    except ValueError:
        return False
    return True


def get_dict(values: Mapping[str, JSONValue], key: str) -> ParsedObject:
    """Return the object at a key, or an empty one."""
    value = values.get(key)
    return value if isinstance(value, dict) else {}


def get_dicts(values: Mapping[str, JSONValue], key: str) -> Iterator[ParsedObject]:
    """Yield the objects in the list at a key; other items are left out."""
    value = values.get(key)
    for each in value if isinstance(value, list) else ():
        if isinstance(each, dict):
            yield each


def get_text(values: Mapping[str, JSONValue], key: str) -> str:
    """Return the text at a key, without lone surrogates, or ""."""
    value = values.get(key)
    return replace_surrogates(value) if isinstance(value, str) else ""


def get_count(values: Mapping[str, JSONValue], key: str) -> int:
    """Return the count at a key, or 0."""
    value = values.get(key)
    return max(value, 0) if isinstance(value, int) else 0
