"""The fields that a user asks for, and the short notation that names them.

A field list is written by hand (`parse_fields`) or read from a JSON schema or a pydantic model
(`_schemas.py`); `json_schema` turns it into the schema that constrains the model's answer.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from trivium.exceptions import FieldsError

MAX_ITEMS = 50
"""The most items that a list has where its field says nothing else."""

MAX_LENGTH = 300
"""The most characters that a text, a date, an amount of money or the quote of a boolean may have."""

Kind: TypeAlias = Literal["text", "number", "integer", "date", "money", "boolean", "choice", "list", "group"]

_KINDS: tuple[str, ...] = get_args(Kind)
_SPELLINGS: Mapping[str, Kind] = {
    "text": "text", "string": "text", "str": "text",
    "number": "number", "float": "number", "decimal": "number",
    "integer": "integer", "int": "integer",
    "date": "date",
    "money": "money",
    "boolean": "boolean", "bool": "boolean",
}  # fmt: skip
_BELONGS: Mapping[Kind, str] = {"choice": "choices", "list": "item", "group": "parts"}
"""The argument that belongs to a kind alone."""

_VALID = "text, number, integer, date, money, boolean, one|of|these, list, list of <type>, {a, b: <type>}"
_ONE_OF = re.compile(r"\Aone\s+of\b\s*(?=.*\|)", re.IGNORECASE)
_BRACKETED = re.compile(r"\A([^:()]*:\s*(?:list\s+of\s+)?(?:one\s+of\s*)?)\(([^()|]*\|[^()]*)\)", re.IGNORECASE)
"""Choices in parentheses, where a type is expected: "kind: one of (lease|sale)"."""

_AMOUNT = "^(none|-?[0-9][0-9., ']{0,20})$"
"""An amount in a list of groups; its currency is that beside it in the document."""

_GROUP = "{}"
"""The type of a group, after its parts were taken out of the braces."""

_BRACKETS = {"(": ")", "[": "]", "{": "}"}
_LIST = re.compile(
    r"list(?:\s+of\s+(?:up\s+to\s+(?P<most>\d{1,9})\b\s*)?(?P<of>.*)|\s*\[(?P<brackets>.*)\])?",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Field:
    """One value to look for in a document; a field that could not be read cannot be built.

    Args:
        name: the key of the value in the answer.
        kind: the form of the value.
        description: the meaning of the value, for the model.
        choices: the allowed values; for kind "choice" only.
        item: the form of each item; for kind "list" only; default: text.
        parts: the values that belong together; for kind "group" only.
        max_items: the most items that the model is asked for and that are read; for kind "list".

    Raises:
        FieldsError: the name is no text or empty, or kind, choices, item and parts do not fit each other, or
            `max_items` is not above 0.

    >>> Field("kind", "choice", choices=("lease", "sale")).choices
    ('lease', 'sale')
    """

    name: str
    kind: Kind = "text"
    description: str = ""
    choices: tuple[str, ...] = ()
    item: Field | None = None
    parts: tuple[Field, ...] = ()
    max_items: int = MAX_ITEMS

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):  # type: ignore[unnecessary] - users pass anything
            raise FieldsError(f"the name of a field is a text, as in Field('starts', 'date'), not {self.name!r:.60}")
        if not self.name.strip():
            raise FieldsError("a field has no name: write the name before the colon, as in 'starts: date'")
        if self.kind not in _KINDS:
            raise _unknown_type(self.name, str(self.kind))
        for of, argument in _BELONGS.items():
            if self.kind != of and getattr(self, argument):
                raise FieldsError(
                    f"field '{self.name}': {argument} is for kind '{of}', not '{self.kind}'; write Field("
                    f"'{self.name}', '{of}', {argument}=…)"
                )
        if self.kind == "choice":
            if not self.choices or not all(isinstance(each, str) and each.strip() for each in self.choices):  # type: ignore[unnecessary]
                raise FieldsError(f"field '{self.name}': a choice is empty; write the choices as 'one|of|these'")
            if len({choice.casefold() for choice in self.choices}) < len(self.choices):
                raise FieldsError(f"field '{self.name}': a choice is given twice in '{'|'.join(self.choices)}'")
        if self.kind == "list" and self.item is None:
            object.__setattr__(self, "item", Field(self.name))
        if not isinstance(self.max_items, int) or self.max_items < 1:  # type: ignore[unnecessary]
            raise FieldsError(f"field '{self.name}': the most items are a number above 0, not {self.max_items!r:.60}")
        if self.item is not None and self.item.kind == "list":
            raise FieldsError(f"field '{self.name}': a list of lists is not supported; ask for a plain list")
        if self.kind == "group":
            self._check_parts()

    def _check_parts(self) -> None:
        if not self.parts:
            raise FieldsError(f"field '{self.name}': a group has no fields; write them as in '{{name, price: money}}'")
        check_names((part.name for part in self.parts), f" in '{self.name}'")
        for part in self.parts:
            if part.kind in ("list", "group"):
                raise FieldsError(
                    f"field '{self.name}': '{part.name}' is a {part.kind} within a group, which is not supported; "
                    "give it a field of its own"
                )

    @property
    def columns(self) -> tuple[Field, ...]:
        """The parts of a group, or of the groups in a list; of any other field none."""
        return self.item.parts if self.item is not None else self.parts

    @property
    def is_rows(self) -> bool:
        """True for a list of groups, such as line items."""
        return self.item is not None and self.item.kind == "group"


def parse_fields(text: str) -> tuple[Field, ...]:
    """Parse a field list; the error names the field that cannot be parsed.

    Args:
        text: fields separated by commas or line ends, each `name`, `name: type` or
            `name: type (description)`. Types are text (the default), number, integer, date, money,
            boolean, choices as `a|b|c`, `one of a|b|c` or `(a|b|c)`, `list`, `list of date` or `list[date]`,
            `list of up to 200 date` for more items than 50.
            Values that belong together are a group, `{name, vat_id}`; line items are a list of groups,
            `list of {description, quantity: number, price: money}`.

    Returns:
        The fields in their order.

    Raises:
        FieldsError: it is no text, a type is unknown, a name empty or given twice, a parenthesis or brace left open.

    >>> [(field.name, field.kind) for field in parse_fields("tenant, rent: money (per month), paid: boolean")]
    [('tenant', 'text'), ('rent', 'money'), ('paid', 'boolean')]
    """
    if not isinstance(text, str):  # type: ignore[unnecessary] - users pass anything
        raise FieldsError(f"a field list is a text, as 'tenant, starts: date, rent: money', not {text!r:.60}")
    fields = tuple(parse_field(entry) for entry in _entries(text))
    if not fields:
        raise FieldsError("no field is named: write for instance 'tenant, starts: date, rent: money'")
    check_names(field.name for field in fields)
    return fields


def as_fields(fields: Sequence[Field]) -> tuple[Field, ...]:
    """Return the fields of a task or a case.

    Raises:
        FieldsError: they are something else, such as the text that names them, or two of them have one name.
    """
    found = tuple(fields) if isinstance(fields, Iterable) else ()  # type: ignore[unnecessary] - users pass anything
    if not found or not all(isinstance(field, Field) for field in found):  # type: ignore[unnecessary]
        raise FieldsError(f"these are no fields: {fields!r:.60}; write parse_fields('tenant, rent: money')")
    check_names(field.name for field in found)
    return found


def json_schema(fields: Sequence[Field]) -> dict[str, Any]:
    """Build the JSON schema of the model's answer: every field required, and every field nullable.

    Null is allowed by a list of types: one flat alternative in the grammar, where `anyOf` nests a rule.

    Args:
        fields: the fields, in the order in which the model is to answer.

    Returns:
        An object schema in the part of JSON schema that llama.cpp turns into a grammar. Dates and money
        are strings, written as in the text; a boolean is `{"quote", "value"}`, with the quote
        first, so that the model finds the words before it judges. An answer is bounded: 300 characters
        (`MAX_LENGTH`) of each string, `max_items` of a list; the record names the lists that are full.

    >>> json_schema(parse_fields("rent: number"))["properties"]
    {'rent': {'type': ['number', 'null']}}
    """
    return _object_schema(as_fields(fields))


def check_names(names: Iterable[str], where: str = "") -> None:
    """Raise `FieldsError` if a name comes twice, in upper or lower case; `where` is said after the name."""
    seen: set[str] = set()
    for name in names:
        if name.casefold() in seen:
            raise FieldsError(f"field '{name}' is named twice{where}; give each field a name of its own")
        seen.add(name.casefold())


def _unknown_type(name: str, type_: str) -> FieldsError:
    nearest = difflib.get_close_matches(type_.lower(), [*_SPELLINGS, "list"], n=1)
    hint = f"did you mean '{_SPELLINGS.get(nearest[0], nearest[0])}'? Valid" if nearest else "valid"
    return FieldsError(f"field '{name}': unknown type '{type_}'; {hint} types: {_VALID}")


def _entries(text: str) -> Iterator[str]:
    """Cut a field list at commas and line ends outside brackets; a comma at a line's end is not an entry."""
    for line in _split(text, "\n"):
        parts = [part.strip() for part in _split(line, ",")]
        while parts and not parts[-1]:
            parts.pop()
        yield from parts


