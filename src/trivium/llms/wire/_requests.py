"""Parts of requests that OpenAI's two formats share. No I/O."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

import jiter

from trivium.llms._protocol import ChatMessage
from trivium.llms.wire._answers import dict_or_empty
from trivium.llms.wire._closed_schema import OPENAI_FORMATS, closed_schema
from trivium.llms.wire._fields import Body, CallNames, called_tool


def sent_function(call: ChatMessage, names: CallNames) -> dict[str, str]:
    """Return name and arguments of a call in a chat message in the form that is sent."""
    name = called_tool(call)
    arguments = call.get("function", call).get("arguments")
    return {"name": names.tools.get(name, name), "arguments": sent_arguments(arguments)}


def sent_arguments(arguments: object) -> str:
    """Return arguments as the JSON object that every server accepts; other text becomes the value of `arguments`.

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


def _json(value: object) -> str:
    from pydantic_core import to_json

    return to_json(value, fallback=str).decode()


def answer_schema(schema: Mapping[str, Any], can_be_closed: bool) -> Body:
    """Return the schema of an answer as it is sent: a strict one if it is, or needs only be closed, and is no union.

    Args:
        schema: the schema.
        can_be_closed: the server enforces strict schemas, so that its objects may be closed for it.
    """
    if "anyOf" in schema or "oneOf" in schema:
        return {"name": "answer", "strict": False, "schema": dict(schema)}
    closed = closed_schema(schema, OPENAI_FORMATS, may_recur=True) if can_be_closed and not is_strict(schema) else None
    sent = closed if closed is not None and is_strict(closed) else dict(schema)
    return {"name": "answer", "strict": is_strict(sent), "schema": sent}


def is_strict(schema: object) -> bool:
    """Tell whether every object of a schema is closed and requires all its keys, as strict decoding demands."""
    if isinstance(schema, list):
        return all(is_strict(item) for item in cast("list[Any]", schema))
    if not isinstance(schema, dict):
        return True
    node = cast("dict[str, Any]", schema)
    if node.get("type") == "object" or "properties" in node:
        keys = set(cast("dict[str, Any]", node.get("properties") or {}))
        if node.get("additionalProperties") is not False or keys - set(node.get("required", ())):
            return False
    if isinstance(node.get("allOf"), list):
        return False
    return all(is_strict(value) for value in node.values())


def parts_of(content: Any) -> Iterator[Body]:
    """Yield the parts of a content: of a list, or the one part of a text; a plain text becomes a text part."""
    for part in cast("list[Any]", content) if isinstance(content, list) else [content]:
        yield dict_or_empty(part) or {"type": "text", "text": "" if part is None else str(part)}
