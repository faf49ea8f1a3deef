"""Stopping the runs of tasks: from any thread, and from other processes."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from trivium.commander import CallNode, NodeState, current, this_session
from trivium.commander.lowlevel import driver_neutral, invoke

if TYPE_CHECKING:
    from trivium.tasks._task import Task

# `Task.kill_session(session)` is called on the class, so the process has to know the calls that run. They are held
# weakly, in the order in which they began, so that a task is stopped before its sub-tasks. A kill stops the runs that
# exist; it leaves nothing behind that could stop a later one.
running_tasks: WeakKeyDictionary[CallNode, Task[Any]] = WeakKeyDictionary()


def kill_runs(task: Task[Any]) -> None:
    """Stop the runs of a task: inside a run those of its session, else all."""
    session = None if current.get() is None else (this_session(),)
    for node in running():
        # `task[int]` is the same task, as its list of sub-tasks shows; a clone is another one
        is_same = running_tasks[node].sub_tasks is task.sub_tasks
        if is_same and session in (None, (node.session_id,)):
            node.kill("Task.kill()")


@driver_neutral
async def stop_session(session_id: Hashable = "", *, channel: str | None = None) -> None:
    """Stop all tasks that run in a session, from any thread; a run that starts later goes on.

    Args:
        session_id: the session; "" is the default one, and stops no other's runs.
        channel: a Redis URL: stop it in other processes too, where `TaskConfig.kill_channel` names it. Sessions
            are compared as text there.

    Raises:
        KillChannelError: the server cannot be reached; the runs of this process were stopped.
        ConfigurationError: the URL cannot be used.
        MissingExtraError: the Redis client is not installed.
    """
    session = 0 if session_id == "" else session_id
    for node in running():
        if node.session_id == session:
            node.kill("Task.kill_session()")
    if channel is not None:
        from trivium.tasks._kill_channel import publish

        await invoke(publish, channel, session)


def running() -> list[CallNode]:
    """Return the calls of tasks that run."""
    found = [reference() for reference in running_tasks.keyrefs()]
    return [node for node in found if node is not None and node.state is NodeState.ACTIVE]