def _split(text: str, separator: str) -> Iterator[str]:
    depth = start = 0
    for position, character in enumerate(text):
        if character in "([{":
            depth += 1
        elif character in ")]}":
            depth = max(0, depth - 1)
        elif character == separator and depth == 0:
            yield text[start:position]
            start = position + 1
    yield text[start:]


def parse_field(entry: str) -> Field:
    """Read one field: `name`, `name: type` or `name: type (description)`.

    The description is the one parenthesis; it may contain parentheses, and may precede the type.

    >>> parse_field("kind (of contract): lease|sale").choices
    ('lease', 'sale')
    """
    outside, parts = _without_braces(entry)
    plain = _BRACKETED.sub(r"\1 \2", outside)
    opening = plain.find("(")
    closing = _closing(plain, opening) if opening >= 0 else -1
    declaration = plain if opening < 0 else plain[:opening] + " " + plain[closing + 1 :]
    if (opening >= 0 and closing < 0) or "(" in declaration or ")" in declaration:
        raise FieldsError(
            f"field '{_name_in(plain)}': a parenthesis is not balanced in '{_one_line(plain)}'; "
            "write one description, as in 'rent: money (per month)'"
        )
    description = " ".join(plain[opening + 1 : closing].split()) if opening >= 0 else ""
    name, _, type_ = declaration.partition(":")
    name = " ".join(name.split())
    if not name or _GROUP in name:
        raise FieldsError(
            f"a field has no name in '{_one_line(entry)}': write the name before the colon, as in 'starts: date'"
        )
    return _field_of(name, " ".join(type_.split()), description, parts)


