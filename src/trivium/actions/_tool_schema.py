"""The schema of a tool message, as it is sent to a model, and what docstrings say of tools."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from trivium.actions._json_schema import remove_titles, with_own_root
from trivium.actions._strict import JSONSchema, is_json_array, is_json_object

if TYPE_CHECKING:
    from trivium.actions._tool_message import ToolMessage

NOT_ARGUMENTS = ("purpose", "id")
"""The fields of every tool message that are not arguments of a call."""

_SECTIONS = ("Args", "Arguments", "Parameters", "Attributes")
_SECTION = re.compile(r"^(Args|Arguments|Parameters|Returns|Raises|Yields|Example|Examples|Note)s?:\s*$")
_ROLE = re.compile(r":\w+:`([^`]+)`")
_ENTRY = re.compile(r"^(?:[*-]\s+)?\*{0,2}(\w+)(?:\s*\(([^)]*)\))?:\s*(.*)$")


def read_sections(text: str) -> tuple[str, dict[str, dict[str, tuple[str, str]]]]:
    """Read a docstring: its description, and its sections, each with its entries: name → (type in brackets, text)."""
    description: list[str] = []
    sections: dict[str, dict[str, tuple[str, str]]] = {}
    entries: dict[str, tuple[str, str]] | None = None
    name = ""
    for line in _ROLE.sub(r"\1", text).splitlines():
        heading = _SECTION.match(line)
        if heading is not None:
            entries = sections.setdefault(heading[1], {})
            name = ""
        elif entries is None:
            description.append(line)
        elif line.strip():
            entry = _ENTRY.match(line.strip())
            if entry is not None and len(line) - len(line.lstrip()) <= 4:
                name = entry[1]
                entries[name] = (entry[2] or "", entry[3])
            elif name:
                entries[name] = (entries[name][0], f"{entries[name][1]} {line.strip()}".strip())
    return "\n".join(description).strip(), sections


def message_schema(kind: type[ToolMessage]) -> JSONSchema:
    """Make the JSON schema of a tool message as a model sees it, without the fields that are not arguments.

    No titles; descriptions from the class's docstring where a field has none; tool messages within it have a fixed
    `request`. The fields are those of the class, `request` included.
    """
    schema: JSONSchema = with_own_root(remove_titles(kind.model_json_schema()))
    sections = read_sections(inspect.cleandoc(kind.__doc__ or ""))[1]
    texts = {field: text for each in _SECTIONS for field, (_, text) in sections.get(each, {}).items() if text}
    for name, field in schema.get("properties", {}).items():
        if name in texts:
            field.setdefault("description", texts[name])
    for each in (schema, *schema.get("$defs", {}).values()):
        keep_arguments(each)
    return {name: value for name, value in schema.items() if name != "description"}


def keep_arguments(schema: JSONSchema) -> None:
    """Remove from the schema of a tool message the fields that are not arguments, and fix its `request`."""
    if isinstance(schema.get("additionalProperties"), bool):
        del schema["additionalProperties"]
    hidden = schema.pop("exclude", None)
    if hidden is None:  # no tool message
        return
    properties = {name: field for name, field in schema["properties"].items() if name not in hidden}
    request = properties.get("request", {})
    if "default" in request:
        properties["request"] = {"type": "string", "enum": [request["default"]]}
    required = [name for name in schema.get("required", ()) if name in properties and name != "request"]
    schema.update(properties=properties, required=[*required, "request"])


def parameters_of(kind: type[ToolMessage], *, request: bool = False, defaults: bool = True) -> JSONSchema:
    """Make the schema of a tool message's arguments.

    Args:
        kind: the class.
        request: include `request`, as for a call that is written as text; it is required, and the last.
        defaults: include the fields that have a default.
    """
    schema = message_schema(kind)
    fields: dict[str, JSONSchema] = schema["properties"]
    properties = {
        name: field
        for name, field in fields.items()
        if name not in (*NOT_ARGUMENTS, "request") and (defaults or field.get("default") is None)
    }
    optional = {name for name, field in kind.model_fields.items() if not field.is_required()}
    required = sorted(name for name, field in properties.items() if "default" not in field and name not in optional)
    if request:
        properties["request"] = {"type": "string", "enum": [kind.name()]}
        required.append("request")
    return {**schema, "properties": properties, "required": required}


def without_key(schema: object, unwanted: str) -> Any:
    """Copy a schema without a keyword, on every level; properties of that name stay."""
    if is_json_array(schema):
        return [without_key(each, unwanted) for each in schema]
    if not is_json_object(schema):
        return schema
    found: JSONSchema = {}
    for name, value in schema.items():
        if name in ("properties", "$defs") and is_json_object(value):
            found[name] = {key: without_key(each, unwanted) for key, each in value.items()}
        elif name != unwanted:
            found[name] = without_key(value, unwanted)
    return found


def simple_schema_of(kind: type[BaseModel], hidden: tuple[str, ...] = ()) -> JSONSchema:
    """Make a short schema: the type of each field by name, `{"type": "int"}`, also of models within."""
    found: JSONSchema = {}
    for name, field in kind.model_fields.items():
        of = field.annotation
        if name in hidden:
            continue
        if isinstance(of, type) and issubclass(of, BaseModel):
            found[name] = simple_schema_of(of, hidden)
        else:
            found[name] = {"type": of.__name__ if isinstance(of, type) and not hasattr(of, "__args__") else str(of)}
    return found
