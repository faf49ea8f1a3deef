"""The tool message that a model writes as XML, for texts such as code that JSON would escape."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Self

from pydantic import BaseModel

from trivium.actions._tool_message import ToolMessage, group_text
from trivium.actions._tool_schema import NOT_ARGUMENTS
from trivium.actions._xml_text import find_elements, is_verbatim, read_element, shape_of, write_element
from trivium.exceptions import XMLFormatError
from trivium.schema.lowlevel import unfence


class XMLToolMessage(ToolMessage):
    """A tool message that a model writes as XML.

    A field with `json_schema_extra={"verbatim": True}`, or with the name `code`, is written in CDATA without escapes.
    In a field of a single value, text with angle brackets is text. Through the provider's interface for tools, it is a
    tool like others.

    Example:
        >>> class Run(XMLToolMessage):
        ...     request: str = "run"
        ...     purpose: str = "To run <code>."
        ...     code: str
        >>> Run.parse("<tool><request>run</request><code>if a < b: print(a)</code></tool>").code
        'if a < b: print(a)'
        >>> print(Run(code="a < b").format_example(), end="")
        <tool>
          <request>run</request>
          <code><![CDATA[a < b]]></code>
        </tool>
    """

    @classmethod
    def _get_root_element(cls) -> str:
        """The name of the element that holds a call. Override it."""
        return "tool"

    @classmethod
    def _get_excluded_fields(cls) -> set[str]:
        """The fields that are left out."""
        return {*NOT_ARGUMENTS}

    # ---- reading
    @classmethod
    def find_candidates(cls, text: str) -> list[str]:
        """Find the parts of a text that may be calls; a missing opening tag, or the last closing one, is added."""
        return find_elements(text, cls._get_root_element())

    @classmethod
    def extract_field_values(cls, formatted_string: str) -> dict[str, Any] | None:
        """Read the values in a call by name, as text, lists and dicts; None if it has none.

        Elements whose name begins with an underscore are ignored. Only XML's own five entities are read; declarations
        and other entities stay text, or are an error.

        Raises:
            XMLFormatError: it is not well formed.
        """
        try:
            return read_element(formatted_string, cls._get_root_element(), cls) or None
        except ValueError as error:
            default = cls.model_fields["request"].default
            name = default if isinstance(default, str) and default else "a tool"
            raise XMLFormatError(f"the call of {name} cannot be read as XML: {error}", name, formatted_string) from None

    @classmethod
    def parse(cls, formatted_string: str | Mapping[str, object]) -> Self:  # pyright: ignore[reportIncompatibleMethodOverride] - its documented name
        """Parse the call that a model has written, as XML, or as JSON if it came through the provider's interface.

        Raises:
            XMLFormatError: it is not well formed.
            ToolArgumentsError: the values do not fit; the text says which and why.
        """
        text = unfence(formatted_string) if isinstance(formatted_string, str) else ""
        if not text.lstrip().startswith("<"):
            return super().parse(formatted_string)
        return cls._made_of(cls.extract_field_values(text) or {})

    # ---- writing
    def format_example(self) -> str:
        """The message as a model would write it."""
        return write_element(self._get_root_element(), self)

    @classmethod
    def find_verbatim_fields(cls, prefix: str = "", parent_cls: type[BaseModel] | None = None) -> list[str]:
        """The fields that are written without escapes; those of models within it as `field.inner`."""
        return list(_verbatim(parent_cls or cls, prefix, ()))

    @classmethod
    def _format_text(cls) -> str:
        exact = cls.find_verbatim_fields()
        examples = cls.usage_examples()
        lines = [
            f"TOOL: {cls.name()}",
            f"PURPOSE: {cls._purpose()}",
            "XML FORMAT, with your values in place of what stands in curly brackets:",
            cls._blank(),
        ]
        if exact:
            lines.append(f"Write {', '.join(exact)} in CDATA, exactly as it is, with nothing escaped.")
        return "\n".join([*lines, *([f"EXAMPLES:\n{examples}"] if examples else [])]) + "\n"

    @staticmethod
    def group_format_instructions() -> str:
        """The text around the instructions of several tools, some of which may be written as JSON."""
        return group_text("its FORMAT as above, filled in with your values")

    @classmethod
    def _blank(cls) -> str:
        root = cls._get_root_element()
        return f"<{root}>\n{''.join(_form(cls, '  ', (), cls.name()))}</{root}>"


def _verbatim(model: type[BaseModel], prefix: str, above: tuple[type, ...]) -> Iterator[str]:
    for name, field in model.model_fields.items():
        path = f"{prefix}.{name}" if prefix else name
        if is_verbatim(name, field):
            yield path
        inner = _model_in(field.annotation)
        if inner is not None and inner not in (*above, model):
            yield from _verbatim(inner, path, (*above, model))


def _model_in(hint: object) -> type[BaseModel] | None:
    shape = shape_of(hint)
    while shape.kind in ("list", "dict"):
        shape = shape_of(shape.of)
    return shape.of if shape.kind == "model" else None


def _form(model: type[BaseModel], indent: str, above: tuple[type, ...], request: str = "") -> Iterator[str]:
    """Render the elements of a model, each with a description of its content."""
    for name, field in model.model_fields.items():
        if name == "request" and (request or issubclass(model, ToolMessage)):
            default = request or field.default
            yield f"{indent}<request>{default}</request>\n"
        elif not (issubclass(model, ToolMessage) and name in NOT_ARGUMENTS):
            told = f"{name}: {field.description}" if field.description else name
            yield from _entry(name, told, field.annotation, indent, (*above, model), is_verbatim(name, field))


def _entry(
    name: str, told: str, hint: object, indent: str, above: tuple[type, ...], exact: bool = False
) -> Iterator[str]:
    shape = shape_of(hint)
    if shape.kind == "text" or shape.kind == "any":
        kind = hint.__name__ if isinstance(hint, type) else str(hint).replace("typing.", "")
        text = f"{{{told} ({kind})}}"
        yield f"{indent}<{name}>{f'<![CDATA[{text}]]>' if exact else text}</{name}>\n"
        return
    yield f"{indent}<{name}>\n"
    if shape.kind == "model" and shape.of in above:
        yield f"{indent}  {{the same form again}}\n"
    elif shape.kind == "model":
        yield from _form(shape.of, indent + "  ", above)
    else:
        inner = "item" if shape.kind == "list" else "key"
        yield from _entry(inner, inner, shape.of, indent + "  ", above)
        yield f"{indent}  ...\n"
    yield f"{indent}</{name}>\n"
