"""From blocking code to a loop and back: a blocked thread waits for work on a loop and runs its sync code."""

# A user's `Job` is a node, so the internals of nodes are underscored; the files of this package share them.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
import queue
import sys
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Generator
from contextlib import suppress
from contextvars import ContextVar, copy_context
from functools import partial
from typing import Any, NamedTuple, TypeVar, cast

from trivium.commander._node import Cancellation, TaskNode, WokenBy, checkpoint, current, stopped_by, time_left
from trivium.commander._workers import (
    Outcome,
    background_loop,
    capture,
    capture_async,
    get_item,
    get_running_loop,
    loop_level,
    post,
    post_later,
    submit,
    value_or_raise,
)
from trivium.exceptions import NoEventLoopError

T = TypeVar("T")
Give = Callable[[Any], None]
_NOT_DRIVING = object()


class _Here:
    """The state of a thread."""

    __slots__ = ("driving", "home", "level", "woken")

    def __init__(self) -> None:
        self.driving: object = _NOT_DRIVING
        """The loop that ran when this thread's innermost blocking drive began, or _NOT_DRIVING."""
        self.home: asyncio.AbstractEventLoop | None = None
        """In a worker: the loop that owns its work."""
        self.level = 0
        """Background loop k may wait for loop k + 1 only."""
        self.woken: set[asyncio.Task[Any]] = set()
        """Tasks of this thread's loop that a kill has cancelled and that have not yet undone that."""


class _Local(threading.local):
    def __init__(self) -> None:
        self.here = _Here()  # looked up once if several values are needed, since the lookup is expensive


local = _Local()


def is_blocking() -> bool:
    """Return True if driver-neutral code runs under the blocking driver here.

    A nested `asyncio.run()` is async again, since its loop differs from the one with which the driver began;
    a new task never inherits the driver, as it would from a context variable.
    """
    # In this order: to ask for the running loop is a system call in async code.
    return (driving := local.here.driving) is not _NOT_DRIVING and driving is get_running_loop()


def place_of_caller() -> tuple[int, int]:
    """Return the id of the thread that runs here, and that of the task; 0 for none."""
    return threading.get_ident(), 0 if get_running_loop() is None else id(asyncio.current_task())


class _Letter(NamedTuple):
    """A message from a loop to the thread that waits for it."""

    kind: str  # "item": something to give out; "run": sync code to run here; "end": the work is over
    what: Any  # "end": the outcome
    reply: Any = None
    alone: Callable[[], object] | None = None  # "run": the same for a worker, if the thread no longer reads its inbox


class _Inbox(queue.SimpleQueue[_Letter]):
    """The messages to a blocked caller; those that arrive after its call has ended are run by workers.

    `pending` has them until they are dealt with: Ctrl-C may come when one is taken and nobody knows it yet.
    """

    def __init__(self) -> None:
        self.pending, self.closed = deque[_Letter](), False

    def put(self, item: _Letter, block: bool = True, timeout: float | None = None) -> None:
        self.pending.append(item)
        super().put(item)
        if self.closed:
            self.close()

    def close(self) -> None:
        self.closed = True
        with suppress(IndexError):
            while True:
                if (alone := self.pending.popleft().alone) is not None:
                    submit(alone)


lender: ContextVar[_Inbox | None] = ContextVar("triviumlender", default=None)
"""The inbox of a blocked caller thread, which runs sync user code meanwhile."""


class _Errand:
    """Work that runs on a loop for a blocked thread, which can stop it at any moment."""

    def __init__(self, work: Callable[[Give], Awaitable[Any]], lend: bool) -> None:
        self.inbox, self._stopped = _Inbox(), False
        self._work, self._context = work, copy_context()
        self._context.run(lender.set, self.inbox if lend else None)
        self._task: asyncio.Task[Outcome[Any]] | None = None
        self.loop = local.here.home or background_loop(current_level())  # the one that this thread may wait for

    def start(self) -> None:
        if not self._stopped:
            self._task = self.loop.create_task(capture_async(self._run), context=self._context)
            self._task.add_done_callback(self._ended)

    async def _run(self) -> Any:
        if (node := current.get()) is not None:
            checkpoint(node)  # what was stopped before its start is not begun
        return await await_foreign(node, self._work(lambda item: self.inbox.put(_Letter("item", item))))

    def _ended(self, task: asyncio.Task[Outcome[Any]] | None) -> None:
        outcome = None if task is None or task.cancelled() else task.result()  # None: before its first step
        self.inbox.put(_Letter("end", outcome or (None, asyncio.CancelledError())))

    def drain(self) -> None:
        """Wait for the end; sync code that is to run here meanwhile is cancelled."""
        while True:
            if not self.inbox.pending:
                get_item(self.inbox)
            elif (letter := self.inbox.pending.popleft()).kind == "run":  # where it has been answered, without effect
                letter.reply((None, asyncio.CancelledError()))
            elif letter.kind == "end":
                return

    def stop(self) -> None:
        post_later(self.loop, self._cancel)

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()
        elif not self._stopped:  # Ctrl-C came before the start
            self._stopped = True
            self._ended(None)


