"""Constraints for small models: bounded schemas, and the envelope of tool calls. No I/O.

Small models neither stop by themselves inside a grammar nor write native tool calls reliably. So every
answer that must have a form is generated under a JSON schema whose texts and lists have an end, and a tool
call is an object `{"tool": NAME, "arguments": {…}}`, or one of several in a list.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple, cast

import jiter

from trivium.exceptions import ConfigurationError
from trivium.llms._protocol import Delta, Request, ToolCallPart
from trivium.llms.wire._answers import replace_surrogates
from trivium.schema import ToolSpec

_FILES = ("image_url", "file", "input_audio")
"""The kinds of parts of a chat message that are no text."""

MAX_LENGTH, MAX_ITEMS, MAX_REPLY, MAX_NUMBER, MAX_CALLS = 400, 32, 4000, 10**15, 8
# For the engine's grammar compiler. Line breaks and indentation would cost a quarter of the tokens; keywords
# that it does not know are left to the caller's validation instead of switching the whole grammar off.
OPTIONS = {
    "whitespace_flexible": False,
    "item_separator": ", ",
    "key_separator": ": ",
    "lenient": True,
    "coerce_one_of": True,
}
KINDS = {"string", "integer", "number", "boolean", "null", "array", "object", None}
Schema = dict[str, Any]


class Constraint(NamedTuple):
    """The form to which an answer is constrained.

    Args:
        schema: the schema of the text, or None for free text.
        note: its description in the system message.
        tool: the only possible tool, whose arguments are the text.
        reply: in an envelope, the name for an answer in words; None outside of one.
        plain: True if the reply's text is taken out of its object.
        calls: the schema of a call, where the answer is a list of several; `schema` is that of an item that is alone.
    """

    schema: Schema | None = None
    note: str = ""
    tool: str | None = None
    reply: str | None = None
    plain: bool = True
    calls: Schema | None = None


def constraint(request: Request, several: bool = False) -> Constraint:
    """Work out the form of the answer to `request`.

    Args:
        request: the request.
        several: the answer may be several calls, unless `tool_choice` names a tool.

    Raises:
        ConfigurationError: `tool_choice` names no tool of the request.
    """
    tools = {tool.name: tool for tool in request.tools}
    choice = request.tool_choice
    if choice not in ("auto", "none", "required", *tools):
        raise ConfigurationError(f"tool_choice {choice!r} is none of the tools: {', '.join(tools) or 'no tools'}")
    if choice == "none" or not tools:
        if choice == "required":
            raise ConfigurationError("tool_choice is 'required', and the request has no tools")
        schema = request.output_schema
        return Constraint(None if schema is None else _root(dict(schema)))
    if choice == "required" and len(tools) == 1 and not several:
        (choice,) = tools
    if choice in tools:
        tool = tools[choice]
        note = f"Answer with a JSON object: the arguments of {tool.name}. {tool.description}".rstrip()
        return Constraint(_root(tool.parameters), note, tool=tool.name)
    return _envelope(request, "reply" if choice == "auto" else None, several)


def _envelope(request: Request, reply: str | None, several: bool) -> Constraint:
    tools = list(request.tools)
    if reply is not None:
        while any(tool.name == reply for tool in tools):
            reply += "_"
        text = {"type": "object", "properties": {"text": {"type": "string", "maxLength": MAX_REPLY}}}
        parameters = {**text, "required": ["text"]} if request.output_schema is None else request.output_schema
        # First, and not last: small models then call tools that do not fit less often (docs/embedded-figures.md).
        tools.insert(0, ToolSpec(reply, "Answer in words, when no other tool fits.", dict(parameters)))
    definitions: Schema = {}
    options: list[Schema] = []
    for tool in tools:
        arguments = _namespaced(tool.parameters, tool.name, definitions)
        properties = {"tool": {"const": tool.name}, "arguments": arguments}
        options.append({"type": "object", "properties": properties, "required": ["tool", "arguments"]})
    return Constraint(
        _root({"anyOf": options, "$defs": definitions}),
        _describe(tools, several),
        reply=reply or "",
        plain=request.output_schema is None,
        calls=_root({"anyOf": options[-len(request.tools) :], "$defs": definitions}) if several else None,
    )


def grammar(form: Constraint) -> str:
    """Return the grammar of an answer as the engine's compiler reads it: one item, or a list with one in each line."""
    item = f"%llguidance {{}}\nitem: %json {json.dumps(form.schema)}\n"
    if form.calls is None:
        return f"{item}start: item"
    calls = f'call (",\\n" call){{1,{MAX_CALLS - 1}}}'
    return f'{item}call: %json {json.dumps(form.calls)}\nstart: "[\\n" (item | {calls}) "\\n]"'


