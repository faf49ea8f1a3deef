"""The bridges between sync and async: coroutines that are written once, and two drivers that run them.

Driver-neutral coroutines suspend only through four primitives: `invoke` (call user code), `iterate` (pull from an
iterator), `gather` (several concurrently) and `wait` (for a time, or an event). The *blocking driver* (`drive`) runs
such a coroutine in the caller's thread without a loop; the *async driver* is a plain `await`. A primitive finds its
driver by a thread-local value that is set only while a blocking driver is on the stack.

A user's `async def` is never driven in place: under the blocking driver it runs on a loop (`await_on_loop`), and the
blocked thread meanwhile runs the sync user code below it, so that pdb, input(), sqlite and Ctrl-C work.
"""

# A user's `Job` is a node, so the internals of nodes are underscored; the files of this package share them.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import nullcontext
from functools import partial, wraps
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE
from types import CoroutineType, MethodType, NoneType
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from trivium.commander._loops import (
    await_foreign,
    await_on_loop,
    home_loop_here,
    in_worker,
    is_blocking,
    lender,
    local,
    run_in_worker,
    shield,
)
from trivium.commander._node import WokenBy, checkpoint, current_node, time_left
from trivium.commander._workers import Outcome, get_running_loop, post, submit, value_or_raise, wait_slices
from trivium.exceptions import ArgumentTypeError, SuspendedError, WouldDeadlockError

T = TypeVar("T")
P = ParamSpec("P")
Core = Coroutine[Any, Any, T]


def driver_neutral(function: T) -> T:
    """Mark a coroutine function that suspends only through the primitives: both drivers run it in place.

    A function that makes an async generator, which `iterate` pulls, may be marked so too.
    """
    function.__driver_neutral__ = ""  # type: ignore[attr-defined] - a mark on the function
    return function


def drive(core: Core[T]) -> T:
    """Run a driver-neutral coroutine to its end in this thread.

    Raises:
        SuspendedError: it awaited something that is not a primitive, at that line.
    """
    here = local.here
    before, here.driving = here.driving, get_running_loop()
    try:
        core.send(None)
        core.throw(
            SuspendedError(
                "this code was called synchronously and awaited something foreign; "
                "make the function a plain `async def` (not marked as driver-neutral), or call it with `await`"
            )
        )
    except StopIteration as stop:
        out: T = stop.value
        return out
    finally:
        here.driving = before
        core.close()
    raise SuspendedError("driver-neutral code suspended again after it was refused")


