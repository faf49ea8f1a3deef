from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel
from pydantic import Field as ModelField

from trivium.exceptions import FieldsError
from trivium.extraction._fields import Field, json_schema, parse_fields
from trivium.extraction._schemas import fields_from_model, fields_from_schema, load_fields


def test_every_form_of_the_notation_is_read() -> None:
    fields = parse_fields(
        "tenant, monthly_rent: number, starts: date\npaid: boolean,\nkind: lease|sale, "
        "parties: list of text (people, named (as) parties), price: money (the total), tags: list, "
        "days: list[date], states: list of open|closed, rooms (how many): int"
    )
    assert [(field.name, field.kind) for field in fields] == [
        ("tenant", "text"), ("monthly_rent", "number"), ("starts", "date"), ("paid", "boolean"),
        ("kind", "choice"), ("parties", "list"), ("price", "money"), ("tags", "list"), ("days", "list"),
        ("states", "list"), ("rooms", "integer"),
    ]  # fmt: skip
    assert fields[4].choices == ("lease", "sale")
    assert fields[5].description == "people, named (as) parties"
    assert [field.item.kind for field in fields[7:10] if field.item] == ["text", "date", "choice"]
    assert fields[10].description == "how many"


def test_a_list_may_have_more_items_than_others() -> None:
    (rows,) = parse_fields("items (the goods): list of up to 200 {name}")
    assert (rows.max_items, rows.description, [part.name for part in rows.columns]) == (200, "the goods", ["name"])
    assert json_schema([rows])["properties"]["items"]["maxItems"] == 200
    days, names = parse_fields("days: list of up to 3 date, names: list of up to 3")
    assert [(field.max_items, field.item and field.item.kind) for field in (days, names)] == [(3, "date"), (3, "text")]
    (of_schema,) = fields_from_schema({"properties": {"tags": {"type": "array", "maxItems": 7}}})
    assert of_schema.max_items == 7


@pytest.mark.parametrize(
    "text", ["kind: lease|sale", "kind: one of lease|sale", "kind: One of (lease|sale)", "kind: (lease | sale)"]
)
@pytest.mark.parametrize("description", ["", " (what it is)"])
def test_choices_are_read_however_they_are_introduced(text: str, description: str) -> None:
    (field,) = parse_fields(text + description)
    assert (field.kind, field.choices) == ("choice", ("lease", "sale"))
    assert field.description == description.strip(" ()")


def test_only_what_stands_for_a_type_is_read_as_choices() -> None:
    assert parse_fields("kind (lease|sale)")[0] == Field("kind", description="lease|sale")
    assert parse_fields("rent: money (see: (net|gross))")[0].description == "see: (net|gross)"
    assert parse_fields("kind: one of us|one of them")[0].choices == ("us", "one of them")
    (listed,) = parse_fields("states: list of one of (open|closed)")
    assert listed.item is not None
    assert listed.item.choices == ("open", "closed")


@pytest.mark.parametrize("type_", ["strng", "flaot", "boool", "decimall", "Lst", "intger"])
def test_the_suggested_type_is_one_of_the_valid_ones(type_: str) -> None:
    with pytest.raises(FieldsError) as caught:
        parse_fields(f"x: {type_}")
    message, valid = str(caught.value).split("Valid types: ")
    assert message.split("did you mean '")[1].split("'")[0] in valid.split(", ")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("starts: dat", "field 'starts': unknown type 'dat'; did you mean 'date'? Valid types: text"),
        ("people: nmber", "did you mean 'number'?"),
        ("tenant: foo", "unknown type 'foo'; valid types: text, number"),
        ("starts: xyzzy", "unknown type 'xyzzy'; valid types: text, number"),
        ("a, : date", "no name in ': date'"),
        ("a,,b", "no name"),
        ("Rent, rent", "'rent' is named twice"),
        ("rent: money (per month", "field 'rent': a parenthesis is not balanced"),
        ("rent: money per month)", "field 'rent': a parenthesis is not balanced"),
        ("rent (a) (b)", "field 'rent'"),
        ("kind: lease|", "a choice is empty"),
        ("kind: a|A", "a choice is given twice"),
        ("x: list of list", "list of lists"),
        ("x: list of up to 0 date", "field 'x': the most items are a number above 0, not 0"),
        ("x: list of {a, b: money", "field 'x': a brace is not balanced"),
        ("x: a}", "field 'x': a brace is not balanced"),
        ("x: {a} {b}", "write one group"),
        ("x: {}", "field 'x': a group has no fields"),
        ("x: {a, A}", "'A' is named twice in 'x'"),
        ("x: {a: list}", "'a' is a list within a group"),
        ("x: {a: {b}}", "'a' is a group within a group"),
        ("x: {a: dat}", "did you mean 'date'"),
        ("{a}", "no name"),
        ("", "no field is named"),
        (" \n ,\n", "no field is named"),
    ],
)
def test_a_wrong_list_is_refused_in_one_line(text: str, message: str) -> None:
    with pytest.raises(FieldsError) as caught:
        parse_fields(text)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_answer_schema_requires_every_field_and_lets_each_be_null() -> None:
    schema = json_schema(parse_fields("a, b: integer, c: x|y, d: list of money (sums), e: boolean"))
    assert schema["required"] == list("abcde")
    assert schema["additionalProperties"] is False
    properties = schema["properties"]
    assert properties["a"] == {"type": ["string", "null"], "maxLength": 300}
    assert properties["c"] == {"enum": ["x", "y", None]}
    assert properties["d"]["items"] == {"type": "string", "maxLength": 300}
    assert properties["d"]["maxItems"] == 50
    assert properties["d"]["description"] == "sums"
    assert list(properties["e"]["properties"]) == ["quote", "value"]


