"""Methods of actions that are written once as coroutines, and called in sync code or awaited."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import update_wrapper
from inspect import getattr_static
from types import MethodType
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, cast, overload

from trivium.commander import sync_method
from trivium.schema import ActionReturn

P = ParamSpec("P")
T = TypeVar("T")


class AsyncActionMixin:
    """A mixin before an action's class: calls of the object and of its `dual` methods return a coroutine."""

    acall: Callable[..., Awaitable[ActionReturn]]

    def __call__(self, inputs: str | Mapping[str, Any] = "", name: str = "run") -> Awaitable[ActionReturn]:
        """Run a method by its name; see `BaseAction.acall`."""
        return self.acall(inputs, name)


class dual(Generic[P, T]):
    """A method written once as `async def`: called in sync code on an action, awaited on its async form.

    The coroutine function itself has the method's name with the suffix `_async`.

    Example:
        >>> import asyncio
        >>> from trivium.actions import AsyncActionMixin, BaseAction, dual
        >>> class Double(BaseAction):
        ...     @dual
        ...     async def run(self, number: int) -> int:
        ...         "Double a number."
        ...         return 2 * number
        >>> class AsyncDouble(AsyncActionMixin, Double):
        ...     "The same, awaited."
        >>> Double().run(4), asyncio.run(AsyncDouble().run(4))
        (8, 8)
    """

    def __init__(self, core: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]) -> None:
        self.__wrapped__ = core
        update_wrapper(cast("Callable[..., Any]", self), core, assigned=("__doc__",))  # with the marks of decorators

    def __set_name__(self, owner: type, name: str) -> None:
        setattr(owner, f"{name}_async", self.__wrapped__)
        self._plain = sync_method(self.__wrapped__, f"{name}_async")

    @overload
    def __get__(self, action: None, owner: type) -> Callable[..., Any]: ...
    @overload
    def __get__(self, action: AsyncActionMixin, owner: type) -> Callable[P, Coroutine[Any, Any, T]]: ...
    @overload
    def __get__(self, action: object, owner: type) -> Callable[P, T]: ...
    def __get__(self, action: object, owner: type) -> Callable[..., Any]:
        if action is None:
            return self.__wrapped__
        return MethodType(self.__wrapped__ if isinstance(action, AsyncActionMixin) else self._plain, action)


def is_core(owner: type, name: str) -> bool:
    """True if an attribute of a class is the coroutine function of a dual method."""
    return name.endswith("_async") and isinstance(getattr_static(owner, name.removesuffix("_async"), None), dual)