async def await_foreign(node: TaskNode | None, awaitable: Awaitable[T]) -> T:
    """Await foreign code so that `kill` reaches it.

    The waker cancels this task only while it still waits here, and only on the loop's own thread; each such cancel is
    undone, so that a cancellation by others passes through. A timer of the loop watches the deadline.
    """
    if node is None:
        return await awaitable
    loop = asyncio.get_running_loop()
    task = asyncio.current_task(loop)
    assert task is not None
    deadline = node._scope.deadline
    timer = deadline and loop.call_later(time_left(node) or 0, deadline[1].kill, "deadline")
    state: list[str] = []

    def fire() -> None:
        if not state and cancel_once(task):
            state.append("cancelled")

    with WokenBy(node, partial(post_later, loop, fire)):
        try:
            out = await awaitable
        except asyncio.CancelledError:
            if not state:
                raise
            out = cast("T", None)
        finally:
            if state:
                uncancel(task)
            state.append("left")
            if timer is not None:
                timer.cancel()
    checkpoint(node)
    return out


def iterate_on_loop(work: Callable[[Give], Awaitable[Any]], lend: bool = True) -> Generator[Any, None, Any]:
    """Run `work` on a loop; yield the items that it gives, and run its sync user code in this thread meanwhile."""
    errand, node, letter = _Errand(work, lend), current.get(), _Letter("item", None)
    try:
        errand.loop.call_soon_threadsafe(errand.start)
        while (letter := get_item(errand.inbox)).kind != "end":
            if letter.kind == "item":
                yield letter.what
            else:
                _run_lent(letter)
            errand.inbox.pending.popleft()
    finally:
        if letter.kind != "end" and not errand.loop.is_closed():  # Ctrl-C, or the consumer stopped early
            errand.stop()
            errand.drain()
        errand.inbox.close()
    if node is not None:
        checkpoint(node)  # before an error that the work made of its stop
    return value_or_raise(letter.what)


def _run_lent(letter: _Letter) -> None:
    out, error = capture(letter.what)
    if error is not None and not isinstance(error, Exception | SystemExit | Cancellation):
        raise error  # Ctrl-C inside lent code ends this thread's wait too; a tool that exits has failed
    letter.reply((out, error))


def await_on_loop(work: Callable[[], Awaitable[T]], lend: bool = True) -> T:
    """Return the result of `await work()`, run on a loop; for blocking code."""
    errand = iterate_on_loop(lambda give: work(), lend)
    while True:
        try:
            next(errand)
        except StopIteration as stop:
            return cast("T", stop.value)


def in_worker(
    function: Callable[[], T], reply: Callable[[Outcome[T]], object], home: asyncio.AbstractEventLoop | None
) -> Callable[[], None]:
    """Return the call as work for a worker, in the context of this thread and below its loop.

    Args:
        function: it runs in the worker.
        reply: called there with the outcome.
        home: the loop that owns the work.
    """
    context, level = copy_context(), current_level()

    def body() -> None:
        here = local.here
        here.home, here.level = home, level
        reply(capture(partial(context.run, function)))
        here.home, here.level = None, 0  # the thread is used again, when that loop may have closed

    return body


def home_loop_here() -> asyncio.AbstractEventLoop | None:
    """Return the loop that owns the work of this thread, if it is a worker."""
    return local.here.home


def current_level() -> int:
    """Return the level of background loop that code in this thread stands below."""
    level = loop_level(get_running_loop())
    return local.here.level if level is None else level + 1


