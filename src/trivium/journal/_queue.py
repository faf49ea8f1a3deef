"""Runs that wait in a queue for a worker: for each one workflow of DBOS, in the database of the journal."""

from __future__ import annotations

import json
import os
import time
from collections.abc import AsyncIterator, Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeAlias, TypeVar, cast

from trivium.commander.lowlevel import drive, driver_neutral, is_blocking, run_in_worker, sync_method, wait
from trivium.exceptions import (
    ConfigurationError,
    DeadlineExceededError,
    JournalError,
    MissingExtraError,
    RunInputError,
    RunKilledError,
    RunPausedError,
    UnknownRunError,
)
from trivium.journal._codec import Codec, digest_of_messages
from trivium.journal._postgres import PostgresRunStore
from trivium.journal._store import VERSION, Entry, Store
from trivium.schema import Message
from trivium.schema.lowlevel import check_content

if TYPE_CHECKING:
    from dbos import DBOSClient, EnqueueOptions, WorkflowStatus

    from trivium.journal._journal import Journal

__all__ = [
    "APPLICATION",
    "RECORDS",
    "RUN",
    "SCHEDULED",
    "QueueStatus",
    "QueuedRun",
    "RunEntries",
    "RunQueue",
    "Schedule",
    "quiet_log",
]

T = TypeVar("T")
APPLICATION: Final = "trivium"
RUN: Final = "trivium.run"
SCHEDULED: Final = "trivium.scheduled"
RECORDS: Final = f"records-{VERSION}"
"""The version by which DBOS gives workflows to workers: that of the records, so that a release strands none."""

QueueStatus: TypeAlias = Literal["scheduled", "queued", "running", "paused", "done", "failed", "cancelled"]
"""The status of a run that was submitted: it waits for its time, or for a worker; a worker is at work on it; it waits
for a decision; or it has ended."""

_STATUS: Final[Mapping[str, QueueStatus]] = {
    "DELAYED": "scheduled", "ENQUEUED": "queued", "PENDING": "running", "SUCCESS": "done", "ERROR": "failed",
    "CANCELLED": "cancelled", "MAX_RECOVERY_ATTEMPTS_EXCEEDED": "failed",
}  # fmt: skip
_PAUSES: Final = (0.02, 0.05, 0.1, 0.2, 0.5)
"""Seconds between looks at a run, the last one again and again."""
_PATIENCE: Final = 30.0
"""Seconds without a database that a wait for a result outlasts."""
_OVER: Final = ("done", "failed", "cancelled", "paused")


class Named(Protocol):
    """A module, for its name."""

    name: str


