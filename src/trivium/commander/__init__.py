"""The run tree: nodes, events, limits, stopping, jobs and handlers, and the bridges between sync and async."""

from trivium.commander._callbacks import Callback, CallbackDict
from trivium.commander._calls import CallNode, step, this_call, this_session
from trivium.commander._commander import CommanderAsync
from trivium.commander._drivers import (
    ThreadEvent,
    driver_neutral,
    gather,
    invoke,
    run_sync,
    sync_function,
    sync_method,
    wait,
)
from trivium.commander._events import EndedEvent, QueuedEvent, RetriedEvent, StartedEvent
from trivium.commander._iteration import for_each, iterate
from trivium.commander._jobs import PASS_WORD, BasicJob, HandlerCoroutine, Job, handler, tasker
from trivium.commander._limits import Budget, Limits
from trivium.commander._node import NodeState, Scope, TaskNode, current
from trivium.commander._streams import AsyncStream, Stream
from trivium.events import Event, Listener
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
    "PASS_WORD", "AsyncStream", "AttributeNotSetError", "BasicJob", "Budget", "CallNode", "Callback", "CallbackDict",
    "CommanderAlreadyRunningError", "CommanderAsync", "CommanderNotRunError", "EndedEvent", "Event",
    "HandlerCoroutine", "Job", "Limits", "Listener", "NodeState", "NotHandlerError", "NotTaskerError",
    "PasswordError", "QueuedEvent", "RetriedEvent", "Scope", "StartedEvent", "Stream", "TaskNode",
    "TaskResultError", "ThreadEvent", "current", "driver_neutral", "for_each", "gather", "handler", "invoke",
    "iterate", "run_sync", "step", "sync_function", "sync_method", "tasker", "this_call", "this_session", "wait",
]  # fmt: skip
