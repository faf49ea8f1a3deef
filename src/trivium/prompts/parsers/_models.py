"""Parsers whose answers are pydantic models, written as JSON or between tags."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias, cast, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from typing_extensions import TypeIs

from trivium.exceptions import AnswerFormatError, ConfigurationError
from trivium.prompts.parsers._text import StrParser, write_json
from trivium.schema.lowlevel import checked

Model = type[BaseModel]
Values: TypeAlias = dict[str, Any]


class JSONParser(StrParser):
    """Parses answers that are one of several pydantic models, as JSON.

    Args:
        template: the instruction; the name of a model is replaced by its form, with a comment on each field.
        **fields: the models, in the order of trial, and other values of the template.

    Raises:
        ConfigurationError: there is no model among the fields.

    Example:
        >>> class Person(BaseModel):
        ...     name: str
        ...     age: int = 0
        >>> parser = JSONParser("Answer as:\\n{person}", person=Person)
        >>> print(parser.format_instruction())
        Answer as:
        {
          "name": "str",  // required
          "age": "int",  // default: 0
        }
        >>> parser.parse_response('{"name": "Ada"}')
        {'name': 'Ada', 'age': 0}
    """

    def __init__(self, template: str = "", **fields: object) -> None:
        super().__init__(template, **fields)
        self.models: dict[str, Model] = {name: value for name, value in fields.items() if _is_model(value)}
        if not self.models:
            raise ConfigurationError(f"{type(self).__name__} needs a pydantic model as a keyword, as in answer=Answer")

    def format_to_string(self, value: object) -> str:
        """Render a model as the form of its answer, and other values as text."""
        return "\n".join(self._form(value, "")) if _is_model(value) else super().format_to_string(value)

    @checked
    def parse_response(self, data: str) -> Values:
        """Return the values of the first model that fits the answer.

        Raises:
            AnswerFormatError: none fits; the message has the reason for each.
        """
        problems: list[str] = []
        for name, model in self.models.items():
            try:
                return self._read(model, data).model_dump()
            except ValidationError as error:
                errors = "; ".join(
                    f"{'.'.join(map(str, each['loc'])) or name}: {each['msg']}" for each in error.errors()
                )
                problems.append(f"as {name}: {errors}")
        raise AnswerFormatError(f"the answer fits no model; {' | '.join(problems)}; ask the model again", data)

    @checked
    def format_response(self, parsed: BaseModel | Mapping[str, object]) -> str:
        """Render an answer with these values."""
        return self._written(_values(parsed))

    def _written(self, values: Values) -> str:
        return write_json(values)

    def _read(self, model: Model, data: str) -> BaseModel:
        return model.model_validate_json(_unfenced(data))

    def _form(self, model: Model, indent: str) -> Iterator[str]:
        yield "{"
        for name, field in model.model_fields.items():
            yield from self._field_form(name, field, f"{indent}  ")
        yield f"{indent}}}"

    def _field_form(self, name: str, field: FieldInfo, indent: str) -> Iterator[str]:
        inner, is_list = _model_in(field.annotation)
        if inner is None:
            yield f'{indent}"{name}": "{_type_name(field.annotation)}",  // {_comment(field)}'
            return
        first, *middle, last = self._form(inner, indent)
        yield f'{indent}"{name}": {"[" if is_list else ""}{first}  // {_comment(field)}'
        yield from middle
        yield f"{last}{'],' if is_list else ','}"


class CustomFormatParser(JSONParser):
    """Parses answers that are one of several pydantic models, each field between tags of its name.

    A list has its tags once for each entry.

    Args:
        template: the instruction; the name of a model is replaced by its form.
        **fields: the models, in the order of trial, and other values of the template.

    Example:
        >>> class Person(BaseModel):
        ...     name: str
        ...     age: int = 0
        >>> parser = CustomFormatParser("Answer as:\\n{person}", person=Person)
        >>> print(parser.format_instruction())
        Answer as:
        <name>str</name>  <!-- required -->
        <age>int</age>  <!-- default: 0 -->
        >>> parser.parse_response("<name>Ada</name> <age>36</age>")
        {'name': 'Ada', 'age': 36}
    """

    def _written(self, values: Values) -> str:
        return "\n".join(_tagged(values))

    def _read(self, model: Model, data: str) -> BaseModel:
        return model.model_validate(_untagged(model, data))

    def _form(self, model: Model, indent: str) -> Iterator[str]:
        for name, field in model.model_fields.items():
            inner = _model_in(field.annotation)[0]
            if inner is None:
                yield f"{indent}<{name}>{_type_name(field.annotation)}</{name}>  <!-- {_comment(field)} -->"
            else:
                yield f"{indent}<{name}>  <!-- {_comment(field)} -->"
                yield from self._form(inner, f"{indent}  ")
                yield f"{indent}</{name}>"


def _is_model(value: object) -> TypeIs[Model]:
    return isinstance(value, type) and issubclass(value, BaseModel)


def _values(parsed: BaseModel | Mapping[str, object]) -> Values:
    return parsed.model_dump(mode="json") if isinstance(parsed, BaseModel) else dict(parsed)


def _type_name(annotation: Any) -> str:
    plain = isinstance(annotation, type) and not get_args(annotation)
    return annotation.__name__ if plain else str(annotation).replace("typing.", "")


def _comment(field: FieldInfo) -> str:
    default = field.get_default(call_default_factory=True, validated_data={}) if not field.is_required() else None
    comment = "required" if field.is_required() else f"default: {default!r}"
    return f"{comment}; {field.description}" if field.description else comment


def _model_in(annotation: object) -> tuple[Model | None, bool]:
    """Return the model of a field or of its list's entries, and True for a list."""
    is_list = get_origin(annotation) is list
    many = [annotation, *get_args(annotation)]
    return next((each for each in many if _is_model(each)), None), is_list


def _unfenced(text: str) -> str:
    """Return the content of the first code fence of a text, or the text if it is an object, without comment lines."""
    text = text.strip()
    fenced = "" if text.startswith("{") else text.partition("```")[2].partition("\n")[2]  # a value may have a fence
    plain = fenced.partition("```")[0] if fenced else text
    return "\n".join(line for line in plain.split("\n") if not line.lstrip().startswith("//"))


def texts_between(begin: str, end: str, text: str) -> Iterator[str]:
    """Yield the texts between two marks, in order."""
    at = text.find(begin)
    while at >= 0 and (to := text.find(end, at)) >= 0:
        yield text[at + len(begin) : to]
        at = text.find(begin, to)


def _untagged(model: Model, text: str) -> Values:
    found: Values = {}
    for name, field in model.model_fields.items():
        inner, is_list = _model_in(field.annotation)
        texts = list(texts_between(f"<{name}>", f"</{name}>", text))
        many = texts if inner is None else [_untagged(inner, each) for each in texts]
        if many:
            found[name] = many if is_list else many[0]
    return found


def _tagged(values: Mapping[str, object]) -> Iterator[str]:
    for name, value in values.items():
        for each in cast("list[object]", value) if isinstance(value, list) else [value]:
            if each is not None:
                inner = (
                    "\n".join(_tagged(cast("Mapping[str, object]", each))) if isinstance(each, Mapping) else str(each)
                )
                yield f"<{name}>{inner}</{name}>"
