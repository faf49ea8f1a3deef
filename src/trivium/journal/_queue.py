"""Runs that wait in a queue for a worker: for each one workflow of DBOS, in the database of the journal."""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import cached_property
from numbers import Real
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar, cast, runtime_checkable

from trivium.commander import current
from trivium.commander.lowlevel import check_option, sources_above
from trivium.exceptions import (
    ConfigurationError,
    MissingExtraError,
    RunInputError,
    RunPausedError,
    RunTakenOverError,
    UnknownRunError,
    UnknownScheduleError,
)
from trivium.journal._codec import Codec, digest_of_messages
from trivium.journal._postgres import PostgresRunStore
from trivium.journal._queued_run import RUN, QueuedRun, QueueStatus, Schedule, is_of_schedule, next_time
from trivium.journal._queues import has_queues, missing_worker
from trivium.journal._store import VERSION, Store
from trivium.schema import Message
from trivium.schema.lowlevel import check_content

if TYPE_CHECKING:
    from dbos import ClientScheduleInput, DBOSClient, EnqueueOptions, WorkflowSchedule, WorkflowStatus

    from trivium.journal._journal import Journal

T = TypeVar("T")
APPLICATION: Final = "trivium"
SCHEDULED: Final = "trivium.scheduled"
_BEGUN: Final = "sched-"
"""The beginning of the id of the workflow by which a schedule has submitted a run, before that of the run."""
RECORDS: Final = f"records-{VERSION}"
"""The version by which DBOS gives workflows to workers: that of the records, so that a release strands none."""

_LONGEST: Final = 500
"""The most characters of a name: an index of PostgreSQL has no room for three thousand bytes."""

_STATUS: Final[Mapping[str, QueueStatus]] = {
    "DELAYED": "scheduled", "ENQUEUED": "queued", "PENDING": "running", "SUCCESS": "done", "ERROR": "failed",
    "CANCELLED": "cancelled", "MAX_RECOVERY_ATTEMPTS_EXCEEDED": "failed",
}  # fmt: skip


