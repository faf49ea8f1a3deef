"""The internal API of the runtime, for trivium's own packages and for authors of extensions.

As `trio.lowlevel`: stable enough to build on, and of no use in an application. It has the primitives through which
driver-neutral code suspends, the bridges between threads, loops and trio, and the parts of a node that are underscored
on the node itself, since a user's `Job` is one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from trivium._lazy import lazy_names
from trivium.commander._calls import CallNode, is_within, step, this_call, this_session
from trivium.commander._drivers import (
    ThreadEvent,
    await_foreign,
    drive,
    driver_neutral,
    gather,
    invoke,
    invoke_in_place,
    invoke_or_abandon,
    is_async,
    run_on_loop,
    run_sync,
    settle,
    sync_function,
    sync_method,
    wait,
)  # fmt: skip
from trivium.commander._events import Event
from trivium.commander._iteration import iterate, pull
from trivium.commander._limits import Budget
from trivium.commander._loops import await_within, enter_worker, is_blocking, run_in_worker, shield
from trivium.commander._node import Cancellation, Scope, TaskNode, change_scope, current
from trivium.commander._session_locks import SessionLocks
from trivium.commander._streams import AsyncStream, Stream
from trivium.commander._trio import is_in_trio, run_from_trio
from trivium.commander._workers import capture, get_item, running_loop, submit

if TYPE_CHECKING:
    from trivium.commander._owner_loop import OwnerLoop
else:  # few programs need it
    __getattr__, _ = lazy_names(__name__, {"OwnerLoop": "_owner_loop"}, (), "trivium.commander")

__all__ = [
    "AsyncStream", "Budget", "CallNode", "Cancellation", "OwnerLoop", "Scope", "SessionLocks", "Stream", "TaskNode",
    "ThreadEvent", "await_foreign", "await_within", "capture", "change_scope", "current", "drive", "driver_neutral",
    "emit", "enter_worker", "gather", "get_item", "invoke", "invoke_in_place", "invoke_or_abandon", "is_async",
    "is_blocking", "is_in_trio", "is_within", "iterate", "pull", "run_from_trio", "run_in_worker", "run_on_loop",
    "run_sync", "running_loop", "scope_of", "settle", "shield", "spend", "spent_by", "step", "submit",
    "sync_function", "sync_method", "this_call", "this_session", "wait",
]  # fmt: skip

D = TypeVar("D")


def scope_of(node: TaskNode) -> Scope:
    """Return what the node inherits: session, listeners, budget, deadline, context."""
    return node._scope


def spent_by(node: TaskNode) -> Any:
    """Return the usage of the node and of everything below that has ended; None where nothing was used."""
    return node._spent


def spend(node: TaskNode, usage: Any) -> None:
    """Set the usage of a model call; those above it sum it up as it ends.

    Args:
        node: the node of the call.
        usage: anything that can be added up.
    """
    node._spent = usage


def emit(node: TaskNode, event: type[Event[D]], data: D) -> None:
    """Notify the listeners of the node of an event."""
    node._emit(event, data)
