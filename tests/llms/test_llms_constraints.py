"""What a small model is held to: bounded schemas, envelopes, messages. No model runs here."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium.exceptions import ConfigurationError
from trivium.llms import Delta, Finish, Request, ToolCallPart
from trivium.llms.local._constraints import Constraint, bounded, chat_messages, constraint
from trivium.llms.local._local import deltas
from trivium.schema import ToolSpec, Usage

TEXT = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = ToolSpec("weather", "The weather of a city.", TEXT)
SUM = ToolSpec("sum", "A sum.", {"type": "object", "properties": {"a": {"type": "integer"}}})
USER = [{"role": "user", "content": "hi"}]


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string"}, {"type": "string", "maxLength": 400}),
        ({"type": "string", "minLength": 500}, {"type": "string", "minLength": 500, "maxLength": 500}),
        ({"type": "string", "format": "date"}, {"type": "string", "format": "date"}),
        ({"enum": ["a"], "type": "string", "title": "T"}, {"enum": ["a"], "type": "string"}),
        ({"type": "string", "pattern": "x"}, {"type": "string", "maxLength": 400}),
        ({"type": "string", "pattern": "^(?=a)b$"}, {"type": "string", "maxLength": 400}),
        ({"type": "string", "pattern": r"^(a)\1$"}, {"type": "string", "maxLength": 400}),
        ({"type": "string", "pattern": "^(?:a|b)+$"}, {"type": "string", "pattern": "^(?:a|b)+$", "maxLength": 400}),
        ({"type": "integer"}, {"type": "integer", "minimum": -(10**15), "maximum": 10**15}),
        (
            {"type": "number", "exclusiveMinimum": 0, "maximum": 9},
            {"type": "number", "exclusiveMinimum": 0, "maximum": 9},
        ),
        ({"type": ["string", "null"]}, {"type": ["string", "null"], "maxLength": 400}),
        ({"type": "array", "items": True}, {"type": "array", "items": True, "maxItems": 32}),
        ({"type": "object"}, {"type": "object", "maxProperties": 32}),
        ({"properties": {"a": {"default": 1}}}, {"properties": {"a": {}}, "additionalProperties": False}),
        ({"anyOf": [{"type": "string"}]}, {"anyOf": [{"type": "string", "maxLength": 400}]}),
    ],
)
def test_gives_everything_an_end(schema: dict[str, Any], expected: dict[str, Any]) -> None:
    assert bounded(schema) == expected
    assert bounded(expected) == expected


def test_keeps_a_property_that_is_called_title() -> None:
    schema = bounded({"type": "object", "properties": {"title": {"type": "null"}, "pattern": {"type": "null"}}})
    assert list(schema["properties"]) == ["title", "pattern"]


def test_does_not_change_what_it_was_given() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "pattern": "x"}}}
    bounded(schema)
    assert schema == {"type": "object", "properties": {"a": {"type": "string", "pattern": "x"}}}


def test_refuses_an_unknown_type() -> None:
    with pytest.raises(ConfigurationError, match="frog"):
        bounded({"type": "object", "properties": {"a": {"type": "frog"}}})


def test_free_text_has_no_schema_and_no_note() -> None:
    assert constraint(Request(USER)).schema is None
    assert constraint(Request(USER, [WEATHER], "none")) == constraint(Request(USER))


@pytest.mark.parametrize(("tools", "choice"), [([WEATHER, SUM], "weather"), ([WEATHER], "required")])
def test_one_tool_is_held_to_its_own_schema(tools: list[ToolSpec], choice: str) -> None:
    form = constraint(Request(USER, tools, choice))
    assert form.tool == "weather"
    assert form.schema is not None
    assert form.schema["properties"] == {"city": {"type": "string", "maxLength": 400}}
    assert "The weather of a city." in form.note
    assert "properties" not in form.note


def test_more_tools_share_an_envelope() -> None:
    form = constraint(Request(USER, [WEATHER, SUM], "required"))
    assert form.schema is not None
    assert [option["properties"]["tool"]["const"] for option in form.schema["anyOf"]] == ["weather", "sum"]
    assert "- weather(city: string): The weather of a city." in form.note
    assert "- sum(a?: integer): A sum." in form.note
    assert "reply" not in form.note


def test_a_tool_may_be_called_reply() -> None:
    form = constraint(Request(USER, [ToolSpec("reply", "x", TEXT)]))
    assert form.reply == "reply_"


def test_definitions_of_two_tools_do_not_meet() -> None:
    def nested(kind: str) -> dict[str, Any]:
        return {"properties": {"x": {"$ref": "#/$defs/T"}}, "$defs": {"T": {"type": kind}}}

    form = constraint(Request(USER, [ToolSpec("a", "", nested("null")), ToolSpec("b", "", nested("boolean"))]))
    assert form.schema is not None
    assert form.schema["$defs"] == {"a.T": {"type": "null"}, "b.T": {"type": "boolean"}}
    reply, first, _ = (option["properties"]["arguments"] for option in form.schema["anyOf"])
    assert list(reply["properties"]) == ["text"]
    assert first["properties"]["x"]["$ref"] == "#/$defs/a.T"
    assert "$defs" not in first


@pytest.mark.parametrize(("tools", "choice"), [([WEATHER], "sum"), ([], "required"), ([], "weather")])
def test_refuses_a_choice_that_cannot_be_made(tools: list[ToolSpec], choice: str) -> None:
    with pytest.raises(ConfigurationError, match="tool_choice"):
        constraint(Request(USER, tools, choice))


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"enum": ["a", 1]}, 'x: "a" | 1'),
        ({"type": "array", "items": {"type": "string"}}, "x: [string]"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}], "description": "a word"}, "x: string | null (a word)"),
        ({"$ref": "#/$defs/P"}, "x: {n: integer}"),
        ({"type": ["string", "null"]}, "x: string | null"),
    ],
)
def test_describes_parameters_in_short(schema: dict[str, Any], text: str) -> None:
    definitions = {"P": {"type": "object", "properties": {"n": {"type": "integer"}}}}
    parameters = {"type": "object", "properties": {"x": schema}, "required": ["x"], "$defs": definitions}
    assert f"- t({text})" in constraint(Request(USER, [ToolSpec("t", "", parameters), SUM])).note


def test_the_note_ends_the_system_message() -> None:
    system = {"role": "system", "content": "Be kind."}
    assert chat_messages([system, *USER], Constraint(note="NOTE"))[0] == {
        "role": "system",
        "content": "Be kind.\n\nNOTE",
    }
    assert chat_messages(USER, Constraint(note="NOTE"))[0] == {"role": "system", "content": "NOTE"}
    assert chat_messages(USER, Constraint()) == USER
    assert chat_messages([{"role": "user", "content": "caf\udce9"}], Constraint())[0]["content"] == "caf\ufffd"
    assert system["content"] == "Be kind."


def test_tool_calls_and_results_become_text() -> None:
    call = {"id": "1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}}
    messages = [
        {"role": "developer", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "name": "weather", "content": "rain"},
    ]
    assert chat_messages(messages, Constraint()) == [
        {"role": "system", "content": "ab"},
        {"role": "assistant", "content": '{"tool": "weather", "arguments": {"city": "Oslo"}}'},
        {"role": "user", "content": 'Result of weather({"city": "Oslo"}): rain'},
    ]
    listed = chat_messages(messages, constraint(BOTH, several=True))[1]["content"]
    assert listed == '[\n{"tool": "weather", "arguments": {"city": "Oslo"}}\n]'
    advised = chat_messages([*messages, {**messages[-1], "content": "hail"}], Constraint(reply="reply"))[-1]["content"]
    assert "): rain\nResult of" in advised
    assert advised.endswith('hail\nIf that is enough to answer, use {"tool": "reply"}.')


def read(text: str, request: Request, cuts: list[int], reason: str = "stop") -> list[Delta]:
    edges = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})

    def pieces() -> Iterator[str | Usage | Finish]:
        yield from (text[start:end] for start, end in pairwise(edges))
        yield Finish(reason)
        yield Usage(1, 2)

    return list(deltas(pieces(), constraint(request, "parallel_tool_calls" in request.parameters)))


def joined(found: list[Delta]) -> tuple[str, str | None, str]:
    """Text, name and arguments of an answer."""
    parts = [delta for delta in found if isinstance(delta, ToolCallPart)]
    text = "".join(delta for delta in found if isinstance(delta, str))
    return text, parts[0].name if parts else None, "".join(part.arguments for part in parts)


BOTH = Request(USER, [WEATHER, SUM])
CUTS = st.lists(st.integers(0, 80), max_size=10)


@given(CUTS)
def test_takes_a_call_out_of_its_envelope(cuts: list[int]) -> None:
    found = read('{"tool": "weather", "arguments": {"city": "a}}"}}', BOTH, cuts)
    assert joined(found) == ("", "weather", '{"city": "a}}"}')
    assert found[-2:] == [Usage(1, 2), Finish("tool_calls")]


CALLS = """[
{"tool": "weather", "arguments": {"city": "a}},"}},
{"tool": "sum", "arguments": {}},
{"tool": "weather", "arguments": {"city": "["}}
]"""


@given(CUTS)
def test_takes_several_calls_out_of_a_list(cuts: list[int]) -> None:
    request = BOTH._replace(parameters={"parallel_tool_calls": True})
    found = read(CALLS, request, cuts)
    parts = [each for each in found if isinstance(each, ToolCallPart)]
    assert [each.name for each in parts if each.name] == ["weather", "sum", "weather"]
    assert len({each.id for each in parts if each.id}) == 3
    arguments = ["".join(each.arguments for each in parts if each.index == index) for index in range(3)]
    assert arguments == ['{"city": "a}},"}', "{}", '{"city": "["}']
    assert len(parts) + 2 == len(found), "the brackets are no text of the answer"
    assert found[-1] == Finish("tool_calls")


@given(CUTS)
def test_a_list_may_be_words_or_be_cut_off(cuts: list[int]) -> None:
    request = BOTH._replace(parameters={"parallel_tool_calls": True})
    assert joined(read('[\n{"tool": "reply", "arguments": {"text": "]\\n,"}}\n]', request, cuts))[0] == "]\n,"
    cut_off = read('[\n{"tool": "weather", "arguments": {"city": "O,', request, cuts, "length")
    assert joined(cut_off) == ("", "weather", '{"city": "O,')
    assert cut_off[-1] == Finish("length")


@given(CUTS)
def test_takes_words_out_of_their_envelope(cuts: list[int]) -> None:
    found = read('{"tool": "reply", "arguments": {"text": "a \\"b\\" \\ud83d\\ude00 \\u00e9}\\n"}}', BOTH, cuts)
    assert joined(found) == ('a "b" 😀 é}\n', None, "")
    assert found[-1] == Finish("stop")


@given(CUTS)
def test_a_reply_under_a_schema_stays_json(cuts: list[int]) -> None:
    request = Request(USER, [WEATHER], output_schema=TEXT)
    assert joined(read('{"tool": "reply", "arguments": {"city": "b"}}', request, cuts))[0] == '{"city": "b"}'


@given(CUTS)
def test_what_was_cut_off_is_passed_on_as_it_is(cuts: list[int]) -> None:
    found = read('{"tool": "weather", "arguments": {"city": "O}', BOTH, cuts, "length")
    assert joined(found) == ("", "weather", '{"city": "O}')
    assert found[-1] == Finish("length")


def test_one_tool_needs_no_envelope() -> None:
    found = read('{"city": "Oslo"}', Request(USER, [WEATHER], "weather"), [4])
    assert joined(found) == ("", "weather", '{"city": "Oslo"}')


@pytest.mark.parametrize("text", ["The letter", "{\n", "```json"])
def test_notices_that_the_engine_dropped_the_schema(text: str) -> None:
    with pytest.raises(ConfigurationError, match="simplify"):
        read(text, Request(USER, output_schema=TEXT), [1])