def _without_braces(entry: str) -> tuple[str, tuple[Field, ...]]:
    """Take the parts of a group out of its braces; braces in a description are text."""
    at = 0
    while at < len(entry) and entry[at] not in "{}":
        closing = _closing(entry, at) if entry[at] == "(" else at
        at = closing + 1 if closing >= 0 else len(entry)
    if at >= len(entry):
        return entry, ()
    closing = _closing(entry, at)
    rest = entry[closing + 1 :]
    if closing < 0 or _without_braces(rest) != (rest, ()):
        raise FieldsError(
            f"field '{_name_in(entry)}': a brace is not balanced in '{_one_line(entry)}'; "
            "write one group, as in 'items: list of {description, price: money}'"
        )
    return entry[:at] + _GROUP + rest, tuple(map(parse_field, _entries(entry[at + 1 : closing])))


def _name_in(entry: str) -> str:
    return _one_line(re.split(r"[:(){}]", entry, maxsplit=1)[0])


def _closing(entry: str, opening: int) -> int:
    """Return where the bracket at a position is closed, or -1."""
    depth, begin, end = 0, entry[opening], _BRACKETS.get(entry[opening])
    for position in range(opening, len(entry)):
        depth += (entry[position] == begin) - (entry[position] == end)
        if depth == 0:
            return position
    return -1


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else line[:59] + "…"


def _field_of(name: str, type_: str, description: str, parts: tuple[Field, ...]) -> Field:
    type_ = _ONE_OF.sub("", type_)
    if "|" in type_ and not _LIST.fullmatch(type_):
        return Field(name, "choice", description, tuple(choice.strip() for choice in type_.split("|")))
    if listed := _LIST.fullmatch(type_):
        item = _field_of(name, (listed["of"] or listed["brackets"] or "text").strip(), "", parts)
        return Field(name, "list", description, item=item, max_items=int(listed["most"] or MAX_ITEMS))
    if type_ == _GROUP:
        return Field(name, "group", description, parts=parts)
    kind = _SPELLINGS.get(type_.lower() or "text")
    if kind is None:
        raise _unknown_type(name, type_)
    return Field(name, kind, description)


def _object_schema(fields: Sequence[Field], is_row: bool = False) -> dict[str, Any]:
    """Build the schema of a record, of a group, or of an item of a list.

    In an item a text is not null but empty where there is none: of several values in a row, small models prefer null.
    They also write a template ("{0:.2f}") or the heading of the column for an amount: it is a number, or "none".
    """
    properties: dict[str, Any] = {}
    for field in fields:
        schema = _value_schema(field)
        if field.description:
            schema["description"] = field.description
        if "enum" in schema:
            schema["enum"].append(None)
        elif not is_row or schema["type"] != "string":
            schema["type"] = [schema["type"], "null"]
        elif field.kind == "money":
            schema["pattern"] = _AMOUNT
        properties[field.name] = schema
    return {
        "type": "object",
        "properties": properties,
        "required": [field.name for field in fields],
        "additionalProperties": False,
    }


def _value_schema(field: Field) -> dict[str, Any]:
    if field.kind == "group":
        return _object_schema(field.parts)
    if field.kind in ("number", "integer"):
        return {"type": field.kind}
    if field.kind == "choice":
        return {"enum": list(field.choices)}
    if field.kind == "list":
        assert field.item is not None, "Field() fills it"
        items = _object_schema(field.columns, is_row=True) if field.is_rows else _value_schema(field.item)
        return {"type": "array", "items": items, "maxItems": field.max_items}
    if field.kind == "boolean":
        return {
            "type": "object",
            "properties": {
                "quote": {"type": "string", "maxLength": MAX_LENGTH},
                "value": {"type": ["boolean", "null"]},
            },
            "required": ["quote", "value"],
            "additionalProperties": False,
        }
    return {"type": "string", "maxLength": MAX_LENGTH}
