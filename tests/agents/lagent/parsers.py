"""Parsers and templates: instructions for the model, and what is read in its answers."""

# Users' programs have few types.
# pyright: basic

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel, Field

from ._script import Run, script

ANSWERS = (
    "plain",
    "so <c>x = 1</c> end",
    "so <c>x = 1",
    "<c></c>",
    "a <c>1</c> b <c>2</c> c",
    "</c> first <c>1",
    "",
)


def tool(on: Run, **options: Any) -> Any:
    return on.parsers.ToolParser("code", **{"begin": "<c>", "end": "</c>", **options})


@script
def a_text_is_read_as_it_is(on: Run) -> Any:
    parser = on.parsers.StrParser()
    on.say(repr(parser.format_instruction()), parser.parse_response("x"))
    on.tried(lambda: parser.format_response({}), NotImplementedError)


@script
def a_template_with_fields(on: Run) -> Any:
    parser = on.parsers.StrParser("Say {a} and {b}.", a="1", b="2", c="3")
    on.say(parser.format_instruction(), parser.template, parser.format_field)
    on.tried(lambda: on.parsers.StrParser("Say {a}."), ValueError)
    on.say(on.parsers.StrParser("Say {{a}}.").format_instruction())


@script
def fields_are_rendered_by_a_method(on: Run) -> Any:
    class Loud(on.parsers.StrParser):
        def format_to_string(self, format_model: Any) -> str:
            return str(format_model).upper()

    on.say(Loud("Say {a}.", a="hi").format_instruction())


@script
def calls_in_a_text(on: Run) -> Any:
    parser = tool(on)
    for text in ANSWERS:
        on.say(repr(text), on.tried(lambda text=text: parser.parse_response(text), ValueError))


@script
def calls_with_the_default_marks(on: Run) -> Any:
    parser = on.parsers.ToolParser("t")
    on.say(parser.parse_response("so <tool>\n{}\n</tool>\n end"), parser.format_field)
    on.say(parser.parse_response("so <tool>x</tool>"))


@script
def a_call_is_validated(on: Run) -> Any:
    parser = tool(on, validate=json.loads)
    for text in ('<c>{"a": 1}</c>', "<c>{</c>", "plain"):
        on.say(parser.parse_response(text))
    on.say(tool(on, validate="json.loads").parse_response("<c>[1]</c>"))
    on.say(parser.validate is json.loads, tool(on).validate)


@script
def a_validator_that_is_not_there(on: Run) -> Any:
    on.tried(lambda: tool(on, validate="no.such"), ModuleNotFoundError)
    on.tried(lambda: tool(on, validate="json.no"), AttributeError)


@script
def a_call_is_written(on: Run) -> Any:
    parser = tool(on)
    for action in ("x", {"a": "ü"}, [1, 2], 3, None):
        kind = None if action is None else "code"
        on.say(parser.format_response({"tool_type": kind, "thought": "so ", "action": action, "status": 1}))


@script
def a_call_of_another_kind_is_not_written(on: Run) -> Any:
    call = {"tool_type": "other", "thought": "so ", "action": "x", "status": 1}
    on.tried(lambda: on.say(tool(on).format_response(call)), AssertionError)
    on.tried(lambda: on.say(tool(on).format_response({"thought": "so "})), KeyError)
    mixed = on.parsers.MixedToolParser("all", "", [tool(on)])
    on.tried(lambda: on.say(mixed.format_response(call)), AssertionError)


@script
def a_call_that_was_read_is_written_again(on: Run) -> Any:
    parser = tool(on)
    for text in ("so <c>x</c>", "plain"):
        on.say(parser.format_response(parser.parse_response(text)) == text)


@script
def the_marks_are_fields_of_the_instruction(on: Run) -> Any:
    parser = on.parsers.ToolParser("code", "Write {begin}code{end} for {who}.", "<c>", "</c>", who="me")
    on.say(parser.format_instruction(), parser.format_field, parser.tool_type, parser.template)
    on.tried(lambda: on.parsers.ToolParser("code", "for {who}"), ValueError)


@script
def the_marks_are_changed(on: Run) -> Any:
    parser = tool(on, template="Use {begin}.")
    parser.format_field["begin"] = "[c]"
    on.say(parser.parse_response("so [c]x</c>"), parser.parse_response("so <c>x</c>"), parser.format_instruction())


