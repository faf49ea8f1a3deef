"""A worker: takes runs from the queues of a journal until it is stopped."""

from __future__ import annotations

import logging
import math
import os
import platform
import time
from asyncio import CancelledError
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from trivium.commander.lowlevel import (
    CallNode,
    ThreadEvent,
    check_option,
    drive,
    is_cancelled,
    run_in_worker,
    submit,
    wait,
)
from trivium.events import exception_line
from trivium.exceptions import (
    AgentChangedError,
    ConfigurationError,
    JournalError,
    RecordedError,
    RunKilledError,
    RunPausedError,
    RunTakenOverError,
    UnknownRunError,
)
from trivium.journal import Journal, ask_later
from trivium.journal.lowlevel import (
    APPLICATION,
    ATTEMPTS,
    RECORDS,
    RUN,
    SCHEDULED,
    check_queue,
    hold_back,
    queue_of,
    quiet_log,
    whole,
)
from trivium.module import Module
from trivium.serving.lowlevel import check_unattended
from trivium.workers._agents import fingerprints_of
from trivium.workers._presence import Presence
from trivium.workers._tasks import spare_dbos

if TYPE_CHECKING:
    from collections.abc import Generator

    from dbos import DBOSConfig

_log = logging.getLogger("trivium.worker")
_TAKER: Final = "a worker"
_TICK: Final = 0.5
"""Seconds between looks at the other workers, and at the runs that were cancelled."""
_RETRY: Final = 1.0
"""Seconds until a run is tried again whose journal could not be written."""
LAST_SECONDS: Final = 2.0
"""Seconds after the grace until a worker ends all the same: a sync tool that is left has a thread, which goes on."""
_PASSED_ON: Final = 2.0
"""Seconds between looks at the runs that other workers have passed on: there are few."""


