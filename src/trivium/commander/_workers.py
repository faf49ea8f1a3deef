"""Threads and background loops: made on demand, reused, released when idle.

These are the only process-wide things of trivium, and they hold no state of any run: a pool of idle threads
and a chain of event loops. A child process after `fork` starts with none.
"""

from __future__ import annotations

import asyncio
import os
import queue
import sys
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from contextvars import Context
from typing import Any, TypeAlias, TypeVar, cast

from trivium.exceptions import NoEventLoopError

T = TypeVar("T")
get_running_loop = asyncio._get_running_loop  # pyright: ignore[reportPrivateUsage] - None without a loop, no error
Outcome: TypeAlias = tuple[T | None, BaseException | None]
_IDLE_SECONDS = 10.0
POLL_SECONDS = 1.0
"""A wait of the main thread lasts no longer at a time, in seconds: a Ctrl-C that falls between Python's last look for
signals and the wait itself is not seen before it ends (CPython 3.11: one of some 400 on a busy machine)."""

running_loop: Callable[[], asyncio.AbstractEventLoop | None] = get_running_loop
"""Return the event loop that runs on this thread, or None."""
lock = threading.Lock()
"""For the additions of the runtime: never held while anything else runs, and free in a forked child."""
_starting = threading.Lock()
epoch = [0]
"""How many forks lie between the first process and this one: what was locked before is held by no thread of it."""
_idle: deque[queue.SimpleQueue[Callable[[], object]]] = deque()
_loops: list[asyncio.AbstractEventLoop] = []


def post(loop: asyncio.AbstractEventLoop, function: Callable[..., object], *args: object) -> None:
    """Run `function` on the loop's thread: now if this is it, soon otherwise; not at all if the loop is closed."""
    if get_running_loop() is loop:
        function(*args)
    else:
        post_later(loop, function, *args)


def post_later(loop: asyncio.AbstractEventLoop, function: Callable[..., object], *args: object) -> None:
    """Run `function` on the loop's thread between two steps of its tasks, so that none of them runs meanwhile."""
    try:
        loop.call_soon_threadsafe(function, *args)
    except RuntimeError:
        if not loop.is_closed():
            raise


def capture(function: Callable[[], T]) -> Outcome[T]:
    """Return (result, None) or (None, error) of a call, for code that waits elsewhere."""
    try:
        return function(), None
    except BaseException as error:
        return None, error


async def capture_async(work: Callable[[], Awaitable[T]]) -> Outcome[T]:
    """Return the same of a coroutine function: a task that raised SystemExit would end its whole loop."""
    try:
        return await work(), None
    except BaseException as error:
        return None, error


def value_or_raise(outcome: Outcome[T]) -> T:
    """Return the result that `capture` caught, or raise the error."""
    out, error = outcome
    if error is not None:
        raise error
    return cast("T", out)


def wait_slices(seconds: float | None) -> Iterator[float]:
    """Yield the pieces of a wait of that many seconds, so that Ctrl-C ends it; None: without end.

    Raises:
        GeneratorExit: the interpreter ends, as where it closes the generators that are left.
    """
    if sys.is_finalizing():  # the thread that is waited for runs no more
        raise GeneratorExit
    while seconds is None or seconds > POLL_SECONDS:
        yield POLL_SECONDS
        seconds = seconds and seconds - POLL_SECONDS
    yield seconds


def get_item(inbox: queue.SimpleQueue[T], seconds: float | None = None) -> T:
    """Return the next item of a queue; Ctrl-C ends the wait.

    Raises:
        TimeoutError: none came in that many seconds; None: no limit.
    """
    for piece in wait_slices(seconds):
        with suppress(queue.Empty):
            return inbox.get(timeout=piece)
    raise TimeoutError(f"nothing came in {seconds:g} seconds")


def submit(work: Callable[[], object]) -> None:
    """Run `work` in an idle worker, or in a new one.

    The pool has no cap: workers nest (a call in a worker may need another), so a cap would deadlock.
    Limits belong to the run.
    """
    try:
        inbox = _idle.pop()
    except IndexError:
        inbox = queue.SimpleQueue[Callable[[], object]]()
        threading.Thread(target=_worker, args=(inbox,), name="trivium-worker", daemon=True).start()
    inbox.put(work)


def _worker(inbox: queue.SimpleQueue[Callable[[], object]]) -> None:
    work: Callable[[], object] | None = inbox.get()
    while work is not None:
        work()
        work = None  # or the closure of a finished run would live as long as the thread idles
        _idle.append(inbox)
        try:
            work = inbox.get(timeout=_IDLE_SECONDS)
        except queue.Empty:
            try:
                _idle.remove(inbox)
            except ValueError:  # it was taken from the pool at the last moment: its work is on its way
                work = inbox.get()


def background_loop(level: int) -> asyncio.AbstractEventLoop:
    """Return the background loop of that level.

    Code on loop k waits for loop k + 1 only, so there is no cycle and no deadlock.
    """
    with _starting:
        while len(_loops) <= level:
            _loops.append(start_loop(len(_loops)))
        return _loops[level]


def start_loop(level: int) -> asyncio.AbstractEventLoop:
    """Start a loop in a thread of its own, which lives as long as the process."""
    if threading.get_ident.__module__ != "_thread":  # profilers, as of Datadog, replace Lock
        raise NoEventLoopError("gevent makes all threads one, with one event loop: use real ones (gunicorn -k gthread)")
    loop = Context().run(asyncio.new_event_loop)  # it keeps the context it is made in: not that of the first run

    def main() -> None:
        asyncio.set_event_loop(loop)
        while True:  # a task that raises SystemExit ends `run_forever`; the code that awaits the task gets it
            with suppress(SystemExit, KeyboardInterrupt):
                loop.run_forever()

    threading.Thread(target=main, name=f"trivium-loop-{level}", daemon=True).start()
    return loop


def loop_level(loop: Any) -> int | None:
    """Return the level of a background loop; None for any other."""
    return _loops.index(loop) if loop in _loops else None


def forget_threads() -> None:
    """Forget threads, and what they hold, in a forked child, which has none of them."""
    for each in (lock, _starting):
        each._at_fork_reinit()  # type: ignore[attr-defined] - as the standard library does after a fork
    _idle.clear()
    _loops.clear()
    epoch[0] += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forget_threads)