def cancel_once(task: asyncio.Task[Any]) -> bool:
    """Cancel a task for a kill, unless that is under way: of all waits in the task, the innermost is woken."""
    if task in local.here.woken:
        return False
    local.here.woken.add(task)
    return task.cancel()


def uncancel(task: asyncio.Task[Any]) -> None:
    """Undo `cancel_once` after its cancellation has arrived."""
    local.here.woken.discard(task)
    task.uncancel()


def is_cancelled(node: TaskNode | None) -> bool:
    """Return whether a node was stopped, or the task that runs here was cancelled.

    Where neither was, a CancelledError is a failure of the code that let it through: what it waited for was cancelled.
    """
    task = None if get_running_loop() is None else asyncio.current_task()
    return (node is not None and stopped_by(node) is not None) or (task is not None and task.cancelling() > 0)


async def shield(work: Awaitable[T]) -> T:
    """Wait for work that must not be interrupted; a cancellation meanwhile is raised after its end."""
    task, cancelled = asyncio.ensure_future(work), False
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            cancelled = True
    if cancelled:
        _ = task.cancelled() or task.exception()  # retrieved, or asyncio would report it
        raise asyncio.CancelledError
    return task.result()


def asyncio_loop() -> asyncio.AbstractEventLoop:
    """Return the event loop of asyncio that runs here.

    Raises:
        NoEventLoopError: none does.
    """
    if (loop := get_running_loop()) is None:
        raise NoEventLoopError(
            "this runs on an event loop of asyncio: in a trio program, await agent.acall(…), task.run_async(…) or "
            "commander.run_async(…), or use the sync form in trio.to_thread.run_sync(…)"
        )
    return loop


async def run_in_worker(function: Callable[[], T]) -> T:
    """Run sync user code under the async driver. A cancelled wait still waits for the thread: no orphans.

    A node that holds cancellations gets the result all the same.
    """
    loop, inbox = asyncio_loop(), lender.get()
    done, reply = open_reply()
    alone = in_worker(function, reply, loop)
    if inbox is not None:
        inbox.put(_Letter("run", partial(copy_context().run, function), reply, alone))
    else:
        submit(alone)
    return await await_reply(done)


def open_reply() -> tuple[asyncio.Future[Outcome[Any]], Callable[[Outcome[Any]], object]]:
    """Return what code on this loop awaits with `await_reply`, and the function by which a thread sends the outcome."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Outcome[Any]] = loop.create_future()

    def reply(outcome: Outcome[Any]) -> None:
        post(loop, lambda: None if done.done() else done.set_result(outcome))

    return done, reply


async def await_reply(done: asyncio.Future[Outcome[T]]) -> T:
    """Return the result that another thread sends, or raise the error; a cancelled wait waits for it all the same."""
    try:
        outcome = await asyncio.shield(done)
    except asyncio.CancelledError as error:
        node = current.get()
        if node is not None and stopped_by(node) is None:
            node.kill("cancelled")
        outcome, held = await shield(done), getattr(node, "held", None)
        if held is None or outcome[1] is not None:
            raise
        held.append(error)
    if isinstance(outcome[1], StopIteration):
        raise RuntimeError("user code raised StopIteration") from outcome[1]
    return value_or_raise(outcome)


# ---- the bridge from trio: a call runs in a worker, and trio's cancellation is a kill
def is_in_trio() -> bool:
    """Return True in a task of a trio program."""
    trio: Any = sys.modules.get("trio")
    return trio is not None and get_running_loop() is None and not is_blocking() and trio.lowlevel.in_trio_task()


async def run_from_trio(node: TaskNode, work: Callable[[], T]) -> T:
    """Run blocking work in a worker; a cancellation kills the node, and is raised when the work has ended."""
    trio: Any = sys.modules["trio"]
    over, token, outcome = trio.Event(), trio.lowlevel.current_trio_token(), list[Outcome[T]]()

    def reply(given: Outcome[T]) -> None:
        outcome.append(given)
        token.run_sync_soon(over.set)

    submit(in_worker(work, reply, None))
    try:
        await over.wait()
    except trio.Cancelled:
        node.kill("cancelled")
        with trio.CancelScope(shield=True):
            await over.wait()
        raise
    return value_or_raise(outcome[0])
