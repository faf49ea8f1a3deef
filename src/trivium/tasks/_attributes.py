"""Attributes of a task that belong to one of its runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, overload

from trivium.tasks._run import run_of

if TYPE_CHECKING:
    from trivium.tasks._task import Task

__all__ = ["RunAttribute"]

V = TypeVar("V")


class RunAttribute(Generic[V]):
    """An attribute of a task that belongs to its run: inside a run to that one, outside to the latest.

    Args:
        slot: the attribute of the run, as it stands on `TaskRun`: at run time the descriptor of its slot.
        doc: the documentation.
    """

    def __init__(self, slot: V, doc: str) -> None:
        self._slot: Any = slot
        self.__doc__ = doc

    @overload
    def __get__(self, task: None, owner: type | None = None) -> Self: ...
    @overload
    def __get__(self, task: Task[Any], owner: type | None = None) -> V: ...
    def __get__(self, task: Task[Any] | None, owner: type | None = None) -> Self | V:
        return self if task is None else self._slot.__get__(run_of(task))

    def __set__(self, task: Task[Any], value: V) -> None:
        self._slot.__set__(run_of(task), value)
