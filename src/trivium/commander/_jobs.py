"""Jobs and handlers: nodes that a user writes by hand, and the callbacks at each stage of their life."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Generator, Mapping, Sequence
from functools import partial, update_wrapper
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast, get_args

from trivium.commander._doors import invoke, portable, waiting
from trivium.commander._node import _FINAL, NodeState, Stop, TaskNode, current
from trivium.commander._workers import post_later
from trivium.exceptions import (
    AttributeNotSetError,
    CommanderError,
    ConfigurationError,
    FinishedNodeError,
    NotHandlerError,
)

if TYPE_CHECKING:
    from trivium.commander._commander import CommanderAsync

PASS_WORD = "I assure all time-consuming tasks are delegated externally."  # noqa: S105 - a reminder, no secret
"""What `tasker` and `handler` want to hear: their code runs on the loop and must not block it."""

Stage = Literal[
    "at_job_start",
    "at_handler_start",
    "at_job_end",
    "at_handler_end",
    "at_commander_end",
    "at_exception",
    "at_terminate",
]
Function = TypeVar("Function", bound=Callable[..., Any])
_STAGES = get_args(Stage)


class Callback:
    """Functions to call at the stages of a node's life, each in the order in which it was added.

    Args:
        **functions: for each stage a function, a dict `{"function": f, "params": {"args": …, "kwargs": …},
            "inject_task_node": bool}`, or a list of these. Functions may be sync or async.

    Raises:
        ConfigurationError: there is no such stage.

    Example:
        >>> Callback(at_job_end=print)
        Callback(at_job_end=1)
    """

    def __init__(self, **functions: Any) -> None:
        self._functions: dict[str, list[Mapping[str, Any]]] = {}
        for which, function in functions.items():
            self.add(which, function)

    def add(self, which: str, functions: Any) -> None:
        """Add one function or several for a stage."""
        if which not in _STAGES:
            raise ConfigurationError(f"there is no callback '{which}'; the stages are {', '.join(_STAGES)}")
        many: Sequence[Any] = cast("Sequence[Any]", functions) if isinstance(functions, list | tuple) else [functions]
        entries: list[Any] = [each if isinstance(each, Mapping) else {"function": each} for each in many]
        self._functions.setdefault(which, []).extend(entries)

    def merge(self, other: Callback) -> Callback:
        """A new callback with the functions of both, these first."""
        merged = Callback(**self._functions)
        for which, functions in other._functions.items():
            merged.add(which, functions)
        return merged

    def at(self, which: str) -> Sequence[Mapping[str, Any]]:
        """The functions of one stage."""
        return self._functions.get(which, ())

    def __repr__(self) -> str:
        counts = ", ".join(f"{which}={len(functions)}" for which, functions in self._functions.items())
        return f"Callback({counts})"


class WorkNode(TaskNode):
    """What jobs, handlers and the commander share: they hold children that outlive their own body."""

    __slots__ = ("_callback", "_commander", "_id", "_open", "_stages_done", "_task", "data")
    _kind = "job"

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._callback: Callback | None = None
        self._commander: CommanderAsync | None = None
        self._id: int | str | None = None
        self._open = 0  # own body, and each child that has not ended
        self._stages_done = False
        self._task: asyncio.Task[None] | None = None
        self.data: Any = None

    @property
    def id(self) -> int | str:
        """The number that the commander gave it when it was started, or what was set by hand."""
        if self._id is None:
            raise AttributeNotSetError(f"{self._name} has no id yet: it gets one when it is scheduled")
        return self._id

    @id.setter
    def id(self, value: int | str) -> None:
        self._id = value

    @property
    def commander(self) -> CommanderAsync:
        """The commander that runs it."""
        if self._commander is None:
            raise AttributeNotSetError(f"{self._name} has no commander yet: put it below a running one first")
        return self._commander

    async def put_job(self, job: Job, parent: TaskNode | None = None) -> None:
        """Queue a job below this node, or below `parent`."""
        self.commander.put_job_threadsafe(job, parent or self)

    def call_handler(self, handler: HandlerCoroutine, parent: TaskNode | None = None) -> None:
        """Start a handler below this node, or below `parent`; it runs beside everything else."""
        self.commander.call_handler_threadsafe(handler, parent or self)

    async def exit_commander(self, return_result: Any = None) -> None:
        """Stop the whole run; `run` returns `return_result`."""
        self.commander.exit(return_result)

    def add_callback_functions(self, which: Stage, functions_info: Any) -> None:
        """Call a function, or several, at a stage of this node's life; see `Callback`."""
        self._callback = self._callback or Callback()
        self._callback.add(which, functions_info)

    def add_callback(self, callback: Callback | Sequence[Callback | None] | None) -> None:
        """Add all functions of a callback, or of several."""
        many = callback if isinstance(callback, Sequence) else [callback]
        for each in many:
            if each is not None:
                self._callback = each if self._callback is None else self._callback.merge(each)

    # ---- life
    def _enter(self, commander: CommanderAsync, parent: TaskNode) -> None:
        if not isinstance(parent, WorkNode) or parent._state in _FINAL:
            raise FinishedNodeError(f"nothing can be started below {parent._name}: it has ended or never ran")
        if self._open:
            raise CommanderError(f"{self._name} is queued or running already; make another one")
        self._commander, self._state, self._stages_done, self._open = commander, NodeState.PENDING, False, 1
        self._attach(parent)
        parent._open += 1

    async def _run(self) -> Any:
        raise NotImplementedError

    async def _body(self) -> None:
        """Run to the end of the body; the node itself ends with the last of its children."""
        token = current.set(self)
        try:
            self._start()
            await self._stage(f"at_{self._kind}_start")
            self.result = await self._run()
            if isinstance(self.result, HandlerCoroutine):
                self.call_handler(self.result)
        except (Exception, Stop, asyncio.CancelledError) as error:
            stopped = self._stopping is not None and not isinstance(error, Exception)
            self.exception = self._outward(Stop() if stopped else error)
            if self._task is not None or self._kind == "job":  # an error of what is awaited is its caller's
                self.commander._failed(self, self.exception)
            await self._stage("at_terminate" if stopped else "at_exception")
        finally:
            self._open -= 1
            await self._settle()
            current.reset(token)

    async def _stage(self, which: str) -> None:
        if self._callback is None:
            return
        if self._callback.at("at_commander_end"):
            self.commander._last_calls[self] = None
        # What a callback calls stands below this node; where the node can hold nothing, it is a run of its own.
        alive = self._stopping is None and self._state is NodeState.ACTIVE
        token = current.set(self if alive else None)
        for entry in self._callback.at(which):
            params: Mapping[str, Any] = entry.get("params") or {}
            named = {"task_node": self} if entry.get("inject_task_node") else {}
            try:
                await invoke(
                    entry["function"], *params.get("args", ()), quick=True, **params.get("kwargs", {}), **named
                )
            except (Exception, Stop, asyncio.CancelledError) as error:
                self.commander._failed(self, error)
        current.reset(token)

    async def _settle(self) -> None:
        """Close this node if nothing below is left, then the one above, and so on: a loop, never recursion."""
        node: WorkNode = self
        while node._open == 0 and node._state not in _FINAL:
            if not node._stages_done and node._state is NodeState.ACTIVE:
                node._stages_done = True
                node._open += 1  # a callback may start something below: the node ends after it
                await node._stage(f"at_{node._kind}_end")
                node._open -= 1
                continue
            node._close(node.exception)
            above = cast("WorkNode", node._parent)
            above._open -= 1
            node = above
        self.commander._bell.ring()