@runtime_checkable
class Named(Protocol):
    """A module, for its name."""

    name: str

    def state_dict(self) -> Mapping[str, object]: ...


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
        self._lock, self._pid = Lock(), os.getpid()

    @property
    def url(self) -> str:
        """The URL of the database for DBOS, with its password."""
        import sqlalchemy

        given = {name: str(value) for name, value in self.connections.parameters.items()}
        host = given.get("host", "")
        is_one = host and "/" not in host and "," not in host
        port = given.pop("port", None) if is_one else None
        url = sqlalchemy.URL.create(
            "postgresql",
            username=given.pop("user", None),
            password=given.pop("password", None),
            host=given.pop("host") if is_one else None,
            port=int(port) if port else None,
            database=given.pop("dbname", None) or "postgres",
            query=given,
        )
        return url.render_as_string(hide_password=False)

    @cached_property
    def schema(self) -> str:
        """The schema of DBOS's tables, which is named after that of the journal."""
        with self.connections.use() as connection:
            row = connection.execute("SELECT current_schema()").fetchone()
        return f"trivium_{row[0] if row else 'public'}"

    @property
    def client(self) -> DBOSClient:
        """The client, made with the tables at the first use; a child process makes its own."""
        if self._pid != os.getpid():  # a new child has one thread; the lock may have been held at the fork
            self._lock, self._pid, self._client = Lock(), os.getpid(), None
        with self._lock:
            self._client = self._client or self._made_client()
            return self._client

    def _made_client(self) -> DBOSClient:
        try:
            from dbos import DBOS, DBOSClient, DBOSPortableJSONSerializer
        except ImportError:
            raise MissingExtraError("dbos", "dbos") from None
        is_made = has_queues(self.connections, self.schema)
        with quiet_log(), self.typed_errors():
            if not is_made:
                DBOS.migrate(self.url, schema=self.schema)
            return DBOSClient(
                system_database_url=self.url,
                dbos_system_schema=self.schema,
                serializer=DBOSPortableJSONSerializer(),
                application_name=APPLICATION,
                retry_connection_errors=False,
            )

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
        self, program: str | Named, messages: Sequence[object], run_id: str, queue: str, options: Mapping[str, Any],
        priority: int, at: datetime | None,
    ) -> QueuedRun:  # fmt: skip
        """Put a run into a queue; see `Journal.submit`."""
        served = _check_asked(program, run_id, queue, options)
        if not 0 <= (wanted := whole("priority", priority)) < 2**31:
            raise ConfigurationError(f"priority={priority!r} is none: give a whole number from 0 to {2**31 - 1}")
        given: dict[str, Any] = {} if not wanted else {"priority": wanted}
        if at is not None:
            given["delay_seconds"] = _seconds_until(at)
        self.put(served, self._asked(messages), run_id, queue, options, **given)
        return QueuedRun(self, run_id)

    def schedule(
        self, program: str | Named, messages: Sequence[object], name: str, queue: str, options: Mapping[str, Any],
        every: str,
    ) -> Schedule:  # fmt: skip
        """Submit runs again and again; see `Journal.submit`.

        Raises:
            ArgumentTypeError: `every` is no text.
            ConfigurationError: `every` is no cron expression, or one whose time never comes.
        """
        next_time(check_option("every", every, str, "text such as '0 7 * * *'"))
        served = _check_asked(program, name, queue, options)
        asked = self._asked(messages)
        context = {"name": name, "program": served, "asked": asked, "queue": queue, "options": dict(options)}
        wanted: ClientScheduleInput = {
            "schedule_name": name, "workflow_name": SCHEDULED, "schedule": every, "context": context
        }  # fmt: skip
        with self.typed_errors():
            self.client.apply_schedules([wanted])
        return Schedule(self, name, served, queue, every)

    def schedules(self) -> list[Schedule]:
        """Return the schedules by name."""
        with self.typed_errors():
            found = self.client.list_schedules(workflow_name=SCHEDULED)
        return [self._schedule(each) for each in sorted(found, key=lambda each: each["schedule_name"])]

    def find_schedule(self, name: str) -> Schedule:
        """Return the schedule of a name.

        Raises:
            UnknownScheduleError: there is none.
        """
        with self.typed_errors():
            found = self.client.get_schedule(name)
        if found is None:
            told = f"{self.journal.place} has no schedule {name!r}: `trivium schedules` lists those that it has"
            raise UnknownScheduleError(told)
        return self._schedule(found)

    def _schedule(self, found: WorkflowSchedule) -> Schedule:
        asked = found["context"]
        return Schedule(self, found["schedule_name"], asked["program"], asked["queue"], found["schedule"])

    def _asked(self, messages: Sequence[object]) -> str:
        given = [each if isinstance(each, Message) else Message(content=check_content(each)) for each in messages]
        read = sources_above(current.get())  # as in a call: what is said within a run may repeat what it has read
        return self.codec.dump([each.replace(sources=each.sources or read or None) for each in given])

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
        before = _given(found)
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
        """Put a run that a worker was at work on, or that is paused, into a queue.

        One that is done, or was cancelled, stays as it is.
        """
        with self.typed_errors(run_id):
            status = self.find(run_id).status
            if status == "ERROR":
                self.client.rewind_workflow(run_id, queue_name=queue)
            elif status != "CANCELLED":
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

    def end_cancelled(self, run_id: str) -> None:
        """Note the end of a run that was cancelled, where no worker is at work on it, which would do so itself."""
        with suppress(UnknownRunError, RunTakenOverError):  # it has not begun, or a worker has just taken it
            run = self.journal.info(run_id)
            if run.status in ("paused", "killed"):
                self.journal.give_up(run, "RunKilledError: it was cancelled", "stopped")

    def forget(self, run_ids: Sequence[str]) -> set[str]:
        """Delete what is known of runs, and what has submitted them; return those that were submitted."""
        if not run_ids:  # no filter for DBOS, which would find every run
            return set()
        begun = [f"{_BEGUN}{each}" for each in run_ids]
        with self.typed_errors():
            found = [
                each.workflow_id
                for name, ids in ((RUN, run_ids), (SCHEDULED, begun))
                for each in self.client.list_workflows(
                    name=name, workflow_ids=[*ids], load_input=False, load_output=False
                )
            ]
            self.client.delete_workflows(found)
        return {*run_ids}.intersection(found)

    def cancel_schedule(self, name: str) -> None:
        """Submit no further runs of a schedule, and delete what was needed only to submit those that there are."""
        with self.typed_errors():
            self.client.delete_schedule(name)
            begun = self.client.list_workflows(
                name=SCHEDULED, status="SUCCESS", workflow_id_prefix=f"{_BEGUN}{name}-", load_input=False,
                load_output=False,
            )  # fmt: skip
            ids = [each.workflow_id for each in begun]
            self.client.delete_workflows([each for each in ids if is_of_schedule(each.removeprefix(_BEGUN), name)])

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

    def missing_worker(self, run_id: str) -> str:
        """Return which worker a run that is queued waits for that is not there; "" for none."""
        found = self.find(run_id, load_input=True)
        return missing_worker(self.connections, _given(found)[0], found.queue_name or "")

    def status_of(self, found: WorkflowStatus) -> QueueStatus:
        """Return the status of a run, by its workflow."""
        status = _STATUS[found.status]
        if self.is_paused(found):
            return "paused" if self.journal.pending(found.workflow_id) else "queued"  # a worker takes it in a moment
        return status

    def is_paused(self, found: WorkflowStatus) -> bool:
        """Return whether a run has paused, by its workflow: it waits for a decision, or one has just been made."""
        return _STATUS[found.status] == "failed" and isinstance(self.error_of(found), RunPausedError)

    def error_of(self, found: WorkflowStatus) -> Exception:
        """Return the error with which a run has failed."""
        told = getattr(found.error, "data", None)
        return self.codec.load_error(told) if isinstance(told, str) else found.error or RuntimeError("no error")