ITEMS = "items (the goods): list of {description, quantity: number (how (many)),\n price: money, unit: (kg|piece)}"


def test_line_items_are_a_list_of_groups() -> None:
    items, rent, seller = parse_fields(f"{ITEMS}, rent: money (in {{x}}), seller: {{name, vat_id}} (who sells)")
    assert (items.kind, items.description) == ("list", "the goods")
    assert [(part.name, part.kind, part.description) for part in items.columns] == [
        ("description", "text", ""), ("quantity", "number", "how (many)"), ("price", "money", ""),
        ("unit", "choice", ""),
    ]  # fmt: skip
    assert (rent.kind, rent.description) == ("money", "in {x}")
    assert (seller.kind, seller.description, [part.name for part in seller.columns]) == (
        "group", "who sells", ["name", "vat_id"],
    )  # fmt: skip
    schema = json_schema([items, seller])["properties"]
    assert schema["items"]["items"]["properties"]["quantity"] == {
        "type": ["number", "null"], "description": "how (many)",
    }  # fmt: skip
    price = schema["items"]["items"]["properties"]["price"]
    assert price["type"] == "string"
    assert [bool(re.match(price["pattern"], each)) for each in ("-1.450,00", "none", "", "{0:.2f}", "net price")] == [
        True, True, False, False, False,
    ]  # fmt: skip
    assert schema["items"]["items"]["required"] == ["description", "quantity", "price", "unit"]
    assert schema["seller"]["type"] == ["object", "null"]


class Item(BaseModel):
    description: str
    price: str = ModelField(json_schema_extra={"format": "money"})


class Invoice(BaseModel):
    items: list[Item]
    first: Item | None = ModelField(default=None, description="the first")


def test_classes_in_a_class_are_groups() -> None:
    items, first = fields_from_model(Invoice)
    assert (items.kind, first.kind, first.description) == ("list", "group", "the first")
    assert items.columns == first.columns == (Field("description"), Field("price", "money"))


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Lease(BaseModel):
    tenant: str = ModelField(description="who rents")
    rent: Decimal | None = None
    rooms: int
    area: float | int
    starts: date | None
    paid: bool
    kind: Literal["lease", "sale"]
    only: Literal["one"]
    colour: Colour | None = ModelField(default=None, description="of the door")
    parties: list[str]
    days: list[date] | None = None
    price: str = ModelField(json_schema_extra={"format": "money"})


def test_a_pydantic_model_gives_its_fields() -> None:
    fields = {field.name: field for field in fields_from_model(Lease)}
    assert [field.kind for field in fields.values()] == [
        "text", "number", "integer", "number", "date", "boolean", "choice", "choice", "choice", "list", "list", "money",
    ]  # fmt: skip
    assert fields["tenant"].description == "who rents"
    assert fields["colour"].choices == ("red", "blue")
    assert fields["colour"].description == "of the door"
    assert fields["days"].item is not None
    assert fields["days"].item.kind == "date"


