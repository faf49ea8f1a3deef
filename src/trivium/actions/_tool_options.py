"""The decorator that makes a tool of a function, with options."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from types import MethodType
from typing import Any, TypeVar, overload

from trivium.actions._tool import MAX_RESULT, Effect, Tool, set_options
from trivium.exceptions import RetryableToolError

__all__ = ["make_tool", "tool"]

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
    needs_approval: bool | Callable[..., Any] = False,
    effect: Effect | None = None,
    sequential: bool = False,
    max_result: int | None = MAX_RESULT,
) -> Callable[[F], F]: ...
def tool(function: Any = None, /, **options: Any) -> Any:
    """Make a tool of a function or of an action's method, which stays what it is: it is called as before.

    Name, docstring and annotations say what a model is told. Without the decorator a function can be a tool too;
    with it, what cannot be one is refused where it is written, and it may have options.

    Args:
        function: the function.
        **options: `name` and `description` in place of its own; `strict`, to have the provider hold the model to
            the schema; all others are those of `Tool`.

    Raises:
        ToolDefinitionError: the function cannot be a tool, or not with these options.

    Example:
        >>> @tool(description="Double a number.", timeout=3, effect="read")
        ... def double(number: int) -> int:
        ...     return 2 * number
        >>> double(3), Tool.of(double).spec.description, Tool.of(double).timeout
        (6, 'Double a number.', 3)
    """
    return partial(_made, options=options) if function is None else _made(function, options)


def _made(function: F, options: dict[str, Any]) -> F:
    set_options(
        function, {key: value for key, value in options.items() if value not in ("", None) or key == "max_result"}
    )
    return make_tool(function)


def make_tool(function: F) -> F:
    """Make the function's tool, anew if it has one."""
    vars(function).pop("__trivium_tool__", None)
    is_method = next(iter(inspect.signature(function).parameters), "") == "self"
    made = Tool.of(MethodType(function, object()) if is_method else function)
    function.__trivium_tool__ = made.replace(call=function)  # type: ignore[attr-defined] - where Tool.of looks
    return function