class RunQueue:
    """The queues of a journal's database, seen from a process that runs nothing itself.

    Args:
        journal: the journal.
        store: its store.
        codec: the form of its values.

    Raises:
        ConfigurationError: the journal is no PostgreSQL database.
        MissingExtraError: the extra `dbos` is missing.
    """

    def __init__(self, journal: Journal, store: Store, codec: Codec) -> None:
        if not isinstance(store, PostgresRunStore):
            raise ConfigurationError(
                f"runs are queued in PostgreSQL, and this journal is {journal.place}: give the journal a database, "
                "Journal('postgresql://…')"
            )
        self.journal, self.codec, self.connections = journal, codec, store.connections
        self._client: DBOSClient | None = None
        self._pid = 0

    @property
    def url(self) -> str:
        """The URL of the database for DBOS, with its password."""
        import sqlalchemy

        given = {name: str(value) for name, value in self.connections.parameters.items()}
        host = given.get("host", "")
        at = {} if "/" in host or "," in host else {"host": given.pop("host", None), "port": given.pop("port", None)}
        port = at.get("port")
        url = sqlalchemy.URL.create(
            "postgresql",
            username=given.pop("user", None),
            password=given.pop("password", None),
            host=at.get("host"),
            port=int(port) if port else None,
            database=given.pop("dbname", None) or "postgres",
            query=given,
        )
        return url.render_as_string(hide_password=False)

    @property
    def schema(self) -> str:
        """The schema of DBOS's tables, which is named after that of the journal."""
        with self.connections.use() as connection:
            row = connection.execute("SELECT current_schema()").fetchone()
        return f"trivium_{row[0] if row else 'public'}"

    @property
    def client(self) -> DBOSClient:
        """The client, made with the tables at the first use; a child process makes its own."""
        if self._client is None or self._pid != os.getpid():
            try:
                from dbos import DBOS, DBOSClient, DBOSPortableJSONSerializer
            except ImportError:
                raise MissingExtraError("dbos", "dbos") from None
            schema = self.schema
            with self.connections.use() as connection:
                row = connection.execute("SELECT to_regclass(%s)", (f'"{schema}".workflow_input',)).fetchone()
            with quiet_log(), self.typed_errors():
                if row is None or row[0] is None:
                    DBOS.migrate(self.url, schema=schema)
                self._client = DBOSClient(
                    system_database_url=self.url,
                    dbos_system_schema=schema,
                    serializer=DBOSPortableJSONSerializer(),
                    application_name=APPLICATION,
                    retry_connection_errors=False,
                )
            self._pid = os.getpid()
        return self._client

    def close(self) -> None:
        """Close the connections; the next use opens them again."""
        client, self._client = self._client, None
        if client is not None and self._pid == os.getpid():
            client.destroy()

    @contextmanager
    def typed_errors(self, run_id: str = "") -> Generator[None]:
        """Turn the errors of the server and of the connection into `JournalError`."""
        from sqlalchemy.exc import DBAPIError

        with self.connections.typed_errors(run_id):
            try:
                yield
            except DBAPIError as error:
                raise (error.orig or error) from error

    # ---- runs
    def run(self, run_id: str) -> QueuedRun:
        """Return a run that was submitted.

        Raises:
            UnknownRunError: none of this id was.
        """
        self.find(run_id)
        return QueuedRun(self, run_id)

    def submit(
        self, program: str, messages: Sequence[object], run_id: str, queue: str, options: Mapping[str, Any],
        priority: int, at: datetime | None,
    ) -> QueuedRun:  # fmt: skip
        """Put a run into a queue; see `Journal.submit`."""
        given: dict[str, Any] = {} if not priority else {"priority": priority}
        if at is not None:
            given["delay_seconds"] = _seconds_until(at)
        self.put(program, self._asked(messages), run_id, queue, options, **given)
        return QueuedRun(self, run_id)

    def schedule(
        self, program: str, messages: Sequence[object], name: str, queue: str, options: Mapping[str, Any], every: str
    ) -> Schedule:
        """Submit runs again and again; see `Journal.submit`.

        Raises:
            ConfigurationError: `every` is no cron expression.
        """
        from dbos import error as errors

        asked = self._asked(messages)
        context = {"name": name, "program": program, "asked": asked, "queue": queue, "options": dict(options)}
        with self.typed_errors():
            if self.client.get_schedule(name) is not None:
                self.client.delete_schedule(name)
            try:
                self.client.create_schedule(
                    schedule_name=name, workflow_name=SCHEDULED, schedule=every, context=context
                )
            except errors.DBOSException as error:
                raise ConfigurationError(f"every={every!r} is no schedule ({error}): write it as '0 7 * * *'") from None
        return Schedule(self, name)

    def _asked(self, messages: Sequence[object]) -> str:
        given = [each if isinstance(each, Message) else Message(content=check_content(each)) for each in messages]
        return self.codec.dump(given)

    def put(self, program: str, asked: str, run_id: str, queue: str, options: Mapping[str, Any], **given: Any) -> None:
        """Put a run into a queue, or attach to it; one that has failed, or was cancelled, is put there again.

        Args:
            program: the name under which workers serve the module.
            asked: the JSON of the messages.
            run_id: the id of the run.
            queue: the queue.
            options: keywords of the call.
            **given: options of DBOS.

        Raises:
            RunInputError: there is a run of this id with another program or other messages.
        """
        from dbos import WorkflowSerializationFormat
        from dbos import error as errors

        wanted: dict[str, Any] = {
            "workflow_name": RUN, "queue_name": queue, "workflow_id": run_id, "app_version": RECORDS,
            "workflow_id_reuse_policy": "reject", "serialization_type": WorkflowSerializationFormat.PORTABLE, **given,
        }  # fmt: skip
        with self.typed_errors(run_id):
            try:
                self.client.enqueue(cast("EnqueueOptions", wanted), program, asked, dict(options), queue)
            except errors.DBOSWorkflowIDInUseError:
                self._attach(program, asked, run_id, queue)

    def _attach(self, program: str, asked: str, run_id: str, queue: str) -> None:
        found = self.find(run_id, load_input=True)
        before: Sequence[Any] = (found.input or {"args": ("", "[]")})["args"]
        if (program, _digest(asked)) != (before[0], _digest(before[1])):
            other = "another input" if program == before[0] else f"{before[0]}, not for {program}"
            raise RunInputError(
                f"the run {run_id!r} was submitted with {other}: give it the same again, or the new run an id of its "
                "own",
                run_id,
            )
        if self.status_of(found) in ("failed", "cancelled"):
            self.client.rewind_workflow(run_id, queue_name=queue)

    def requeue(self, run_id: str, queue: str) -> None:
        """Put a run that a worker was at work on, or that is paused, into a queue; one that is done stays as it is."""
        with self.typed_errors(run_id):
            if self.find(run_id).status == "ERROR":
                self.client.rewind_workflow(run_id, queue_name=queue)
            else:
                self.client.resume_workflow(run_id, queue_name=queue)

    def requeue_of(self, workers: Iterable[str]) -> None:
        """Put the runs of workers that are gone into their queues again."""
        with self.typed_errors():
            left = self.client.list_workflows(
                name=[RUN, SCHEDULED], status="PENDING", executor_id=[*workers], load_input=False, load_output=False
            )
            for each in left:
                self.client.resume_workflow(each.workflow_id, queue_name=each.queue_name)

    def cancelled(self, run_ids: Iterable[str]) -> list[str]:
        """Return those of some runs that were cancelled."""
        if not (wanted := [*run_ids]):
            return []
        with self.typed_errors():
            found = self.client.list_workflows(
                workflow_ids=wanted, status="CANCELLED", load_input=False, load_output=False
            )
        return [each.workflow_id for each in found]

    def find(self, run_id: str, *, load_input: bool = False) -> WorkflowStatus:
        """Return the workflow of a run.

        Raises:
            UnknownRunError: there is none of this id.
        """
        with self.typed_errors(run_id):
            found = self.client.list_workflows(workflow_ids=[run_id], load_input=load_input, load_output=True)
        if not found:
            raise UnknownRunError(f"no run {run_id!r} was submitted to {self.journal.place}", run_id)
        return found[0]

    def status_of(self, found: WorkflowStatus) -> QueueStatus:
        """Return the status of a run, by its workflow."""
        status = _STATUS[found.status]
        if status == "failed" and isinstance(self.error_of(found), RunPausedError):
            return "paused" if self.journal.pending(found.workflow_id) else "queued"  # a worker takes it in a moment
        return status

    def error_of(self, found: WorkflowStatus) -> Exception:
        """Return the error with which a run has failed."""
        data = getattr(found.error, "data", None)
        return self.codec.load_error(data) if isinstance(data, str) else found.error or RuntimeError("no error")


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
        status: QueueStatus = "queued"
        seen = time.monotonic()
        for pause in chain(_PAUSES, repeat(_PAUSES[-1])):
            try:
                status, answer = await _beside_loop(self._answer)
                seen = time.monotonic()
                if status == "done":
                    return Message(content="") if answer is None else answer
            except JournalError as error:
                if type(error) is not JournalError or time.monotonic() - seen > _PATIENCE:
                    raise
            left = pause if until is None else until - time.monotonic()
            if left <= 0:
                raise DeadlineExceededError(f"the run {self.id!r} is {status} after {timeout:g} s; it goes on")
            await wait(min(pause, left))
        raise AssertionError

    result = sync_method(result_async)

    def _answer(self) -> tuple[QueueStatus, Message | None]:
        """Return the status of the run, and its answer if it is done.

        Raises:
            Exception: as for `result_async`.
        """
        found = self._queue.find(self.id)
        status = self._queue.status_of(found)
        if status == "cancelled":
            raise RunKilledError(f"the run {self.id!r} was cancelled")
        if status in ("failed", "paused"):
            raise self._queue.error_of(found)
        return status, self._queue.journal.view(self.id).result if status == "done" else None

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
            if self._queue.status_of(self._queue.find(self.id)) == "paused":
                client.rewind_workflow(self.id)  # what has ended cannot be cancelled
            client.cancel_workflow(self.id)


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
        for pause in chain(_PAUSES, repeat(_PAUSES[-1])):
            status = await self._run.status_async()
            new = await _beside_loop(self._read)
            if new or status in _OVER:
                self._after = new[-1].seq if new else self._after
                return new
            await wait(pause)
        raise AssertionError

    def _read(self) -> Sequence[Entry]:
        try:
            return self._queue.journal.entries(self._run.id, self._after)
        except UnknownRunError:  # no worker has taken it yet
            return ()


