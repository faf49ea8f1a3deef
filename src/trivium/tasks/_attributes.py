"""Attributes of a task that belong to one of its runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from trivium.tasks._run import loops_of, run_of

if TYPE_CHECKING:
    from trivium.tasks._task import Task

__all__ = ["RunAttribute"]

V = TypeVar("V")


class RunAttribute(Generic[V]):
    """An attribute of a task that belongs to its run: inside a run to that one, outside to the latest.

    Args:
        slot: the attribute of the run, as it stands on `TaskRun`: at run time the descriptor of its slot.
        doc: the documentation.
        of_loops: it is an attribute of the run's `LoopDetector`.
    """

    def __init__(self, slot: V, doc: str, *, of_loops: bool = False) -> None:
        self._slot: Any = slot
        self._owner: Any = loops_of if of_loops else run_of
        self.__doc__ = doc

    def __get__(self, task: Task[Any] | None, owner: type | None = None) -> V:
        return cast("V", self) if task is None else self._slot.__get__(self._owner(task))

    def __set__(self, task: Task[Any], value: V) -> None:
        self._slot.__set__(self._owner(task), value)
