"""Jobs and handlers: nodes that a user writes by hand."""

# A user's `Job` is a node, so the internals of nodes are underscored; the files of this package share them.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from asyncio import Task
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterator
from contextlib import suppress
from dataclasses import FrozenInstanceError, is_dataclass
from functools import partial, update_wrapper
from inspect import isawaitable, iscoroutinefunction
from types import MethodType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Protocol, Self, cast, overload

from typing_extensions import TypeVar

from trivium.commander._callbacks import Callback
from trivium.commander._drivers import ThreadEvent, driver_neutral, invoke, is_async, wait
from trivium.commander._loops import await_foreign, cancel_once, run_in_worker
from trivium.commander._node import TaskNode, checkpoint, current
from trivium.commander._work import OVER, RUNNING, Policy, WorkNode
from trivium.commander._workers import post_later
from trivium.exceptions import ConfigurationError, NotHandlerError, NotTaskerError, PasswordError, WouldDeadlockError

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

PASS_WORD = "I assure all time-consuming tasks are delegated externally."  # noqa: S105 - a reminder, no secret
"""The promise that `tasker` and `handler` require: their code runs on the loop and must not block it."""

P = ParamSpec("P")
R = TypeVar("R", default=Any)
S = TypeVar("S")
Function = TypeVar("Function", bound=Callable[..., Any])


def tasker(
    password: str,
    *,
    timeout: float | None = None,
    retries: int = 0,
    retry_delay: float = 0.0,
    retry_on: type[Exception] | tuple[type[Exception], ...] = Exception,
) -> Callable[[Function], Function]:
    """Mark a job's `task`, and promise that it does not block the loop.

    Args:
        password: `PASS_WORD`.
        timeout: seconds for the job and all that it starts; past it they are stopped.
        retries: the number of further attempts after a failure.
        retry_delay: seconds before the first retry, doubled at each next.
        retry_on: the errors after which it is tried again.

    Raises:
        PasswordError: the password is another.
        ConfigurationError: the timeout or a retry option is invalid.
    """
    policy = _check_policy(password, Policy(timeout, retries, retry_delay, retry_on))

    def mark(function: Function) -> Function:
        function.__policy__ = policy  # type: ignore[attr-defined] - a mark on the function
        return function

    return mark


class _Queued(WorkNode):
    """A node that runs as a task of its own: a job, or a handler that was started."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def parent(self) -> TaskNode: ...  # "Null" stands above a commander alone

    def _begin(self, loop: AbstractEventLoop | None) -> Task[None]:
        # Not by the loop's task factory: an eager one would run the body before its caller goes on.
        self._task = task = Task(self._body(), loop=loop, name=self._name)
        return task

    # `await_foreign` would do here too, but a handler then costs a fifth more: 9.0 µs for 7.4. A task of its own needs
    # no waker and no timer: it is cancelled in its function, and the timer of a policy kills it.
    def _wake(self) -> None:
        if self._commander is not None and self._commander._loop is not None:
            post_later(self._commander._loop, self._cancel)
        super()._wake()

    def _cancel(self) -> None:
        """Cancel the body, but neither the callbacks around it nor the code that awaits it."""
        if self._phase == RUNNING and self._task is not None:
            cancel_once(self._task)
        elif self.commander._withdraw(self):  # its turn may be far away: it ends now
            self.commander._running += self._kind == "handler"
            self._begin(self.commander._loop)


class Job(_Queued):
    """A unit of work: subclass it and write `task`, decorated with `@tasker(PASS_WORD)`.

    A job is equal to itself alone where its class is a dataclass, or defines `__eq__` without `__hash__`: two with
    equal fields are two jobs. A class that defines both keeps them.
    Jobs run one after the other, in the order in which they were put; the next starts when the previous
    `task` has returned. A job ends when everything it started has ended.

    Args:
        callback: functions to call at the stages of its life.

    Example:
        >>> from trivium.commander import PASS_WORD, CommanderAsync, Job, tasker
        >>> class Hello(Job):
        ...     @tasker(PASS_WORD)
        ...     async def task(self):
        ...         await self.exit_commander(return_result="hello")
        >>> CommanderAsync().run(Hello())
        'hello'
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        if cls.task is Job.task:
            cls._check_task()
        if cls.__eq__ is not object.__eq__ and (cls.__hash__ is None or is_dataclass(cls)):  # two jobs
            cls.__eq__, cls.__hash__ = object.__eq__, object.__hash__
        job = super().__new__(cls)  # here, not in __init__: a subclass may set attributes before it calls that
        try:
            job._prepare(cls.__name__, cls.task.__policy__ if hasattr(cls.task, "__policy__") else None)  # type: ignore[attr-defined]
        except FrozenInstanceError as error:
            raise ConfigurationError(f"{cls.__name__} is frozen: leave out frozen=True, since a job changes") from error
        return job

    def __init__(self, callback: Callback | None = None) -> None:
        self.add_callback(callback)

    def task(self) -> Any:
        """Do the work of the job; it may return a handler, which is then started below the job."""

    async def _work(self) -> Any:
        if is_async(self.task):
            return await self.task()
        out = await run_in_worker(self._sync_task)
        return await out if isawaitable(out) and not isinstance(out, WorkNode) else out

    @classmethod
    def _check_task(cls) -> None:
        if not hasattr(cls.task, "__policy__"):
            raise NotTaskerError(f"{cls.__name__} needs a task: write `@tasker(PASS_WORD) async def task(self)`")

    def _sync_task(self) -> Any:
        checkpoint(self)  # a worker may come late
        return self.task()


