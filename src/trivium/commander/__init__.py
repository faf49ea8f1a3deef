"""The run tree: nodes, events, limits, stopping, jobs and handlers, and the doors between sync and async."""

from trivium.commander._callbacks import Callback
from trivium.commander._calls import CallNode, step, this_call, this_session
from trivium.commander._commander import CommanderAsync
from trivium.commander._doors import Bell, door, function_door, gather, invoke, portable, run_core, wait
from trivium.commander._doors_items import iterate
from trivium.commander._events import EndedEvent, Event, Listener, QueuedEvent, RetriedEvent, StartedEvent
from trivium.commander._jobs import PASS_WORD, BasicJob, HandlerCoroutine, Job, handler, tasker
from trivium.commander._limits import Budget, Limits
from trivium.commander._node import NodeState, Scope, TaskNode, current
from trivium.commander._pool import for_each
from trivium.commander._streams import AsyncStream, Stream
from trivium.exceptions import (
    AttributeNotSetError,
    CommanderAlreadyRunningError,
    CommanderNotRunError,
    NotHandlerError,
    NotTaskerError,
    PasswordError,
    TaskResultError,
)

__all__ = [
    "PASS_WORD",
    "AsyncStream",
    "AttributeNotSetError",
    "BasicJob",
    "Bell",
    "Budget",
    "CallNode",
    "Callback",
    "CommanderAlreadyRunningError",
    "CommanderAsync",
    "CommanderNotRunError",
    "EndedEvent",
    "Event",
    "HandlerCoroutine",
    "Job",
    "Limits",
    "Listener",
    "NodeState",
    "NotHandlerError",
    "NotTaskerError",
    "PasswordError",
    "QueuedEvent",
    "RetriedEvent",
    "Scope",
    "StartedEvent",
    "Stream",
    "TaskNode",
    "TaskResultError",
    "current",
    "door",
    "for_each",
    "function_door",
    "gather",
    "handler",
    "invoke",
    "iterate",
    "portable",
    "run_core",
    "step",
    "tasker",
    "this_call",
    "this_session",
    "wait",
]
