"""Calls as models write them: arguments are one JSON object that fits the schema; the model is told of all others."""

from __future__ import annotations

import json
from datetime import date
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium import ToolMessage
from trivium.actions import Tool, tool_calls_in
from trivium.exceptions import ToolArgumentsError
from trivium.schema._lenient_json import read_json


class Square(ToolMessage):
    request: str = "square"
    purpose: str = "To square a <number>."
    number: int
    unit: str = "m"


GOOD = [
    '{"number": 3}',
    '{"number": "3"}',
    '```json\n{"number": 3}\n```',
    '{"request": "other", "purpose": "p", "number": 3}',
    '  {"number": 3.0}\n',
    '{"number":3}',
]
BAD = [
    '{"number": 3,}',
    "{'number': 3}",
    "{number: 3}",
    '{"number": 3, "unit": "a\nb"}',
    '{"number": 3 "unit": "m"}',
    '{"number": 3, // the number\n "unit": "m"}',
    '{"number": 3, /* { */ "unit": "m"}',
    '{"number": 3, # so\n "unit": "m"}',
    "{“number”: 3}",
    '{"number": 3, "unit": "\\d+\\_"}',
    "{'number': 3, 'unit': 'it\\'s', 'yes': True, 'no': False, 'nothing': None}",
    '{"number": 3, "number": 3}',
    '{"properties": {"number": 3}}',
    '{"type": "object", "properties": {"request": "square", "number": 3}, "required": ["number"]}',
    '"{\\"number\\": 3}"',
    '{"number": 3, "own": NaN}',
    '{"number": 3, "more": [1, 2,], "and": {"a": [],},}',
    "",
    "null",
    "3",
    '"three"',
    "[]",
    '[{"number": 3}]',
    '{"number": 3',
    '{"number": ',
    '{"number": 3, "unit": "m',
    '{"number": 3}}',
    '{"number": 3} {"number": 4}',
    '{"number": 3} and so on',
    '{"number": three}',
    '{"number": 3, unit}',
    '{"number": "x"}',
    '{"number": null}',
    '{"unit": "m"}',
    '{"number" 3}',
    '{"a" "b"}',
    '{"number": 3, "unit": "he said "no" to me"}',
    "{" * 2000,
    '{"a":' * 2000 + "1" + "}" * 2000,
    '{"number": 3, "unit": "\\ud800"}x',
    "number=3",
    "<number>3</number>",
    "\x00",
    '{"number": -}',
    "{'number': 3",
]


@pytest.mark.shows("semantic 9")
@pytest.mark.parametrize("text", GOOD)
def test_a_json_object_that_fits_is_taken(text: str):
    found = Square.parse(text)
    assert (found.number, found.request) == (3, "square")


def test_what_was_written_is_what_is_read():
    text = "{'number': 3, 'unit': 'it\\'s', 'yes': True, 'no': False, 'nothing': None, 'at': '\\ud83d\\ude00\\u00e4'}"
    own = {"yes": True, "no": False, "nothing": None, "at": "😀ä"}
    assert read_json(text) == {"number": 3, "unit": "it's", **own}
    assert read_json('{"number": 3, unit: "\\d+\\/\\n"}')["unit"] == "\\d+/\n"


@pytest.mark.parametrize("text", BAD)
def test_the_model_gets_an_error_for_all_others(text: str):
    with pytest.raises(ToolArgumentsError, match="the arguments of square") as caught:
        Square.parse(text)
    assert caught.value.tool == "square"