class Schedule:
    """Runs that are submitted again and again: made by `Journal.submit(…, every=…)`.

    Args:
        queue: the queues of its journal.
        name: its name, with which the ids of its runs begin.
    """

    def __init__(self, queue: RunQueue, name: str) -> None:
        self._queue, self.name = queue, name

    def __repr__(self) -> str:
        return f"Schedule({self.name!r})"

    def cancel(self) -> None:
        """Submit no further runs; those that were submitted stay."""
        with self._queue.typed_errors():
            self._queue.client.delete_schedule(self.name)

    def runs(self) -> list[QueuedRun]:
        """Return the runs that it has submitted, the oldest first."""
        with self._queue.typed_errors():
            found = self._queue.client.list_workflows(
                name=RUN, workflow_id_prefix=f"{self.name}-", load_input=False, load_output=False
            )
        return [QueuedRun(self._queue, each.workflow_id) for each in found]


def _seconds_until(at: datetime) -> float:
    """Return the seconds until a time, at least 0.

    Raises:
        ConfigurationError: it has no time zone.
    """
    if at.tzinfo is None:
        raise ConfigurationError(f"at={at!r} has no time zone: give datetime(…, tzinfo=UTC), or a ZoneInfo")
    return max(0.0, at.timestamp() - time.time())


@contextmanager
def quiet_log() -> Generator[None]:
    """Keep DBOS from adding a handler of its own, which would write to the terminal."""
    import logging

    log = logging.getLogger("dbos")
    if not log.handlers:
        log.addHandler(logging.NullHandler())
    yield


def _digest(asked: str) -> str:
    return digest_of_messages(json.loads(asked))


async def _beside_loop(work: Callable[[], T]) -> T:
    return work() if is_blocking() else await run_in_worker(work)
