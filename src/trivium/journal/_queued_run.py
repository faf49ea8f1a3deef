"""Runs that were submitted, seen from any process."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import chain, repeat
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, TypeVar

from trivium.commander.lowlevel import drive, driver_neutral, is_blocking, run_in_worker, sync_method, wait
from trivium.exceptions import (
    ConfigurationError,
    DeadlineExceededError,
    JournalError,
    RunKilledError,
    UnknownRunError,
)
from trivium.journal._store import Entry
from trivium.schema import Message

if TYPE_CHECKING:
    from trivium.journal._queue import RunQueue

T = TypeVar("T")
RUN: Final = "trivium.run"
"""The name of the workflow that a run is."""

QueueStatus: TypeAlias = Literal["scheduled", "queued", "running", "paused", "done", "failed", "cancelled"]
"""The status of a run that was submitted: it waits for its time, or for a worker; a worker is at work on it; it waits
for a decision; or it has ended."""

_PAUSES: Final = (0.02, 0.05, 0.1, 0.2, 0.5)
"""Seconds between looks at a run, the last one again and again."""
_PATIENCE: Final = 30.0
"""Seconds without a database that a wait for a result or a record outlasts."""
_OVER: Final = ("done", "failed", "cancelled", "paused")


class QueuedRun:
    """A run that was submitted, seen from any process: made by `Journal.submit` and `Journal.submitted`.

    Args:
        queue: the queues of its journal.
        run_id: its id.
    """

    def __init__(self, queue: RunQueue, run_id: str) -> None:
        self._queue, self.id = queue, run_id

    def __repr__(self) -> str:
        return f"QueuedRun({self.id!r})"

    @driver_neutral
    async def status_async(self) -> QueueStatus:
        """Return its status; `status` is the same for sync code."""
        return await _beside_loop(lambda: self._queue.status_of(self._queue.find(self.id)))

    status = sync_method(status_async)

    @driver_neutral
    async def result_async(self, timeout: float | None = None) -> Message:
        """Wait for the end of the run and return its answer; `result` is the same for sync code.

        Args:
            timeout: seconds; None: no limit. The run goes on after it.

        Raises:
            DeadlineExceededError: the run has not ended in that time.
            RunPausedError: the run waits for a decision: decide on it by `journal.approve` or `journal.refuse`.
            RunKilledError: it was cancelled.
            Exception: the error with which it failed.
        """
        until = None if timeout is None else time.monotonic() + timeout
        status, looks = "queued", _Looks()
        for pause in chain(_PAUSES, repeat(_PAUSES[-1])):
            if (found := await looks.at(self._answer)) is not None:
                status, answer = found
                if status == "done":
                    return Message(content="") if answer is None else answer
            left = pause if until is None else until - time.monotonic()
            if left <= 0:
                why = "" if status != "queued" else await _beside_loop(self._missing)
                raise DeadlineExceededError(f"the run {self.id!r} is {status} after {timeout:g} s{why}; it goes on")
            await wait(min(pause, left))
        raise AssertionError

    result = sync_method(result_async)

    def _answer(self) -> tuple[QueueStatus, Message | None]:
        """Return the status of the run, and its answer if it is done.

        Raises:
            Exception: as for `result_async`.
        """
        from dbos import error as errors

        found = self._queue.find(self.id)
        status = self._queue.status_of(found)
        if status == "cancelled":
            raise RunKilledError(f"the run {self.id!r} was cancelled")
        if status in ("failed", "paused"):
            raise self._queue.error_of(found)
        if status != "done":
            return status, None
        with suppress(UnknownRunError):
            view = self._queue.journal.view(self.id)
            if view.info.status not in ("killed", "running"):
                return status, view.result
        # Its worker has noted its end, which the database has lost since; others may wait for it too, and be first.
        with self._queue.typed_errors(self.id), suppress(errors.DBOSException):
            self._queue.client.rewind_workflow(self.id, queue_name=found.queue_name)
        return "queued", None

    def _missing(self) -> str:
        with suppress(JournalError):
            missing = self._queue.missing_worker(self.id)
            return f": {missing}" if missing else ""
        return ""

    def events(self, after: int = 0) -> RunEntries:
        """Return the records of the run as they are written: iterate over them with `for` or `async for`.

        Args:
            after: the number of the last record that is known.
        """
        return RunEntries(self, self._queue, after)

    @driver_neutral
    async def cancel_async(self) -> None:
        """Cancel the run: it is not begun, or its worker stops it in a moment; `cancel` is the same for sync code.

        One that has ended stays as it is. Submitted again, a run that was cancelled goes on where it was.
        """
        await _beside_loop(self._cancel)

    cancel = sync_method(cancel_async)

    def _cancel(self) -> None:
        with self._queue.typed_errors(self.id):
            client = self._queue.client
            if self._queue.is_paused(self._queue.find(self.id)):
                client.rewind_workflow(self.id)  # what has ended cannot be cancelled
            client.cancel_workflow(self.id)
        self._queue.end_cancelled(self.id)


class RunEntries:
    """The records of a run as they are written, until it ends; made by `QueuedRun.events`."""

    def __init__(self, run: QueuedRun, queue: RunQueue, after: int) -> None:
        self._run, self._queue, self._after = run, queue, after

    def __iter__(self) -> Iterator[Entry]:
        while new := drive(self._next()):
            yield from new

    async def __aiter__(self) -> AsyncIterator[Entry]:
        while new := await self._next():
            for entry in new:
                yield entry

    @driver_neutral
    async def _next(self) -> Sequence[Entry]:
        """Return the next records, once there are some; none: the run is over."""
        looks = _Looks()
        for pause in chain(_PAUSES, repeat(_PAUSES[-1])):
            if (found := await looks.at(self._read)) is not None:
                status, new = found
                if new or status in _OVER:
                    self._after = new[-1].seq if new else self._after
                    return new
            await wait(pause)
        raise AssertionError

    def _read(self) -> tuple[QueueStatus, Sequence[Entry]]:
        """Return the status of the run and then its new records, so that none comes after those of one that is over."""
        status = self._queue.status_of(self._queue.find(self._run.id))
        try:
            return status, self._queue.journal.entries(self._run.id, self._after)
        except UnknownRunError:  # no worker has taken it yet
            return status, ()


class Schedule:
    """Runs that are submitted again and again: made by `Journal.submit(…, every=…)`, found by `Journal.scheduled`.

    Args:
        queues: the queues of its journal.
        name: its name, with which the ids of its runs begin.
        program: the name under which workers serve what its runs are for.
        queue: the queue of its runs.
        every: when one is submitted, as cron has it, in UTC.
    """

    def __init__(self, queues: RunQueue, name: str, program: str, queue: str, every: str) -> None:
        self._queue, self.name, self.program, self.queue, self.every = queues, name, program, queue, every

    def __repr__(self) -> str:
        return f"Schedule({self.name!r})"

    def next(self) -> datetime:
        """Return the next time, in UTC, at which a worker submits a run."""
        return next_time(self.every)

    def cancel(self) -> None:
        """Submit no further runs; those that were submitted stay."""
        self._queue.cancel_schedule(self.name)

    def runs(self) -> list[QueuedRun]:
        """Return the runs that it has submitted, the oldest first."""
        with self._queue.typed_errors():
            found = self._queue.client.list_workflows(
                name=RUN, workflow_id_prefix=f"{self.name}-", load_input=False, load_output=False
            )
        ids = [each.workflow_id for each in found]
        return [QueuedRun(self._queue, each) for each in ids if is_of_schedule(each, self.name)]


def next_time(every: str) -> datetime:
    """Return the next time of a cron expression, in UTC.

    Raises:
        ConfigurationError: it is none, or its time never comes.
    """
    from croniter import croniter  # by which DBOS reads them

    try:
        found: datetime = croniter(every, datetime.now(UTC), second_at_beginning=True).get_next(datetime)
    except ValueError as error:
        raise ConfigurationError(f"every={every!r} is no schedule ({error}): write it as '0 7 * * *'") from None
    return found


def is_of_schedule(run_id: str, name: str) -> bool:
    """Return whether what follows the name of a schedule in an id is a time: another name may begin with this one."""
    try:
        return bool(datetime.fromisoformat(run_id.removeprefix(f"{name}-")))
    except ValueError:
        return False


class _Looks:
    """Looks at a run, again and again, which outlast a database that is away for a while."""

    def __init__(self) -> None:
        self._seen = time.monotonic()

    async def at(self, work: Callable[[], T]) -> T | None:
        """Return what is read; None: the database is away, though not yet for longer than is waited for it.

        Raises:
            JournalError: it has been away for that long.
        """
        try:
            found = await _beside_loop(work)
        except JournalError as error:
            if type(error) is not JournalError or time.monotonic() - self._seen > _PATIENCE:
                raise
            return None
        self._seen = time.monotonic()
        return found


async def _beside_loop(work: Callable[[], T]) -> T:
    return work() if is_blocking() else await run_in_worker(work)