class Worker:
    """Takes runs from the queues of a journal, several at once; one in a process.

    Any number of workers, on any machines, share the queues of a database. One that is killed, or whose machine is
    lost, leaves nothing behind: the others go on with its runs where they were. A run whose agents are others here than
    when it began is passed on to a worker that has them.

    Args:
        served: a module, or several by the names under which runs are submitted for them.
        journal: the journal, in PostgreSQL.
        queues: the queues; in a dict each with the most runs of it at once in all workers together, None: no limit.
        at_once: the most runs of a queue at once here.
        poll: seconds between looks at a queue.
        grace: seconds that runs have to end when the worker stops; then they are given to others.
        attempts: how often in a row a run may be the end of its worker without getting further; then it fails with a
            `WorkerLostError`, and is tried once more where it is submitted again.

    Raises:
        ArgumentTypeError: one of these is of another type.
        ConfigurationError: the journal is no PostgreSQL database, there is nothing to serve, a task would ask its user,
            or a number is none.
    """

    def __init__(
        self,
        served: Module | Mapping[str, Module],
        journal: Journal,
        *,
        queues: Sequence[str] | Mapping[str, int | None] = ("default",),
        at_once: int = 16,
        poll: float = 0.2,
        grace: float = 5.0,
        attempts: int = ATTEMPTS,
    ) -> None:
        for each in served.values() if isinstance(served, Mapping) else [served]:
            check_unattended(each)
        self.served = dict(served) if isinstance(served, Mapping) else {served.name: served}
        check_option("queues", queues, Iterable, "names of queues", _TAKER)
        named = [queues] if isinstance(queues, str) else queues
        limits = named if isinstance(named, Mapping) else dict.fromkeys(named)
        self.queues = {
            name: None if most is None else whole(f"queues[{name!r}]", most, _TAKER) for name, most in limits.items()
        }
        if not self.served or not self.queues:
            raise ConfigurationError("a worker serves modules from queues: give it at least one of each")
        self._at_once, self._attempts = whole("at_once", at_once, _TAKER), whole("attempts", attempts, _TAKER)
        _check(self.queues, self._at_once, poll, grace, self._attempts)
        self.journal = check_option("journal", journal, Journal, "Journal('postgresql://…')", _TAKER)
        self.id = f"{platform.node()}-{os.getpid()}-{uuid4().hex[:8]}"
        self._queue, self._poll, self._grace = queue_of(journal), poll, grace
        self._runs: dict[CallNode, str] = {}
        self._cancelled: set[str] = set()
        self._is_stopping, self._missed = False, set[str]()  # no event: a signal may come while its lock is held
        self._workflows: tuple[object, ...] = ()

    def __repr__(self) -> str:
        return f"Worker({', '.join(self.served)}, {self.journal.place!r})"

    @property
    def runs(self) -> list[str]:
        """The ids of the runs that it is at work on."""
        return [*self._runs.values()]

    def stop(self) -> None:
        """Take no further runs, and end; from any thread or signal handler. It ends within a moment."""
        self._is_stopping = True

    def run(self, ready: Callable[[], object] = bool) -> None:
        """Work until `stop`, and until the runs at work have ended, at most two seconds longer than the grace.

        A run that a sync tool holds up longer is left at work in its thread, and in `runs`: another worker takes it
        once this process has ended.

        Args:
            ready: called when it takes runs.

        Raises:
            JournalError: the database cannot be reached when it begins; later it is waited for.
            ConfigurationError: there is a worker in this process already.
        """
        abilities = {*self.served}.union(*map(fingerprints_of, self.served.values()))
        polls = dict.fromkeys(self.queues, self._poll)
        polls.update({f"{name}@{each}": max(self._poll, _PASSED_ON) for name in self.queues for each in abilities})
        presence = Presence(self._queue, self.id, (platform.node(), os.getpid(), [*polls], time.time()))
        presence.hold()
        try:
            with self._taking(polls):
                ready()
                while not self._is_stopping:
                    try:
                        self._look_after(presence)
                    except JournalError as error:
                        _log.warning("%s", error)
                    drive(wait(_TICK))
        finally:
            presence.leave()

    @contextmanager
    def _taking(self, polls: Mapping[str, float]) -> Generator[None]:
        """Take runs from these queues as long as the block runs; then let those end that are at work."""
        from dbos import DBOS
        from dbos import error as errors

        with quiet_log(), self._queue.typed_errors():
            for name, poll in polls.items():
                most = self.queues[name.partition("@")[0]]
                here = self._at_once if most is None else min(most, self._at_once)
                self._queue.client.register_queue(
                    name, global_concurrency=most, worker_concurrency=here, polling_interval_sec=poll
                )
            DBOS(config=self._config())
            try:
                DBOS.listen_queues([*polls])
            except errors.DBOSException:
                raise ConfigurationError(
                    "this process has a worker already, or uses DBOS itself: begin the worker in a process of its own"
                ) from None
            try:
                self._register()
                DBOS.launch()
            except BaseException:
                DBOS.destroy(destroy_registry=True)
                raise
        try:
            yield
        finally:
            over = ThreadEvent()
            submit(partial(self._stop_all, over))
            submit(partial(self._end, over))
            drive(wait(self._grace + LAST_SECONDS, over))
            if not self._runs:  # what is left is a moment's work of DBOS
                drive(wait(event=over))

    def _end(self, over: ThreadEvent) -> None:
        """Wait for the end of the runs, a second longer than the grace; then cancel those that are left."""
        from dbos import DBOS

        try:
            seconds = math.ceil(self._grace) + 1 if self._runs else 0
            DBOS.destroy(destroy_registry=True, workflow_completion_timeout_sec=seconds)
        finally:
            over.set()

    def _stop_all(self, over: ThreadEvent) -> None:
        """Stop the runs that have not ended after the grace, again and again, for some may just have begun."""
        pause = self._grace
        while not over.is_set():
            drive(wait(pause, over))
            pause = _TICK
            for node in [*self._runs]:
                node.kill("its worker stops")

    def _config(self) -> DBOSConfig:
        from dbos import DBOSPortableJSONSerializer

        return {
            "name": APPLICATION, "system_database_url": self._queue.url, "dbos_system_schema": self._queue.schema,
            "application_version": RECORDS, "executor_id": self.id, "log_level": "CRITICAL", "sys_db_pool_size": 5,
            "scheduler_polling_interval_sec": 1.0, "serializer": DBOSPortableJSONSerializer(),
        }  # fmt: skip

    def _register(self) -> None:
        """Tell DBOS the workflows, which are functions."""
        from dbos import DBOS, WorkflowSerializationFormat

        @DBOS.workflow(name=RUN, max_recovery_attempts=None, serialization_type=WorkflowSerializationFormat.PORTABLE)
        async def work(program: str, asked: str, options: dict[str, Any], queue: str) -> None:
            assert DBOS.workflow_id is not None
            await spare_dbos(self._work(DBOS.workflow_id, program, asked, options, queue))

        @DBOS.workflow(name=SCHEDULED, max_recovery_attempts=None)
        async def begin(at: datetime, given: dict[str, Any]) -> None:
            await run_in_worker(partial(self._queue.put, run_id=f"{given.pop('name')}-{at.isoformat()}", **given))

        self._workflows = (work, begin)

    # ---- one run
    async def _work(self, run_id: str, program: str, asked: str, options: Mapping[str, Any], queue: str) -> None:
        """Work on a run: the workflow of DBOS. The journal has the answer.

        A run that goes on elsewhere ends here as cancelled, so that DBOS notes nothing of it.

        Raises:
            CancelledError: the run was cancelled, or given to others.
            PortableWorkflowError: it has failed, or waits for a decision.
        """
        from dbos import PortableWorkflowError

        if program not in self.served:
            await self._give(run_id, f"{queue}@{program}")
        try:
            await self._call(self.served[program], run_id, asked, options)
        except AgentChangedError as error:
            await self._give(run_id, f"{queue}@{error.recorded}")
        except BaseException as error:  # whatever it is, DBOS would note nothing of it: the run would stay "running"
            if isinstance(error, CancelledError) and is_cancelled(None):
                raise
            if isinstance(error, RunKilledError):
                if run_id in self._cancelled:
                    raise CancelledError from None
                if self._is_stopping:
                    await self._give(run_id, queue)
            if type(error) in (JournalError, RunTakenOverError):  # the database, or another attempt: both pass
                await wait(_RETRY)
                await self._give(run_id, queue)
            if not isinstance(error, RunPausedError):
                _log.error("the run %s failed", run_id, exc_info=error)
            elif await self._was_cancelled(run_id):
                raise CancelledError from None
            line, kind = exception_line(error), type(error).__name__
            known = error if isinstance(error, Exception) else RecordedError(line, kind)  # "3" is not all of an exit
            raise PortableWorkflowError(line, kind, None, self._queue.codec.dump_error(known)) from None
        finally:
            self._cancelled.discard(run_id)

    async def _call(self, module: Module, run_id: str, asked: str, options: Mapping[str, Any]) -> None:
        """Call a module; each run is a conversation of its own, of which only the journal remembers anything."""
        messages, approve = self._queue.codec.load(asked), module.approve or ask_later
        with CallNode("worker", None) as node:
            self._runs[node] = run_id
            try:
                await hold_back(self.journal, run_id, self._attempts)
                await module.acall(
                    *messages, session_id=run_id, run_id=run_id, journal=self.journal, approve=approve, **options
                )
                if (await run_in_worker(partial(self.journal.info, run_id))).status == "paused":  # it has caught that
                    told = f"decide by journal.approve(…), journal.refuse(…) or `trivium approve {run_id}`"
                    raise RunPausedError(f"the run {run_id!r} waits for a decision: {told}", run_id=run_id)
            finally:
                del self._runs[node]
                module.reset(run_id, recursive=True)

    async def _was_cancelled(self, run_id: str) -> bool:
        """Return whether a run was cancelled in the moment before it paused, and if so note its end."""
        with suppress(JournalError):
            if await run_in_worker(partial(self._queue.cancelled, [run_id])):
                await run_in_worker(partial(self._queue.end_cancelled, run_id))
                return True
        return False

    async def _give(self, run_id: str, queue: str) -> None:
        """Put a run into a queue, from which another worker takes it; wait for the database, if need be.

        Raises:
            CancelledError: always: it ends here.
        """
        while True:
            try:
                await run_in_worker(partial(self._queue.requeue, run_id, queue))
            except UnknownRunError:  # it was forgotten meanwhile
                raise CancelledError from None
            except JournalError:
                await wait(_RETRY)
            else:
                raise CancelledError

    # ---- the others
    def _look_after(self, presence: Presence) -> None:
        """Stop the runs that were cancelled; if this worker leads, give those of workers that are gone to others.

        Raises:
            JournalError: the database cannot be reached.
        """
        presence.hold()
        self._stop_cancelled()
        if not presence.is_leader:
            return
        gone = presence.absent()
        dead, self._missed = gone & self._missed, gone - self._missed
        if dead:
            self._queue.requeue_of(dead)
            presence.forget(dead)
        for run_id, queue in presence.decided():
            self._queue.requeue(run_id, queue)

    def _stop_cancelled(self) -> None:
        nodes = {run_id: node for node, run_id in [*self._runs.items()]}
        for run_id in self._queue.cancelled(nodes):
            self._cancelled.add(run_id)
            nodes[run_id].kill("it was cancelled")


def _check(queues: Mapping[str, int | None], at_once: int, poll: float, grace: float, attempts: int) -> None:
    """Check the numbers of a worker.

    Raises:
        ArgumentTypeError: the seconds are no numbers.
        ConfigurationError: one of them is none with which it would work.
    """
    for name, most in queues.items():
        check_queue(name)
        if most is not None and most < 1:
            raise ConfigurationError(
                f"the queue {name} has {most!r} runs at once: give at least 1, or None for no limit"
            )
    if at_once < 1:
        raise ConfigurationError(f"at_once={at_once!r} takes no runs: give a whole number, at least 1")
    if attempts < 1:
        raise ConfigurationError(f"attempts={attempts!r} tries no run: give a whole number, at least 1")
    for name, seconds in (("poll", poll), ("grace", grace)):
        check_option(name, seconds, Real, "seconds", _TAKER)
    if not (0 < poll < math.inf and 0 <= grace < math.inf):
        raise ConfigurationError(f"poll={poll!r} and grace={grace!r} are seconds: give poll above 0, grace at least 0")
