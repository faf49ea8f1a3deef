"""Attributes of a task that belong to one of its runs, and other names of attributes."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Hashable
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from trivium.schema import Message
from trivium.tasks._run import Responder, run_of

if TYPE_CHECKING:
    from trivium.tasks._task import Task


def alias(path: str, doc: str | None = None) -> Any:
    """Return another name of an attribute, or of an attribute of one, by which it is read and set."""
    holder, _, name = path.rpartition(".")
    holder_of: Callable[[Any], Any] = attrgetter(holder) if holder else lambda task: task
    return property(attrgetter(path), lambda task, value: setattr(holder_of(task), name, value), doc=doc)


class RunAttributes:
    """The attributes of a task that belong to its run: inside a run to that one, outside to the latest."""

    of_run = property(run_of)
    pending_message: Message | None = alias("of_run.pending_message", "The message that waits for an answer.")
    pending_sender: Responder = alias("of_run.pending_sender", "The responder that gave it: an entity, or a sub-task.")
    n_stalled_steps: int = alias("of_run.n_stalled_steps", "The number of steps in a row without a valid response.")
    human_tried: bool = alias("of_run.human_tried", "True if the user was the last one that was asked.")
    is_done: bool = alias("of_run.is_done", "Whether the last response ends the task.")
    is_pass_thru: bool = alias("of_run.is_pass_thru", "Whether the last response passes the pending message on.")
    caller: Task[Any] | None = alias("of_run.caller", "The task that called this one; None at the root.")
    session_id: Hashable = alias("of_run.session_id", "The session of the run.")
    max_cost: float = alias("of_run.max_cost", "US dollars that the run may cost; 0: no limit.")
    max_tokens: int = alias("of_run.max_tokens", "Tokens that the run may use; 0: no limit.")
    why: str = alias("of_run.why", "The reason for an end without success; '' for a success. Each answer has its own.")
    message_counter: Counter[int] = alias("of_run.loops.counts", "The hashes of the messages, counted.")
    history: deque[int] = alias("of_run.loops.last", "The hashes of the latest messages.")
    n_no_answer_alternations: int = alias("of_run.loops.refusals", "Refusals in every second step.")
    message_history_idx: int = alias("of_run.message_history_idx", "The index in the history where it began, or -1.")