@script
def the_marks_of_internlm(on: Run) -> Any:
    code, plugin = on.parsers.InterpreterParser(), on.parsers.PluginParser()
    on.say(code.tool_type, repr(code.format_field), plugin.tool_type, repr(plugin.format_field))
    on.say(code.parse_response("so <|action_start|><|interpreter|>\nx = 1<|action_end|>\n"))
    call = 'so <|action_start|><|plugin|>\n{"name": "A.b", "parameters": {"a": 1}}<|action_end|>\n'
    on.say(plugin.parse_response(call), plugin.format_response(plugin.parse_response(call)))
    for text in ("[1]", "{", "x", ' {"a": 1}\n'):
        on.say(plugin.parse_response(f"<|action_start|><|plugin|>\n{text}<|action_end|>\n"))


@script
def several_kinds_of_calls(on: Run) -> Any:
    parser = on.parsers.MixedToolParser(
        template="Tools:",
        parsers=[
            {"type": on.parsers.PluginParser, "template": "A plugin."},
            on.parsers.InterpreterParser(template="Code."),
            on.parsers.ToolParser("silent", begin="<s>", end="</s>"),
        ],
    )
    on.say(parser.format_instruction(), list(parser.parsers), parser.tool_type)
    for text in (
        "<|action_start|><|interpreter|>\nx<|action_end|>\n",
        "<s>x</s>",
        "<s>y</s><|action_start|><|plugin|>\n{}",
        "no",
    ):
        read = parser.parse_response(text)
        on.say(read, parser.format_response(read))


@script
def no_kind_of_call(on: Run) -> Any:
    parser = on.parsers.MixedToolParser()
    on.say(parser.format_instruction(), parser.parse_response("x"))
    on.say(on.parsers.MixedToolParser("all", "All.").format_instruction())


class City(BaseModel):
    name: str = Field(description="Its name")
    inhabitants: int = 0
    rivers: list[str]


class Unknown(BaseModel):
    reason: str


@script
def a_model_is_described(on: Run) -> Any:
    parser = on.parsers.JSONParser("Answer {format} or {unknown}", format=City, unknown=Unknown)
    on.say(parser.format_instruction())


class Country(BaseModel):
    capital: City
    others: list[City] = Field(description="The others")


@script
def a_model_in_a_model_is_described(on: Run) -> Any:
    on.say(on.parsers.JSONParser("{format}", format=Country).format_instruction())


@script
def json_is_read(on: Run) -> Any:
    parser = on.parsers.JSONParser("{format} {unknown}", format=City, unknown=Unknown)
    for text in (
        '{"name": "Bonn", "inhabitants": 3, "rivers": ["Rhine"]}',
        '// a city\n{"name": "Bonn",\n// its rivers\n"rivers": []}',
        '{"reason": "none"}',
    ):
        on.say(parser.parse_response(text))


@script
def json_that_does_not_fit(on: Run) -> Any:
    parser = on.parsers.JSONParser("{format}", format=City)
    for text in ("{", "", "plain", "[1]", '{"name": 3}'):
        on.tried(lambda text=text: on.say(parser.parse_response(text)), ValueError, AttributeError, UnboundLocalError)


@script
def json_with_a_type_instead_of_a_value(on: Run) -> Any:
    parser = on.parsers.JSONParser("{format}", format=City)
    on.tried(lambda: on.say(parser.parse_response('{"name": "str", "rivers": []}')), ValueError)
    on.tried(lambda: on.say(parser.parse_response('{"name": "Bonn", "rivers": [], "more": 1}')))


class Person(BaseModel):
    name: str = Field(description="The full name")
    age: int


@script
def xml_is_described_and_read(on: Run) -> Any:
    parser = on.parsers.CustomFormatParser("{default_format}", default_format=Person, unknown_format=Unknown)
    on.tried(lambda: on.say(parser.format_instruction()))
    on.tried(lambda: on.say(parser.parse_response('<name type="str">Ada</name>\n<age>36</age>')), AttributeError)


@script
def a_prompt_template(on: Run) -> Any:
    made = on.module("prompts").PromptTemplate
    on.say(made("Hi {name}, {n}").format(name="Ada", n=3))
    on.say(made("Hi {{ name }}", format_type="jinja").format(name="Ada"))
    on.tried(lambda: on.say(made("Hi {name}").format()), ValueError)
    on.tried(lambda: on.say(made("Hi {name}").format(name="Ada", other=1)), ValueError)
    on.tried(lambda: on.say(made("Hi {name}", format_type="other").format(name="Ada")), ValueError)


@script
def a_prompt_template_in_an_agent(on: Run) -> Any:
    made = on.module("prompts").PromptTemplate
    agent = on.Agent(on.model("fine"), made("Hi {name}").format(name="Ada"))
    on.ask(agent, "hi")
