"""The prompt template: a text with variables. Values are inserted; no part of a template is ever executed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Self

from trivium.exceptions import ConfigurationError, PromptTemplateError
from trivium.schema.lowlevel import checked

_DOUBLE = re.compile(r"\{\{\s*(?P<name>\w+)\s*\}\}")
# The tokens of `format` in each style: a variable, or a brace without a variable, which is refused. In json, as in
# Python's own format strings, a doubled brace is one brace.
_STYLES = {
    "json": re.compile(r"(?P<brace>\{\{|\}\})|\{(?P<name>\w+)\}|[{}]"),
    "jinja": re.compile(rf"{_DOUBLE.pattern}|(?P<brace>(?!))|\{{[{{%#]"),
}


class PromptTemplate:
    """A text with variables, filled at once by `format` or step by step by `render`.

    Only plain variables are filled in: no expressions, filters or blocks, and no code. Values are plain text: a
    variable in a value is never filled.

    Args:
        template: the text. `render` fills `{{ name }}`.
        format_type: what `format` fills: "json" fills `{name}`, and `{{` is a brace; "jinja" fills `{{ name }}`.
        prompt_template: the text by Agere's name.

    Raises:
        ConfigurationError: the format type is unknown.

    Example:
        >>> PromptTemplate("Hello, {name}!").format(name="Ada")
        'Hello, Ada!'
        >>> template = PromptTemplate("{{ greeting }}, {{ name }}!").render(greeting="Good day")
        >>> template.unfilled_variables, template.render(name="{{ you }}").prompt
        (['name'], 'Good day, {{ you }}!')
    """

    @checked
    def __init__(self, template: str = "", format_type: str = "json", *, prompt_template: str = "") -> None:
        if format_type not in _STYLES:
            raise ConfigurationError(f"format_type is one of {', '.join(_STYLES)}, not {format_type!r}")
        self.template, self.format_type = template or prompt_template, format_type
        self._values: dict[str, str] = {}

    @classmethod
    def load_template(cls, prompt_template: str) -> Self:
        """Return a new template of this text."""
        return cls(prompt_template)

    @property
    def variables(self) -> list[str]:
        """The variables that `format` fills in, without repetition, in the order of the text."""
        places = _STYLES[self.format_type].finditer(self.template)
        return list(dict.fromkeys(place["name"] for place in places if place["name"]))

    def format(self, /, **variables: object) -> str:
        """Return the text with every variable filled in; the template is unchanged.

        Raises:
            PromptTemplateError: a variable is missing or is not in the template, or the template has a brace
                outside a variable.
        """
        names = set(self.variables)
        missing, unknown = sorted(names - variables.keys()), sorted(variables.keys() - names)
        if missing or unknown:
            problems = [
                f"{word} {', '.join(found)}" for word, found in (("lacks", missing), ("has no", unknown)) if found
            ]
            raise PromptTemplateError(
                f"the call of format {' and '.join(problems)}: give the template's variables, no more and no less",
                (*missing, *unknown),
            )
        return _STYLES[self.format_type].sub(lambda found: self._formatted(found, variables), self.template)

    def _formatted(self, found: re.Match[str], variables: Mapping[str, object]) -> str:
        if found["name"]:
            return str(variables[found["name"]])
        if found["brace"]:
            return found["brace"][0]
        at, hint = found.start(), "; write {{ or }} for a brace" if self.format_type == "json" else ""
        raise PromptTemplateError(
            f"{self.template[at : at + 20]!r} at {at} is no plain variable, and nothing else can be filled in{hint}"
        )

    def render(self, /, **variables: object) -> Self:
        """Fill in some of the variables, for good; names that are not in the template change nothing.

        Returns:
            The template itself, so that calls can be chained.

        Raises:
            PromptTemplateError: a variable has another value already; nothing is filled in then.
        """
        given = {name: str(variables[name]) for name in find_unfilled_variables(self.template) if name in variables}
        if other := tuple(name for name, value in given.items() if self._values.get(name, value) != value):
            raise PromptTemplateError(
                f"the template has another value of {', '.join(other)} already, and render fills it for good: make a "
                'PromptTemplate for each text, or fill one again and again by PromptTemplate(text, "jinja").format',
                other,
            )
        self._values.update(given)
        return self

    @property
    def prompt_template(self) -> str:
        """The present text, with the variables rendered so far."""
        return _filled(self.template, self._values)

    @property
    def prompt(self) -> str:
        """The text with every variable filled in.

        Raises:
            PromptTemplateError: a variable has no value yet.
        """
        missing = self.unfilled_variables
        if missing:
            raise PromptTemplateError(f"render {', '.join(missing)} first: the template has no value", tuple(missing))
        return self.prompt_template

    @property
    def unfilled_variables(self) -> list[str]:
        """The variables without a value, without repetition, in the order of the text."""
        return [name for name in find_unfilled_variables(self.template) if name not in self._values]

    def is_fully_filled(self) -> bool:
        """Return True if every variable has a value."""
        return not self.unfilled_variables

    def __str__(self) -> str:
        return self.prompt_template

    def __repr__(self) -> str:
        return f"PromptTemplate({self.prompt_template!r})"


@checked
def render_prompt(prompt_template: str, **variables: object) -> str:
    """Fill in each `{{ name }}` that has a value; the others stay.

    Example:
        >>> render_prompt("{{ a }} and {{ b }}", a=1, c=3)
        '1 and {{ b }}'
    """
    return _filled(prompt_template, variables)


def _filled(template: str, values: Mapping[str, object]) -> str:
    return _DOUBLE.sub(lambda found: str(values.get(found["name"], found[0])), template)


@checked
def is_prompt_fully_filled(prompt: str) -> bool:
    """Return True if a text has no `{{ name }}`.

    Example:
        >>> is_prompt_fully_filled("Hello, {{ name }}!")
        False
    """
    return _DOUBLE.search(prompt) is None


@checked
def find_unfilled_variables(prompt_template: str) -> list[str]:
    """The names in the `{{ name }}` of a text, without repetition, in order.

    Example:
        >>> find_unfilled_variables("{{ b }} {{ a }} {{b}}")
        ['b', 'a']
    """
    return list(dict.fromkeys(found["name"] for found in _DOUBLE.finditer(prompt_template)))