@pytest.mark.parametrize(
    ("property_", "message"),
    [
        ({"type": "object", "properties": {}}, "nested objects"),
        ({"properties": {"a": {"properties": {"b": {}}}}}, "'a' is an object within an object"),
        ({"properties": {"a": {"$ref": "#/properties/x"}}}, "'a' is an object within an object"),
        ({"properties": {"a": {"type": "array", "items": {"$ref": "#/properties/x"}}}}, "'a' is an array within"),
        ({"type": "array", "items": {"type": "array"}}, "list of lists"),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, "it may be integer or string"),
        ({"enum": [1, 2]}, "a choice is not text"),
        ({"$ref": "#/$defs/Missing"}, "names nothing"),
        ({"$ref": "other.json"}, "outside the schema"),
        ({"$ref": "#/properties/x"}, "refers to itself"),
        ({"type": "array", "prefixItems": []}, "tuple"),
        ({"type": "null"}, "its type is null"),
        (True, "not an object"),
    ],
)
def test_what_cannot_be_extracted_is_refused_by_name(property_: object, message: str) -> None:
    with pytest.raises(FieldsError, match="'x'") as caught:
        fields_from_schema({"type": "object", "properties": {"x": property_}})
    assert message in str(caught.value)


@pytest.mark.parametrize("schema", [{}, {"type": "object"}, {"type": "array", "items": {}}])
def test_a_schema_without_fields_is_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(FieldsError, match="no fields"):
        fields_from_schema(schema)


@pytest.mark.parametrize("thing", [int, "Lease", None])
def test_only_a_pydantic_model_is_a_model(thing: object) -> None:
    with pytest.raises(FieldsError, match="not a pydantic model"):
        fields_from_model(thing)


def test_a_model_without_schema_is_refused() -> None:
    class Odd(BaseModel):
        call: Callable[[], int]

    with pytest.raises(FieldsError, match="Odd has no JSON schema"):
        fields_from_model(Odd)


SOURCE = """from __future__ import annotations
from pydantic import BaseModel
class Lease(BaseModel):
    tenant: Name
    starts: list[Name] | None = None
Name = str
number = 3
"""


def test_a_model_is_read_from_its_file(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(SOURCE)
    assert [field.name for field in load_fields(f"{tmp_path}/model.py:Lease")] == ["tenant", "starts"]
    (tmp_path / "s.json").write_text(json.dumps({"properties": {"a": {"type": ["string", "null"]}}}))
    assert load_fields(f"{tmp_path}/s.json") == (Field("a"),)
    (tmp_path / "s.json").write_text((tmp_path / "s.json").read_text(), encoding="utf-8-sig")
    assert load_fields(tmp_path / "s.json") == (Field("a"),)


@pytest.mark.parametrize(
    ("content", "reference", "message"),
    [
        (SOURCE, "model.py:Leese", "has no class 'Leese'; it defines Lease"),
        (SOURCE, "model.py:number", "has no pydantic model 'number'"),
        (SOURCE, "model.py", "names no class"),
        (SOURCE, "other.py:Lease", "does not exist"),
        (SOURCE, "other.json", "does not exist"),
        (SOURCE, "model.txt", "names no schema"),
        ("x = 1\ndef (", "model.py:Lease", "line 2"),
        ("import not_there_at_all", "model.py:Lease", "ModuleNotFoundError"),
        ("raise SystemExit", "model.py:Lease", "SystemExit"),
        ("class Lease: ...", "model.py:Lease", "no pydantic model 'Lease'"),
    ],
)
def test_a_file_that_gives_no_fields_says_why(tmp_path: Path, content: str, reference: str, message: str) -> None:
    (tmp_path / "model.py").write_text(content)
    with pytest.raises(FieldsError) as caught:
        load_fields(f"{tmp_path}/{reference}")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [("{", "cannot be read as JSON"), ("[]", "not a JSON schema"), ("{}", "the schema has no fields")],
)
def test_a_broken_schema_file_says_why(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "s.json").write_text(content)
    with pytest.raises(FieldsError, match=message):
        load_fields(f"{tmp_path}/s.json")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"name": "a", "choices": ("x",)},
            "'a': choices is for kind 'choice', not 'text'; write Field('a', ",
        ),
        ({"name": "a", "item": Field("b")}, "'a': item is for kind 'list', not 'text'; write Field('a', 'list', item="),
        ({"name": "a", "kind": "list", "parts": (Field("b"),)}, "'a': parts is for kind 'group', not 'list'; write "),
        ({"name": "a", "kind": "choice", "choices": (1, 2)}, "field 'a': a choice is empty"),
        ({"name": "a", "kind": 5}, "field 'a': unknown type '5'"),
        ({"name": 5}, "the name of a field is a text, as in Field('starts', 'date'), not 5"),
    ],
)
def test_a_field_whose_arguments_do_not_fit_is_refused(arguments: dict[str, Any], message: str):
    with pytest.raises(FieldsError, match=re.escape(message)):
        Field(**arguments)
