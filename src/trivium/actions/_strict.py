"""Strict schemas: the JSON schemas that a provider can enforce on its model."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias, TypeGuard

from trivium.exceptions import ToolDefinitionError

JSONSchema: TypeAlias = dict[str, Any]
"""A JSON schema, or a part of one: its keywords by name."""

_KEPT: Final = frozenset({"type", "enum", "description", "$ref", "$defs", "items", "anyOf", "format"})
_FORMATS: Final = frozenset({"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"})
_REFUSED: Final = frozenset(
    {"allOf", "not", "if", "then", "else", "prefixItems", "patternProperties", "dependentRequired", "dependentSchemas"}
)
_SILENT: Final = frozenset({"properties", "required", "additionalProperties", "title", "discriminator", "examples"})


def is_json_object(value: object) -> TypeGuard[dict[str, Any]]:
    """True for a dict, as JSON text gives it."""
    return isinstance(value, dict)


def is_json_array(value: object) -> TypeGuard[list[Any]]:
    """True for a list, as JSON text gives it."""
    return isinstance(value, list)


def strict_schema(schema: Mapping[str, Any], tool: str = "") -> JSONSchema:
    """Convert a schema to one of the same values that the strict modes of OpenAI and Anthropic both accept.

    Every object is closed and requires all its keys; an optional one may be null instead. Constraints that neither can
    enforce (a minimum, a pattern, a default) go into the description, and the validation enforces them.

    Args:
        schema: the parameters of a tool.
        tool: its name, for errors.

    Raises:
        ToolDefinitionError: there is no strict schema of the same values: it has unnamed keys, values of any kind,
            tuples, or contains itself.

    Example:
        >>> strict_schema({"type": "object", "properties": {"a": {"type": "integer", "default": 1}}})["properties"]
        {'a': {'anyOf': [{'type': 'integer'}, {'type': 'null'}], 'description': 'default: 1'}}
    """
    definitions: JSONSchema = schema.get("$defs", {})

    def refuse_cycles(name: str, above: tuple[str, ...]) -> None:
        if name in above:
            raise _refusal(tool, f"{name} holds itself")
        for each in _references(definitions.get(name)):
            refuse_cycles(each, (*above, name))

    for name in definitions:
        refuse_cycles(name, ())
    return _strict({"type": "object", "properties": {}, **schema}, tool, "the arguments")


def _strict(given: object, tool: str, at: str) -> JSONSchema:
    if not is_json_object(given) or not given:
        raise _refusal(tool, f"{at} may be anything: annotate it with a type")
    if refused := _REFUSED.intersection(given):
        raise _refusal(tool, f"{at} is described by {', '.join(sorted(refused))}")
    made: JSONSchema = {key: value for key, value in given.items() if key in _KEPT}
    if "$defs" in made:
        made["$defs"] = {name: _strict(each, tool, name) for name, each in made["$defs"].items()}
    if "const" in given:
        made["enum"] = [given["const"]]
    if alternatives := given.get("anyOf") or given.get("oneOf"):
        made["anyOf"] = [_strict(each, tool, at) for each in alternatives]
    kinds = _types_of(given)
    if "object" in kinds or "properties" in given:
        _close(made, given, tool, at)
    if "array" in kinds:
        made["items"] = _strict(given.get("items"), tool, f"each of {at}")
    if not made.keys() & {"type", "enum", "anyOf", "$ref"}:
        raise _refusal(tool, f"{at} may be anything: annotate it with a type")
    # Constraints without a keyword in the strict modes go into the description.
    left = {key: value for key, value in given.items() if key not in _KEPT | _SILENT and key not in ("const", "oneOf")}
    if given.get("format", "date") not in _FORMATS:
        left["format"] = made.pop("format")
    if left.get("default", 0) is None:
        del left["default"]  # the alternative null says so
    notes = ", ".join(f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in left.items())
    if notes:
        made["description"] = f"{made['description']} ({notes})" if made.get("description") else notes
    if "$ref" in made and len(made) > 1 + ("$defs" in made):
        made["anyOf"] = [{"$ref": made.pop("$ref")}]  # a reference must be alone
    return made


def _close(made: JSONSchema, given: JSONSchema, tool: str, at: str) -> None:
    properties: JSONSchema = given.get("properties", {})
    extra = given.get("additionalProperties")
    if isinstance(extra, dict) or extra is True or (not properties and extra is not False and at != "the arguments"):
        raise _refusal(tool, f"{at} has keys that are not named: give it a model or a TypedDict, or a list of pairs")
    required = given.get("required", ())
    made["properties"] = {
        name: _strict(each, tool, name) if name in required else nullable(_strict(each, tool, name))
        for name, each in properties.items()
    }
    made |= {"required": [*properties], "additionalProperties": False}


def nullable(schema: JSONSchema) -> JSONSchema:
    """Convert a schema to one that accepts null too."""
    if accepts_null(schema):
        return schema
    inner = {key: value for key, value in schema.items() if key != "description"}
    alternatives = inner["anyOf"] if [*inner] == ["anyOf"] else [inner]
    outer = {"description": schema["description"]} if "description" in schema else {}
    return {"anyOf": [*alternatives, {"type": "null"}], **outer}


def _types_of(schema: Mapping[str, Any]) -> Sequence[str]:
    kinds: str | Sequence[str] = schema.get("type", ())
    return [kinds] if isinstance(kinds, str) else kinds


def accepts_null(schema: Mapping[str, Any]) -> bool:
    """True if null is a value of the schema."""
    if "null" in _types_of(schema) or None in schema.get("enum", ()):
        return True
    return any(accepts_null(each) for each in schema.get("anyOf", schema.get("oneOf", ())))


def _references(node: object) -> set[str]:
    if is_json_array(node):
        return set[str]().union(*map(_references, node))
    if not is_json_object(node):
        return set()
    own = {_definition_name(node)} if isinstance(node.get("$ref"), str) else set[str]()
    return own.union(*map(_references, node.values()))


def _definition_name(schema: Mapping[str, object]) -> str:
    """The name of the definition that a schema refers to; "" if it does not."""
    return str(schema.get("$ref", "")).rpartition("/")[2]


def _refusal(tool: str, why: str) -> ToolDefinitionError:
    return ToolDefinitionError(f"the tool {tool} cannot be strict: {why}; or leave `strict` out", tool)


# ---- the way back
def drop_nulls(schema: Mapping[str, Any]) -> Callable[[Any], Any]:
    """Make a function that removes from arguments the nulls that mean "not given".

    Args:
        schema: the schema before it was made strict, with its optional keys and the places where null is a value.

    Example:
        >>> drop_nulls({"properties": {"a": {"type": "integer", "default": 1}}})({"a": None})
        {}
    """
    definitions: JSONSchema = schema.get("$defs", {})

    def clean(value: object, node: Mapping[str, Any]) -> Any:
        if "$ref" in node:
            node = definitions.get(_definition_name(node), {})
        alternatives: list[JSONSchema] = node.get("anyOf") or node.get("oneOf") or []
        if alternatives:
            return clean(value, find_alternative(value, alternatives, definitions))
        if is_json_array(value) and isinstance(node.get("items"), dict):
            return [clean(each, node["items"]) for each in value]
        properties: JSONSchema = node.get("properties", {})
        if not is_json_object(value) or not properties:
            return value
        required = node.get("required", ())
        return {
            name: clean(each, properties.get(name, {}))
            for name, each in value.items()
            if each is not None or name in required or name not in properties or accepts_null(properties[name])
        }

    return lambda value: clean(value, schema)


def find_alternative(value: object, alternatives: Sequence[JSONSchema], definitions: JSONSchema) -> JSONSchema:
    """Find the alternative of a schema that a value was made for: among objects, one that has all keys of the value."""
    for each in alternatives:
        target: JSONSchema = definitions.get(_definition_name(each), each)
        is_object = isinstance(value, dict) and "properties" in target and value.keys() <= target["properties"].keys()
        if is_object or (isinstance(value, list) and "items" in target):
            return target
    return {}
