"""Attributes of a task that belong to one of its runs, and other names of attributes."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from trivium.tasks._run import TaskRun, loops_of, run_of
from trivium.tasks._signals import LoopDetector

if TYPE_CHECKING:
    from trivium.tasks._task import Task

V = TypeVar("V")


def alias(name: str) -> Any:
    """Return another name of an attribute, by which it is read and set."""
    return property(attrgetter(name), lambda task, value: setattr(task, name, value))


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


class RunAttributes:
    """The attributes of a task that belong to one of its runs."""

    pending_message = RunAttribute(TaskRun.pending_message, "The message that waits for an answer.")
    pending_sender = RunAttribute(TaskRun.pending_sender, "The responder that gave it: an entity, or a sub-task.")
    n_stalled_steps = RunAttribute(TaskRun.n_stalled_steps, "The number of steps in a row without a valid response.")
    human_tried = RunAttribute(TaskRun.human_tried, "True if the user was the last one that was asked.")
    is_done = RunAttribute(TaskRun.is_done, "Whether the last response ends the task.")
    is_pass_thru = RunAttribute(TaskRun.is_pass_thru, "Whether the last response passes the pending message on.")
    caller = RunAttribute(TaskRun.caller, "The task that called this one; None at the root.")
    session_id = RunAttribute(TaskRun.session_id, "The session of the run.")
    max_cost = RunAttribute(TaskRun.max_cost, "US dollars that the run may cost; 0: no limit.")
    max_tokens = RunAttribute(TaskRun.max_tokens, "Tokens that the run may use; 0: no limit.")
    why = RunAttribute(TaskRun.why, "The reason for an end without success; '' for a success. Each answer has its own.")
    message_counter = RunAttribute(LoopDetector.counts, "The hashes of the messages, counted.", of_loops=True)
    history = RunAttribute(LoopDetector.last, "The hashes of the latest messages.", of_loops=True)
    n_no_answer_alternations = RunAttribute(LoopDetector.refusals, "Refusals in every second step.", of_loops=True)
    message_history_idx = RunAttribute(TaskRun.message_history_idx, "The index in the history where it began, or -1.")
