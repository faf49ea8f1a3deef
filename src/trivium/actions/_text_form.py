"""The form of a call that a model writes as text, to fill in; and texts that were meant as one, in another form."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, cast

import jiter

from trivium.actions._strict import JSONSchema, is_json_object
from trivium.actions._tool_schema import NOT_ARGUMENTS
from trivium.schema import ToolCall
from trivium.schema.lowlevel import unfence

if TYPE_CHECKING:
    from trivium.actions._tool_message import ToolMessage

FAULTY: Final = "TOOL: "
"""The beginning of the arguments of a call in another form: they are no JSON, so that they fit no tool."""

_HEADING = re.compile(r"\s*TOOL:\s*([\w.-]*)")
_FRAME = re.compile(r"\A\s*TOOL:\s*(?:[\w.-]+\s*\n)?|</?tool_call>")


def blank_call(parameters: JSONSchema) -> str:
    """Write a call with a placeholder for each value that has no default: `{"request": "square", "number": <integer>}`.

    Small models copy what they see: a schema, where they see no call.

    Args:
        parameters: the schema of the call, `request` included.
    """
    fields: JSONSchema = parameters["properties"]
    return _blank({"properties": {"request": fields["request"], **fields}}, parameters.get("$defs", {}))


def _blank(schema: JSONSchema, types: JSONSchema) -> str:
    """Write the placeholder of a value; a type within itself is given by its name."""
    match schema:
        case {"$ref": str(reference)}:
            name = reference.rpartition("/")[2]
            inner = {each: type_ for each, type_ in types.items() if each != name}
            return _blank(types[name], inner) if name in types else f"<{name}>"
        case {"default": value} | {"const": value} | {"enum": [value]}:
            return json.dumps(value, ensure_ascii=False)
        case {"enum": [*values]}:
            return _of_type(schema, " | ".join(map(str, values)))
        case {"anyOf": [first, *_]}:
            return _blank(first, types)
        case {"properties": fields}:
            inside = cast("dict[str, JSONSchema]", fields).items()
            return "{" + ", ".join(f"{json.dumps(name)}: {_blank(each, types)}" for name, each in inside) + "}"
        case {"items": each}:
            return f"[{_blank(each, types)}]"
        case _:
            return _of_type(schema, schema.get("type", "value"))


def _of_type(schema: JSONSchema, hint: str) -> str:
    return f'"<{hint}>"' if schema.get("type") == "string" else f"<{hint}>"


def faulty_call(text: str, classes: Iterable[type[ToolMessage]]) -> tuple[ToolCall, ...]:
    """Return the call that a model's whole text was meant as, if it is in another form; it fits no tool.

    That is a text below the word TOOL, as of other frameworks, or one JSON object that names a tool otherwise than by
    `request` or has its fields without it. To run it would be a guess: the model is told how it is written instead.

    Args:
        text: the text, which holds no call.
        classes: the tools that the model may call.
    """
    heading, body = _HEADING.match(text), unfence(_FRAME.sub("", unfence(text)).strip())
    try:
        value: Any = jiter.from_json(body.encode("utf-8", "replace"))
    except ValueError:
        value = None
    named = {each.name(): each for each in classes}
    meant = (name for name, each in named.items() if is_json_object(value) and _means(each, value))
    name = next(meant, heading[1] if heading else "")
    return (ToolCall("", name, f"{FAULTY}{body}"),) if name else ()


def _means(kind: type[ToolMessage], value: JSONSchema) -> bool:
    """Return whether a JSON object names a tool, or has its fields."""
    inner = value.get("properties")
    values: JSONSchema = inner if is_json_object(inner) else value
    if kind.name() in (values.get("request"), values.get("name"), values.get("tool")):
        return True
    fields = {name: field for name, field in kind.model_fields.items() if name not in ("request", *NOT_ARGUMENTS)}
    required = {name for name, field in fields.items() if field.is_required()}
    return bool(values) and required <= values.keys() <= fields.keys()
