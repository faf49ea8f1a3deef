"""Attributes of a task that belong to one of its runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, cast, overload

from trivium.tasks._run import run_of

if TYPE_CHECKING:
    from trivium.tasks._task import Task

__all__ = ["RunAttribute"]

V = TypeVar("V")


class RunAttribute(Generic[V]):
    """An attribute of a task that belongs to its run: inside a run to that one, outside to the latest."""

    def __init__(self, doc: str) -> None:
        self.__doc__ = doc

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, task: None, owner: type | None = None) -> Self: ...
    @overload
    def __get__(self, task: Task[Any], owner: type | None = None) -> V: ...
    def __get__(self, task: Task[Any] | None, owner: type | None = None) -> Self | V:
        return self if task is None else cast("V", getattr(run_of(task), self._name))

    def __set__(self, task: Task[Any], value: V) -> None:
        setattr(run_of(task), self._name, value)
