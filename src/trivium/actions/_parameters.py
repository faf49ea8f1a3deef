"""The parameters of a tool, read from the signature of its function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import UnionType
from typing import Annotated, Any, NotRequired, Union, cast, get_args, get_origin, get_type_hints

from trivium.actions._inherited import mark_of
from trivium.actions._strict import JSONSchema
from trivium.exceptions import ToolDefinitionError


def unwrap(function: Callable[..., object]) -> Callable[..., object]:
    """Return the function behind partials and bound methods, which has the name, the docstring and the annotations."""
    while isinstance(function, partial):
        function = function.func  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return mark_of(function, "__func__") or function


def with_lists(kind: Any) -> Any:
    """Return a type with lists for each `Iterable` in it: pydantic's value of that is checked late, and read once."""
    origin, parts = get_origin(kind), get_args(kind)
    if kind is Iterable or origin is Iterable:
        return list[tuple(map(with_lists, parts)) or Any]
    if origin is Annotated:
        return Annotated[with_lists(parts[0]), *kind.__metadata__]
    made = tuple(map(with_lists, parts))
    if made == parts or origin is None:
        return kind
    return (Union if origin is UnionType else origin)[made]


def read_parameters(
    function: Callable[..., object], name: str, texts: Mapping[str, str]
) -> tuple[dict[str, object], dict[str, JSONSchema]]:
    """Read the types of a function's parameters by name, and the notes that their types lack.

    Args:
        function: the function.
        name: the tool's name, for errors.
        texts: the descriptions from the docstring, by parameter.

    Returns:
        The types, and for parameters without an `Annotated` type what their schema says besides (description, default).

    Raises:
        ToolDefinitionError: an annotation cannot be read, a parameter is positional or collects several, or it is the
            `self` of a method without its object.
    """
    from pydantic import Field

    plain = unwrap(inspect.unwrap(unwrap(function), stop=lambda each: hasattr(each, "__signature__")))
    try:
        hints = get_type_hints(plain if inspect.isroutine(plain) else type(plain).__call__, include_extras=True)
    except NameError as error:
        raise ToolDefinitionError(f"an annotation of the tool {name} cannot be read: {error}", name) from None
    owner = plain.__qualname__.rpartition(".")[0] if inspect.isfunction(plain) else ""
    is_of_class = owner != "" and not owner.endswith("<locals>")
    kinds: dict[str, object] = {}
    notes_of: dict[str, JSONSchema] = {}
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:
        raise ToolDefinitionError(
            f"{name} does not tell its parameters: wrap it in a function that does", name
        ) from None
    fixed = cast("partial[object]", function).keywords if isinstance(function, partial) else {}
    for parameter in parameters:
        if parameter.name in fixed:
            continue
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise ToolDefinitionError(
                f"the tool {name} has the parameter {parameter}: a model names its arguments, "
                "so use plain or keyword-only parameters",
                name,
            )
        if parameter.name == "self" and "self" not in hints and is_of_class:
            text = f"the tool {name} is a method without its object (it has `self`): give one's, as `thing.{name}`"
            raise ToolDefinitionError(text, name)
        kind = with_lists(hints.get(parameter.name, Any))
        extra: dict[str, Any] = {}
        notes = get_args(kind)[1:] if get_origin(kind) is Annotated else ()
        if not any(mark_of(each, "description") for each in notes):
            text = next((each for each in notes if isinstance(each, str)), texts.get(parameter.name))
            extra = {"description": text} if text is not None else {}
        default: object = parameter.default
        if default is None or isinstance(default, str | int | float | bool):
            extra["json_schema_extra"] = {"default": default}
        if not notes:  # most, and a field would cost more
            notes_of[parameter.name] = {**extra.pop("json_schema_extra", {}), **extra}
        elif extra:  # a field with an alias, or left out of the schema, has another name there, or none
            kind = Annotated[kind, Field(**extra)]
        kinds[parameter.name] = kind if parameter.default is parameter.empty else NotRequired[kind]
    return kinds, notes_of
