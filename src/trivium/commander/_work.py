"""Nodes whose children outlive their own body: the base of jobs, handlers and the commander.

A node ends when its body is over and nothing below it is open. The later of the two, its body or its last child, calls
`_settle`, which closes the node, then the one above if that waited for nothing else, and so on.

| phase   | its function or callbacks end (`_body`) | nothing below is open (`_settle`) | it is stopped                |
|---------|-----------------------------------------|-----------------------------------|------------------------------|
| AROUND  | RUNNING before the function; after it   | waits for its body                | the next checkpoint raises   |
|         | OVER, or ENDING where it was stopped    |                                   |                              |
| RUNNING | AROUND                                  | waits for its body                | `_cancel` wakes the function |
| OVER    | -                                       | ENDING, and its callbacks are     | its children are, and at the |
|         |                                         | due; without any it is closed     | end `at_terminate` is called |
| ENDING  | -                                       | closed                            | callbacks left are skipped   |

End callbacks are awaited, and `_settle` is no coroutine. So it returns a node whose callbacks are due, and counts them
as one that is open; its caller awaits `_end`, which calls them and settles the node again.
"""

# A user's `Job` is a node, so the internals of nodes are underscored; the files of this package share them.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from inspect import isasyncgen, isawaitable, iscoroutine, isgenerator
from typing import TYPE_CHECKING, Any, Literal, cast

from trivium.commander._callbacks import Callback, Functions, Stage, callbacks_of
from trivium.commander._drivers import ThreadEvent, invoke_in_place, wait
from trivium.commander._events import QueuedEvent, RetriedEvent
from trivium.commander._loops import shield, uncancel
from trivium.commander._node import (
    NOTHING,
    ROOT,
    Cancellation,
    NodeState,
    TaskNode,
    change_scope,
    checkpoint,
    current,
    emit,
)
from trivium.commander._workers import get_running_loop
from trivium.exceptions import AttributeNotSetError, CommanderError, FinishedNodeError, RunKilledError, TaskResultError

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Task, TimerHandle

    from trivium.commander._commander import CommanderAsync
    from trivium.commander._jobs import HandlerCoroutine

_PENDING, _ACTIVE = NodeState.PENDING, NodeState.ACTIVE
AROUND, RUNNING, OVER, ENDING = range(4)
"""The phases of a body: before its function and in callbacks around it, in its function, over, at its end callbacks."""


@dataclass(frozen=True, slots=True)
class Policy:
    """The time limit and the retries of a job or handler.

    Args:
        timeout: seconds for the node and all below it; past it they are stopped.
        retries: the number of further attempts after a failure.
        delay: seconds before the first retry, doubled at each next.
        retry_on: the errors after which it is tried again.
    """

    timeout: float | None = None
    retries: int = 0
    delay: float = 0.0
    retry_on: type[Exception] | tuple[type[Exception], ...] = Exception