def _namespaced(schema: Mapping[str, Any], prefix: str, definitions: Schema) -> Schema:
    """`schema` with its definitions moved to `definitions`, under names that no other tool uses."""

    def renamed(node: object) -> Any:
        if isinstance(node, list):
            return [renamed(item) for item in cast("list[Any]", node)]
        if not isinstance(node, dict):
            return node
        mapping = cast("Schema", node)
        copy = {key: renamed(value) for key, value in mapping.items() if key not in ("$defs", "definitions")}
        if isinstance(reference := mapping.get("$ref"), str):
            copy["$ref"] = f"#/$defs/{prefix}.{reference.rsplit('/', 1)[-1]}"
        return copy

    for name, definition in {**schema.get("$defs", {}), **schema.get("definitions", {})}.items():
        definitions[f"{prefix}.{name}"] = renamed(definition)
    return cast("Schema", renamed(dict(schema)))


def _root(schema: Schema) -> Schema:
    return {**bounded(schema), "x-guidance": OPTIONS}


def bounded(schema: Mapping[str, Any]) -> Schema:
    """`schema` with an end to every text, list, map and number, and without what no grammar can hold.

    Texts get a `maxLength` of 400 characters, lists and maps at most 32 items and numbers at most 15 digits
    where nothing is given; objects take no further keys unless they say so; patterns that have no anchors
    or look around are left to the caller's validation.

    Raises:
        ConfigurationError: the schema has a type that JSON schema does not know.
    """
    copy = {key: value for key, value in schema.items() if key not in ("title", "default", "examples")}
    for key in ("properties", "$defs", "definitions"):
        if key in copy:
            copy[key] = {name: _bounded_any(item) for name, item in copy[key].items()}
    for key in ("anyOf", "oneOf", "allOf", "prefixItems"):
        if key in copy:
            copy[key] = [_bounded_any(item) for item in copy[key]]
    for key in ("items", "additionalProperties"):
        if key in copy:
            copy[key] = _bounded_any(copy[key])
    _bound(copy)
    return copy


def _bounded_any(schema: object) -> Any:
    return bounded(cast("Schema", schema)) if isinstance(schema, dict) else schema


def _bound(schema: Schema) -> None:
    kinds = schema.get("type")
    kinds = set(cast("list[str]", kinds) if isinstance(kinds, list) else [kinds])
    if not kinds <= KINDS:
        raise ConfigurationError(f"the schema has the unknown type {schema['type']!r}")
    if not is_plain_pattern(schema.get("pattern", "^$")):
        del schema["pattern"]
    if {"enum", "const"} & schema.keys():
        return
    if "string" in kinds and "format" not in schema:
        schema.setdefault("maxLength", max(MAX_LENGTH, schema.get("minLength", 0)))
    if "array" in kinds:
        schema.setdefault("maxItems", max(MAX_ITEMS, schema.get("minItems", 0)))
    if {"integer", "number"} & kinds:
        if "exclusiveMinimum" not in schema:
            schema.setdefault("minimum", -MAX_NUMBER)
        if "exclusiveMaximum" not in schema:
            schema.setdefault("maximum", MAX_NUMBER)
    if "properties" in schema:
        schema.setdefault("additionalProperties", False)
    elif "object" in kinds:
        schema.setdefault("maxProperties", max(MAX_ITEMS, schema.get("minProperties", 0)))


def is_plain_pattern(pattern: str) -> bool:
    """Tell whether a grammar can follow a pattern: it is anchored, and has no look-around and no back-reference."""
    anchored = pattern.startswith("^") and pattern.endswith("$")
    return anchored and re.search(r"\(\?[^:]|\\[1-9bBAZ]", pattern) is None


def _describe(tools: Sequence[ToolSpec], several: bool) -> str:
    one = '{"tool": NAME, "arguments": {…}}'
    head = f"Answer with one JSON object {one}. The tools:"
    if several:
        head = f"Answer with a JSON list of objects [{one}, …], one for each call that is needed. The tools:"
    lines = [f"- {tool.name}({_signature(tool.parameters)}): {tool.description}".rstrip(": ") for tool in tools]
    return "\n".join([head, *lines])