def sync_method(
    core: Callable[Concatenate[Any, P], Core[T]], name: str | None = None, *, is_late: bool = True
) -> Callable[Concatenate[Any, P], T]:
    """Make the sync method beside a coroutine method: callers block, driver-neutral code awaits it in place.

    Args:
        core: the coroutine method.
        name: its attribute of the class; default: its own name.
        is_late: look the attribute up at each call, since a subclass may override it; False: only on the object, as
            `pair_forms` sees to the subclasses.

    Example:
        >>> class Greeter:
        ...     @driver_neutral
        ...     async def greet_async(self, name: str) -> str:
        ...         return f"hello {name}"
        ...     greet = sync_method(greet_async)
        >>> Greeter().greet("Ada")
        'hello Ada'
    """
    at = name or core.__name__

    @wraps(core)
    def method(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        form = getattr(self, at) if is_late else self.__dict__.get(at) or MethodType(core, self)
        return drive(invoke(form, *args, **kwargs))

    method.__driver_neutral__ = at  # type: ignore[attr-defined] - a mark on the function
    method.__name__ = core.__name__.removesuffix("_async").lstrip("_")
    return method


class _BothForms(str):
    """The mark of a sync method whose class writes the coroutine method too: each driver calls its own."""

    __slots__ = ()


def _sync_form(written: Callable[..., Any], core: str) -> Callable[..., Any]:
    """Mark a sync method with the name of the coroutine method that is written beside it."""

    @wraps(written)
    def method(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        return written(self, *args, **kwargs)

    method.__driver_neutral__ = _BothForms(core)  # type: ignore[attr-defined] - a mark on the function
    return method


def _async_form(written: Callable[..., Any]) -> Callable[..., Any]:
    """Make the coroutine method beside a sync one."""

    @driver_neutral
    @wraps(written)
    async def method(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        return await invoke(MethodType(written, self), *args, **kwargs)

    return method


def pair_forms(cls: type, pairs: Mapping[str, str]) -> None:
    """Give a class both forms of each method of which it writes one, sync or async: the other form calls that one.

    So the form that is written lowest in the MRO counts, however the method is reached, and `super()` leads from
    either form to the class above.

    Args:
        cls: the class, once it is made.
        pairs: the names of sync methods with those of their coroutine methods, beside those by `sync_method`.
    """
    mro = cls.__mro__
    made = {name: mark for each in reversed(mro) for name, value in vars(each).items() if (mark := _mark_of(value))}
    for name, core in {**pairs, **made}.items():
        owner = next(each for each in mro if name in vars(each) or core in vars(each))
        forms = vars(owner)
        if owner is cls and name in forms and core in forms and not _mark_of(forms[name]):
            setattr(cls, name, _sync_form(forms[name], core))
        elif core not in forms:
            setattr(cls, core, _async_form(forms[name]))
        elif name not in forms or (owner is cls and _mark_of(forms[name])):
            setattr(cls, name, sync_method(forms[core], core, is_late=False))


def overridable(core: Callable[..., Core[Any]]) -> Callable[..., Any]:
    """Mark a core `forward` whose overrides may be plain, async or generators, with parameters of their own.

    Where one calls `super().forward(…)`, plain code gets the answer, and async code a coroutine; so does all code where
    the class is called from async code (`_is_plain` is False).
    """

    @wraps(core)
    def forward(self: Any, /, *message: Any, **kwargs: Any) -> Any:
        coroutine = core(self, *message, **kwargs)
        is_async = not self._is_plain or sys._getframe(1).f_code.co_flags & (CO_COROUTINE | CO_ASYNC_GENERATOR)
        is_plain = not is_async and (is_blocking() or get_running_loop() is None)
        return drive(coroutine) if is_plain else coroutine

    forward.__driver_neutral__ = forward, driver_neutral(core)  # type: ignore[attr-defined] - a mark on the function
    return forward


def sync_function(core: Callable[P, Core[T]]) -> Callable[P, T]:
    """Make the sync function beside a coroutine function, as `sync_method` does for methods.

    Example:
        >>> @driver_neutral
        ... async def greet_async(name: str) -> str:
        ...     return f"hello {name}"
        >>> greet = sync_function(greet_async)
        >>> greet("Ada")
        'hello Ada'
    """

    @wraps(core)
    def function(*args: P.args, **kwargs: P.kwargs) -> T:
        return drive(core(*args, **kwargs))

    del function.__driver_neutral__  # type: ignore[attr-defined] - `wraps` took it along
    function.__name__ = function.__qualname__ = core.__name__.removesuffix("_async")
    return function


def run_sync(core: Callable[P, Core[T]], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a driver-neutral coroutine function from sync code."""
    return drive(core(*args, **kwargs))


def run_on_loop(work: Callable[[], Core[T]]) -> T:
    """Run `await work()` to its end from sync code: on a loop of this thread, or on a background loop if one runs."""
    if get_running_loop() is None and home_loop_here() is None:
        with asyncio.Runner() as runner:  # not its `run`: there Ctrl-C would wait for user code that reads a line
            task = runner.get_loop().create_task(work())
            try:
                return runner.get_loop().run_until_complete(task)
            except KeyboardInterrupt:
                if task.cancel():  # it alone, if it is not done: it stops what runs below it in order
                    runner.get_loop().run_until_complete(asyncio.wait([task]))
                raise
    return await_on_loop(work, lend=False)


def is_async(function: Any) -> bool:
    """Return True if calling `function` gives a coroutine, as far as its definition tells."""
    while isinstance(function, partial):
        function = cast("partial[Any]", function).func
    code = getattr(function, "__code__", None) or getattr(type(function).__call__, "__code__", None)
    return code is not None and bool(code.co_flags & CO_COROUTINE)


def is_driver_neutral(function: Any) -> bool:
    """Return True if `function` was marked by `driver_neutral`."""
    return _mark_of(function) == ""


def _mark_of(function: Any) -> str | None:
    """Return the name of the coroutine method beside a sync method; "" for driver-neutral code, None for other code."""
    mark = getattr(function, "__driver_neutral__", None)
    return mark if isinstance(mark, str) else None


# ---- primitive 1: call user code
def invoke(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Core[Any]:
    """Call user code, `def` or `async def`, and return what it returns.

    Under the async driver a `def` runs in a worker, so it may block. All keywords are the function's own.
    """
    node = current_node()
    if node is not None and (node._stopping is not None or node._scope.deadline is not None):
        checkpoint(node)
    form: Any = function
    mark: Any = getattr(form, "__driver_neutral__", None)
    if mark.__class__ is tuple and getattr(form, "__func__", None) is mark[0]:  # of `overridable`
        return mark[1](form.__self__, *args, **kwargs)
    if mark.__class__ is tuple or (mark.__class__ is _BothForms and is_blocking()):
        mark = None  # a decorator has taken the mark along, or both forms are written
    elif mark:  # a sync method: the coroutine method beside it
        form = getattr(form.__self__, mark)
        mark = "" if hasattr(form, "__driver_neutral__") else None
    return _invoke(form, args, kwargs) if mark is None else form(*args, **kwargs)


@driver_neutral
async def invoke_in_place(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Call user code that is fast by contract (hooks, parsers, filters) as `invoke` does, but always in place."""
    if hasattr(function, "__driver_neutral__") or is_async(function):
        return await invoke(function, *args, **kwargs)
    if (node := current_node()) is not None:
        checkpoint(node)
    return await settle(function(*args, **kwargs))


_PLAIN = frozenset({str, int, float, bool, list, dict, NoneType})


async def _invoke(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    is_sync = is_blocking()
    if is_async(function):
        work = partial(function, *args, **kwargs)
        out = await_on_loop(work) if is_sync else await await_foreign(current_node(), work())
        return await settle(out) if out.__class__ is CoroutineType else out
    out = function(*args, **kwargs) if is_sync else await run_in_worker(partial(function, *args, **kwargs))
    return out if out.__class__ in _PLAIN else await settle(out)


async def settle(out: Any) -> Any:
    """Return what user code returned; await it first where that is an awaitable."""
    if out.__class__ in _PLAIN or not isinstance(out, Awaitable):  # `isinstance` of an abstract class is slow
        return out
    awaitable = cast("Awaitable[Any]", out)
    if not is_blocking():
        return await await_foreign(current_node(), awaitable)

    async def rest() -> Any:
        return await awaitable

    return await_on_loop(rest)


@driver_neutral
async def invoke_or_abandon(
    function: Callable[..., Any], on_abandoned: Callable[[], object], /, **arguments: Any
) -> Any:
    """Call user code as `invoke` does, but wait for sync code no longer than the node that runs here lives.

    Sync code cannot be stopped: it runs in a worker thread. Where the node is stopped meanwhile, by its deadline or by
    a kill, the thread is abandoned: `on_abandoned` is called, and the next primitive that the code comes to raises.
    A sync call on the thread of a running loop cannot wait for another thread; there the function runs in place.
    """
    is_in_loop = is_blocking() and get_running_loop() is not None
    if is_async(function) or hasattr(function, "__driver_neutral__") or is_in_loop:
        return await invoke(function, **arguments)
    ended, outcome = ThreadEvent(), list[Outcome[Any]]()

    def reply(given: Outcome[Any]) -> None:
        outcome.append(given)
        ended.set()

    submit(in_worker(partial(function, **arguments), reply, get_running_loop() or home_loop_here()))
    try:
        await wait(event=ended)
    finally:
        if not ended.is_set():
            on_abandoned()
    return await settle(value_or_raise(outcome[0]))


# ---- primitive 2: several at once
@driver_neutral
async def gather(*works: Callable[[], Core[T]]) -> list[T]:
    """Run driver-neutral coroutine functions concurrently and return their results in order.

    The first failure cancels the others, and is raised when they have ended.

    Raises:
        ArgumentTypeError: one of them is no function: a coroutine, say.
    """
    if not all(map(callable, works)):
        raise ArgumentTypeError("gather takes functions, as partial(agent.acall, 'hi'), and no coroutines", "works")
    if len(works) <= 1:
        return [await work() for work in works]
    if is_blocking():
        return await_on_loop(lambda: gather(*works), lend=False)
    failures = list[BaseException]()

    async def branch(work: Callable[[], Core[T]]) -> T:
        try:
            return await work()
        except BaseException as error:  # SystemExit, raised by a task, would end the loop and all that runs there
            failures.append(error)
            raise RuntimeError from error

    token = lender.set(None)  # branches run concurrently: each takes a worker of its own
    tasks = [asyncio.ensure_future(branch(work)) for work in works]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        lender.reset(token)
        for task in tasks:
            task.cancel()
        await shield(asyncio.gather(*tasks, return_exceptions=True))  # retrieved, or asyncio would report them
    if failures:
        raise failures[0]
    return [task.result() for task in tasks]


# ---- primitive 3: wait
class ThreadEvent:
    """An event that any thread may set, and that stays set; wait for it with `wait(event=…)`."""

    __slots__ = ("_callbacks", "_is_set", "_lock")

    def __init__(self) -> None:
        self._is_set = False
        self._callbacks: list[Callable[[], object]] = []
        self._lock = threading.Lock()

    def is_set(self) -> bool:
        """Return whether `set` was called."""
        return self._is_set

    def set(self) -> None:
        """Wake all that wait for the event, now and later."""
        with self._lock:
            self._is_set = True
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()

    def add_callback(self, callback: Callable[[], object]) -> None:
        """Call a function when the event is set, on the thread that sets it; at once if it is set already."""
        with self._lock:
            if not self._is_set:
                self._callbacks.append(callback)
                return
        callback()


async def wait(seconds: float | None = None, event: ThreadEvent | None = None) -> None:
    """Wait until the event is set, or that many seconds, whichever is first; None is no limit.

    `kill` and the deadline of the node that runs here end the wait at once.

    Raises:
        WouldDeadlockError: a sync call on a running loop's thread would wait for what only others can do.
    """
    node = current_node()
    if node is not None:
        checkpoint(node)
        left = time_left(node)
        seconds = left if seconds is None or (left is not None and left < seconds) else seconds
    if not is_blocking():
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        if event is not None:
            event.add_callback(partial(post, loop, lambda: None if future.done() else future.set_result(None)))
        await await_foreign(node, asyncio.wait([future], timeout=seconds))
        future.cancel()
    elif event is not None and get_running_loop() is not None:
        raise WouldDeadlockError("a sync call on a running loop would wait for another run: await its async form")
    else:
        woken = threading.Event()
        if event is not None:
            event.add_callback(woken.set)
        with nullcontext() if node is None else WokenBy(node, woken.set):
            any(map(woken.wait, wait_slices(seconds)))
    if node is not None:
        checkpoint(node)
