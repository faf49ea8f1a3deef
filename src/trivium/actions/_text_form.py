"""The calls of tool messages that a model writes as text: their form, those in a text, and what was meant as one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, cast

import jiter

from trivium.actions._strict import JSONSchema, is_json_object
from trivium.actions._tool_schema import NOT_ARGUMENTS
from trivium.exceptions import ToolArgumentsError
from trivium.schema import ToolCall
from trivium.schema.lowlevel import ToolCallReader, tool_calls_in, unfence

if TYPE_CHECKING:
    from trivium.actions._tool_message import ToolMessage

FAULTY: Final = "TOOL: "
"""The beginning of the arguments of a call in another form: they are no JSON, so that they fit no tool."""

_HEADING = re.compile(r"TOOL:\s*([\w.-]+)(\s*(?:[({].*[)}])?\Z)?", re.DOTALL)
_NAMING = frozenset(["request", "name", "tool"])
_ARGUMENTS = frozenset(["arguments", "parameters", "args"])
_REQUEST = re.compile(r"<request>\s*+(?:<!\[CDATA\[)?\s*+([\w.-]+)")
_FRAME = re.compile(r"\A\s*(?:TOOL:)?\s*|</?tool_call>")
_BETWEEN = re.compile(r"(?:[\s,\[\]]|TOOL:|```\w*+)*+")
"""What may stand between the calls of a text, each of which may have a frame of its own."""
_BROKEN = re.compile(r"""\s*+\[?\s*+\{.*?["']?request["']?\s*+:\s*+["']([\w.-]+)["']""", re.DOTALL)


def blank_call(parameters: JSONSchema) -> str:
    """Write a call with a placeholder for each value that has no default: `{"request": "square", "number": <integer>}`.

    Small models copy what they see: a schema, where they see no call.

    Args:
        parameters: the schema of the call, `request` included.
    """
    fields: JSONSchema = parameters["properties"]
    return _blank({"properties": {"request": fields["request"], **fields}}, parameters.get("$defs", {}))


def _blank(schema: JSONSchema | bool, types: JSONSchema) -> str:
    """Write the placeholder of a value; a type within itself is given by its name."""
    match schema:
        case bool():  # a schema may be True or False in any place: all values, or none
            return "<value>"
        case {"$ref": str(reference)}:
            name = reference.rpartition("/")[2]
            inner = {each: type_ for each, type_ in types.items() if each != name}
            return _blank(types[name], inner) if name in types else f"<{name}>"
        case {"default": value} | {"const": value} | {"enum": [value]}:
            return json.dumps(value, ensure_ascii=False)
        case {"enum": [*values]}:
            return _of_type(schema, " | ".join(map(str, values)))
        case {"anyOf": [first, *_]} | {"oneOf": [first, *_]}:
            return _blank(first, types)
        case {"properties": fields}:
            inside = cast("dict[str, JSONSchema]", fields).items()
            return "{" + ", ".join(f"{json.dumps(name)}: {_blank(each, types)}" for name, each in inside) + "}"
        case {"prefixItems": [*each]}:
            return f"[{', '.join(_blank(one, types) for one in each)}]"
        case {"items": each}:
            return f"[{_blank(each, types)}]"
        case _:
            return _of_type(schema, schema.get("type", "value"))


def _of_type(schema: JSONSchema, hint: str) -> str:
    return f'"<{hint}>"' if schema.get("type") == "string" else f"<{hint}>"


def calls_in_text(text: str, known: Mapping[str, Any], *, everywhere: bool = True) -> tuple[ToolCall, ...]:
    """Find the calls in a model's text: those in XML if an `XMLToolMessage` is known, else those in JSON.

    Args:
        text: the text of a model; never of anybody else.
        known: the classes of tool messages by name. Calls of other tools in JSON are found too.
        everywhere: find calls within sentences too; else a text is calls, one or several, or text. A code fence,
            `<tool_call>` and the word TOOL may surround a call. A text that begins as a call and is no JSON is a
            call with the whole text as its arguments, which fit no tool.

    Example:
        >>> from trivium.actions import ToolMessage
        >>> class Square(ToolMessage):
        ...     request: str = "square"
        ...     purpose: str = "To square a <number>."
        ...     number: int
        >>> calls_in_text('I call {"request": "square", "number": 3}.', {"square": Square})
        (ToolCall(id='', name='square', arguments='{"number": 3}'),)
        >>> calls_in_text('I call {"request": "square", "number": 3}.', {"square": Square}, everywhere=False)
        ()
    """
    body = text if everywhere else _FRAME.sub("", unfence(text)).strip()
    if "<" in body and (found := tuple(find_xml_calls(body, known))):
        return found if everywhere or (body.startswith("<") and body.endswith(">")) else ()
    if everywhere:
        return tool_calls_in(body) or broken_call(body)
    parts = ToolCallReader().feed(body, is_end=True)
    if not _BETWEEN.fullmatch("".join(part for part in parts if isinstance(part, str))):
        return broken_call(body)
    return tuple(part for part in parts if isinstance(part, ToolCall))


def broken_call(text: str) -> tuple[ToolCall, ...]:
    """Return a call that fits no tool, of a text that begins as a call and is no JSON: its model is told so."""
    opening = _BROKEN.match(text)
    if opening is None:
        return ()
    try:
        jiter.from_json(text.encode("utf-8", "replace"))
    except ValueError:
        return (ToolCall("", opening[1], text),)
    return ()


def find_xml_calls(text: str, known: Mapping[str, Any]) -> Iterator[ToolCall]:
    """Find the calls that are written as XML; see `calls_in_text`."""
    by_root = {each._get_root_element(): each for each in known.values() if _is_xml(each)}
    for kind in by_root.values():
        for candidate in kind.find_candidates(text):
            found = _REQUEST.search(candidate)
            if found is not None and _is_xml(known.get(found[1])):
                yield ToolCall("", found[1], _arguments(known[found[1]], candidate))


def _is_xml(kind: object) -> bool:
    return hasattr(kind, "find_candidates")  # as `XMLToolMessage` has it


def _arguments(kind: Any, candidate: str) -> str:
    """The arguments as JSON; the text itself if it cannot be read, so that the model gets its validation error."""
    values: dict[str, Any] | None = None
    with suppress(ToolArgumentsError):
        values = kind.extract_field_values(candidate)
    if values is None:
        return candidate
    return json.dumps({name: value for name, value in values.items() if name != "request"}, ensure_ascii=False)


def faulty_call(text: str, classes: Iterable[type[ToolMessage]], *, may_be_bare: bool) -> tuple[ToolCall, ...]:
    """Return the call that a model's whole text was meant as, if it is in another form; it fits no tool.

    That is a text below the word TOOL and a name, as of other frameworks, or one JSON object that names a tool
    otherwise than by `request` or has the fields of one without it. To run it would be a guess: the model is told how
    it is written.

    Args:
        text: the text, which holds no call.
        classes: the tools that the model may call.
        may_be_bare: whether JSON is a call though only its fields are a tool's; else that is an answer.
    """
    whole, known = unfence(text).strip(), {each.name(): each for each in classes}
    inside = _FRAME.sub("", whole)
    body, heading = unfence(inside.strip()), _HEADING.match(whole)
    try:
        value: Any = jiter.from_json(body.encode("utf-8", "replace"))
    except ValueError:
        value = None
    is_framed, meant = inside != whole, list[str]()
    if is_json_object(value):
        meant = [name for name, each in known.items() if _means(each, value, is_framed, may_be_bare)]
    if len(meant) != 1:  # a sentence may begin with the word, but not with the word and the name of a tool
        is_named = heading is not None and (heading[1] in known or heading[2] is not None)
        meant = [heading[1]] if heading and is_named else []
    return tuple(ToolCall("", name, f"{FAULTY}{body}") for name in meant)


def _means(kind: type[ToolMessage], value: JSONSchema, is_framed: bool, may_be_bare: bool) -> bool:
    """Return whether a JSON object is meant as a call of a tool: by its name and a form of a call, or by its fields."""
    inner = value.get("properties")
    values: JSONSchema = inner if is_json_object(inner) else value
    fields = {name: field for name, field in kind.model_fields.items() if name not in ("request", *NOT_ARGUMENTS)}
    others = values.keys() - fields.keys()
    if kind.name() in (values.get("request"), values.get("name"), values.get("tool")):
        is_form = not _ARGUMENTS.isdisjoint(others) and others <= _NAMING | _ARGUMENTS
        return is_framed or values is inner or is_form or (may_be_bare and others <= _NAMING)
    required = {name for name, field in fields.items() if field.is_required()}
    may_be_bare = may_be_bare and bool(required)  # else any of its fields alone would be a call
    return (is_framed or may_be_bare) and bool(values) and not others and required <= values.keys()