def _signature(schema: Mapping[str, Any]) -> str:
    required = schema.get("required", ())
    definitions: Schema = {**schema.get("definitions", {}), **schema.get("$defs", {})}
    return ", ".join(
        f"{name}{'' if name in required else '?'}: {_kind(item, definitions)}"
        for name, item in schema.get("properties", {}).items()
    )


def _kind(schema: Schema, definitions: Schema, depth: int = 0) -> str:
    """A schema in one short phrase; what lies deeper than three levels is only called an object."""
    described = f" ({schema['description']})" if schema.get("description") else ""
    if "$ref" in schema and depth < 3:
        target = definitions.get(schema["$ref"].rsplit("/", 1)[-1], {})
        return _kind(target, definitions, depth + 1) + described
    if "const" in schema or "enum" in schema:
        values = schema.get("enum", [schema.get("const")])
        return " | ".join(json.dumps(value, ensure_ascii=False) for value in values) + described
    options: list[Schema] = schema.get("anyOf") or schema.get("oneOf") or []
    if options and depth < 3:
        return " | ".join(_kind(option, definitions, depth + 1) for option in options) + described
    if "items" in schema and depth < 3:
        return f"[{_kind(schema['items'], definitions, depth + 1)}]{described}"
    if "properties" in schema and depth < 3:
        parts = (f"{key}: {_kind(item, definitions, depth + 1)}" for key, item in schema["properties"].items())
        return f"{{{', '.join(parts)}}}{described}"
    kind: Any = schema.get("type", "object")
    return (" | ".join(cast("list[str]", kind)) if isinstance(kind, list) else str(kind)) + described


def chat_messages(messages: Sequence[Mapping[str, Any]], form: Constraint) -> list[dict[str, Any]]:
    """The messages as the model's template takes them, with the form's note at the end of the system message.

    Tool calls become text in the envelope's form, and tool results messages of the user: the templates of
    small models render native ones in a form that the model then does not write itself. A result says which
    call it answers, and the last of an answer's how to go on: without it, or where the results stand in messages of
    their own, small models make the same calls again and again.
    """
    note, advice = form.note, ""
    if form.reply:
        advice = f'\nIf that is enough to answer, use {{"tool": {json.dumps(form.reply)}}}.'
    made = {call.get("id"): _made(call) for message in messages for call in message.get("tool_calls") or ()}
    chat: list[dict[str, Any]] = []
    for are_results, group in groupby(messages, _is_result):
        plain = [_plain(message, made, form.calls is not None) for message in group]
        if are_results:
            told = "\n".join(each["content"] for each, _ in plain) + advice
            plain = [({"role": "user", "content": told}, [file for _, files in plain for file in files])]
        chat += [_with_files(*each) for each in plain]
    if note and chat and chat[0]["role"] == "system":
        chat[0]["content"] = f"{chat[0]['content']}\n\n{note}"
    elif note:
        chat.insert(0, {"role": "system", "content": note})
    return chat


def _is_result(message: Mapping[str, Any]) -> bool:
    return message.get("role") in ("tool", "function")


def _plain(
    message: Mapping[str, Any], made: Mapping[str | None, str], several: bool
) -> tuple[dict[str, Any], list[Mapping[str, Any]]]:
    """Return a message with text alone, and its files."""
    role, (content, files) = message.get("role", "user"), _text_and_files(message.get("content"))
    if role == "developer":
        role = "system"
    if _is_result(message):
        call = made.get(message.get("tool_call_id")) or message.get("name") or "the tool"
        return {"role": "user", "content": f"Result of {call}: {content}"}, files
    if role not in ("system", "user", "assistant"):  # the templates of models leave such a message out, and say nothing
        role = "user"
    calls = [_call(call) for call in message.get("tool_calls") or ()]
    if several and calls:
        calls = ["[", ",\n".join(calls), "]"]
    return {"role": role, "content": "\n".join(filter(None, [content, *calls]))}, files


def _text_and_files(content: object) -> tuple[str, list[Mapping[str, Any]]]:
    if isinstance(content, list):
        parts = cast("list[Mapping[str, Any]]", content)
        files = [part for part in parts if part.get("type") in _FILES]
        return replace_surrogates("".join(str(part.get("text", "")) for part in parts)), files
    return "" if content is None else replace_surrogates(str(content)), []


