"""What OpenAI's two formats have in common on the way to the server. No I/O."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import jiter

from trivium.llms._protocol import ChatMessage
from trivium.llms.wire._answers import dict_or_empty
from trivium.llms.wire._fields import Body, CallNames, called_tool

__all__ = ["is_strict", "parts_of", "sent_arguments", "sent_function"]


def sent_function(call: ChatMessage, names: CallNames) -> dict[str, str]:
    """The name and the arguments of a call in a chat message as they are sent."""
    name = called_tool(call)
    arguments = call.get("function", call).get("arguments")
    return {"name": names.tools.get(name, name), "arguments": sent_arguments(arguments)}


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


def parts_of(content: Any) -> Iterator[Body]:
    """The parts of a content that is a list, or of one text; a part that is a text is one of text."""
    for part in cast("list[Any]", content) if isinstance(content, list) else [content]:
        yield dict_or_empty(part) or {"type": "text", "text": "" if part is None else str(part)}
