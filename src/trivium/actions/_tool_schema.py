"""The schema of a tool message: what a model is told of its fields."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, cast

from pydantic import BaseModel

from trivium.actions._tool import read_sections, remove_titles

if TYPE_CHECKING:
    from trivium.actions._tool_message import ToolMessage

__all__ = ["NOT_ARGUMENTS", "message_schema", "parameters_of", "simple_schema_of", "without_key"]

NOT_ARGUMENTS = ("purpose", "id")
"""Fields of every tool message that no model fills in."""

_SECTIONS = ("Args", "Arguments", "Parameters", "Attributes")


def message_schema(kind: type[ToolMessage]) -> dict[str, Any]:
    """The JSON schema of a tool message as a model is to see it, with all that a model does not fill in left out.

    No titles; texts from the class's docstring where a field has none; tool messages within it have a fixed
    `request`. The fields are those of the class, `request` included.
    """
    schema = cast("dict[str, Any]", remove_titles(kind.model_json_schema()))
    own = schema.pop("$ref", "").rpartition("/")[2]
    schema = {**schema["$defs"][own], "$defs": schema["$defs"]} if own else schema  # a message that holds itself
    texts = _texts(kind)
    for name, said in schema.get("properties", {}).items():
        if name in texts:
            said.setdefault("description", texts[name])
    for each in (schema, *schema.get("$defs", {}).values()):
        _clean(each)
    return {name: value for name, value in schema.items() if name != "description"}


def _texts(kind: type[BaseModel]) -> dict[str, str]:
    sections = read_sections(inspect.cleandoc(kind.__doc__ or ""))[1]
    return {field: text for each in _SECTIONS for field, (_, text) in sections.get(each, {}).items() if text}


def _clean(schema: dict[str, Any]) -> None:
    """Leave out what no model fills in, of a message or of one within it, and fix its name."""
    if isinstance(schema.get("additionalProperties"), bool):
        del schema["additionalProperties"]
    hidden = schema.pop("exclude", None)
    if hidden is None:  # no tool message
        return
    properties = {name: said for name, said in schema["properties"].items() if name not in hidden}
    request = properties.get("request", {})
    if "default" in request:
        properties["request"] = {"type": "string", "enum": [request["default"]]}
    required = [name for name in schema.get("required", ()) if name in properties and name != "request"]
    schema.update(properties=properties, required=[*required, "request"])


def parameters_of(kind: type[ToolMessage], *, request: bool = False, defaults: bool = True) -> dict[str, Any]:
    """The parameters of a tool message's function.

    Args:
        kind: the class.
        request: with `request`, as for a call that is written as text; it is required, and the last.
        defaults: with the fields that have a default.
    """
    schema = message_schema(kind)
    properties = {
        name: said
        for name, said in schema["properties"].items()
        if name not in (*NOT_ARGUMENTS, "request") and (defaults or said.get("default") is None)
    }
    required = sorted(name for name, said in properties.items() if "default" not in said and _is_required(kind, name))
    if request:
        properties["request"] = {"type": "string", "enum": [kind.name()]}
        required.append("request")
    return {**schema, "properties": properties, "required": required}


def _is_required(kind: type[BaseModel], name: str) -> bool:
    field = kind.model_fields.get(name)
    return field is None or field.is_required()


def without_key(schema: Any, unwanted: str) -> Any:
    """A schema without a keyword, on every level; properties that are called so stay."""
    if isinstance(schema, list):
        return [without_key(each, unwanted) for each in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    found: dict[str, Any] = {}
    for name, value in cast("dict[str, Any]", schema).items():
        if name in ("properties", "$defs") and isinstance(value, dict):
            entries = cast("dict[str, Any]", value).items()
            found[name] = {key: without_key(each, unwanted) for key, each in entries}
        elif name != unwanted:
            found[name] = without_key(value, unwanted)
    return found


def simple_schema_of(kind: type[BaseModel], hidden: tuple[str, ...] = ()) -> dict[str, Any]:
    """Each field's type by name, `{"type": "int"}`; a model within it is written out likewise."""
    found: dict[str, Any] = {}
    for name, field in kind.model_fields.items():
        of = field.annotation
        if name in hidden:
            continue
        if isinstance(of, type) and issubclass(of, BaseModel):
            found[name] = simple_schema_of(of, hidden)
        else:
            found[name] = {"type": of.__name__ if isinstance(of, type) and not hasattr(of, "__args__") else str(of)}
    return found
