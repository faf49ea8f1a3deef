"""What OpenAI's two formats have in common on the way to the server. No I/O."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, Self, cast

import jiter

from trivium.llms._protocol import ReasoningState, Request
from trivium.llms.wire._answers import as_dict
from trivium.llms.wire._tool_names import legal_names

__all__ = ["SentNames", "is_strict", "own_state", "parts_of", "sent_arguments"]

_DATED: Final = re.compile(r"[-@:](latest|\d{8}|\d{4}-\d{2}-\d{2})$")


class SentNames(NamedTuple):
    """How tools are called on the way, and which ids calls have already.

    Args:
        sent: what is sent instead of the name of a tool.
        own: the name of a tool by the one that was sent.
        ids: the ids of all calls in the request.
    """

    sent: Mapping[str, str]
    own: Mapping[str, str]
    ids: frozenset[str]

    @classmethod
    def of(cls, request: Request) -> Self:
        """The names and ids in a request: of the tools that can be called, then of those that were."""
        calls = [call for message in request.messages for call in message.get("tool_calls") or ()]
        names = [tool.name for tool in request.tools]
        sent = legal_names([*names, *(str(as_function(call).get("name")) for call in calls)])
        ids = frozenset(str(call.get("id")) for call in calls)
        return cls(sent, {name: own for own, name in sent.items()}, ids)

    def function(self, call: Mapping[str, Any]) -> dict[str, str]:
        """The name and the arguments of a call as they are sent."""
        function = as_function(call)
        name = str(function.get("name"))
        return {"name": self.sent.get(name, name), "arguments": sent_arguments(function.get("arguments"))}


def as_function(call: Mapping[str, Any]) -> Mapping[str, Any]:
    """The part of a call that has its name and arguments."""
    function = call.get("function")
    return cast("Mapping[str, Any]", function) if isinstance(function, Mapping) else call


def sent_arguments(arguments: Any) -> str:
    """Arguments as the JSON object that every server takes; what the model wrote otherwise is told as it stands.

    Example:
        >>> sent_arguments('{"a": 1}'), sent_arguments(""), sent_arguments("{'a'")
        ('{"a": 1}', '{}', '{"arguments":"{\\'a\\'"}')
    """
    text = arguments if isinstance(arguments, str) else _json(arguments)
    try:
        if isinstance(jiter.from_json(text.encode(), allow_inf_nan=False), dict):
            return text
    except (ValueError, UnicodeEncodeError):
        pass
    return _json({"arguments": text}) if text.strip() and text != "null" else "{}"


def _json(value: Any) -> str:
    from pydantic_core import to_json

    return to_json(value, fallback=str).decode()


def is_strict(schema: Any) -> bool:
    """Whether every object of a schema is closed and wants all its keys, which strict decoding asks for."""
    if isinstance(schema, list):
        return all(is_strict(item) for item in cast("list[Any]", schema))
    if not isinstance(schema, dict):
        return True
    node = cast("dict[str, Any]", schema)
    if node.get("type") == "object" or "properties" in node:
        keys = set(cast("dict[str, Any]", node.get("properties") or {}))
        if node.get("additionalProperties") is not False or keys - set(node.get("required", ())):
            return False
    return all(is_strict(value) for value in node.values())


def own_state(message: Mapping[str, Any], form: str, model: str) -> Sequence[Any]:
    """What a model of this family wants back of its thoughts, in this form; nothing where they are another's."""
    state = message.get("reasoning_state")
    if not isinstance(state, ReasoningState) or state.form != form:
        return ()
    return state.items if _DATED.sub("", state.model) == _DATED.sub("", model) else ()


def parts_of(content: Any) -> Iterator[dict[str, Any]]:
    """The parts of a content that is a list, or of one text; a part that is a text is one of text."""
    for part in cast("list[Any]", content) if isinstance(content, list) else [content]:
        yield as_dict(part) or {"type": "text", "text": "" if part is None else str(part)}
