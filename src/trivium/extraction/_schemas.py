"""Fields from a JSON schema, from a pydantic model, or from a file that holds one of these."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from os import PathLike, fspath
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from pydantic import BaseModel
from pydantic.errors import PydanticUserError

from trivium.exceptions import FieldsError
from trivium.extraction._fields import MAX_ITEMS, Field, Kind, check_names
from trivium.schema.lowlevel import checked

_Schema = Mapping[str, Any]
_KINDS: Mapping[str, Kind] = {
    "string": "text", "number": "number", "integer": "integer", "boolean": "boolean", "array": "list",
}  # fmt: skip


@checked
def fields_from_schema(schema: Mapping[str, object]) -> tuple[Field, ...]:
    """Read the properties of a JSON schema as fields, in their order; one that cannot be read is an error.

    Args:
        schema: the schema of an object. `$ref`, `anyOf` with null, `enum`, `const`, `format: date` and
            `format: money` (our own) are understood, as pydantic writes them; an object is a group of values,
            and an array of objects a list of line items, of `maxItems` at most.

    Returns:
        One field per property.

    Raises:
        FieldsError: the schema is not of an object, or a property is of a form that cannot be extracted,
            such as an object within an object.

    >>> fields_from_schema({"type": "object", "properties": {"starts": {"type": "string", "format": "date"}}})
    (Field(name='starts', kind='date', description='', choices=(), item=None, parts=(), max_items=50),)
    """
    root = _resolve("the schema", schema, schema)
    properties = root.get("properties")
    if not isinstance(properties, Mapping) or not properties:
        raise FieldsError('the schema has no fields: write {"type": "object", "properties": {…}}')
    entries = cast("_Schema", properties)
    check_names(entries)
    return tuple(_field(name, _mapping(name, entry), schema) for name, entry in entries.items())


def fields_from_model(model: object) -> tuple[Field, ...]:
    """Read a pydantic model class as fields, by the names under which it validates.

    Args:
        model: the class; a field is money if it has `json_schema_extra={"format": "money"}`.

    Returns:
        One field per field of the model.

    Raises:
        FieldsError: it is not a pydantic model class, or a field of it cannot be extracted.

    >>> class Lease(BaseModel):
    ...     tenant: str
    ...     rent: float | None
    >>> [(field.name, field.kind) for field in fields_from_model(Lease)]
    [('tenant', 'text'), ('rent', 'number')]
    """
    if not (isinstance(model, type) and issubclass(model, BaseModel)):
        raise FieldsError(f"{model!r} is not a pydantic model: derive the class from pydantic.BaseModel")
    try:
        schema = model.model_json_schema()
    except PydanticUserError as error:
        raise FieldsError(f"{model.__name__} has no JSON schema: {_first_line(error)}") from error
    return fields_from_schema(schema)


@checked
def load_fields(reference: str | PathLike[str]) -> tuple[Field, ...]:
    """Read fields from a file: `model.py:Lease` (which runs that file) or a JSON schema, `lease.json`.

    Args:
        reference: path of a Python file, a colon and the name of a pydantic model; or the path of
            a JSON file.

    Returns:
        The fields.

    Raises:
        FieldsError: the file is missing or cannot be read, or it holds no such model or schema.

    >>> load_fields("lease.py")
    Traceback (most recent call last):
    trivium.exceptions.FieldsError: lease.py names no class; write lease.py:Lease for the model class Lease
    """
    reference = fspath(reference)
    path, _, name = reference.rpartition(":")
    if path.endswith(".py"):
        with _imported(_existing(path)) as module:
            return fields_from_model(_model_in(module, name, path))
    if reference.endswith(".py"):
        raise FieldsError(f"{reference} names no class; write {reference}:Lease for the model class Lease")
    if not reference.endswith(".json"):
        raise FieldsError(f"'{reference}' names no schema; write lease.json, or a model as model.py:Lease")
    file = _existing(reference)
    try:
        schema: object = json.loads(file.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        raise FieldsError(f"{file} cannot be read as JSON: {_first_line(error)}") from error
    if not isinstance(schema, Mapping):
        raise FieldsError(f"{file} is not a JSON schema: it must hold an object with 'properties'")
    return fields_from_schema(cast("_Schema", schema))


def _existing(path: str) -> Path:
    if not Path(path).is_file():
        raise FieldsError(f"{path} does not exist; name a .json file, or a model as model.py:Lease")
    return Path(path)


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def _model_in(module: ModuleType, name: str, path: str) -> type[BaseModel]:
    models = {
        key: value for key, value in vars(module).items() if isinstance(value, type) and issubclass(value, BaseModel)
    }
    if name not in models:
        found = [key for key, value in models.items() if value.__module__ == module.__name__]
        listed = f"; it defines {', '.join(found)}" if found else ""
        what = "has no pydantic model" if hasattr(module, name) else "has no class"
        raise FieldsError(f"{path} {what} '{name}'{listed}")
    return models[name]


@contextmanager
def _imported(path: Path) -> Generator[ModuleType]:
    """Run a file as a module, registered for the time of the block, since pydantic looks up annotations there."""
    name = f"_trivium_model_{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:16]}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None, "the path ends in .py"
    assert spec.loader is not None, "a source file has a loader"
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        try:
            spec.loader.exec_module(module)
        except SyntaxError as error:
            raise FieldsError(f"{path} cannot be imported: line {error.lineno}: {error.msg}") from error
        except (Exception, SystemExit) as error:  # any error of the user's file is an error about the file
            cause = f"{type(error).__name__}: {_first_line(error)}"
            raise FieldsError(f"{path} cannot be imported: {cause}") from error
        yield module
    finally:
        sys.modules.pop(name, None)


def _mapping(name: str, entry: object) -> _Schema:
    if not isinstance(entry, Mapping):
        raise _unsupported(name, f"its schema is {entry!r}, not an object")
    return cast("_Schema", entry)


def _unsupported(name: str, reason: str) -> FieldsError:
    return FieldsError(f"field '{name}' is not supported: {reason}")


def _resolve(name: str, schema: _Schema, root: _Schema) -> _Schema:
    """Follow `$ref` and a single `allOf`; keys beside a reference count over those that it refers to."""
    seen: set[str] = set()
    while True:
        if "$ref" in schema:
            pointer = str(schema["$ref"])
            if pointer in seen:
                raise _unsupported(name, f"{pointer} refers to itself")
            seen.add(pointer)
            beside = {key: value for key, value in schema.items() if key != "$ref"}
            schema = {**_target(name, pointer, root), **beside}
        elif isinstance(parts := schema.get("allOf"), list) and len(cast("list[Any]", parts)) == 1:
            beside = {key: value for key, value in schema.items() if key != "allOf"}
            schema = {**_mapping(name, cast("list[Any]", parts)[0]), **beside}
        else:
            return schema


def _target(name: str, pointer: str, root: _Schema) -> _Schema:
    if not pointer.startswith("#"):
        raise _unsupported(name, f"{pointer} is outside the schema; put it under $defs")
    node: object = root
    for step in pointer.removeprefix("#").strip("/").split("/"):
        key = step.replace("~1", "/").replace("~0", "~")
        if not isinstance(node, Mapping) or key not in node:
            raise _unsupported(name, f"{pointer} names nothing in the schema")
        node = cast("Any", node)[key]
    return _mapping(name, node)


def _field(name: str, schema: _Schema, root: _Schema) -> Field:
    schema = _without_null(name, _resolve(name, schema, root), root)
    description = " ".join(str(schema.get("description", "")).split())
    if schema.get("format") == "money":
        return Field(name, "money", description)
    if "enum" in schema or "const" in schema:
        return Field(name, "choice", description, _choices(name, schema))
    if (type_ := _type(schema)) == "array":
        most = schema.get("maxItems", MAX_ITEMS)
        return Field(name, "list", description, item=_item(name, schema, root), max_items=most)
    if type_ == "object":
        return Field(name, "group", description, parts=_parts(name, schema, root))
    if type_ not in _KINDS:
        raise _unsupported(name, f"its type is {type_}")
    return Field(name, "date" if schema.get("format") == "date" else _KINDS[type_], description)


def _parts(name: str, schema: _Schema, root: _Schema) -> tuple[Field, ...]:
    properties = schema.get("properties")
    if not isinstance(properties, Mapping) or not properties:
        raise _unsupported(name, "nested objects need properties")
    inner: list[Field] = []
    for part, entry in cast("_Schema", properties).items():
        resolved = _without_null(part, _resolve(part, _mapping(part, entry), root), root)
        if resolved.get("format") != "money" and (type_ := _type(resolved)) in ("object", "array"):
            raise _unsupported(name, f"'{part}' is an {type_} within an object; give it a field of its own")
        inner.append(_field(part, resolved, root))
    return tuple(inner)


def _type(schema: _Schema) -> str:
    declared = schema.get("type")
    if isinstance(declared, list):
        kinds = [kind for kind in cast("list[str]", declared) if kind != "null"]
        return kinds[0] if len(kinds) == 1 else " or ".join(kinds)
    if declared is None:
        return "object" if "properties" in schema else "array" if "items" in schema else "string"
    return str(declared)


def _without_null(name: str, schema: _Schema, root: _Schema) -> _Schema:
    """Resolve alternatives to the one form that covers all: a Decimal is "number or string", int | float a number."""
    options = schema.get("anyOf", schema.get("oneOf"))
    if not isinstance(options, list):
        return schema
    entries = [_resolve(name, _mapping(name, option), root) for option in cast("list[Any]", options)]
    entries = [entry for entry in entries if entry.get("type") != "null"]
    types = {_type(entry) for entry in entries}
    if len(entries) == 1:
        form = entries[0]
    elif types in ({"integer", "number"}, {"number", "string"}, {"integer", "number", "string"}):
        form = {"type": "number"}
    elif types == {"string"} and all("const" in entry or "enum" in entry for entry in entries):
        form = {"enum": [choice for entry in entries for choice in entry.get("enum", [entry.get("const")])]}
    else:
        raise _unsupported(name, f"it may be {' or '.join(sorted(types))}; choose one form")
    beside = {key: value for key, value in schema.items() if key not in ("anyOf", "oneOf")}
    return _without_null(name, {**form, **beside}, root)


def _choices(name: str, schema: _Schema) -> tuple[str, ...]:
    listed = schema["enum"] if "enum" in schema else [schema["const"]]
    values = [value for value in cast("list[object]", listed) if value is not None]
    choices = tuple(value for value in values if isinstance(value, str))
    if len(choices) < len(values):
        raise _unsupported(name, "a choice is not text; write the choices as strings")
    return choices


def _item(name: str, schema: _Schema, root: _Schema) -> Field:
    if "prefixItems" in schema:
        raise _unsupported(name, "a tuple is not; ask for a list of one type")
    items = schema.get("items", True)
    return Field(name) if items is True else _field(name, _mapping(name, items), root)
