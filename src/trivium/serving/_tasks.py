"""Work that outlives the request that began it, and work that ends with it: the tasks of a server."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Hashable, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final, Generic, TypeVar
from weakref import WeakValueDictionary

from trivium.commander.lowlevel import run_on_loop, running_loop
from trivium.events import is_of_signal_handler
from trivium.exceptions import JournalError
from trivium.serving._wire import Failure

_log = logging.getLogger("trivium.serve")
_AT_ONCE: Final = 16
_PAUSE_SECONDS: Final = 0.01
"""The pause after so many: a thousand that came at once are over at once too, and others have their turn meanwhile."""

K = TypeVar("K", bound=Hashable)
T = TypeVar("T", bound=Hashable)
Receive = Callable[[], Awaitable[dict[str, Any]]]


@contextmanager
def by_itself(run_id: str) -> Generator[None]:
    """Log what goes wrong with a run in the block, so that no other one waits for it; it is tried again."""
    try:
        yield
    except Failure as error:
        _log.info("the run %s was not looked after: %s", run_id, error.message)
    except JournalError:
        _log.exception("the run %s cannot be looked after; tried again", run_id)


def run_to_end(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run `await work()` to its end: also where a task that user code has begun ends the loop, as SystemExit does."""
    if running_loop() is not None:
        return run_on_loop(work)
    with asyncio.Runner() as runner:
        task = runner.get_loop().create_task(work())
        while True:
            try:
                return runner.get_loop().run_until_complete(task)
            except (SystemExit, KeyboardInterrupt) as error:
                # A server that listens has a handler of its own for Ctrl-C.
                is_pressed = signal.getsignal(signal.SIGINT) is signal.default_int_handler
                if task.done() or is_of_signal_handler(error) or (isinstance(error, KeyboardInterrupt) and is_pressed):
                    raise
                _log.error("a task that a run has begun would have ended the server", exc_info=error)


class Background:
    """Work that goes on by itself on the running loop.

    Args:
        work: the work; it handles its own errors.
    """

    def __init__(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._task = asyncio.get_running_loop().create_task(work())

    @property
    def is_over(self) -> bool:
        """Return whether it has ended."""
        return self._task.done()

    @property
    def is_cancelled(self) -> bool:
        """Return whether it was cancelled."""
        return self._task.cancelling() > 0

    def cancel(self, why: str) -> None:
        """Cancel it where it waits."""
        self._task.cancel(why)

    async def ended(self, seconds: float | None = None) -> None:
        """Wait for its end, at most so many seconds; it goes on if the wait is cancelled."""
        await asyncio.wait([self._task], timeout=seconds)


class News:
    """The signal that there is something new, for any number of tasks of one loop that wait for it."""

    def __init__(self) -> None:
        self._waiting: set[asyncio.Future[bool]] = set()

    @property
    def is_awaited(self) -> bool:
        """Return whether somebody waits."""
        return bool(self._waiting)

    def announce(self) -> None:
        """Wake all that wait."""
        for each in self._waiting:
            _settle(each, True)

    async def wait(self, seconds: float | None = None) -> bool:
        """Wait for the next announcement; return False where none has come for so many seconds."""
        loop = asyncio.get_running_loop()
        waiting: asyncio.Future[bool] = loop.create_future()
        timer = None if seconds is None else loop.call_later(seconds, _settle, waiting, False)
        self._waiting.add(waiting)
        try:
            return await waiting
        finally:
            self._waiting.discard(waiting)
            if timer is not None:
                timer.cancel()


def _settle(waiting: asyncio.Future[bool], is_news: bool) -> None:
    if not waiting.done():
        waiting.set_result(is_news)


class Turns:
    """One turn after the other for each of many things."""

    def __init__(self) -> None:
        self._locks = WeakValueDictionary[Hashable, asyncio.Lock]()

    @asynccontextmanager
    async def of(self, key: Hashable) -> AsyncGenerator[None]:
        """Wait for the turn of a thing, and have it as long as the block runs."""
        lock = self._locks.setdefault(key, asyncio.Lock())
        async with lock:
            yield


class Deadlines(Generic[K, T]):
    """Things, each of which waits for one of some kinds of deadlines: one timer for all of them, and few at once.

    Args:
        kinds: of each kind the seconds, and what is called with a thing when they are over.
    """

    def __init__(self, kinds: Mapping[K, tuple[float, Callable[[T], object]]]) -> None:
        self._kinds = kinds
        self._waiting = {kind: dict[T, float]() for kind in kinds}
        """The things of each kind, in the order of their deadlines."""
        self._timer: asyncio.TimerHandle | None = None

    def move(self, thing: T, before: K | None, after: K | None) -> None:
        """Let the deadline of a kind be that of a thing, in the place of another one; None: none."""
        if before is not None:
            self._waiting[before].pop(thing, None)
        if after is not None:
            loop = asyncio.get_running_loop()
            at = self._waiting[after][thing] = loop.time() + self._kinds[after][0]
            if self._timer is None or at < self._timer.when():
                self._look_at(at)

    def _look_at(self, at: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_at(at, self._look)

    def _look(self) -> None:
        self._timer, now, left = None, asyncio.get_running_loop().time(), _AT_ONCE
        for kind, waiting in self._waiting.items():
            while waiting and left:
                thing, at = next(iter(waiting.items()))
                if at > now:
                    break
                del waiting[thing]
                left -= 1
                self._kinds[kind][1](thing)
        firsts = [next(iter(waiting.values())) for waiting in self._waiting.values() if waiting]
        if firsts:
            self._look_at(max(min(firsts), now + (0 if left else _PAUSE_SECONDS)))


async def with_signs(pieces: AsyncGenerator[T], sign: T, seconds: float) -> AsyncGenerator[T]:
    """Yield what a generator yields, and a sign of life as often as nothing has come for some seconds.

    Args:
        pieces: the generator.
        sign: the sign of life.
        seconds: the seconds.
    """
    while True:
        coming = asyncio.ensure_future(anext(pieces, None))
        try:
            while not (await asyncio.wait([coming], timeout=seconds))[0]:
                yield sign
        finally:
            if coming.cancel():
                await asyncio.gather(coming, return_exceptions=True)
        if (piece := coming.result()) is None:
            return
        yield piece


async def while_connected(
    receive: Receive, work: Coroutine[Any, Any, None], on_gone: Callable[[], object] | None = None
) -> None:
    """Do work for a client; where it leaves before the end, the work is cancelled.

    Args:
        receive: ASGI's function that tells when the client has left.
        work: the work.
        on_gone: called when the client has left before its end.
    """

    async def until_gone() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        working.cancel()  # before its next step, which would do all that is left: nobody makes it wait any more

    working, gone = asyncio.ensure_future(work), asyncio.ensure_future(until_gone())
    try:
        await asyncio.wait([working, gone], return_when=asyncio.FIRST_COMPLETED)
        if working.done() and not working.cancelled():
            working.result()
        elif on_gone is not None:
            on_gone()
    finally:
        working.cancel()
        gone.cancel()
        await asyncio.gather(working, gone, return_exceptions=True)
