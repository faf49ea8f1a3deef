"""The commander: the root of a tree of jobs and handlers, and the queue that runs the jobs."""

# A user's `Job` is a node, so the internals of nodes are underscored; the files of this package share them.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict, deque
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from inspect import iscoroutine
from itertools import count
from threading import RLock
from typing import Any, Generic

from typing_extensions import TypeVar

from trivium.commander._drivers import ThreadEvent, run_on_loop, run_sync, wait
from trivium.commander._jobs import HandlerCoroutine, Job, waiters
from trivium.commander._loops import is_in_trio, local, run_from_trio, shield
from trivium.commander._node import ROOT, Cancellation, NodeState, TaskNode, change_scope, current
from trivium.commander._work import OVER, WorkNode
from trivium.commander._workers import get_running_loop, post, post_later
from trivium.events import exception_line
from trivium.exceptions import (
    CommanderAlreadyRunningError,
    CommanderNotRunError,
    ConfigurationError,
    FinishedNodeError,
    NotHandlerError,
    NotTaskerError,
    TriviumError,
    WouldDeadlockError,
)

T = TypeVar("T", default=Any)
_NOT_RUNNING = "the commander is not running: start it with run() first"


class CommanderAsync(WorkNode, Generic[T]):
    """Runs jobs and handlers as a tree.

    Jobs run in the order in which they were put; handlers run concurrently with them. No failure is lost: the node
    keeps its exception, `failures` lists it and the log names it.

    Args:
        logger: where failures are logged; default: the logger "trivium.commander".
        name: the name of the root of the run tree.
        raise_errors: let `run` raise the first failure when the run is over.
        max_running: the most handlers whose bodies run concurrently; the others wait in the order of their calls.
            None: no limit.
        max_queued: the most jobs in the queue; `put_job` waits for room, except in the body of a job, without which
            the queue would never empty. None: no limit.

    Attributes:
        failures: (node, error) for each node that failed in the last run, in order.
    """

    _kind = "commander"

    def __init__(
        self,
        logger: logging.Logger | None = None,
        name: str = "commander",
        *,
        raise_errors: bool = False,
        max_running: int | None = None,
        max_queued: int | None = None,
    ) -> None:
        if any(each is not None and (not isinstance(each, int) or each < 1) for each in (max_running, max_queued)):  # type: ignore[unnecessary] - users pass anything
            raise ConfigurationError("max_running and max_queued are 1 or more; None is no limit")
        self._prepare(name)
        self.logger = logger or logging.getLogger("trivium.commander")
        self.raise_errors, self.max_running, self.max_queued = raise_errors, max_running, max_queued
        self._queue: OrderedDict[int, Job] = OrderedDict()  # by identity
        self._waiting: OrderedDict[int, HandlerCoroutine[Any]] = OrderedDict()
        self._reset()
        self._job: Job | None = None
        self._gate, self._accepts = RLock(), False  # guards what other threads post, and the end of a run
        self._posted: deque[tuple[Job | HandlerCoroutine[Any], TaskNode]] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._changed = ThreadEvent()
        self._over.set()
        self._ids = count(2)
        self._commander, self._id = self, 1

    # ---- runs
    def run(self, job: Job | Iterable[Job] | None = None, auto_exit: bool = False) -> T | None:
        """Run until the commander is told to exit, or with `auto_exit` until nothing is left to do.

        Args:
            job: the first job, or several; by default what other threads put.
            auto_exit: end the run when all is done.

        Returns:
            What `exit_commander` or `exit` was given, else None.

        Raises:
            CommanderAlreadyRunningError: it runs already.
            NotTaskerError: the task of a job is not marked with `@tasker(PASS_WORD)`; nothing was run.
            RunKilledError: it was killed.
            Exception: the first failure, where without `auto_exit` nothing is left that could end the run: no job, no
                handler, and no other thread that has given it work.
        """
        return run_on_loop(lambda: self.run_async(job, auto_exit))

    async def run_async(self, job: Job | Iterable[Job] | None = None, auto_exit: bool = False) -> T | None:
        """As `run`, inside a running loop."""
        if is_in_trio():
            return await run_from_trio(self, partial(self.run, job, auto_exit))
        if self._loop is not None:
            raise CommanderAlreadyRunningError("the commander runs already: put jobs with put_job_threadsafe")
        self._begin()
        token, error = current.set(self), None
        try:
            self._start()
            for each in _check_jobs(() if job is None else job):
                self._admit(each, self)
            await self._take_jobs(auto_exit)
            if self._fatal is not None:
                raise self._fatal
            if self._stopping is not None:
                raise self._outward(Cancellation())
        except BaseException as raised:
            error = raised
            raise
        finally:
            await shield(self._finish(error))
            current.reset(token)
        if self._fatal is not None:  # of a callback at the commander's end
            raise self._fatal
        if self.raise_errors and self.failures:
            raise self.failures[0][1]
        return self._return

    def run_auto(self, job: Job | Iterable[Job], auto_exit: bool = True) -> bool:
        """Run the jobs here if the commander is not running, else add them to the run and return at once.

        Returns:
            Whether this call ran them, and so is back only now that the run is over.
        """
        if self._loop is None:
            with suppress(CommanderAlreadyRunningError):  # another thread began it meanwhile
                self.run(job, auto_exit)
                return True
        for each in _check_jobs(job):
            self.put_job_threadsafe(each)
        return False

    @property
    def running_status(self) -> bool:
        """True while the commander runs and accepts work."""
        return self._accepts and not self._leaving

    def is_empty(self) -> bool:
        """Return True if nothing is queued and nothing runs."""
        return self._open == 0 and not self._posted

    def exit(self, return_result: T | None = None, wait: bool = True) -> None:
        """End the run, from any thread.

        The task of the current job runs to its end; queued jobs are dropped, running handlers are cancelled, and
        nothing more is started. (To stop the current task too, `kill` the commander.) If nothing runs, the result is
        only stored for `wait_for_exit`.

        Args:
            return_result: what `run` returns.
            wait: return only when the run is over. Code of the run itself never waits for its own end, and code on a
                running loop never blocks the loop.
        """
        self._return = return_result
        if (loop := self._loop) is not None:
            post(loop, self._leave)
            if wait and get_running_loop() is None and not self._runs_here():
                self.wait_for_exit()

    def wait_for_exit(self) -> T | None:
        """Block this thread until the run is over.

        Returns:
            What the run was told to return; where nothing runs, what the last one returned.

        Raises:
            WouldDeadlockError: it was called on a thread with a running loop, or by code of the run itself.
        """
        if not self._over.is_set():
            if self._runs_here():
                raise WouldDeadlockError("the run would wait for its own end: wait_for_exit() is for other threads")
            run_sync(wait, event=self._over)
        return self._return

    # ---- entry points for every thread
    def put_job_threadsafe(self, job: Job, parent: TaskNode | None = None) -> None:
        """Queue a job from any thread; a thread without a loop waits while the queue is full.

        Raises:
            CommanderNotRunError: the commander is not running.
            NotTaskerError: its task is not marked.
            FinishedNodeError: the parent has ended.
        """
        if get_running_loop() is None:
            run_sync(self._put, job, parent or self)
        else:
            self._place(_check_jobs((job,))[0], parent or self)

    def call_handler_threadsafe(self, handler: HandlerCoroutine[Any], parent: TaskNode | None = None) -> None:
        """Start a handler from any thread.

        Raises:
            CommanderNotRunError: the commander is not running.
            NotHandlerError: it is something else.
            FinishedNodeError: the parent has ended.
        """
        if not isinstance(handler, HandlerCoroutine):  # type: ignore[unnecessary] - users pass anything
            if iscoroutine(handler):
                handler.close()  # or Python would say that it was never awaited
            raise NotHandlerError(f"{handler!r} is no called handler: call what @handler(PASS_WORD) has decorated")
        self._place(handler, parent or self)

    def _place(self, node: Job | HandlerCoroutine[Any], parent: TaskNode) -> None:
        """Start a job or handler; from another thread soon on the loop of the run, unless the run is over by then."""
        if self._loop is not None and local.here is self._here:  # to ask for the running loop is a system call
            return self._admit(node, parent)
        with self._gate:
            loop = self._loop  # read here: before, it might be that of the run before
            if loop is None or not self._accepts:
                raise CommanderNotRunError(_NOT_RUNNING)
            if parent._state in (NodeState.COMPLETED, NodeState.EXCEPTION):
                raise FinishedNodeError(f"{node._name} cannot start below {parent._name}, which has ended")
            self._posted.append((node, parent))
            self._is_shared = self._is_shared or not self._runs_here()
        post_later(loop, self._start_posted)

    def _start_posted(self) -> None:
        while self._posted:
            node, parent = self._posted.popleft()
            try:
                self._admit(node, parent)
            except Exception as error:  # the parent ended on the way; the caller is elsewhere by now
                self._failed(node, error)
        self._changed.set()

    # ---- the life of a run
    def _begin(self) -> None:
        self._here, self._loop = local.here, asyncio.get_running_loop()
        heard = self._heard
        self._reset()
        TaskNode.__init__(self, self._name, current.get())
        self._heard = heard
        change_scope(self, listeners=heard)
        self._accepts = True

    def _reset(self) -> None:
        self._open, self._running, self._leaving, self._over = 0, 0, False, ThreadEvent()
        self._is_shared = False  # other threads have given it work
        self.failures: list[tuple[WorkNode, BaseException]] = []
        self._last_calls: dict[int, WorkNode] = {}
        self._return: T | None = None
        self._fatal: BaseException | None = None  # SystemExit or KeyboardInterrupt: it ends the run, and is raised

    async def _take_jobs(self, auto_exit: bool) -> None:
        while self._stopping is None and not self._leaving:
            if self._queue:
                self._job = self._queue.popitem(last=False)[1]
                self._changed.set()
                self._number(self._job)
                # A task of its own: what the job does to its task does not reach the run.
                await asyncio.wait([self._job._begin(self._loop)])
                self._job = None
            else:
                changed = self._next_change()
                with self._gate:
                    if self._is_over(auto_exit):
                        self._accepts = False
                        return
                with suppress(Cancellation):  # a kill ends the wait, and does not unwind the commander
                    await wait(event=changed)

    def _next_change(self) -> ThreadEvent:
        """Return the event of the next change: a job, room in the queue, the end of all nodes, or of the run.

        Who waits asks for it before the look, so that no change is missed, and looks again after it.
        """
        with self._gate:
            if self._changed.is_set():
                self._changed = ThreadEvent()
            return self._changed

    def _is_over(self, auto_exit: bool) -> bool:
        """Return whether the run has come to its end; by a failure, where nothing is left that could exit."""
        if self._open or self._posted:  # accepted work is always run
            return False
        if self.failures and not auto_exit and not self._is_shared:
            self._fatal = self.failures[0][1]
        return auto_exit or self._fatal is not None

    def _leave(self) -> None:
        self._leaving = True
        handlers: list[HandlerCoroutine] = [node for node in self._subtree() if isinstance(node, HandlerCoroutine)]
        for node in handlers:  # but not those that the current task runs itself
            if (node._task or id(node) in self._waiting) and node._phase < OVER and node._stopping is None:
                node._cancel_below(self, "exit", except_for=self._job)
        self._changed.set()

    async def _finish(self, error: BaseException | None) -> None:
        if self._stopping is None and self._children and not self._leaving:
            self.kill("the run was cancelled")
        with self._gate:
            self._accepts = False
            self._posted.clear()
        self._changed.set()
        for dropped in (*self._queue.values(), *self._waiting.values()):  # each still ends, and its tree above it
            dropped._cancel_below(self, "exit")
            dropped._cancel()
        current.set(None)  # what waits here is not stopped
        while self._open:  # each ends itself, after what is called at its end
            await wait(event=self._next_change())
        for node in (*self._last_calls.values(), self):
            await node._stage("at_commander_end")
        self._last_calls.clear()
        self._go_on([partial(self._close, error)])
        self._scope, self._session_id, self._loop = ROOT, 0, None
        self._over.set()

    # ---- used by the nodes
    async def _put(self, job: Job, parent: TaskNode) -> None:
        """Queue a job when the queue is shorter than its limit; at once if the queue itself waits for the caller."""
        _check_jobs((job,))
        while True:
            changed = self._next_change()
            with self._gate:  # between the look at the queue and the placing, nobody else places
                full = self.max_queued is not None and len(self._queue) + len(self._posted) >= self.max_queued
                if not full or not self.running_status or self._job in [*waiters(current.get())]:
                    return self._place(job, parent)
            await wait(event=changed)

    def _admit(self, node: Job | HandlerCoroutine[Any], parent: TaskNode) -> None:
        """Queue a job, start a handler; a run that is ending drops it."""
        if self._stopping is not None or self._leaving:
            return
        if not self._accepts:
            raise CommanderNotRunError(_NOT_RUNNING)
        node._enter(self, parent if isinstance(parent, WorkNode) else parent._holder())
        if isinstance(node, Job):
            self._queue[id(node)] = node
            self._changed.set()
        else:
            self._number(node)
            if self.max_running is None:
                node._begin(self._loop)
                return
            self._waiting[id(node)] = node
            self._fill(ended=0)
        if node._stopping is not None:  # put below a node that is being stopped: it ends now, not in its turn
            node._cancel()

    def _withdraw(self, node: Any) -> bool:
        """Remove a node from the queue; return True if it was there."""
        self._changed.set()  # there is more room now, or a reason not to wait for it: it is awaited
        return self._queue.pop(id(node), self._waiting.pop(id(node), None)) is not None

    def _fill(self, ended: int) -> None:
        """Start waiting handlers, as far as the limit allows, after `ended` bodies have ended."""
        self._running -= ended
        while self._waiting and self._running < (self.max_running or 0):
            self._running += 1
            self._waiting.popitem(last=False)[1]._begin(self._loop)

    def _number(self, node: WorkNode) -> None:
        if node._id is None:
            node._id = next(self._ids)

    def _failed(self, node: WorkNode, error: BaseException) -> None:
        if isinstance(error, SystemExit | KeyboardInterrupt) and self._fatal is None:
            self._fatal = error
            self.kill(type(error).__name__)
        if self._stopping is None or isinstance(error, Exception):
            self.failures.append((node, error))
            text = f"{node._path(most=8)} failed: {exception_line(error)}"  # trivium's own errors say it all
            self.logger.error("%s", text, exc_info=None if isinstance(error, TriviumError) else error)


def _check_jobs(job: Any) -> tuple[Job, ...]:
    """Return the job, or the jobs, as a tuple of jobs that can run."""
    jobs: tuple[Any, ...] = (job,) if isinstance(job, Job | str) or not hasattr(job, "__iter__") else tuple(job)
    for each in jobs:
        if isinstance(each, HandlerCoroutine):
            raise NotTaskerError(f"{each._name} is a handler: put BasicJob({each._name}(…)), or use call_handler")
        if not isinstance(each, Job):
            raise NotTaskerError(f"{each!r} is not a Job: subclass trivium.commander.Job")
        each._check_task()
    return jobs
