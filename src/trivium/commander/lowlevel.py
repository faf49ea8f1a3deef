"""The internal API of the runtime, for trivium's own packages and for authors of extensions.

As `trio.lowlevel`: stable enough to build on, and of no use in an application. It has the primitives through which
driver-neutral code suspends, the bridges between threads, loops and trio, and the parts of a node that are underscored
on the node itself, since a user's `Job` is one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trivium.commander._calls import CallNode, SessionLocks, is_within, lock, step
from trivium.commander._drivers import (
    ThreadEvent,
    drive,
    driver_neutral,
    invoke,
    invoke_in_place,
    invoke_or_abandon,
    is_async,
    overridable,
    pair_forms,
    run_on_loop,
    settle,
    sync_function,
    sync_method,
    wait,
)  # fmt: skip
from trivium.commander._iteration import iterate, pull
from trivium.commander._limits import Budget, check_option, check_options
from trivium.commander._loops import (
    await_reply,
    is_blocking,
    is_cancelled,
    is_in_trio,
    lender,
    open_reply,
    place_of_caller,
    run_from_trio,
    run_in_worker,
    shield,
)
from trivium.commander._node import (
    Cancellation,
    Scope,
    TaskNode,
    change_scope,
    checkpoint,
    claim_key,
    current,
    current_node,
    emit,
    error_of_stop,
    forget_name,
    key_of,
    node_name,
    note_sources,
    parent_of,
    scope_of,
    session_of,
    sources_above,
    sources_of,
    stopped_by,
    time_left,
)
from trivium.commander._streams import AsyncStream, Stream
from trivium.commander._workers import Outcome, background_loop, capture, get_item, running_loop, submit, value_or_raise
from trivium.lazy import lazy_names

if TYPE_CHECKING:
    from trivium.commander._owner_loop import OwnerLoop

__all__ = [
    "AsyncStream", "Budget", "CallNode", "Cancellation", "Outcome", "OwnerLoop", "Scope", "SessionLocks", "Stream",
    "TaskNode", "ThreadEvent", "await_reply", "background_loop", "capture", "change_scope", "check_option",
    "check_options", "checkpoint", "claim_key", "current", "current_node", "drive", "driver_neutral", "emit",
    "error_of_stop", "forget_name", "get_item", "invoke", "invoke_in_place", "invoke_or_abandon", "is_async",
    "is_blocking", "is_cancelled", "is_in_trio", "is_within", "iterate", "key_of", "lender", "lock", "node_name",
    "note_sources", "open_reply", "overridable", "pair_forms", "parent_of", "place_of_caller", "pull", "run_from_trio",
    "run_in_worker", "run_on_loop", "running_loop", "scope_of", "session_of", "settle", "shield", "sources_above",
    "sources_of", "step", "stopped_by", "submit", "sync_function", "sync_method", "time_left", "value_or_raise", "wait",
]  # fmt: skip

lazy_names(__name__, {"OwnerLoop": "_owner_loop"}, __all__, "trivium.commander")  # few programs need it
