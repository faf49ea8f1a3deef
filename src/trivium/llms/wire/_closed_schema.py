"""JSON schemas in the form that providers' decoders accept: closed objects, and known keywords only."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final, cast

OPENAI_FORMATS: Final = frozenset(
    {"date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "time", "uuid"}
)
CLAUDE_FORMATS: Final = OPENAI_FORMATS | {"uri"}
_KEPT: Final = {"const", "description", "enum", "required", "title", "type"}
_TYPES: Final = {"array", "boolean", "integer", "null", "number", "object", "string"}
_CHOICES: Final = ("anyOf", "oneOf", "allOf")
_DEFINED: Final = "#/$defs/"


class _OpenSchema(Exception):
    """A schema that no decoder can enforce."""


def closed_schema(schema: Mapping[str, object], formats: Collection[str]) -> dict[str, Any] | None:
    """Convert a schema to one that a constrained decoder accepts; None if that is impossible.

    Objects are closed. Keywords that not every decoder knows, such as `minimum`, move to the description; the caller
    checks them. It is impossible for an object with any keys, a value of any type, a recursive type, and a reference to
    anything but a definition in `$defs`.

    Args:
        schema: the schema.
        formats: the formats of texts that the decoder knows.

    Example:
        >>> age = {"type": "integer", "minimum": 0}
        >>> closed_schema({"type": "object", "properties": {"age": age}}, OPENAI_FORMATS)["properties"]
        {'age': {'type': 'integer', 'description': 'minimum: 0'}}
    """
    definitions = cast("Mapping[str, Any]", schema.get("$defs") or {})
    try:
        found = _closed(schema, formats)
        closed = {name: _closed(each, formats) for name, each in definitions.items()}
        _refuse_circles(found, closed, (), set())
        if closed:
            found["$defs"] = closed
    except (_OpenSchema, RecursionError):
        return None
    return found


def _closed(node: object, formats: Collection[str]) -> dict[str, Any]:
    if not isinstance(node, Mapping):
        raise _OpenSchema
    given = dict(cast("Mapping[str, Any]", node))
    given.pop("$defs", None)
    given.pop("$schema", None)
    if "$ref" in given:
        if len(given) == 1:
            return given
        given["anyOf"] = [{"$ref": given.pop("$ref")}]  # nothing stands beside a reference
    found = {name: given.pop(name) for name in list(given) if name in _KEPT}
    kind = found.get("type")
    for name in _CHOICES:
        if name in given:
            found["allOf" if name == "allOf" else "anyOf"] = [_closed(each, formats) for each in given.pop(name)]
    if kind is None and not found.keys() & {"const", "enum", "anyOf", "allOf"}:
        raise _OpenSchema
    if kind is not None and not (isinstance(kind, str) and kind in _TYPES):
        raise _OpenSchema
    if kind == "object":
        _close(found, given, formats)
    elif kind == "array":
        found["items"] = _closed(given.pop("items", None), formats)
    elif kind == "string" and given.get("format") in formats:
        found["format"] = given.pop("format")
    given.pop("additionalProperties", None)
    if rest := ", ".join(f"{name}: {value}" for name, value in given.items()):
        found["description"] = f"{found['description']} ({rest})" if "description" in found else rest
    return found


def _close(found: dict[str, object], given: dict[str, object], formats: Collection[str]) -> None:
    is_open = given.pop("additionalProperties", "properties" not in given)
    if is_open is not False or "patternProperties" in given:
        raise _OpenSchema
    properties = given.pop("properties", {})
    if not isinstance(properties, Mapping):
        raise _OpenSchema
    named = cast("Mapping[str, Any]", properties)
    found["properties"] = {name: _closed(each, formats) for name, each in named.items()}
    found["additionalProperties"] = False


def _refuse_circles(node: object, definitions: Mapping[str, object], within: tuple[str, ...], free: set[str]) -> None:
    """Refuse a reference that leads to itself, or to no definition; `free`: the definitions that have none."""
    if isinstance(node, list):
        for each in cast("list[Any]", node):
            _refuse_circles(each, definitions, within, free)
    if not isinstance(node, dict):
        return
    for name, value in cast("dict[str, Any]", node).items():
        if name != "$ref" or not isinstance(value, str):
            _refuse_circles(value, definitions, within, free)
            continue
        target = value.removeprefix(_DEFINED)
        if target == value or target in within or target not in definitions:
            raise _OpenSchema
        if target not in free:
            _refuse_circles(definitions[target], definitions, (*within, target), free)
            free.add(target)