class WorkNode(TaskNode):
    """The base of jobs, handlers and the commander: nodes that hold children which outlive their own body."""

    __slots__ = (
        "_callbacks", "_commander", "_id", "_joiners", "_next", "_open", "_phase", "_policy", "_task", "_timer", "data",
    )  # fmt: skip
    _kind = "job"

    def _prepare(self, name: str, policy: Policy | None = None) -> None:
        """Give every slot its first value, in one function, since a node must cost little."""
        self._name, self._policy, self._state = name, policy, _PENDING
        self._parent = self._children = self._stopping = self._wakers = self._key = self._run_id = self._spent = None
        self._scope, self._session_id, self._ordinal, self._sources = ROOT, 0, 0, NOTHING
        self._heard = self._failing = ()
        self._commander: CommanderAsync[Any] | None = None
        self._id: int | str | None = None
        self._callbacks: list[Callback] | None = None
        self._next: list[Callable[[], object]] | None = None
        self._task: Task[None] | None = None
        self._timer: TimerHandle | None = None
        self._joiners: list[tuple[TaskNode | None, ThreadEvent]] | None = None
        self._open = 0  # children that have not ended
        self._phase = AROUND
        self.exception = self.result = None
        self.data: Any = None

    # ---- the documented names
    @property
    def id(self) -> int | str:
        """The number that the commander gave it when it was started, or what was set by hand."""
        if self._id is None:
            raise AttributeNotSetError(f"{self._name} has no id yet: it gets one when it is started")
        return self._id

    @id.setter
    def id(self, value: int | str) -> None:
        self._id = value

    @property
    def commander(self) -> CommanderAsync[Any]:
        """The commander that runs it."""
        if self._commander is None:
            raise AttributeNotSetError(f"{self._name} has no commander yet: put it below a running one first")
        return self._commander

    @property
    def parent(self) -> TaskNode | Literal["Null"]:
        """The node above; "Null" above a commander that runs by itself."""
        if self._parent is None and self._commander is not self:
            raise AttributeNotSetError(f"{self._name} has no parent yet: put it below a running commander first")
        return super().parent

    @property
    def children(self) -> list[TaskNode]:
        """The nodes that have not ended: this one while its own body runs, and those below."""
        own = (self,) if self._phase < OVER and self._stopping is None and self._commander is not self else ()
        return [*own, *super().children]

    @property
    def callback(self) -> Callback | None:
        """The callback of this node, or all that were added, merged; None if there are none."""
        added = self._callbacks or [None]
        return added[0] if len(added) == 1 else Callback.merge(added)

    def add_callback_functions(self, which: Stage, functions_info: Functions) -> None:
        """Call a function, or several, at a stage of this node's life; see `Callback`."""
        added = Callback()
        added.add(which, functions_info)
        self.add_callback(added)

    def add_callback(self, callback: Callback | Iterable[Callback | None] | None) -> None:
        """Add all functions of a callback, or of several.

        Raises:
            ConfigurationError: it is something else.
        """
        for each in callbacks_of(callback):
            each.task_node = self
            self._callbacks = [*(self._callbacks or ()), each]
            if self._state is _ACTIVE and self._commander is not self and each.at("at_commander_end"):
                self.commander._last_calls.setdefault(id(self), self)  # in the order in which they are added

    async def close_task_node(self) -> None:
        """Stop this node and everything below, and wait for their end unless the caller is one of them."""
        await self._stop_and_wait("closed")

    async def terminate_task_node(self) -> None:
        """Stop this node alone; what was started below it goes on, below the commander."""
        above = self.commander
        mine, theirs = self._children or {}, above._children or {}
        for child in list(mine):
            # One that is awaited is a part of the body, and is stopped with it.
            if isinstance(child, WorkNode) and (child._kind == "job" or child._task or child._phase >= OVER):
                child._get_key()  # its identity stays the one of its birth
                theirs[child] = mine.pop(child)
                child._parent, self._open, above._open = above, self._open - 1, above._open + 1
        await self._stop_and_wait("terminated")

    async def _stop_and_wait(self, reason: str) -> None:
        ended, runs = self._end_event(), self._state is _PENDING or self._state is _ACTIVE
        self._cancel_below(self.commander, reason)
        due = self._settle()  # where only its children were open, and were handed over
        if due is not None:
            await due._end()
        if runs and not self._runs_here():
            await wait(event=ended)

    def _end_event(self) -> ThreadEvent:
        """Return an event that is set when the node has ended."""
        ended = ThreadEvent()
        self._after(ended.set)
        return ended

    def _after(self, function: Callable[[], object]) -> None:
        """Call a function each time the node has ended, before the node above may end."""
        self._next = [*(self._next or ()), function]

    def _runs_here(self) -> bool:
        """Return True if the running code belongs to this node or to one below, and so cannot wait for its end."""
        here = current.get()
        return here is not None and self in here.ancestor_chain

    # ---- life
    def _holder(self) -> WorkNode:
        return self

    def _enter(self, commander: CommanderAsync[Any], parent: TaskNode) -> None:
        """Join a node that has not ended; a call holds only work that is awaited in it, and does not count it."""
        holds = isinstance(parent, WorkNode)
        if holds and parent._commander is not commander:
            raise FinishedNodeError(f"nothing can be put below {parent._name}: it does not run below this commander")
        if self._parent is not None:  # it has run before
            if self._state is _PENDING or self._state is _ACTIVE:
                raise CommanderError(f"{self._name} is queued or running already: make another one")
            heard = self._heard
            TaskNode.__init__(self, self._name)
            self._task, self._phase, self._heard = None, AROUND, heard
        self._scope, self._session_id = parent._scope, parent._session_id
        if self._heard:
            change_scope(self, listeners=self._heard)
        self._join(parent)
        self._commander = commander
        if self._scope.listeners:
            emit(self, QueuedEvent, None)
        if holds:
            parent._open += 1

    def _work(self) -> Awaitable[Any]:
        raise NotImplementedError

    async def _body(self) -> None:
        """Run to the end of the body; the node itself ends with the last of its children."""
        phase, task, before = OVER, self._task, None
        if task is None:  # a task of its own has a context of its own
            before = current.get()
        current.set(self)  # no token is stored: it would live as long as the body
        try:
            if self._policy is not None and self._policy.timeout is not None:
                change_scope(self, timeout=self._policy.timeout)
                loop = cast("AbstractEventLoop", get_running_loop())  # its timer: nodes below may wait for anything
                self._timer = loop.call_later(self._policy.timeout, self.kill, "deadline")
            self._start()
            if self._callbacks is not None:
                await self._stage(f"at_{self._kind}_start")
                checkpoint(self)
            self._phase = RUNNING
            result = await (self._work() if self._policy is None else self._tries(self._policy))
            self._phase = AROUND
            if self._stopping is not None:
                raise Cancellation
            if result is not None:
                self.result = result
                self._take(result)
        except GeneratorExit:  # nothing resumes this coroutine, so nothing can be awaited
            raise
        except BaseException as error:
            self._phase, self.exception = AROUND, error
            stopped = self._stopping is not None and not isinstance(error, Exception)
            phase = ENDING if stopped else OVER  # a cancelled node has no end callbacks
            if stopped and self._task is not None:
                uncancel(self._task)  # the kill has done its work: what follows may wait
            self._keep(Cancellation() if stopped else error)
            if self._callbacks is not None:
                await self._last_stage("at_terminate" if stopped else "at_exception")
        finally:
            self._phase = phase
            if self._open and self.exception is not None:
                self._sweep()
            if self._joiners:
                self._go_on([ended.set for _, ended in self._joiners])
            if self._open == 0 and (due := self._settle()) is not None:
                await due._end()
            if task is None:
                current.set(before)
            elif self._commander.max_running is not None and self._kind == "handler":  # type: ignore[union-attr] - what has a task has a commander
                self.commander._fill(ended=1)

    async def _end(self) -> None:
        """Call the end callbacks of this node, which are due, and then of those above that are over with it."""
        due, cancelled = self, None
        while due is not None:
            try:
                await due._last_stage(f"at_{due._kind}_end" if due._stopping is None else "at_terminate")
            except CancelledError as error:  # of the task that runs this: the nodes end all the same
                cancelled = error
            due._open -= 1
            due = due._settle()
        if cancelled is not None:
            raise cancelled

    def _sweep(self) -> None:
        """End the nodes that this body awaited and that had no stack left to end themselves, deepest first."""
        for node in reversed(list(self._subtree())):
            if not isinstance(node, WorkNode) or node is self or node._kind == "job":
                continue
            if node._task is None and not node._joiners and node._open == 0:
                node._phase = OVER
                node._settle()

    async def _tries(self, policy: Policy) -> Any:
        for attempt in range(policy.retries):
            try:
                return await self._work()
            except policy.retry_on as error:
                await wait(policy.delay * 2**attempt)
                emit(self, RetriedEvent, error)
                checkpoint(self)
        return await self._work()

    def _take(self, result: Any) -> None:
        """Check the result of a body: start a handler; raise for an object that looks like work and would be lost."""
        if isinstance(result, WorkNode) and result._kind == "handler":
            self.commander._admit(cast("HandlerCoroutine[Any]", result), self)
        elif isinstance(result, WorkNode):
            raise TaskResultError(
                f"{self._name} returned the job {result._name}: put it with `await self.put_job(job)`"
            )
        elif hasattr(result, "__handler__"):
            raise TaskResultError(f"{self._name} returned a handler that was not called: write `return handler(…)`")
        elif isawaitable(result) or isgenerator(result) or isasyncgen(result):
            if iscoroutine(result) or isgenerator(result):
                result.close()  # or Python would say that it was never awaited
            raise TaskResultError(
                f"{self._name} returned a {result.__class__.__name__} that nobody runs: await it there, do not yield"
            )

    def _keep(self, error: BaseException) -> None:
        outward = self._outward(error)
        if isinstance(outward, Cancellation):  # stopped further above: code outside never sees a Cancellation
            outward = RunKilledError(f"{self._name} was stopped: {self._stopping and self._stopping[1]}", self._name)
        elif self._task is not None or self._phase >= OVER:
            self.commander._failed(self, outward)  # but an awaited node's error belongs to its caller
        self.exception = outward

    async def _last_stage(self, which: str) -> None:
        stage = self._stage(which)
        await (stage if self._stopping is None else shield(stage))  # whoever else is woken by the kill

    async def _stage(self, which: str) -> None:
        """Call the callbacks of a stage; a function that fails is reported, and stops nothing."""
        # A call by a callback stands below this node; if the node can hold nothing, it is a run of its own.
        alive = self._stopping is None and self._state is _ACTIVE
        token = current.set(self if alive else None)
        for callback in self._callbacks or ():
            if callback.at("at_commander_end"):
                self.commander._last_calls[id(self)] = self
            for entry in list(callback.at(which)):
                params = entry.get("params") or {}
                node = callback.task_node if callback._locked else self
                named = {"task_node": node} if entry.get("inject_task_node") else {}
                args, options = params.get("args", ()), params.get("kwargs", {})
                try:
                    await invoke_in_place(entry["function"], *args, **options, **named)
                except Cancellation:  # this node was cancelled: the rest of the stage is not called
                    break
                except BaseException as error:
                    self.commander._failed(self, error)
        current.reset(token)

    def _go_on(self, follows: list[Callable[[], object]]) -> None:
        for follow in follows:
            try:
                follow()
            except BaseException as error:
                self.commander._failed(self, error)

    def _settle(self) -> WorkNode | None:
        """Close this node if nothing below is left, then the one above, and so on: a loop, never recursion.

        Returns:
            A node whose end callbacks are due: await its `_end`.
        """
        node: WorkNode = self
        while node._open == 0 and node._phase >= OVER and (node._state is _ACTIVE or node._state is _PENDING):
            if node._stopping is not None and node._phase == OVER and node.exception is None:
                node._keep(Cancellation())  # it was stopped after its body
            if node._callbacks is not None and node._state is _ACTIVE and node._phase == OVER:
                node._phase = ENDING
                node._open = 1  # its callbacks, which may start something below: the node ends after that
                return node
            if node._timer is not None:
                node._timer.cancel()
            above = node._parent
            try:
                node._close(node.exception)
            except BaseException as error:  # a listener may exit the program
                node.commander._failed(node, error)
            if node._next is not None:
                node._go_on(node._next)
            if not isinstance(above, WorkNode):
                return None
            above._open -= 1
            node = above
        if node._open == 0:
            node.commander._changed.set()
        return None
