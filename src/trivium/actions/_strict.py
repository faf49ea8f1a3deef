"""Strict schemas: those that a provider can hold its model to, to the letter."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from trivium.exceptions import ToolDefinitionError

__all__ = ["drop_nulls", "strict_schema"]

Schema = dict[str, Any]
_KEPT: Final = frozenset({"type", "enum", "description", "$ref", "$defs", "items", "anyOf", "format"})
_FORMATS: Final = frozenset({"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"})
_REFUSED: Final = frozenset(
    {"allOf", "not", "if", "then", "else", "prefixItems", "patternProperties", "dependentRequired", "dependentSchemas"}
)
_SILENT: Final = frozenset({"properties", "required", "additionalProperties", "title", "discriminator", "examples"})


def strict_schema(schema: Mapping[str, Any], tool: str = "") -> Schema:
    """A schema as the strict modes of OpenAI and Anthropic both take it, for the same values.

    Every object is closed and wants all its keys; one that need not be given may be null instead. What neither can
    hold a model to (a minimum, a pattern, a default) is told in the description, and held by the validation.

    Args:
        schema: the parameters of a tool.
        tool: its name, for errors.

    Raises:
        ToolDefinitionError: no strict schema says the same: it has keys that are not named, values of any kind,
            tuples, or holds itself.

    Example:
        >>> strict_schema({"type": "object", "properties": {"a": {"type": "integer", "default": 1}}})["properties"]
        {'a': {'anyOf': [{'type': 'integer'}, {'type': 'null'}], 'description': 'default: 1'}}
    """
    whole = dict(schema)
    _refuse_cycles(whole, tool)
    return _strict({"type": "object", "properties": {}, **whole}, tool, "the arguments")


def _strict(node: Any, tool: str, at: str) -> Schema:
    if not isinstance(node, dict) or not node:
        raise _no(tool, f"{at} may be anything: annotate it with a type")
    given = cast("Schema", node)
    if refused := _REFUSED.intersection(given):
        raise _no(tool, f"{at} is described by {', '.join(sorted(refused))}")
    made: Schema = {key: value for key, value in given.items() if key in _KEPT}
    made |= {
        key: {name: _strict(each, tool, name) for name, each in made[key].items()} for key in ("$defs",) if key in made
    }
    if "const" in given:
        made["enum"] = [given["const"]]
    if many := given.get("anyOf") or given.get("oneOf"):
        made["anyOf"] = [_strict(each, tool, at) for each in many]
    kinds = given.get("type", ())
    if "object" in ([kinds] if isinstance(kinds, str) else kinds) or "properties" in given:
        _close(made, given, tool, at)
    if "array" in ([kinds] if isinstance(kinds, str) else kinds):
        made["items"] = _strict(given.get("items"), tool, f"each of {at}")
    if not made.keys() & {"type", "enum", "anyOf", "$ref"}:
        raise _no(tool, f"{at} may be anything: annotate it with a type")
    _describe(made, given)
    if "$ref" in made and len(made) > 1 + ("$defs" in made):
        made["anyOf"] = [{"$ref": made.pop("$ref")}]  # nothing may stand beside a reference
    return made


def _close(made: Schema, given: Schema, tool: str, at: str) -> None:
    properties = cast("Schema", given.get("properties", {}))
    extra = given.get("additionalProperties")
    if isinstance(extra, dict) or extra is True or (not properties and extra is not False and at != "the arguments"):
        raise _no(tool, f"{at} has keys that are not named: give it a model or a TypedDict, or a list of pairs")
    required = given.get("required", ())
    made["properties"] = {
        name: _strict(each, tool, name) if name in required else _nullable(_strict(each, tool, name))
        for name, each in properties.items()
    }
    made |= {"required": [*properties], "additionalProperties": False}


def _nullable(schema: Schema) -> Schema:
    if takes_null(schema):
        return schema
    inner = {key: value for key, value in schema.items() if key != "description"}
    many = inner["anyOf"] if [*inner] == ["anyOf"] else [inner]
    outer = {"description": schema["description"]} if "description" in schema else {}
    return {"anyOf": [*many, {"type": "null"}], **outer}


def _describe(made: Schema, given: Schema) -> None:
    """Tell in words what the strict modes know no keyword for."""
    left = {key: value for key, value in given.items() if key not in _KEPT | _SILENT and key not in ("const", "oneOf")}
    if given.get("format", "date") not in _FORMATS:
        left["format"] = made.pop("format")
    if left.get("default", 0) is None:
        del left["default"]  # null says so
    said = ", ".join(f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in left.items())
    if said:
        made["description"] = f"{made['description']} ({said})" if made.get("description") else said


def takes_null(schema: Mapping[str, Any]) -> bool:
    """Whether null is a value of its own."""
    kinds = schema.get("type", ())
    if "null" in ([kinds] if isinstance(kinds, str) else kinds) or None in schema.get("enum", ()):
        return True
    return any(takes_null(each) for each in schema.get("anyOf", schema.get("oneOf", ())))


def _refuse_cycles(schema: Schema, tool: str) -> None:
    definitions = cast("Schema", schema.get("$defs", {}))

    def visit(name: str, above: tuple[str, ...]) -> None:
        if name in above:
            raise _no(tool, f"{name} holds itself")
        for each in _references(definitions.get(name)):
            visit(each, (*above, name))

    for name in definitions:
        visit(name, ())


def _references(node: Any) -> set[str]:
    if isinstance(node, list):
        return set[str]().union(*map(_references, cast("list[Any]", node)))
    if not isinstance(node, dict):
        return set()
    entries = cast("Schema", node)
    own = {str(entries["$ref"]).rpartition("/")[2]} if isinstance(entries.get("$ref"), str) else set[str]()
    return own.union(*map(_references, entries.values()))


def _no(tool: str, why: str) -> ToolDefinitionError:
    return ToolDefinitionError(f"the tool {tool} cannot be strict: {why}; or leave `strict` out", tool)


# ---- the way back
def drop_nulls(schema: Mapping[str, Any]) -> Callable[[Any], Any]:
    """What takes the nulls out of arguments that stand for "not given".

    Args:
        schema: the schema before it was made strict: it says which keys need not be given, and where null is a value.

    Example:
        >>> drop_nulls({"properties": {"a": {"type": "integer", "default": 1}}})({"a": None})
        {}
    """
    definitions = cast("Schema", schema.get("$defs", {}))

    def clean(value: Any, node: Mapping[str, Any]) -> Any:
        if "$ref" in node:
            node = cast("Schema", definitions.get(str(node["$ref"]).rpartition("/")[2], {}))
        branches = cast("list[Schema]", node.get("anyOf") or node.get("oneOf") or ())
        if branches:
            return clean(value, _branch(value, branches, definitions))
        if isinstance(value, list) and isinstance(node.get("items"), dict):
            return [clean(each, node["items"]) for each in cast("list[Any]", value)]
        properties = cast("Schema", node.get("properties", {}))
        if not isinstance(value, dict) or not properties:
            return cast("Any", value)
        required = node.get("required", ())
        entries = cast("Schema", value).items()
        return {
            name: clean(each, properties.get(name, {}))
            for name, each in entries
            if each is not None or name in required or name not in properties or takes_null(properties[name])
        }

    return lambda value: clean(value, schema)


def _branch(value: Any, branches: list[Schema], definitions: Schema) -> Schema:
    """The alternative that a value was made for: of those with properties, one that has all its keys."""
    for each in branches:
        target = cast("Schema", definitions.get(str(each.get("$ref", "")).rpartition("/")[2], each))
        is_object = isinstance(value, dict) and "properties" in target and value.keys() <= target["properties"].keys()
        if is_object or (isinstance(value, list) and "items" in target):
            return target
    return {}
