"""JSON schemas as pydantic makes them, and as they are sent to a model."""

from __future__ import annotations

from typing import Any, NotRequired, get_args, get_origin

from trivium.actions._strict import JSONSchema, is_json_array, is_json_object


def remove_titles(schema: object) -> Any:
    """Copy a JSON schema without the titles that pydantic adds: they cost tokens and say nothing."""
    if is_json_array(schema):
        return [remove_titles(each) for each in schema]
    if not is_json_object(schema):
        return schema
    return {
        key: remove_titles(value) for key, value in schema.items() if not (key == "title" and isinstance(value, str))
    }


def no_json(kind: Any) -> str:
    """Return the name of a type that has no JSON schema, as `NotRequired` or not; empty for one that has."""
    from pydantic import PydanticUserError, TypeAdapter  # a third of pydantic's import time

    plain = get_args(kind)[0] if get_origin(kind) is NotRequired else kind
    try:
        TypeAdapter(plain).json_schema()
    except PydanticUserError:
        return plain.__name__ if isinstance(plain, type) else str(plain)
    return ""


def with_own_root(schema: JSONSchema) -> JSONSchema:
    """Return the schema of a type that holds itself, which pydantic writes as a reference, with the root written out.

    Example:
        >>> tree = {"type": "object", "properties": {"left": {"$ref": "#/$defs/Tree"}}}
        >>> with_own_root({"$ref": "#/$defs/Tree", "$defs": {"Tree": tree}})["type"]
        'object'
    """
    name = schema.get("$ref", "").rpartition("/")[2]
    return {**schema["$defs"][name], "$defs": schema["$defs"]} if name else schema


def enclosed_schema(schema: JSONSchema, name: str = "value") -> tuple[JSONSchema, bool]:
    """Return the schema of an object that states a value, and whether the value is within it, by a name.

    References begin at the root of a schema, so the definitions stay there.

    Args:
        schema: of the value; one of an object is returned as it is.
        name: of the value within the object.

    Example:
        >>> enclosed_schema({"type": "array", "items": {"$ref": "#/$defs/A"}, "$defs": {"A": {"type": "object"}}})[0]
        {'type': 'object', 'properties': {'value': {'type': 'array', 'items': {'$ref': '#/$defs/A'}}}, \
'required': ['value'], '$defs': {'A': {'type': 'object'}}}
    """
    schema = with_own_root(schema)
    if schema.get("type") == "object":
        return schema, False
    value = {key: part for key, part in schema.items() if key != "$defs"}
    around: JSONSchema = {"type": "object", "properties": {name: value}, "required": [name]}
    return (around | {"$defs": schema["$defs"]} if "$defs" in schema else around), True
