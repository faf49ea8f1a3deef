"""The parser that leaves an answer unchanged, and the base of all parsers."""

from __future__ import annotations

import json
from typing import Any, Final

from pydantic_core import to_jsonable_python

from trivium.exceptions import ConfigurationError, PromptTemplateError
from trivium.prompts._template import PromptTemplate
from trivium.schema.lowlevel import checked


class StrParser:
    """Makes the instruction of an answer's format, parses answers, and renders them.

    This parser leaves text unchanged. For any valid answer, `format_response(parse_response(text))` has the same
    meaning as `text`, in the parser's own format.

    Args:
        template: the instruction; `{name}` is replaced by the field with that name, `{{` is a brace.
        **fields: the values; each is rendered by `format_to_string`.

    Attributes:
        format_field: the values, by name.

    Raises:
        PromptTemplateError: the template names a field that is not given, or cannot be filled in.

    Example:
        >>> StrParser("Answer in {language}.", language="French").format_instruction()
        'Answer in French.'
    """

    @checked
    def __init__(self, template: str = "", **fields: object) -> None:
        self.template, self.format_field = template, fields
        self._template = PromptTemplate(template)
        missing = tuple(name for name in self._template.variables if name not in fields)
        if missing:
            raise PromptTemplateError(f"the template needs {', '.join(missing)}: give each as a keyword", missing)
        self._template.format(
            **dict.fromkeys(self._template.variables, "")
        )  # raises now if a brace is outside a variable

    @property
    def fields(self) -> dict[str, Any]:
        """The same as `format_field`."""
        return self.format_field

    def format_instruction(self) -> Any:
        """Return the instruction to the model: text, or chat messages; empty for none."""
        if not self.template:
            return ""
        names = self._template.variables
        return self._template.format(**{name: self.format_to_string(self.format_field[name]) for name in names})

    def format_to_string(self, value: object) -> str:
        """Return a field in the form of the instruction."""
        return str(value)

    @checked
    def parse_response(self, data: str) -> Any:
        """Return the meaning of an answer."""
        return data

    def format_response(self, parsed: Any) -> str:
        """Return an answer with this meaning."""
        return parsed if isinstance(parsed, str) else write_json(parsed)


_encode: Final = json.JSONEncoder(ensure_ascii=False, default=to_jsonable_python).encode  # slow to make


def write_json(value: object) -> str:
    """Return a value as JSON text, as a model would write it.

    Raises:
        ConfigurationError: it has no JSON form.
    """
    try:
        return _encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigurationError(f"a {type(value).__name__} cannot be written as JSON ({error}): give text") from None