CALLS: list[tuple[str, list[tuple[str, Any]]]] = [  # None: the arguments are the text itself, no JSON that fits
    ('I call {"request": "square", "number": 3}.', [("square", {"number": 3})]),
    ("{'request': 'square', 'number': 3}", [("square", None)]),
    ('{request: "square", "number": 3,}', [("square", None)]),
    ('TOOL: {"request": "square", "number": 3,}', [("square", None)]),
    ('{"request": "square", "number": 3, "number": 4}', [("square", None)]),
    ('{"request": "square", "number": NaN}', [("square", None)]),
    ('```json\n{"request": "square", "number": 3}\n```', [("square", {"number": 3})]),
    ('{"properties": {"request": "square", "number": 3}}', []),
    ('{"request": "a"}{"request": "b"}', [("a", {}), ("b", {})]),
    ('{"request": "a", "inner": {"request": "b"}}', [("a", {"inner": {"request": "b"}})]),
    ("{'request': 'a', 'text': '} {\"x\": 1} {'}", [("a", None)]),
    ("{“request”: “a”, “text”: “}”}", [("a", None)]),
    ('{"request": "a", "text": "x\ny"}', [("a", None)]),
    ('{"request": "a", "n": 1', []),
    ('{"request": "a", "text": "cut o', []),
    ('{"request": 3}', []),
    ('{"request": ""}', []),
    ('{"request": null, "number": 3}', []),
    ('{"example": {"request": "a"},}', []),
    ('[{"request": "a"}]', [("a", {})]),
    ('{\'note\': {"request": "a"}}', [("a", {})]),
    ("{{ request }} and {request} and {'request'}", []),
    ("def f() {\n  return request;\n}", []),
    ('{"request": "a" "n": 1}', [("a", None)]),
    ("request: square", []),
]


@pytest.mark.shows("semantic 9")
@pytest.mark.parametrize(("text", "calls"), CALLS)
def test_calls_in_a_models_text(text: str, calls: list[tuple[str, Any]]):
    found = tool_calls_in(text)
    assert [call.name for call in found] == [name for name, _ in calls]
    for call, (_, arguments) in zip(found, calls, strict=True):
        if arguments is None:
            assert call.arguments in text
            with pytest.raises(ToolArgumentsError):
                Square.parse(call.arguments)
        else:
            assert json.loads(call.arguments) == arguments
    assert {call.id for call in found} <= {""}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(json_values)
def test_python_and_json_are_read_alike(value: Any):
    assert read_json(json.dumps(value)) == value
    assert read_json(json.dumps(value, ensure_ascii=False)) == value
    relaxed = json.dumps(value).replace("}", ",}").replace("]", ",]")
    if not any(sign in json.dumps(value) for sign in ("[]", "{}", "}", "]")):
        assert read_json(relaxed) == value


@given(st.dictionaries(st.text(st.characters(exclude_categories=["C"])), st.booleans() | st.none() | st.integers()
                       | st.text(st.characters(exclude_categories=["C", "Z"])), max_size=4))  # fmt: skip
def test_what_python_prints_is_read(value: dict[str, Any]):
    assert read_json(repr(value)) == value


@given(st.text(st.sampled_from("{}[]\"'“”:,ab1 \\/#*\n-")) | st.text())
def test_no_text_breaks_the_reader(text: str):
    try:
        read_json(text)
    except ValueError as error:
        assert str(error)  # noqa: PT017 - either is right
    for call in tool_calls_in(text):
        assert isinstance(json.loads(call.arguments), dict)


class Booking(ToolMessage):
    request: str = "book"
    purpose: str = "To book."
    seats: int = 1
    price: float = 1.5
    is_paid: bool = False
    day: date | None = None
    kind: Literal["a", "b"] = "a"
    tags: tuple[str, ...] = ()


def book(seats: int = 1, price: float = 1.5, is_paid: bool = False, day: date | None = None) -> str:
    """Book seats."""
    return "booked"


@pytest.mark.parametrize(
    ("arguments", "fits"),
    [
        ({"seats": 5, "price": 5, "is_paid": True, "day": "2026-01-02"}, True), ({"seats": 5.0}, True), ({}, True),
        ({"seats": "5"}, False), ({"seats": True}, False), ({"price": "1.5"}, False), ({"is_paid": 1}, False),
        ({"is_paid": "true"}, False), ({"seats": 5.0, "price": "2"}, False), ({"day": 20000}, False),
        ({"seats": 5.5}, False), ({"day": None}, True),
    ],
)  # fmt: skip
def test_a_call_written_as_text_matches_the_schema_exactly(arguments: dict[str, Any], fits: bool):
    (call,) = tool_calls_in(json.dumps({"request": "book", **arguments}))
    for validate in (Booking.parse, Tool.of(book).validate, Tool.of(book).replace(strict=True).validate):
        if fits:
            validate(call.arguments)
        else:
            with pytest.raises(ToolArgumentsError, match=next(reversed(arguments))):
                validate(call.arguments)


def test_a_native_call_may_say_a_number_as_text():
    assert Booking.parse('{"seats": "5"}').seats == 5
    assert Tool.of(book).validate('{"seats": "5"}') == {"seats": 5}
