"""The decorator that makes a tool of a function, with options."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from types import MethodType
from typing import Any, TypeVar, overload

from trivium.actions._inherited import options_of
from trivium.actions._tool import MAX_RESULT, Directing, Effect, Tool, check_function, new_tool, set_options
from trivium.exceptions import RetryableToolError
from trivium.policies import SourceKind

F = TypeVar("F", bound=Callable[..., Any])


@overload
def tool(function: F, /) -> F: ...
@overload
def tool(
    *,
    name: str = "",
    description: str = "",
    strict: bool = False,
    timeout: float | None = None,
    retries: int = 0,
    retry_on: tuple[type[Exception], ...] = (RetryableToolError, ConnectionError),
    needs_approval: bool | Callable[..., object] = False,
    effect: Effect | None = None,
    sequential: bool = False,
    max_result: int | None = MAX_RESULT,
    sends: Directing = False,
    spends: Directing = False,
    executes: Directing = False,
    source: SourceKind = "tool",
) -> Callable[[F], F]: ...
def tool(function: Any = None, /, **options: Any) -> Any:
    """Make a tool of a function or of an action's method, which can still be called as before.

    Its name, docstring and annotations are the description sent to the model. A function can be a tool without the
    decorator too; with it, a function that cannot be one is refused at its definition, and it may have options. To
    decorate it again with options replaces these; those of a `functools.partial` add to those of its function.

    Args:
        function: the function.
        **options: `name` and `description` instead of its own; `strict`, to have the provider enforce the schema; the
            other options are those of `Tool`.

    Raises:
        ToolDefinitionError: the function cannot be a tool, or not with these options.

    Example:
        >>> @tool(description="Double a number.", timeout=3, effect="read")
        ... def double(number: int) -> int:
        ...     return 2 * number
        >>> double(3), Tool.of(double).spec.description, Tool.of(double).timeout
        (6, 'Double a number.', 3)
    """
    return partial(mark_as_tool, options=options) if function is None else mark_as_tool(function, options)


def mark_as_tool(function: F, options: dict[str, Any]) -> F:
    """Make a function's tool, and note its options; see `tool`."""
    given = {key: value for key, value in options.items() if value not in ("", None) or key == "max_result"}
    return make_tool(function, given)


def make_tool(function: F, options: Mapping[str, Any] | None = None) -> F:
    """Make the function's tool, again if it has one already; without options they are as they were."""
    if isinstance(function, classmethod | staticmethod):  # above it or below it, the tool is its function's
        return type(function)(make_tool(function.__func__, options))  # pyright: ignore
    check_function(function)
    options = options_of(function, options)
    is_method = next(iter(inspect.signature(function).parameters), "") in ("self", "cls")
    made: Tool = new_tool(MethodType(function, object()) if is_method else function, options)
    set_options(function, options)  # not before: what is refused leaves no trace
    function.__trivium_tool__ = made.replace(call=function)  # type: ignore[attr-defined] - where Tool.of looks
    return function
