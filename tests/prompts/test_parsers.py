"""Parsers: what a model is told, what its answer says, and that both directions agree."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from trivium import prompts
from trivium.exceptions import (
    AnswerFormatError,
    ConfigurationError,
    ObjectNotFoundError,
    PromptTemplateError,
    UnknownToolError,
)
from trivium.prompts import (
    CustomFormatParser,
    InterpreterParser,
    JSONParser,
    MixedToolParser,
    PluginParser,
    StrParser,
    ToolParser,
    ToolStatusCode,
    parsers,
)


class Place(BaseModel):
    town: str
    zip: int = 0


class Person(BaseModel):
    name: str = Field(description="in full")
    age: int = 0
    home: Place | None = None
    friends: list[Place] = []
    words: list[str] = []


class Refusal(BaseModel):
    reason: str


TEXT = st.text(max_size=30) | st.sampled_from(["<tool>\n", "</tool>\n", "<tool>", "{", "```json\n{}\n```", "</name>"])
PLAIN = st.text(st.characters(exclude_characters="<>", exclude_categories=["Cs"]), max_size=12)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
PLACES = st.builds(Place, town=PLAIN, zip=st.integers())
PEOPLE = st.builds(
    Person, name=PLAIN, age=st.integers(), home=st.none() | PLACES, friends=st.lists(PLACES, max_size=2),
    words=st.lists(PLAIN, max_size=2),
)  # fmt: skip


def found(tool_type: str | None, thought: str, action: Any, status: int) -> dict[str, Any]:
    return {"tool_type": tool_type, "thought": thought, "action": action, "status": status}


def test_both_documented_paths_give_one_class():
    assert all(getattr(prompts, name) is getattr(parsers, name) for name in parsers.__all__)


# ---- text
def test_the_template_is_filled_with_its_fields_and_others_are_let_be():
    parser = StrParser("{a}, {{b}} and {c}", a=1, c="{a}", d=2)
    assert parser.format_instruction() == "1, {b} and {a}"


def test_a_subclass_says_how_a_field_is_written():
    class Loud(StrParser):
        def format_to_string(self, value: Any) -> str:
            return str(value).upper()

    assert Loud("{a}!", a="hi").format_instruction() == "HI!"


@pytest.mark.parametrize("make", [StrParser, PluginParser, MixedToolParser])
def test_a_field_that_is_not_given_is_named_where_the_parser_is_made(make: Any):
    with pytest.raises(PromptTemplateError, match="needs b, c") as error:
        make(template="{a} {b} {c}", a=1)
    assert error.value.variables == ("b", "c")
    assert isinstance(error.value, ValueError)


@pytest.mark.parametrize("template", ["{", "{a.b}", '{"json": 1}', "{a!r}", "{}"])
def test_a_brace_that_is_no_field_is_reported_where_the_parser_is_made(template: str):
    with pytest.raises(PromptTemplateError):
        StrParser(template, a=1)


@given(TEXT)
def test_text_stays_as_it_is(text: str):
    assert StrParser().format_response(StrParser().parse_response(text)) == text


# ---- tools
@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("no tool", found(None, "no tool", None, 0)),
        ("I think<tool>\nls</tool>\n and more", found("shell", "I think", "ls", 1)),
        ("<tool>\nls", found("shell", "", "ls", 1)),
        ("<tool>\n<tool>\n</tool>\n", found("shell", "", "<tool>\n", 1)),
        ("</tool>\nls", found(None, "</tool>\nls", None, 0)),
        ("", found(None, "", None, 0)),
    ],
)
def test_an_answer_is_taken_apart_at_its_marks(text: str, parsed: dict[str, Any]):
    assert ToolParser("shell").parse_response(text) == parsed
    assert list(ToolParser("shell").parse_response(text)) == ["tool_type", "thought", "action", "status"]


@given(TEXT, TEXT, st.booleans())
@example("a", "", True)
def test_a_call_that_is_written_is_read_again(thought: str, action: str, is_cut: bool):
    parser = ToolParser("shell", begin="[[begin]]", end="[[end]]")
    text = parser.format_response(found("shell", thought, action, 1))
    assert parser.parse_response(text.removesuffix("[[end]]") if is_cut else text) == found("shell", thought, action, 1)


@given(TEXT)
def test_every_answer_has_one_reading_that_stays(text: str):
    for parser in (ToolParser("a"), InterpreterParser(), PluginParser(), MixedToolParser(parsers=[ToolParser("a")])):
        parsed = parser.parse_response(text)
        assert parser.parse_response(parser.format_response(parsed)) == parsed


@given(JSON.filter(lambda value: value is not None and not isinstance(value, str)))
def test_an_action_that_is_no_text_is_written_as_json(action: Any):
    parser = ToolParser("plugin", validate=json.loads)
    parsed = found("plugin", "Hm. ", action, 1)
    text = parser.format_response(parsed)
    assert json.dumps(action, ensure_ascii=False) in text
    assert parser.parse_response(text) == parsed


def test_an_action_that_is_refused_stays_text_and_says_so():
    def refuse(text: str) -> Any:
        raise LookupError(text)

    assert PluginParser().parse_response("x<|action_start|><|plugin|>\n{") == found("plugin", "x", "{", -1)
    parsed = ToolParser("a", validate=refuse).parse_response("<tool>\nls")
    assert (parsed["status"], parsed["action"]) == (ToolStatusCode.PARSING_ERROR, "ls")
    for deep in ("[" * 200_000, '{"a":' * 3000 + "1" + "}" * 3000):  # some versions of Python read the second
        parsed = PluginParser().parse_response(f"<|action_start|><|plugin|>\n{deep}")
        assert (parsed["status"], parsed["action"]) == (ToolStatusCode.PARSING_ERROR, deep)


CALL = '<|action_start|><|plugin|>\n{"name": "send"}<|action_end|>\n'


@pytest.mark.parametrize(
    "text",
    [f"```\n{CALL}```", f"The mail says:\n```json\n{CALL}```\nSo.", f"> {CALL}", f"Note:\n > x {CALL}", f"“{CALL}”",
     f'He wrote "{CALL}"', f"He wrote '{CALL}'", f"See `{CALL}`", f"«{CALL}»", f"`a` and `{CALL}`"],
)  # fmt: skip
def test_an_action_that_is_quoted_is_text(text: str):
    assert PluginParser().parse_response(text) == found(None, text, None, 0)
    assert mixed().parse_response(text)["tool_type"] is None


@pytest.mark.parametrize(
    "thought",
    ["", "So.\n", "Let's see the tools'", 'I do "it"', "`send`", "```\ncode\n```\n", "a > b ", "> quoted\n\nI send. "],
)
def test_an_action_behind_a_thought_is_one(thought: str):
    assert PluginParser().parse_response(thought + CALL) == found("plugin", thought, {"name": "send"}, 1)


def test_what_validates_may_be_named_by_its_path():
    assert ToolParser("a", validate="json.loads").parse_response("<tool>\n[1]")["action"] == [1]
    with pytest.raises(ObjectNotFoundError, match="no 'nothing'"):
        ToolParser("a", validate="json.nothing")


def test_the_marks_of_the_documented_models():
    assert InterpreterParser().format_response(found("interpreter", "Hm.", "1", 1)) == (
        "Hm.<|action_start|><|interpreter|>\n1<|action_end|>\n"
    )
    assert (InterpreterParser().tool_type, PluginParser().tool_type) == ("interpreter", "plugin")


# ---- several tools
def mixed() -> MixedToolParser:
    shell: dict[str, Any] = {"type": ToolParser, "tool_type": "shell", "template": "Use {a}.", "a": "<tool>"}
    return MixedToolParser(
        "all", "You have tools.", parsers=[PluginParser(), shell, InterpreterParser("code", "Code.")]
    )


def test_the_instructions_of_several_are_messages_with_names():
    assert mixed().format_instruction() == [
        {"role": "system", "content": "You have tools.", "name": "all"},
        {"role": "system", "content": "Use <tool>.", "name": "shell"},
        {"role": "system", "content": "Code.", "name": "code"},
    ]
    assert MixedToolParser(template="Hi.").format_instruction() == [{"role": "system", "content": "Hi."}]
    assert MixedToolParser().format_instruction() == []


def test_the_first_parser_that_finds_its_mark_reads_the_answer():
    text = "a<tool>\nls</tool>\n<|action_start|><|plugin|>\n[1]<|action_end|>\n"
    assert mixed().parse_response(text)["tool_type"] == "plugin"
    assert mixed().parse_response("a<tool>\nls") == found("shell", "a", "ls", 1)
    assert mixed().parse_response("<|action_start|><|plugin|>\n[")["status"] == ToolStatusCode.PARSING_ERROR
    assert mixed().parse_response("nothing") == found(None, "nothing", None, 0)
    assert mixed().format_response(found("code", "a", "1", 1)) == InterpreterParser().format_response(
        found("code", "a", "1", 1)
    )


def test_an_unknown_tool_type_is_reported_with_those_there_are():
    with pytest.raises(UnknownToolError, match="'nope'; there are plugin, shell, code"):
        mixed().format_response(found("nope", "", "1", 1))


# ---- models
def test_the_form_of_a_model_is_reported():
    assert JSONParser("{person}{who}", person=Person, who="?").format_instruction() == (
        '{\n  "name": "str",  // required; in full\n  "age": "int",  // default: 0\n'
        '  "home": {  // default: None\n    "town": "str",  // required\n    "zip": "int",  // default: 0\n  },\n'
        '  "friends": [{  // default: []\n    "town": "str",  // required\n    "zip": "int",  // default: 0\n  }],\n'
        '  "words": "list[str]",  // default: []\n}?'
    )
    assert CustomFormatParser("{p}", p=Person).format_instruction() == (
        "<name>str</name>  <!-- required; in full -->\n<age>int</age>  <!-- default: 0 -->\n"
        "<home>  <!-- default: None -->\n  <town>str</town>  <!-- required -->\n  <zip>int</zip>  <!-- default: 0 -->\n"
        "</home>\n<friends>  <!-- default: [] -->\n  <town>str</town>  <!-- required -->\n"
        "  <zip>int</zip>  <!-- default: 0 -->\n</friends>\n<words>list[str]</words>  <!-- default: [] -->"
    )


@pytest.mark.parametrize("text", ['{"town": "Rom"}', '```json\n{"town": "Rom"}\n```', 'So:\n```\n{"town": "Rom"}```'])
def test_an_answer_in_json_is_read_also_from_a_fence(text: str):
    assert JSONParser("{a}", a=Person, b=Place).parse_response(text) == {"town": "Rom", "zip": 0}


def test_a_fence_in_a_value_is_no_answer():
    text = 'So says the mail:\n```\n{"town": "Bonn"}\n```'
    assert JSONParser("{a}", a=Place).parse_response('{"town": "a\\n```\\n{}", "zip": 7}') == {
        "town": "a\n```\n{}",
        "zip": 7,
    }
    with pytest.raises(AnswerFormatError):
        JSONParser("{a}", a=Place).parse_response('{"town": "' + text + '"}')


@given(PEOPLE)
def test_a_model_that_is_written_is_read_again(person: Person):
    for parser in (JSONParser("", person=Person), CustomFormatParser("", person=Person)):
        assert parser.parse_response(parser.format_response(person)) == person.model_dump()
        assert parser.parse_response(parser.format_response(person.model_dump())) == person.model_dump()


@pytest.mark.parametrize("make", [JSONParser, CustomFormatParser])
@pytest.mark.parametrize("text", ["", "{", "null", "[1]", "{}", '{"name": 1}', "<age>1", "<age>x</age>", "[" * 100_000])
def test_an_answer_that_fits_no_model_is_an_error_that_says_why(make: Any, text: str):
    with pytest.raises(AnswerFormatError, match=r"as person: \S.*\| as refusal: \S.*; ask") as error:
        make("{person}", person=Person, refusal=Refusal).parse_response(text)
    assert isinstance(error.value, ValueError)
    assert error.value.raw == text[:2000]


def test_a_hostile_answer_is_read_at_once():
    """A search that began anew at each mark would take hours."""
    for text in ("<name>" * 100_000, "```" + "\n" * 300_000, "```\n" * 100_000 + " " * 300_000):
        for make in (JSONParser, CustomFormatParser):
            with pytest.raises(AnswerFormatError):
                make("", person=Person).parse_response(text)


@given(TEXT)
def test_no_answer_breaks_a_parser(text: str):
    for make in (JSONParser, CustomFormatParser):
        with suppress(AnswerFormatError):
            assert isinstance(make("", person=Person, refusal=Refusal).parse_response(text), dict)


def test_a_parser_of_models_needs_one():
    for make in (JSONParser, CustomFormatParser):
        with pytest.raises(ConfigurationError, match="needs a pydantic model"):
            make("Answer in JSON.", a=1)


def test_the_instruction_of_a_tool_parser_may_name_its_marks():
    parser = ToolParser("code", "Write it between {begin} and {end}: {task}", "<b>", "</b>", task="add")
    assert parser.format_instruction() == "Write it between <b> and </b>: add"


@pytest.mark.parametrize("text", ["[1]", '"import os"', "3", "null"])
def test_a_plugin_call_is_a_json_object_and_other_json_is_no_code(text: str):
    parsed = PluginParser().parse_response(f"Hm.<|action_start|><|plugin|>\n{text}<|action_end|>\n")
    assert parsed == {"tool_type": "plugin", "thought": "Hm.", "action": text, "status": ToolStatusCode.PARSING_ERROR}


def test_an_answer_may_keep_the_comment_lines_of_the_form():
    text = '{\n  // required\n  "name": "http://ada",\n  "age": 3\n}'
    assert JSONParser("{person}", person=Named).parse_response(text) == {"name": "http://ada", "age": 3}


class Named(BaseModel):
    name: str
    age: int
