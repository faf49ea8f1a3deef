"""Tool kits: functions that are tools, grouped and described further by decorators."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

from trivium.actions._tool import Tool, mark_of
from trivium.actions._tool_options import make_tool, tool
from trivium.exceptions import ToolDefinitionError
from trivium.schema.lowlevel import checked

__all__ = ["AnyTool", "ToolKit", "ToolMetadata", "tool", "tool_kit", "tool_parameter"]

F = TypeVar("F", bound=Callable[..., Any])
_TYPES = {"string": str, "integer": int, "number": float, "boolean": bool, "array": list[Any], "object": dict[str, Any]}


class ToolKit:
    """Tools that are added, removed and selected together.

    Args:
        name: its name.
        description: the purpose of its tools.

    Example:
        >>> kit = ToolKit("greetings")
        >>> @tool_kit(kit)
        ... def hello(name: str) -> str:
        ...     return f"Hello, {name}!"
        >>> [each.__name__ for each in kit], hello("Ada")
        (['hello'], 'Hello, Ada!')
    """

    @checked
    def __init__(self, name: str = "", description: str = "") -> None:
        self.name, self.description = name, description
        self.tools: list[Callable[..., Any]] = []

    def __iter__(self) -> Iterator[Callable[..., Any]]:
        return iter(self.tools)

    def add_tools(self, tools: Iterable[Callable[..., object]]) -> None:
        """Add functions to the kit."""
        self.tools.extend(tools)

    def set_description(self, description: str) -> None:
        """Set the purpose of the kit's tools."""
        self.description = description


@dataclass(frozen=True, slots=True)
class ToolMetadata(Tool):
    """A `Tool` with the attribute names of Agere's documents."""

    tool_kit: ToolKit | None = None

    @property
    def description(self) -> str:
        """The description sent to the model."""
        return self.spec.description

    @property
    def parameters(self) -> dict[str, Any]:
        """The JSON schema of its arguments."""
        return self.spec.parameters

    @property
    def linked_tool(self) -> Callable[..., Any]:
        """The function."""
        return self.call

    @classmethod
    def of(cls, function: Tool | Callable[..., object]) -> ToolMetadata:
        """Return the metadata of a function or a `Tool`."""
        if isinstance(function, ToolMetadata):
            return function
        made, kit = Tool.of(function), mark_of(function, "__tool_kit__")
        return ToolMetadata(**{each.name: getattr(made, each.name) for each in fields(made) if each.init}, tool_kit=kit)


AnyTool: TypeAlias = Tool | Callable[..., Any] | ToolKit
"""A tool, a function that becomes one, or a kit of them."""


def tool_kit(kit: str | ToolKit, description: str | None = None) -> Callable[[F], F]:
    """Put a function into a kit, which is its `__tool_kit__` from then on.

    Args:
        kit: the kit, or its name: within one module, one name is one kit.
        description: the purpose of the kit's tools; None keeps the present one.
    """

    def decorate(function: F) -> F:
        # Kits by name are stored in the module that names them, as Python stores a module's warnings.
        named: dict[str, ToolKit] = function.__globals__.setdefault("__tool_kits__", {})
        its = kit if isinstance(kit, ToolKit) else named.setdefault(kit, ToolKit(kit))
        its.add_tools([function])
        if description is not None:
            its.set_description(description)
        function.__tool_kit__ = its  # type: ignore[attr-defined] - a mark on the function
        return function

    return decorate


def tool_parameter(
    *,
    name: str,
    description: str,
    default_value: object = "",
    param_type: str | None = None,
    choices: Collection[object] | None = None,
    required: bool = True,
) -> Callable[[F], F]:
    """Describe a parameter of a tool beyond its annotation and docstring; use it below or above `@tool`.

    Args:
        name: the parameter.
        description: its description for the model.
        default_value: accepted for compatibility; the schema has the function's own default.
        param_type: its JSON type if it has no annotation: string, integer, number, boolean, array, object.
        choices: the allowed values; others are refused.
        required: False needs a default in the function; a parameter with a default is never required.

    Raises:
        ToolDefinitionError: the function contradicts the description.

    Example:
        >>> @tool
        ... @tool_parameter(name="unit", description="of the answer", choices=["C", "F"])
        ... def temperature(unit: str) -> int:
        ...     return 20
        >>> Tool.of(temperature).spec.parameters["properties"]
        {'unit': {'description': 'of the answer', 'enum': ['C', 'F'], 'type': 'string'}}
    """

    def decorate(function: F) -> F:
        parameter = inspect.signature(function).parameters.get(name)
        problem = ""
        if parameter is None:
            problem = "there is no such parameter"
        elif not required and parameter.default is parameter.empty:
            problem = "it has no default in the function: give it one there, or the function fails without it"
        elif param_type not in (None, *_TYPES):
            problem = f"param_type is one of {', '.join(_TYPES)}"
        if problem:
            raise ToolDefinitionError(f"the parameter {name} of the tool {function.__name__}: {problem}", name)
        kind = function.__annotations__.get(name, _TYPES.get(param_type or "", Any))
        kind = Literal[tuple(choices)] if choices else kind
        function.__annotations__[name] = Annotated[kind, _field(description)]
        return make_tool(function)

    return decorate


def _field(description: str) -> Any:
    from pydantic import Field

    return Field(description=description)
