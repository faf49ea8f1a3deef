"""JSON schemas in the form that providers' decoders accept: closed objects, and known keywords only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

_FORMATS: Final = {
    "date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "time", "uuid",
}  # fmt: skip
"""Those that both OpenAI and Anthropic know."""
_KEPT: Final = {"const", "description", "enum", "required", "title", "type"}
_TYPES: Final = {"array", "boolean", "integer", "null", "number", "object", "string"}
_CHOICES: Final = ("anyOf", "oneOf", "allOf")


class _OpenSchema(Exception):
    """A schema that no decoder can enforce."""


def closed_schema(schema: Mapping[str, object]) -> dict[str, Any] | None:
    """Convert a schema to one that a constrained decoder accepts; None if that is impossible.

    Objects are closed. Keywords that no decoder knows, such as `minimum`, move to the description; the caller checks
    them. It is impossible for an object with any keys, a value of any type, and a recursive type.

    Example:
        >>> closed_schema({"type": "object", "properties": {"age": {"type": "integer", "minimum": 0}}})["properties"]
        {'age': {'type': 'integer', 'description': 'minimum: 0'}}
    """
    definitions = cast("Mapping[str, Any]", schema.get("$defs") or {})
    try:
        found = _closed(schema)
        if definitions:
            found["$defs"] = {name: _closed(each) for name, each in definitions.items()}
            _refuse_circles(found, found["$defs"], ())
    except (_OpenSchema, RecursionError):
        return None
    return found


def _closed(node: object) -> dict[str, Any]:
    if not isinstance(node, Mapping):
        raise _OpenSchema
    given = dict(cast("Mapping[str, Any]", node))
    given.pop("$defs", None)
    given.pop("$schema", None)
    if "$ref" in given:
        return {"$ref": given["$ref"]}
    found = {name: given.pop(name) for name in list(given) if name in _KEPT}
    kind = found.get("type")
    for name in _CHOICES:
        if name in given:
            found["allOf" if name == "allOf" else "anyOf"] = [_closed(each) for each in given.pop(name)]
    if kind is None and not found.keys() & {"const", "enum", "anyOf", "allOf"}:
        raise _OpenSchema
    if kind is not None and not (isinstance(kind, str) and kind in _TYPES):
        raise _OpenSchema
    if kind == "object":
        _close(found, given)
    elif kind == "array":
        found["items"] = _closed(given.pop("items", None))
    elif kind == "string" and given.get("format") in _FORMATS:
        found["format"] = given.pop("format")
    given.pop("additionalProperties", None)
    if rest := ", ".join(f"{name}: {value}" for name, value in given.items()):
        found["description"] = f"{found['description']} ({rest})" if "description" in found else rest
    return found


def _close(found: dict[str, object], given: dict[str, object]) -> None:
    is_open = given.pop("additionalProperties", "properties" not in given)
    if is_open is not False or "patternProperties" in given:
        raise _OpenSchema
    properties = given.pop("properties", {})
    if not isinstance(properties, Mapping):
        raise _OpenSchema
    found["properties"] = {name: _closed(each) for name, each in cast("Mapping[str, Any]", properties).items()}
    found["additionalProperties"] = False


def _refuse_circles(node: object, definitions: Mapping[str, object], within: tuple[str, ...]) -> None:
    if isinstance(node, list):
        for each in cast("list[Any]", node):
            _refuse_circles(each, definitions, within)
    if not isinstance(node, dict):
        return
    for name, value in cast("dict[str, Any]", node).items():
        if name == "$ref" and isinstance(value, str):
            target = value.rpartition("/")[2]
            if target in within:
                raise _OpenSchema
            _refuse_circles(definitions.get(target), definitions, (*within, target))
        elif name != "$defs":
            _refuse_circles(value, definitions, within)