class HandlerCoroutine(_Queued, Generic[R]):
    """A handler that was called: start it with `call_handler`, return it from a task, or await it."""

    __slots__ = ("_arguments", "_function", "_keywords")
    _kind = "handler"
    __handler__ = True

    def __init__(self, source: _Handler, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> None:
        self._prepare(source.name, source.policy)
        self._function, self._arguments, self._keywords = function, args, kwargs
        for each in (*args, *kwargs.values()) if kwargs else args:
            if isinstance(each, Callback):
                self.add_callback(each)

    def _work(self) -> Awaitable[R]:
        out = self._function(self, *self._arguments, **self._keywords)
        return out if self._task is not None else await_foreign(self, out)

    def __await__(self) -> Generator[Any, None, R]:
        return self._awaited().__await__()

    @driver_neutral
    async def _awaited(self) -> Any:
        """Run as a part of the awaiting node, which gets the result or the error."""
        node = current.get()
        if self._parent is not None:
            await self._joined(node)
        elif node is None or not isinstance(node.ancestor_chain[-1], WorkNode):
            return await invoke(self._function, self, *self._arguments, **self._keywords)
        else:
            self._enter(node.commander, node)
            node.commander._number(self)
            await self._body()
            if self._open and not isinstance(node, WorkNode):  # a call ends, and with it what stands below
                await wait(event=self._end_event())
        if node is not None:
            checkpoint(node)  # what stopped the awaiting node too is no error of this one
        if self.exception is not None:
            raise self.exception
        return self.result

    async def _joined(self, node: TaskNode | None) -> None:
        """Wait for the body of a handler that was started before; run it here if it is still queued."""
        if self in waiters(node):
            raise WouldDeadlockError(f"{self._name} would wait for itself: it is awaited by its own code")
        self._joiners = joiners = self._joiners or []
        joiners.append(joiner := (node, ThreadEvent()))
        try:
            if self.commander._withdraw(self):
                await self._body()
            elif self._phase < OVER:
                await wait(event=joiner[1])
        finally:
            joiners.remove(joiner)


def waiters(node: TaskNode | None) -> Iterator[TaskNode]:
    """Yield the nodes that wait for the code of `node`: it, the calls above it, the nodes that await these, …"""
    todo = [node]
    for each in filter(None, todo):  # it grows on the way
        yield each
        above = each._parent
        if isinstance(each, Job) or (isinstance(each, HandlerCoroutine) and (each._task or each._joiners)):
            above = each.commander._parent  # who runs a commander awaits all its work
            todo += [joiner for joiner, _ in each._joiners or ()]
        todo.append(above)


class _HandlerDecorator(Protocol):
    """The decorator that `handler` returns; it keeps the types of the other parameters of a function or method."""

    @overload
    def __call__(
        self, function: Callable[Concatenate[HandlerCoroutine[Any], P], Coroutine[Any, Any, R]], /
    ) -> Callable[P, HandlerCoroutine[R]]: ...
    @overload
    def __call__(
        self, function: Callable[Concatenate[S, HandlerCoroutine[Any], P], Coroutine[Any, Any, R]], /
    ) -> Callable[Concatenate[S, P], HandlerCoroutine[R]]: ...


def handler(
    password: str,
    *,
    timeout: float | None = None,
    retries: int = 0,
    retry_delay: float = 0.0,
    retry_on: type[Exception] | tuple[type[Exception], ...] = Exception,
) -> _HandlerDecorator:
    """Make a coroutine function a handler: calling it gives a `HandlerCoroutine`, passed to it as `self_handler`.

    `self_handler` is the first parameter of a function, the second of a method; callers leave it out. The other
    arguments are those of `tasker`, here for the handler and all that it starts. Awaited where no commander
    runs, it is a plain coroutine: no node, no callbacks, no timeout and no retries.

    Raises:
        PasswordError: the password is another.
        ConfigurationError: the timeout or a retry option is invalid.
        NotHandlerError: the function is not `async def`.

    Example:
        >>> from trivium.commander import PASS_WORD, BasicJob, CommanderAsync, handler
        >>> @handler(PASS_WORD, timeout=60, retries=2)
        ... async def greet(self_handler, name):
        ...     await self_handler.exit_commander(return_result=f"hello {name}")
        >>> CommanderAsync().run(BasicJob(greet("Ada")))
        'hello Ada'
    """
    policy = _check_policy(password, Policy(timeout, retries, retry_delay, retry_on))
    return cast("_HandlerDecorator", partial(_Handler, policy))


def _check_policy(password: object, policy: Policy) -> Policy | None:
    """Return the policy; None if it is the default, without timeout and retries."""
    if password != PASS_WORD:
        raise PasswordError("write @tasker(PASS_WORD) or @handler(PASS_WORD), and read PASS_WORD once before")
    kinds = policy.retry_on if isinstance(policy.retry_on, tuple) else (policy.retry_on,)
    with suppress(TypeError):  # of what is no number, or no class
        in_time = policy.delay >= 0 and (policy.timeout is None or policy.timeout > 0)
        if in_time and range(policy.retries).stop >= 0 and all(issubclass(kind, Exception) for kind in kinds):  # type: ignore[unnecessary] - users pass anything
            return None if policy.timeout is None and not policy.retries else policy
    raise ConfigurationError("timeout must be > 0, retries an integer >= 0, retry_delay >= 0, retry_on exceptions")


class _BoundHandler(partial[HandlerCoroutine[Any]]):
    """A handler that is a method, of an object."""

    __handler__ = True


class _Handler:
    """The descriptor that `handler` makes; bound to an object it is a method."""

    __handler__ = True

    def __init__(self, policy: Policy | None, function: Callable[..., Any]) -> None:
        if not iscoroutinefunction(function):
            name = function.__name__ if hasattr(function, "__name__") else function
            raise NotHandlerError(f"{name} must be `async def`, and no generator")
        self.function, self.policy, self.name = function, policy, function.__name__
        update_wrapper(self, function)

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else _BoundHandler(HandlerCoroutine, self, MethodType(self.function, instance))

    def __call__(self, *args: Any, **kwargs: Any) -> HandlerCoroutine[Any]:
        return HandlerCoroutine(self, self.function, *args, **kwargs)


class BasicJob(Job):
    """A job that starts one handler.

    Args:
        job_content: the handler.
    """

    def __init__(self, job_content: HandlerCoroutine[Any]) -> None:
        super().__init__()
        if not isinstance(job_content, HandlerCoroutine):  # type: ignore[unnecessary] - users pass anything
            raise NotHandlerError(f"BasicJob takes a handler that was called, BasicJob(work(…)): got {job_content!r}")
        self.job_content = job_content

    @tasker(PASS_WORD)
    async def task(self) -> HandlerCoroutine[Any]:
        """Give the handler to the commander, which starts it below this job."""
        return self.job_content