def _with_files(message: dict[str, Any], files: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    if not files:
        return message
    text = [{"type": "text", "text": message["content"]}] if message["content"] else []
    return {**message, "content": [*text, *files]}


def _made(call: Mapping[str, Any]) -> str:
    function: Mapping[str, Any] = call.get("function", call)
    return f"{function.get('name')}({function.get('arguments') or ''})"


def _call(call: Mapping[str, Any]) -> str:
    function: Mapping[str, Any] = call.get("function", call)
    arguments = function.get("arguments") or "{}"
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False)
    return f'{{"tool": {json.dumps(function.get("name"))}, "arguments": {arguments}}}'


class Envelope:
    """Reads `{"tool": NAME, "arguments": {…}}` as it comes; with `tool` given, the arguments alone.

    Args:
        form: the form of the answer.
        tool: the only possible tool.
        index: the place of the call in the answer; a comma after it belongs to the list.

    Attributes:
        called: True once a call of a tool has begun.
    """

    _HEAD = re.compile(r'\s*\{\s*"tool"\s*:\s*("(?:[^"\\]|\\.)*")\s*,\s*"arguments"\s*:\s*(?=\S)')

    def __init__(self, form: Constraint, tool: str | None = None, index: int = 0) -> None:
        self._form, self._tool, self._bare, self._index = form, tool, tool is not None, index
        self._held = ""
        self._text = ""  # the arguments of a reply in words, as JSON, and how much of its text was given out
        self._given = 0
        self.called = False

    @property
    def begun(self) -> bool:
        """True once the tool is known."""
        return self._tool is not None

    def feed(self, piece: str) -> Iterator[Delta]:
        """Yield the deltas that `piece` completes."""
        self._held += piece
        if self._tool is None:
            head = self._HEAD.match(self._held)
            if head is None:
                return
            self._tool = str(jiter.from_json(head[1].encode()))
            self._held = self._held[head.end() :]
        if not self.called and self._tool != self._form.reply:
            self.called = True
            yield ToolCallPart(self._index, f"call_{uuid.uuid4().hex[:12]}", self._tool)
        # The last brace closes the envelope, and which one is last is known only at the end.
        ready = self._held if self._bare else self._held.rstrip(" \n\t\r},")
        self._held = self._held[len(ready) :]
        yield from self._pass(ready)

    def end(self, whole: bool) -> Iterator[Delta]:
        """Yield the rest at the end of the text; `whole` if the model was not cut short."""
        rest = self._held.rstrip()
        if self._tool is not None:
            yield from self._pass(rest.removesuffix(",")[:-1] if whole and not self._bare else rest)
        elif rest:  # a server that does not hold its answers to a schema: nothing is lost
            yield rest

    def _pass(self, arguments: str) -> Iterator[Delta]:
        if not arguments:
            return
        if self._tool != self._form.reply:
            yield ToolCallPart(self._index, arguments=arguments)
        elif not self._form.plain:
            yield arguments
        else:
            self._text += arguments
            try:
                reply: Any = jiter.from_json(self._text.encode(), partial_mode="trailing-strings")
            except ValueError:  # half of an escape: the next piece completes it
                return
            text = str(reply.get("text", ""))
            if len(text) > self._given:
                yield text[self._given :]
                self._given = len(text)


class CallList:
    """Reads a list of envelopes as it comes, one in each line: JSON without layout has no line break of its own."""

    def __init__(self, form: Constraint) -> None:
        self._form, self._items = form, [Envelope(form)]

    @property
    def called(self) -> bool:
        """True once a call of a tool has begun."""
        return any(item.called for item in self._items)

    def feed(self, piece: str) -> Iterator[Delta]:
        """Yield the deltas that `piece` completes."""
        first, *lines = piece.split("\n")
        yield from self._items[-1].feed(first)
        for line in lines:
            yield from self.end(True)
            if not self._items[-1].begun:  # the line of a bracket
                self._items.pop()
            self._items.append(Envelope(self._form, index=len(self._items)))
            yield from self._items[-1].feed(line)

    def end(self, whole: bool) -> Iterator[Delta]:
        """Yield the rest at the end of a line, or of the text; `whole` if the model was not cut short."""
        if self._items[-1].begun:
            yield from self._items[-1].end(whole)
