"""Effects that are stopped by a time limit or a kill while the run goes on, and results that outlast a cancellation."""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Generator
from contextlib import contextmanager
from typing import NamedTuple

from trivium.commander import NodeState
from trivium.commander.lowlevel import (
    CallNode,
    Cancellation,
    TaskNode,
    error_of_stop,
    key_of,
    parent_of,
    stopped_by,
)
from trivium.events import exception_line
from trivium.exceptions import DeadlineExceededError, RunKilledError


class Stopped(NamedTuple):
    """A stop within a run, which goes on.

    Args:
        node: the node that was stopped, with everything below.
        error: its error, with the key of that node and the reason; a record of it stops the node again.
    """

    node: TaskNode
    error: RunKilledError | DeadlineExceededError


def find_stop(node: TaskNode, root: str) -> Stopped | None:
    """Return the stop that ends an effect; None if it is the whole run that is stopped, or a child that nobody awaits.

    A node whose caller was cancelled by asyncio is stopped too ("cancelled"): that is no stop by the program.

    Args:
        node: the node of the effect.
        root: the key of the run's root.
    """
    stopped, reason = stopped_by(node) or (None, "cancelled")
    for each in node.ancestor_chain if reason != "cancelled" else ():
        if key_of(each) == root:
            break
        if each is stopped:
            return _stopped(each, reason)
    return None


def _stopped(node: TaskNode, reason: str) -> Stopped | None:
    above = parent_of(node)
    if above is None or above.state not in (NodeState.ACTIVE, NodeState.PENDING):  # nobody waits for it
        return None
    error = error_of_stop(node, reason)
    vars(error).update(stopped=key_of(node), reason=reason)
    return Stopped(node, error)


def ending_of(node: CallNode, error: BaseException) -> str:
    """Return the error that ends a run, on one line; `node` is its root."""
    if isinstance(error, Cancellation) and (stop := stopped_by(node)) is not None:
        error = error_of_stop(*stop)
    return exception_line(error)[:1000].encode("utf-8", "replace").decode()  # of names with half of a character, too


def stopped_in(node: TaskNode, error: Exception) -> TaskNode | None:
    """Return what was stopped when this error was recorded, the node or one above; None: it is no record of a stop."""
    key = vars(error).get("stopped")
    return next((each for each in node.ancestor_chain if key_of(each) == key), None) if key else None


def stop_again(node: TaskNode, error: Exception) -> None:
    """Stop what was stopped when this error of an effect was recorded, if it is the record of a stop.

    Raises:
        Cancellation: it is.
    """
    if (stopped := stopped_in(node, error)) is not None:
        stopped.kill(vars(error)["reason"])
        raise Cancellation from error


@contextmanager
def cancelled_after(node: CallNode) -> Generator[None]:
    """Have sync code of a node end, and the block go on with its result, if the caller is cancelled meanwhile.

    Raises:
        CancelledError: it was cancelled; raised after the block.
    """
    node.held = held = list[CancelledError]()
    try:
        yield
    finally:
        node.held = None
        if held:
            raise held[0]
