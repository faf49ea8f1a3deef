"""Errors of runs, jobs and tasks."""

from __future__ import annotations

import sys
from typing import Any, Self

from trivium.exceptions._root import LimitError, TriviumError


class RunError(TriviumError):
    """A run could not go on. `path` is the place in the run tree."""

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(message)
        self.path = path


class RunKilledError(RunError):
    """The run, or the part of it that was called, was killed."""


class DeadlineExceededError(RunError, TimeoutError):
    """The run, or the part of it that was called, exceeded its time limit."""


class LimitExceededError(RunError, LimitError):
    """A limit of the run was reached. `limit` names it, `maximum` (and `value`) is its value.

    `messages` are what the agent that was called had so far: what its model said, and what its tools returned.
    """

    def __init__(
        self, limit: str, maximum: float, path: str = "", *, setting: str = "Limits({limit}=…)", of: str = "the run"
    ) -> None:
        setting = setting.format(limit=limit)
        super().__init__(f"{of} reached its limit of {maximum:g} {limit}; raise {setting}", path)
        self.limit, self.value, self.maximum = limit, maximum, maximum
        self.messages: tuple[Any, ...] = ()


class ToolFailedError(RunError):
    """A tool raised an unexpected error, and `on_tool_error="raise"` ends the run with it; the error is `__cause__`.

    `tool` is the tool's name. `messages` are what the agent that was called had so far, as in `LimitExceededError`.
    """

    def __init__(self, message: str, tool: str = "", path: str = "") -> None:
        super().__init__(message, path)
        self.tool = tool
        self.messages: tuple[Any, ...] = ()


class SuspendedError(RunError, RuntimeError):
    """A coroutine marked as driver-neutral awaited something that is no primitive of the runtime."""


class RecursionTooDeepError(RunError, RecursionError):
    """Calls, or the values in each other, are nested deeper than the interpreter allows."""

    @classmethod
    def of(cls, what: str) -> Self:
        """Return the error for what nests too deeply, which names the limit."""
        return cls(
            f"{what} nests calls or values too deeply: nest less, or raise sys.setrecursionlimit(…), now "
            f"{sys.getrecursionlimit():,} (since Python 3.12 it limits calls, not values); or something calls itself "
            "without end"
        )


class WouldDeadlockError(RunError, RuntimeError):
    """A sync call was made where it could only wait for itself."""


class CommanderError(TriviumError):
    """A job, a handler or a commander was used in a way that cannot work."""


class NoEventLoopError(CommanderError, RuntimeError):
    """Async code was run where no event loop of asyncio runs, as in a trio program, or can run, as under gevent."""


class NotHandlerError(CommanderError, TypeError):
    """Something that is not a handler was given where a handler is called."""


class NotTaskerError(CommanderError, TypeError):
    """A job's `task` lacks the @tasker decorator."""


class PasswordError(CommanderError, AssertionError):
    """A decorator was given another password than PASS_WORD."""


class TaskResultError(CommanderError, TypeError):
    """The body of a job or handler returned work that nobody would run."""


class AttributeNotSetError(CommanderError, AttributeError):
    """A node was asked for something that it gets only when it is scheduled."""


class FinishedNodeError(CommanderError, RuntimeError):
    """Work was put below a node that has ended."""


class CommanderNotRunError(CommanderError, RuntimeError):
    """The commander is not running."""


class CommanderAlreadyRunningError(CommanderError, RuntimeError):
    """The commander is running already."""


class TaskError(TriviumError):
    """A task was used in a way that cannot work, or could not end."""


class InfiniteLoopError(TaskError):
    """The messages of a task repeat endlessly."""


class KillChannelError(TaskError, ConnectionError):
    """Other processes could not be told to stop a session. `url` is the server, without a password."""

    def __init__(self, message: str, url: str = "") -> None:
        super().__init__(message)
        self.url = url
