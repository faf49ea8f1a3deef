"""Strict tools: their schema is one that providers can hold a model to, and says the same as before."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date
from enum import Enum
from typing import Annotated, Any, Literal, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from trivium import Tool, ToolMessage
from trivium.actions import ActionExecutor, BaseAction, tool
from trivium.actions._strict import drop_nulls, strict_schema
from trivium.exceptions import ToolArgumentsError, ToolDefinitionError


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Place(BaseModel):
    city: str
    floor: int = 0
    note: str | None = None


class Ring(BaseModel):
    inner: Ring | None = None


class Open(BaseModel):
    counts: dict[str, int]


class Key(TypedDict, total=False):
    entry: str


def book(
    place: Place,
    days: list[date],
    nights: Annotated[int, Field(ge=1, le=9)] = 2,
    kind: Literal["a", "b"] = "a",
    colour: Colour = Colour.RED,
    guest: str | None = "Ada",
    stops: list[Place] | None = None,
    key: Key | None = None,
) -> str:
    """Book a room.

    Args:
        place: where
        kind: which
    """
    return repr((place, days, nights, kind, colour, guest, stops, key))


STRICT = Tool.of(book).replace(strict=True)


def problems(node: Any, at: str = "") -> list[str]:
    """What the strict modes of OpenAI or Anthropic refuse in a schema."""
    return _problems(cast("Any", node), at) if isinstance(node, dict) else [f"{at}: no schema"]


def _problems(node: dict[str, Any], at: str) -> list[str]:
    known = {"type", "enum", "anyOf", "$ref", "$defs", "items", "properties", "required", "additionalProperties",
             "description", "format"}  # fmt: skip
    found = [f"{at}: {key}" for key in node.keys() - known]
    if "$ref" in node and node.keys() != {"$ref"}:
        found.append(f"{at}: beside a reference")
    if "properties" in node or node.get("type") == "object":
        if node.get("additionalProperties") is not False:
            found.append(f"{at}: open")
        if list(node.get("required", ())) != list(node["properties"]):
            found.append(f"{at}: not all required")
    if node.get("type") == "array" and "items" not in node:
        found.append(f"{at}: no items")
    if not node.keys() & {"type", "enum", "anyOf", "$ref"}:
        found.append(f"{at}: anything")
    many: list[tuple[Any, Any]] = [
        *node.get("properties", {}).items(),
        *node.get("$defs", {}).items(),
        *enumerate(node.get("anyOf", ())),
    ]
    many += [("items", node["items"])] if "items" in node else []
    return found + [each for name, inner in many for each in problems(inner, f"{at}/{name}")]


def test_a_strict_schema_is_closed_and_wants_every_key():
    assert STRICT.spec.strict
    assert problems(STRICT.spec.parameters) == []
    assert problems(Tool.of(book).spec.parameters) != []
    assert not Tool.of(book).spec.strict


def test_what_no_keyword_covers_is_in_the_description():
    properties = STRICT.spec.parameters["properties"]
    assert properties["nights"] == {
        "anyOf": [{"type": "integer"}, {"type": "null"}],
        "description": "default: 2, maximum: 9, minimum: 1",
    }
    assert properties["place"] == {"anyOf": [{"$ref": "#/$defs/Place"}], "description": "where"}
    assert properties["kind"]["description"] == 'which (default: "a")'
    assert {"type": "null"} in properties["kind"]["anyOf"]


def test_null_stands_for_not_given_and_for_none_where_that_is_a_value():
    given = {"place": {"city": "Ulm", "floor": None, "note": None}, "days": [], "nights": None, "kind": None,
             "colour": None, "guest": None, "stops": [{"city": "Rom", "floor": None, "note": None}],
             "key": {"entry": None}}  # fmt: skip
    for arguments in (given, json.dumps(given), f"```json\n{json.dumps(given)}\n```"):
        assert STRICT.validate(arguments) == {
            "place": Place(city="Ulm"),
            "days": [],
            "guest": None,
            "stops": [Place(city="Rom")],
            "key": {},
        }


def test_the_validation_holds_what_the_schema_cannot():
    with pytest.raises(ToolArgumentsError, match="nights"):
        STRICT.validate({"place": {"city": "Ulm"}, "days": [], "nights": 10})
    with pytest.raises(ToolArgumentsError, match="days"):
        STRICT.validate({"place": {"city": "Ulm"}, "days": None})
    for text in ("{", "[]", "null", '{"place": 1}', "[" * 100_000):
        with pytest.raises(ToolArgumentsError):
            STRICT.validate(text)
    assert STRICT.validate('{"place": {"city": "Ulm"}, "days": ["2024-01-02"]}')["days"] == [date(2024, 1, 2)]


def anything(value: Any) -> None: ...
def mapping(counts: dict[str, int]) -> None: ...
def within(each: Open) -> None: ...
def pair(both: tuple[int, str]) -> None: ...
def ring(one: Ring) -> None: ...
def some(many: list[Any]) -> None: ...
def plain(many: dict[str, Any]) -> None: ...


@pytest.mark.parametrize("function", [anything, mapping, within, pair, ring, some, plain])
def test_what_no_strict_schema_says_is_refused_by_name(function: Any):
    with pytest.raises(ToolDefinitionError, match=f"the tool {function.__name__} cannot be strict: .*`strict`"):
        Tool.of(function).replace(strict=True)
    with pytest.raises(ToolDefinitionError):
        tool(strict=True)(function)
    vars(cast("object", function)).clear()


def test_a_tool_without_arguments_can_be_strict():
    def now() -> str:
        return "8"

    spec = Tool.of(now).replace(strict=True).spec
    assert spec.parameters == {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
    assert Tool.of(now).replace(strict=True).replace(strict=True).validate("{}") == {}


def test_actions_and_tool_messages_are_strict_too():
    class Find(BaseAction):
        @tool(strict=True)
        def run(self, what: str, most: int = 3) -> str:
            return f"{what} {most}"

    class Look(ToolMessage):
        request: str = "look"
        purpose: str = "To look for <what>."
        what: str
        most: int = 3
        _strict = True

    for spec in (Find().tool().spec, Look.spec()):
        assert spec.strict
        assert problems(spec.parameters) == []
        assert spec.parameters["required"] == ["what", "most"]
    out = ActionExecutor(Find()).tools["Find"].validate('{"what": "x", "most": null}')
    assert out == {"what": "x"}
    assert Look.parse('{"what": "x", "most": null}').most == 3


def test_a_tool_message_that_cannot_be_strict_is_refused_at_its_definition():
    class Count(ToolMessage):
        request: str = "count"
        purpose: str = "To count."
        counts: dict[str, int]
        _strict = True

    with pytest.raises(ToolDefinitionError, match="the tool count cannot be strict: counts has keys"):
        Count.spec()


# ---- any schema
LEAVES: list[Any] = [
    {"type": "string"}, {"type": "integer", "minimum": 1}, {"type": "string", "format": "uri"}, {"const": 3},
    {"enum": ["a", None]}, {"type": ["string", "null"]}, {"type": "boolean", "default": True}, {"type": "null"},
    {"type": "string", "format": "date", "description": "when"}, {}, {"type": "object"}, {"not": {}},
]  # fmt: skip
leaves = st.sampled_from(LEAVES)


def array_of(each: Any) -> Any:
    return {"type": "array", "items": each}


def either(one: Any, two: Any) -> Any:
    return {"anyOf": [one, two]}


def object_of(properties: dict[str, Any], wanted: set[str]) -> Any:
    return {"type": "object", "properties": properties, "required": sorted(wanted & properties.keys())}


def _nodes(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    names = st.sampled_from("abc")
    return st.one_of(
        st.builds(array_of, inner),
        st.builds(either, inner, inner),
        st.builds(object_of, st.dictionaries(names, inner, min_size=1), st.sets(names)),
    )


schemas = st.dictionaries(st.sampled_from("abc"), st.recursive(leaves, _nodes, max_leaves=8), max_size=3)


@given(schemas)
def test_every_schema_becomes_a_strict_one_or_is_refused(properties: dict[str, Any]):
    schema = {"type": "object", "properties": properties}
    before = json.dumps(schema)
    try:
        made = strict_schema(schema, "it")
    except ToolDefinitionError:
        assert any(word in before for word in ("{}", '{"type": "object"}', "not"))
        return
    finally:
        assert json.dumps(schema) == before
    assert problems(made) == []
    assert made["required"] == [*properties]
    assert drop_nulls(schema)(dict.fromkeys(properties)).keys() <= properties.keys()


@given(st.recursive(st.none() | st.integers() | st.text(), lambda of: st.lists(of) | st.dictionaries(st.text(), of)))
def test_arguments_of_any_form_are_left_as_they_are_where_the_schema_does_not_know_them(value: Any):
    assert drop_nulls({})(value) == value
    drop_nulls(Tool.of(book).spec.parameters)(value)


def test_a_type_that_pydantic_refuses_is_refused_by_the_tools_name():
    class Odd:
        pass

    def strange(one: Odd) -> None: ...

    def function(call: Callable[[int], int]) -> None: ...

    for each in (strange, function):
        with pytest.raises(ToolDefinitionError, match=each.__name__):
            Tool.of(each)
