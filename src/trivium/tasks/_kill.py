"""Stopping tasks that run: from any thread, and from other processes."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import count
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from trivium.commander import CallNode, NodeState, current, driver_neutral, invoke, sync_method
from trivium.module import Module
from trivium.schema import Message

if TYPE_CHECKING:
    from types import CoroutineType

    from trivium.tasks._config import TaskConfig
    from trivium.tasks._task import Task

__all__ = ["TaskKill"]

# `Task.kill_session(session)` is called on the class, so what runs must be known to the process. It is held weakly
# and says nothing but that it runs: a kill is told to the runs that are there, and leaves nothing behind that a
# later run could find. In the order in which they began, so that a task is told before its sub-tasks.
_running: WeakValueDictionary[int, CallNode] = WeakValueDictionary()
_numbers = count()


class TaskKill(Module):
    """How a task's runs are stopped.

    A killed run ends at once: what waits is woken, a running model call is broken off and its connection closed,
    sub-tasks end with it, and nothing is started any more. Only a handler that is plain sync code comes to its end
    first. The result of the run has the status KILL.
    """

    config: TaskConfig
    sub_tasks: list[Task]

    def kill(self) -> None:
        """Stop the runs of this task, from any thread: inside a run those of its session, else all; returns at once.

        Example:
            >>> from trivium import ChatAgent, Task
            >>> from trivium.testing import ScriptedModel
            >>> class Stopper(ChatAgent):
            ...     def agent_response(self, msg=None):
            ...         task.kill()
            >>> task = Task(Stopper(ScriptedModel(["hello"])), interactive=False)
            >>> task.run("hi").status
            <StatusCode.KILL: 'KILL'>
        """
        node = current.get()
        for each in _runs():
            # `task[int]` is the same task, as its list of sub-tasks shows; a clone is another one
            is_own = vars(each)["_task"].sub_tasks is self.sub_tasks
            if is_own and (node is None or each.session_id == node._scope.session_id):
                each.kill("Task.kill()")

    @driver_neutral
    async def _kill_session(cls: Any, session_id: Hashable = "", *, channel: str | None = None) -> None:
        """Stop all tasks that run in a session, from any thread; a run that starts later is none of them.

        Args:
            session_id: the session; "" is the default one, and stops no other's runs.
            channel: a Redis URL: stop it in other processes too, where `TaskConfig.kill_channel` names it. Sessions
                are compared as text there.

        Raises:
            KillChannelError: the server cannot be reached; the runs of this process were stopped.
            ConfigurationError: the URL cannot be used.
            MissingExtraError: the package is not there that speaks to Redis.
        """
        session = 0 if session_id == "" else session_id
        for each in _runs():
            if each.session_id == session:
                each.kill("Task.kill_session()")
        if channel is not None:
            from trivium.tasks._kill_channel import publish

            await invoke(publish, channel, session)

    kill_session_async = classmethod(_kill_session)
    kill_session = classmethod(sync_method(_kill_session, "kill_session_async"))

    def _answer(
        self, node: CallNode, messages: list[Message], kwargs: dict[str, Any]
    ) -> CoroutineType[Any, Any, Message]:
        vars(node)["_task"] = self
        _running[next(_numbers)] = node
        if self.config.kill_channel is None:
            return super()._answer(node, messages, kwargs)
        return self._reachable(self.config.kill_channel, node, messages, kwargs)

    async def _reachable(self, url: str, node: CallNode, messages: list[Message], kwargs: dict[str, Any]) -> Message:
        """The run, while other processes can stop it."""
        from trivium.tasks._kill_channel import join, leave

        channel = join(url, node)
        try:
            await invoke(channel.opened)
            return await super()._answer(node, messages, kwargs)
        finally:
            leave(channel, node)


def _runs() -> list[CallNode]:
    found = [reference() for reference in _running.valuerefs()]
    return [node for node in found if node is not None and node.state is NodeState.ACTIVE]