class Job(WorkNode):
    """A unit of work: subclass it and write `task`, decorated with `@tasker(PASS_WORD)`.

    Jobs run one after the other, in the order in which they were put; the next starts when the previous
    `task` has returned. A job ends when everything it started has ended.

    Example:
        >>> from trivium.commander import PASS_WORD, CommanderAsync, Job, tasker
        >>> class Hello(Job):
        ...     @tasker(PASS_WORD)
        ...     async def task(self):
        ...         await self.exit_commander(return_result="hello")
        >>> CommanderAsync().run(Hello())
        'hello'
    """

    def __init__(self) -> None:
        super().__init__(type(self).__name__)

    task: Callable[[], Any]
    """What the job does; it may return a handler, which is then started below the job."""

    async def _run(self) -> Any:
        return await invoke(self.task)


class HandlerCoroutine(WorkNode):
    """A handler that was called: start it with `call_handler`, return it from a task, or await it."""

    __slots__ = ("_function",)
    _kind = "handler"

    def __init__(self, name: str, function: Callable[[HandlerCoroutine], Any], callbacks: list[Callback]) -> None:
        super().__init__(name)
        self._function = function
        self.add_callback(callbacks)

    async def _run(self) -> Any:
        """The function; a kill cancels it, and neither the callbacks around it nor who awaits it."""
        if self._task is None:
            return await waiting(self, self._function(self))
        self._wakers = [lambda: post_later(self.commander._event_loop(), self._cancel)]
        self._check()
        try:
            result = await self._function(self)
        finally:
            self._wakers = None
        self._check()
        return result

    def _cancel(self) -> None:
        if self._wakers and self._task is not None:
            self._task.cancel()

    def __await__(self) -> Generator[Any, None, Any]:
        return self._awaited().__await__()

    @portable
    async def _awaited(self) -> Any:
        """Run as a part of the awaiting node: its result and its error go to who awaits."""
        node = current.get()
        if isinstance(node, WorkNode):
            self._enter(node.commander, node)
            self.commander._number(self)
            await self._body()
            if self.exception is not None:
                raise self.exception
            return self.result
        return await invoke(self._function, self)


def _check_word(word: str) -> None:
    assert word == PASS_WORD, "the password is trivium.commander.PASS_WORD; read it once before you use it"


def tasker(password: str) -> Callable[[Function], Function]:
    """Mark a job's `task`, and promise that it does not block the loop.

    Raises:
        AssertionError: the password is another.
    """
    _check_word(password)

    def mark(function: Function) -> Function:
        function.__tasker__ = True  # type: ignore[attr-defined] - a mark on the function
        return function

    return mark


def handler(password: str) -> Callable[[Callable[..., Any]], Callable[..., HandlerCoroutine]]:
    """Make a coroutine function a handler: calling it gives a `HandlerCoroutine`, passed to it as `self_handler`.

    `self_handler` is the first parameter of a function, the second of a method; callers leave it out.

    Raises:
        AssertionError: the password is another.
        NotHandlerError: the function is not `async def`.
    """
    _check_word(password)
    return _Handler


class _Handler:
    """The descriptor behind `handler`: bound to an object, it is a method."""

    def __init__(self, function: Callable[..., Any]) -> None:
        if not inspect.iscoroutinefunction(function):
            raise NotHandlerError(f"the handler {getattr(function, '__name__', function)} must be `async def`")
        self._function = function
        update_wrapper(self, function)

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else partial(self._call, (instance,))

    def __call__(self, *args: Any, **kwargs: Any) -> HandlerCoroutine:
        return self._call((), *args, **kwargs)

    def _call(self, bound: tuple[object, ...], *args: Any, **kwargs: Any) -> HandlerCoroutine:
        function = self._function
        callbacks = [each for each in (*args, *kwargs.values()) if isinstance(each, Callback)]
        return HandlerCoroutine(function.__name__, lambda node: function(*bound, node, *args, **kwargs), callbacks)
