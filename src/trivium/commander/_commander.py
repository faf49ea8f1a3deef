"""The commander: the root of a tree of jobs and handlers, and the queue that runs the jobs."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from contextlib import suppress
from itertools import count
from typing import Any

from trivium.commander._doors import Bell, run_loop, wait
from trivium.commander._jobs import HandlerCoroutine, Job, WorkNode
from trivium.commander._node import NodeState, Scope, Stop, TaskNode, current
from trivium.commander._workers import post
from trivium.exceptions import CommanderAlreadyRunningError, CommanderNotRunError, NotHandlerError, NotTaskerError

_log = logging.getLogger("trivium.commander")


class CommanderAsync(WorkNode):
    """Runs jobs and handlers as a tree.

    Jobs are taken in the order in which they were put; handlers run beside them. A failing node is never
    lost: it keeps its exception, `failures` lists it and the log names it.

    Args:
        name: how the root is called in the run tree.
        raise_errors: let `run` raise the first failure when the run is over.

    Attributes:
        failures: (node, error) for each node that failed in the last run, in order.
    """

    _kind = "commander"

    def __init__(self, name: str = "commander", *, raise_errors: bool = False) -> None:
        super().__init__(name)
        self.raise_errors = raise_errors
        self.failures: list[tuple[TaskNode, BaseException]] = []
        self._queue: deque[Job] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._bell = Bell()
        self._return: Any = None
        self._ids = count(2)
        self._last_calls: dict[WorkNode, None] = {}
        self._commander, self._id = self, 1

    def run(self, *jobs: Job, auto_exit: bool = False) -> Any:
        """Run until the commander is told to exit, or with `auto_exit` until nothing is left to do.

        Returns:
            What `exit_commander` or `exit` was given, else None.

        Raises:
            CommanderAlreadyRunningError: it runs already.
        """
        return run_loop(lambda: self.run_async(*jobs, auto_exit=auto_exit))

    async def run_async(self, *jobs: Job, auto_exit: bool = False) -> Any:
        """As `run`, inside a running loop."""
        if self._loop is not None:
            raise CommanderAlreadyRunningError("the commander runs already; put jobs with put_job_threadsafe")
        self._begin()
        token, error = current.set(self), None
        try:
            for job in jobs:
                self.put_job_threadsafe(job)
            await self._work(auto_exit)
            if self._stopping is not None and self._stopping[1] != "exit":
                raise self._outward(Stop())
        except BaseException as raised:
            error = raised
            raise
        finally:
            await self._finish(error)
            current.reset(token)
        if self.raise_errors and self.failures:
            raise self.failures[0][1]
        return self._return

    def _begin(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._state, self._open = NodeState.PENDING, 1
        self._return, self.failures, heard = None, [], self._scope.listeners
        self._attach(current.get())
        vars(self).pop("_run_id", None)
        self._scope = self._scope.but(listeners=(*self._scope.listeners, *heard))
        self._start()

    async def _work(self, auto_exit: bool) -> None:
        task = asyncio.current_task()
        cancelled = task.cancelling() if task else 0
        while self._stopping is None and (self._queue or not auto_exit or self._open > 1):
            if self._queue:
                job = self._queue.popleft()
                self._number(job)
                await job._body()
                if task and task.cancelling() > cancelled:  # the caller's own cancellation, not the job's failure
                    raise asyncio.CancelledError
            else:
                self._bell = Bell()
                with suppress(Stop):  # a kill ends the wait, and does not unwind the commander
                    await wait(bell=self._bell)

    async def _finish(self, error: BaseException | None) -> None:
        if self._stopping is None and self._children:
            self.kill("the run was cancelled")
        tasks = {node._task for node in self._subtree() if isinstance(node, WorkNode) and node._task is not None}
        await asyncio.gather(*tasks - {asyncio.current_task()}, return_exceptions=True)
        while self._queue:  # dropped: each still ends, and its tree above it
            await self._queue.popleft()._body()
        for node in (*self._last_calls, self):
            await node._stage("at_commander_end")
        self._last_calls.clear()
        self._close(error)
        inherited = self._parent._scope.listeners if self._parent is not None else ()
        self._scope = Scope(listeners=tuple(each for each in self._scope.listeners if each not in inherited))
        self._loop = None

    def exit(self, return_result: Any = None) -> None:
        """Stop the run from any thread: nothing is started any more, running handlers are cancelled."""
        self._return = return_result
        self.kill("exit")
        self._bell.ring()

    def put_job_threadsafe(self, job: Job, parent: TaskNode | None = None) -> None:
        """Queue a job from any thread.

        Raises:
            CommanderNotRunError: the commander is not running.
            NotTaskerError: its task is not marked.
        """
        if not hasattr(getattr(type(job), "task", None), "__tasker__"):
            raise NotTaskerError(f"{type(job).__name__} needs a task: write `@tasker(PASS_WORD) async def task(self)`")
        post(self._event_loop(), self._queue_job, job, parent or self)

    def call_handler_threadsafe(self, handler: Any, parent: TaskNode | None = None) -> None:
        """Start a handler from any thread.

        Raises:
            CommanderNotRunError: the commander is not running.
            NotHandlerError: it is something else.
        """
        if not isinstance(handler, HandlerCoroutine):
            raise NotHandlerError(f"{handler!r} is not a handler: decorate its function with @handler(PASS_WORD)")
        post(self._event_loop(), self._start_handler, handler, parent or self)

    def is_empty(self) -> bool:
        """Whether nothing is queued and nothing runs."""
        return not self._queue and self._open <= 1

    # ---- used by the nodes
    def _event_loop(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            raise CommanderNotRunError("the commander is not running: start it with run() first")
        return self._loop

    def _queue_job(self, job: Job, parent: TaskNode) -> None:
        if self._stopping is not None:
            return
        job._enter(self, parent)
        self._queue.append(job)
        self._bell.ring()

    def _start_handler(self, handler: HandlerCoroutine, parent: TaskNode) -> None:
        if self._stopping is not None:
            return
        handler._enter(self, parent)
        self._number(handler)
        handler._task = self._event_loop().create_task(handler._body())

    def _number(self, node: WorkNode) -> None:
        if node._id is None:
            node._id = next(self._ids)

    def _failed(self, node: TaskNode, error: BaseException) -> None:
        if self._stopping is not None and not isinstance(error, Exception):
            return
        self.failures.append((node, error))
        _log.error("%s failed: %s: %s", node._path(), type(error).__name__, error)
