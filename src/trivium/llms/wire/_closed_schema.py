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


def closed_schema(
    schema: Mapping[str, object], formats: Collection[str], may_recur: bool = False
) -> dict[str, Any] | None:
    """Convert a schema to one that a constrained decoder accepts; None if that is impossible.

    Objects are closed. Keywords that not every decoder knows, such as `minimum`, move to the description; the caller
    checks them. It is impossible for an object with any keys, a value of any type, a reference to anything but a
    definition in `$defs`, and for most decoders a recursive type.

    Args:
        schema: the schema.
        formats: the formats of texts that the decoder knows.
        may_recur: the decoder takes recursive types, as OpenAI's does.

    Example:
        >>> age = {"type": "integer", "minimum": 0}
        >>> closed_schema({"type": "object", "properties": {"age": age}}, OPENAI_FORMATS)["properties"]
        {'age': {'type': 'integer', 'description': 'minimum: 0'}}
    """
    definitions = cast("Mapping[str, Any]", schema.get("$defs") or {})
    try:
        found = _closed(schema, formats)
        closed = {name: _closed(each, formats) for name, each in definitions.items()}
        _check_references(found, closed, (), set(), may_recur)
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


def _check_references(
    node: object, definitions: Mapping[str, object], within: tuple[str, ...], checked: set[str], may_recur: bool
) -> None:
    """Refuse a reference to no definition, and one that leads to itself; `checked`: the definitions without these."""
    if isinstance(node, list):
        for each in cast("list[Any]", node):
            _check_references(each, definitions, within, checked, may_recur)
    if not isinstance(node, dict):
        return
    for name, value in cast("dict[str, Any]", node).items():
        if name != "$ref" or not isinstance(value, str):
            _check_references(value, definitions, within, checked, may_recur)
            continue
        target = value.removeprefix(_DEFINED)
        is_circle = target in within
        if target == value or target not in definitions or (is_circle and not may_recur):
            raise _OpenSchema
        if target not in checked and not is_circle:
            _check_references(definitions[target], definitions, (*within, target), checked, may_recur)
            checked.add(target)
