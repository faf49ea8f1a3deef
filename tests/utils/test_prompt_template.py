"""Prompt templates: variables are filled in, once and all, and nothing in them is run."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import trivium.prompts
import trivium.utils.prompt_template
from trivium.exceptions import ConfigurationError, TriviumError
from trivium.utils.prompt_template import (
    PromptTemplate,
    PromptTemplateError,
    find_unfilled_variables,
    is_prompt_fully_filled,
    render_prompt,
)

NAMES = st.sampled_from(["a", "b", "name", "self", "prompt_template", "values"])
VALUES = st.text(max_size=12) | st.sampled_from(["{{ a }}", "{b}", "{{", "}}", r"\1", "{% a %}"])
PLAIN = st.text(st.characters(exclude_characters="{}"), max_size=8)


def test_both_documented_paths_give_one_class():
    assert trivium.utils.prompt_template.PromptTemplate is trivium.prompts.PromptTemplate


# ---- step by step
def test_render_fills_what_it_is_given_and_says_what_is_left():
    template = PromptTemplate("{{ greeting }}, {{name}}! {{ greeting }}.")
    assert template.unfilled_variables == ["greeting", "name"]
    assert template.render(greeting="Hi", other="x") is template
    assert (str(template), template.is_fully_filled()) == ("Hi, {{name}}! Hi.", False)
    with pytest.raises(PromptTemplateError, match="render name first") as error:
        _ = template.prompt
    assert error.value.variables == ("name",)
    assert template.render(name=3).prompt == "Hi, 3! Hi."
    assert (template.is_fully_filled(), template.unfilled_variables) == (True, [])


def test_a_filled_variable_keeps_its_value_and_another_one_is_refused():
    template = PromptTemplate.load_template("{{ a }} {{ b }}").render(a=1)
    assert template.render(a="1").unfilled_variables == ["b"]
    with pytest.raises(PromptTemplateError, match="has another value of a already") as error:
        template.render(a=2, b=2)
    assert (error.value.variables, str(template)) == (("a",), "1 {{ b }}")
    assert PromptTemplate("{{ a }}").render(a=2).prompt == "2", "templates share nothing"


@given(
    st.lists(st.tuples(PLAIN, NAMES)),
    st.fixed_dictionaries({}, optional={name: VALUES for name in ("a", "b", "self", "values")}),
)
def test_a_value_is_text_for_good(parts: list[tuple[str, str]], values: dict[str, str]):
    template = PromptTemplate("".join(f"{plain}{{{{ {name} }}}}" for plain, name in parts))
    for name, value in values.items():
        template.render(**{name: value})
    names = [name for _, name in parts]
    assert str(template) == "".join(plain + values.get(name, f"{{{{ {name} }}}}") for plain, name in parts)
    assert template.unfilled_variables == list(dict.fromkeys(name for name in names if name not in values))
    for name in template.unfilled_variables:
        template.render(**{name: "{{ a }}"})
    assert template.prompt == "".join(plain + values.get(name, "{{ a }}") for plain, name in parts)


def test_the_functions_do_the_same_to_plain_text():
    text = render_prompt("{{ a }}, {{b}}, {{ b }}", a="{{ c }}", unknown=1)
    assert text == "{{ c }}, {{b}}, {{ b }}"
    assert (find_unfilled_variables(text), is_prompt_fully_filled(text)) == (["c", "b"], False)
    assert is_prompt_fully_filled(render_prompt(prompt_template="{{ a }} {b}", a=1))


# ---- at once
@pytest.mark.parametrize(
    ("style", "text"), [("json", '{{"k": "{a}", "n": {b}}}'), ("jinja", '{"k": "{{ a }}", "n": {{b}}}')]
)
def test_format_fills_each_style(style: str, text: str):
    template = PromptTemplate(text, format_type=style)
    assert template.format(a="{b} {{ b }}", b=2) == '{"k": "{b} {{ b }}", "n": 2}'
    assert template.format(a=1, b=1) == '{"k": "1", "n": 1}', "a template can be filled again"


@pytest.mark.parametrize(("style", "text"), [("json", "{a} {b}"), ("jinja", "{{ a }} {{ b }}")])
def test_format_wants_the_variables_no_more_and_no_less(style: str, text: str):
    template = PromptTemplate(text, style)
    for variables, named in (({"a": 1}, ("b",)), ({"a": 1, "b": 2, "c": 3}, ("c",)), ({"c": 3}, ("a", "b", "c"))):
        with pytest.raises(PromptTemplateError, match="no more and no less") as error:
            template.format(**variables)
        assert error.value.variables == named
        assert isinstance(error.value, ValueError)
        assert isinstance(error.value, TriviumError)


@pytest.mark.parametrize(
    ("style", "text"),
    [
        ("json", "{a.__class__} {a}"), ("json", "{a!r} {a}"), ("json", "{a:>9} {a}"), ("json", "{a[0]} {a}"),
        ("json", "{} {a}"), ("json", "{a} }"), ("json", "{ {a}"),
        ("jinja", "{{ a.b }} {{ a }}"), ("jinja", "{{ a|upper }} {{ a }}"), ("jinja", "{{ a }} {% if a %}"),
        ("jinja", "{{ a }} {# a #}"), ("jinja", "{{ a() }} {{ a }}"),
    ],
)  # fmt: skip
def test_nothing_but_a_plain_variable_is_filled_in(style: str, text: str):
    with pytest.raises(PromptTemplateError, match="is no plain variable"):
        PromptTemplate(text, style).format(a="x")


@given(st.text(), st.text())
def test_braces_are_doubled_and_come_out_single(text: str, value: str):
    doubled = text.replace("{", "{{").replace("}", "}}")
    assert PromptTemplate(doubled + "{a}").format(a=value) == text + value


def test_the_text_is_given_by_the_name_that_either_document_has():
    texts = PromptTemplate(template="{{ a }}"), PromptTemplate(prompt_template="{{ a }}"), PromptTemplate("{{ a }}")
    assert [each.render(a=1).prompt for each in texts] == ["1"] * 3


def test_an_unknown_style_is_refused():
    with pytest.raises(ConfigurationError, match="json, jinja"):
        PromptTemplate("", "mustache")