def _given(found: WorkflowStatus) -> Sequence[str]:
    """Return the program of a run and the JSON of its messages, by its workflow with its input."""
    return (found.input or {"args": ("", "[]")})["args"]


def _seconds_until(at: datetime) -> float:
    """Return the seconds until a time, at least 0.

    Raises:
        ArgumentTypeError: it is none.
        ConfigurationError: it has no time zone.
    """
    check_option("at", at, datetime, "datetime(…, tzinfo=UTC)")
    if at.tzinfo is None:
        raise ConfigurationError(f"at={at!r} has no time zone: give datetime(…, tzinfo=UTC), or a ZoneInfo")
    return max(0.0, at.timestamp() - time.time())


def _check_asked(program: str | Named, run_id: str, queue: str, options: Mapping[str, Any]) -> str:
    """Check what a run is submitted with, and return the name under which workers serve its program.

    Raises:
        ArgumentTypeError: the program is neither a name nor a module.
        ConfigurationError: one of these cannot be what it is for.
    """
    said = "the name under which workers serve an agent, a task or another module, or the module itself,"
    kinds = str if isinstance(program, type) else str | Named  # the class of a module has all that a module has
    given = check_option("program", program, kinds, said)
    served = given if isinstance(given, str) else given.name
    _check_name("program", served)
    _check_name("run", run_id)
    check_queue(queue)
    timeout = options["timeout"]
    if timeout is not None and not (isinstance(timeout, int | float) and 0 < timeout < math.inf):
        raise ConfigurationError(f"timeout={timeout!r} is none: give seconds above 0, or None for no limit")
    return served


def check_queue(name: str) -> None:
    """Check the name of a queue; those with "@" have what workers have passed on.

    Raises:
        ConfigurationError: it cannot be one.
    """
    _check_name("queue", name)
    if "@" in name:
        raise ConfigurationError(f"the queue {name!r} has an '@', which is for runs that workers pass on: leave it out")


def _check_name(kind: str, name: object) -> None:
    """Check that a name can stand in the tables, where one that cannot be read would be in everybody's way.

    Raises:
        ConfigurationError: it cannot.
    """
    if not isinstance(name, str) or not name.strip() or "\0" in name or name != name.encode(errors="replace").decode():
        raise ConfigurationError(f"{name!r} cannot be the name of a {kind}: give text, without NUL characters")
    if len(name) > _LONGEST:
        raise ConfigurationError(
            f"the name of a {kind} has {len(name):,} characters, as {name[:20]!r}…: give it at most {_LONGEST}"
        )


def whole(name: str, value: float, taker: str = "a call") -> int:
    """Return a whole number of any type, such as 4.0 or one of NumPy, as Python's.

    Raises:
        ArgumentTypeError: it is none; the text names it, and who takes it.
    """
    is_whole = isinstance(value, Real) and value % 1 == 0  # type: ignore[unnecessary] - users pass anything
    return check_option(name, int(value) if is_whole else value, int, "a whole number", taker)


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
