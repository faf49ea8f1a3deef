"""The journal: one log of all runs in one file."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Hashable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from datetime import datetime
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Self, TypeVar, cast, overload

from trivium.commander.lowlevel import check_option, current, scope_of
from trivium.events import JSONObject
from trivium.exceptions import (
    ArgumentTypeError,
    ConfigurationError,
    NestedRunError,
    UnknownNodeError,
    UnknownRunError,
)
from trivium.journal._approvals import PendingApproval, decisions_on, pending_in
from trivium.journal._blocks import RunBlock
from trivium.journal._codec import Codec
from trivium.journal._detail import MOST_BEFORE, describe_node, read_input
from trivium.journal._digests import Digests
from trivium.journal._fingerprints import Changes
from trivium.journal._outline import RunOutline, outline_of
from trivium.journal._places import run_store_at
from trivium.journal._queues import (
    QueueInfo,
    WaitingRun,
    WorkerInfo,
    has_queues,
    read_queues,
    read_waiting,
    read_workers,
)
from trivium.journal._run import DurableRun
from trivium.journal._seals import Decided, Seal
from trivium.journal._store import Entry, RunInfo, RunStatus, Store, Writing, at_work
from trivium.journal._views import RunView
from trivium.schema.lowlevel import checked

if TYPE_CHECKING:
    from trivium.journal._queue import Named, RunQueue
    from trivium.journal._queued_run import QueuedRun, Schedule

T = TypeVar("T")


class Journal:
    """A log of runs in a file or a database, by which a run that was broken off goes on where it was.

    Give it to a call together with a run id. Each answer of a model and each result of a tool is written down before
    the program goes on. Called again with the same run id, the program runs again from its beginning, and gets what
    was written down in place of asking once more; from the place where it was broken off it really asks. An id never
    stands for two runs: another input under it is an error. A call with the id of a run that goes on elsewhere waits
    for it, no longer than its own `timeout`, and has the same answer.

    Args:
        place: an SQLite file on a disk of this machine, which is created if it does not exist; or the URL of a
            PostgreSQL database, for several machines, as "postgresql://ada@db.example.org/runs" (the extra `postgres`).
        types: classes of results that come back as themselves: pydantic models, dataclasses, named tuples and
            enumerations. Results of other classes come back as dicts or as text, at once and in every attempt. And
            exceptions of yours: others come back as `RecordedError` in later attempts.
        key: a secret of 16 bytes or more: who does not have it can add or change no record unnoticed. All who open the
            journal need it.
        approvers: the public Ed25519 keys, of 32 bytes, of those who may decide on calls that wait, by their names: a
            decision then counts only if it is signed (the extra `signatures`). None: everybody who opens the journal.

    Raises:
        ConfigurationError: the place is neither; or a key is none.
        MissingExtraError: the extra `postgres` is missing.

    Example:
        >>> import tempfile
        >>> from trivium import Agent
        >>> from trivium.testing import ScriptedModel
        >>> with tempfile.TemporaryDirectory() as folder, Journal(f"{folder}/runs.db") as journal:
        ...     first = Agent(ScriptedModel(["hello"]))("hi", run_id="greeting-1", journal=journal)
        ...     again = Agent(ScriptedModel([]))("hi", run_id="greeting-1", journal=journal)  # no model is asked
        ...     print(first.content, again.content, [(run.id, run.status) for run in journal.runs()])
        hello hello [('greeting-1', 'done')]
    """

    @checked
    def __init__(
        self,
        place: str | PathLike[str] | Store,
        *,
        types: Sequence[type] = (),
        key: str | bytes = "",
        approvers: Mapping[str, bytes] | None = None,
    ) -> None:
        self._types, self._codec, self._digests = tuple(types), Codec(*types), Digests()
        self._changes: Changes = "check"
        self._queue: RunQueue | None = None
        self._store = run_store_at(place, Seal(key, approvers))

    def __repr__(self) -> str:
        return f"Journal({self._store.place!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[object, ...]:  # a copy, or one in another process, is of the same place
        return partial(Journal, self._store, types=self._types), (), {"_changes": self._changes}

    @property
    def place(self) -> str:
        """The file, or the URL of the database without its password."""
        return self._store.place

    def attempt(self, run_id: str) -> DurableRun:
        """Return a new attempt of a run, which begins with the first call in whose scope it is.

        Raises:
            ConfigurationError: the id is no text.
            NestedRunError: a run is going on here.
        """
        if not isinstance(run_id, str) or not run_id.strip():  # type: ignore[unnecessary] - users pass anything
            raise ConfigurationError(f"a run id is a text, as 'order-17', not {run_id!r}")
        node = current.get()
        if node is not None and (outer := scope_of(node).journal) is not None:
            raise NestedRunError(
                f"the run {run_id!r} would begin within the run {outer.id!r}: leave its run_id out",
                run_id,
            )
        made = DurableRun(self._store, self._codec, run_id, self._changes, self._digests)
        made.journal = self  # for those who send it to another process
        return made

    def accepting_changes(self) -> Journal:
        """Return this journal, but so that runs go on with agents that were changed since they began.

        Without it, `AgentChangedError` says what was changed: the instruction, the tools, the model or the output. What
        was answered before stays as it was, and the new agent is asked for the rest. The run notes it: further attempts
        need not accept it again. New acts that may be earlier ones are done too (`DivergedError`).
        """
        return self._with("accept")

    def refusing_changes(self) -> Journal:
        """Return this journal, but so that agents that were changed may not use recorded answers either.

        So the result of a run that is done is that of the agent that is given.
        """
        return self._with("refuse")

    def _with(self, changes: Changes) -> Journal:
        made = copy(self)
        made._changes = changes
        return made

    def run(self, run_id: str, name: str = "run") -> RunBlock:
        """Make any code a durable run: `with journal.run("order-17"):`, and `async with` in async code.

        Only what goes through trivium is written down; for other input and output there is `step`. While the run goes
        on elsewhere, `with` blocks its thread and `async with` lets the loop go on.

        Args:
            run_id: the id; the same one goes on with the same run.
            name: the name of the run in the run tree.
        """
        return RunBlock(self.attempt(run_id), name)

    def runs(self, *, session_id: Hashable = None) -> list[RunInfo]:
        """Return the runs, the latest first; of a session, if one is given."""
        runs = self._store.runs()
        if session_id is None:
            return runs
        said = ""  # equal sessions may be written in several ways, such as 1, 1.0 and True, but for a text
        if isinstance(session_id, str):
            said = json.dumps(self._codec.encode(session_id), ensure_ascii=False)
        found = self._store.begun_with("" if session_id == 0 else f'"session": {said}')
        return [each for each in runs if each.id in found and self._session_in(found[each.id]) == session_id]

    def info(self, run_id: str) -> RunInfo:
        """Return one run.

        Raises:
            ArgumentTypeError: the id is no text.
            UnknownRunError: there is none of this id.
        """
        return self._store.runs(check_option("run_id", run_id, str, "a text"))[0]

    def give_up(self, run: RunInfo, why: str, status: RunStatus = "failed") -> None:
        """Note that a run has ended at which nobody is at work; begun again, it goes on where it was.

        Raises:
            RunTakenOverError: it has been begun meanwhile.
        """
        self._store.end(run.id, run.epoch, status, why)

    def entries(self, run_id: str, after: int = 0) -> list[Entry]:
        """Return the records of a run, those after a number.

        Raises:
            UnknownRunError: there is no run of this id.
            JournalDamagedError: a record was changed.
        """
        self.info(run_id)
        return self._store.entries(run_id, after)

    def pending(self, run_id: str | None = None) -> list[PendingApproval]:
        """Return the calls that wait for a decision, of a run or of all; only runs that are paused have some."""
        runs = self.runs() if run_id is None else [self.info(run_id)]
        paused, store = [each.id for each in runs if each.status == "paused"], self._store
        return [each for one in paused for each in pending_in(one, store.entries(one), store.seal)]

    def approve(
        self, run_id: str, digest: str, *, by: str, seconds: float | None = None, key: bytes | None = None
    ) -> None:
        """Approve a call that waits: it runs when the run is resumed, once, with the arguments that were asked about.

        Args:
            run_id: the run.
            digest: the digest of the call, as `pending` shows it.
            by: who decides.
            seconds: how long the decision may be used; None: no limit.
            key: the private Ed25519 key of who decides, where the journal has approvers.

        Raises:
            NoSuchRequestError: nothing of this digest waits.
            DecisionNotValidError: the journal has approvers, and this is not signed by one of them.
            RunTakenOverError: the run has been resumed meanwhile.
        """
        decided = Decided(True, by, "", None if seconds is None else time.time() + seconds)
        self.decide(run_id, {digest: decided if key is None else decided.signed(run_id, digest, key)})

    def refuse(self, run_id: str, digest: str, reason: str = "", *, by: str, key: bytes | None = None) -> None:
        """Refuse a call that waits; the model reads the reason when the run is resumed.

        Args:
            run_id: the run.
            digest: the digest of the call, as `pending` shows it.
            reason: why it does not run.
            by: who decides.
            key: as for `approve`.

        Raises:
            NoSuchRequestError: nothing of this digest waits.
            DecisionNotValidError: the journal has approvers, and this is not signed by one of them.
            RunTakenOverError: the run has been resumed meanwhile.
        """
        decided = Decided(False, by, reason)
        self.decide(run_id, {digest: decided if key is None else decided.signed(run_id, digest, key)})

    def decide(self, run_id: str, decisions: Mapping[str, Decided]) -> None:
        """Decide on several calls that wait, on all of them or on none.

        Args:
            run_id: the run.
            decisions: what is decided, by the digests of the calls.

        Raises:
            NoSuchRequestError: nothing waits of one of the digests.
            DecisionNotValidError: the journal has approvers, and one is not signed by one of them.
            RunTakenOverError: the run has been resumed meanwhile.
        """
        info, entries = self.info(run_id), self.entries(run_id)
        made = decisions_on(info, entries, decisions, self._store.seal)
        self._store.append(run_id, info.epoch, Writing(made), is_durable=True)

    def view(self, run_id: str) -> RunView:
        """Return a run as it is at this moment: its tree, costs and error, and what can be made of it.

        Raises:
            UnknownRunError: there is no run of this id.
            JournalDamagedError: a record was changed.
        """
        info = self.info(run_id)
        return RunView(self, self._store, info, self._store.entries(run_id), self._codec)

    def outline(self, run_id: str) -> RunOutline:
        """Return the nodes of a run in columns: their places, times and status, for trees of any size.

        Unlike `view` it does not check that nobody has changed the records.

        Raises:
            UnknownRunError: there is no run of this id.
        """
        info = self.info(run_id)
        found = outline_of(info.root, info.started, self._store.heads(run_id))
        found.status[0], found.ended[0] = info.root_status, max(found.ended[0], info.ended or 0.0)
        return found

    def inputs(self, run_ids: Sequence[str]) -> dict[str, JSONObject]:
        """Return the inputs of runs, by their ids: `text`, the first message's content, and `session`; JSON values.

        Runs of other code, `with journal.run(…)`, have none, nor has one whose first record is damaged.
        """
        return {run_id: read_input(body) for run_id, body in self._store.first_bodies(run_ids).items()}

    def describe(self, run_id: str, key: str) -> JSONObject:
        """Return a node of a run as JSON values: what it was asked and answered, and what was answered before it.

        Args:
            run_id: the run.
            key: the key of the node, as an outline has it.

        Raises:
            UnknownNodeError: there is none.
        """
        found = self._store.near(run_id, key, MOST_BEFORE)
        if not found:
            raise UnknownNodeError(f"the run {run_id!r} has no records of the node {key!r}", run_id, key)
        return describe_node(key, found, self._codec, self._store.parts)

    def forget(self, run_id: str | Collection[str] | None = None, *, session_id: Hashable = None) -> int:
        """Delete runs and all that is kept of them here, or all runs of a session; forks keep what they have copied.

        Args:
            run_id: the run, or several, which takes little longer: each time costs as much as the journal is long.
            session_id: the session.

        Returns:
            The number of runs that were deleted; 0: there was none.

        Raises:
            ArgumentTypeError: neither is given, or a run's id is no text.
            RunAliveError: one of them is at work, or waits for its turn at a server; none is deleted then.
        """
        wanted = list[str]()
        if run_id is not None or session_id is None:
            several = run_id if isinstance(run_id, Collection) and not isinstance(run_id, str) else [run_id]
            wanted = [check_option("run_id", each, str, "a text, or else session_id=,") for each in several]
        if session_id is not None:
            wanted += [each.id for each in self.runs(session_id=session_id)]
        queued = set[str]()
        if self._has_queues():
            for each in filter(self._is_at_work, wanted):  # as the store does, before its queue forgets it
                raise at_work(each)
            queued = self._queued().forget(wanted)
        return len(self._store.forget(wanted) | queued)

    def sweep(self) -> str:
        """Remove what is left of runs that were forgotten, where other programs were reading at that moment.

        This is tried at each further end of a run and when the journal is closed, too.

        Returns:
            The file in which some of it still stands, as others still read; "" for none. It goes at the latest when all
            have closed the journal. PostgreSQL removes it by itself (`VACUUM`).
        """
        return self._store.sweep()

    def _is_at_work(self, run_id: str) -> bool:
        with suppress(UnknownRunError):
            return self.info(run_id).status == "running"
        return False

    def _session_in(self, begun: str) -> Hashable:
        """Return the session of a run by its first record: a later one that is damaged keeps no other run."""
        return cast("dict[str, Hashable]", self._codec.load(begun)).get("session", 0)

    # ---- runs that workers take
    @overload
    def submit(
        self, program: str | Named, *message: object, run_id: str, queue: str = ..., priority: int = ...,
        at: datetime | None = ..., every: None = ..., timeout: float | None = ...,
    ) -> QueuedRun: ...  # fmt: skip

    @overload
    def submit(
        self, program: str | Named, *message: object, run_id: str, queue: str = ..., every: str,
        timeout: float | None = ...,
    ) -> Schedule: ...  # fmt: skip

    def submit(
        self,
        program: str | Named,
        *message: object,
        run_id: str,
        queue: str = "default",
        priority: int = 0,
        at: datetime | None = None,
        every: str | None = None,
        timeout: float | None = None,
    ) -> QueuedRun | Schedule:
        """Put a run into a queue, from which a worker takes it: `trivium worker`, or a `trivium.workers.Worker`.

        It needs a journal in PostgreSQL and the extra `dbos`. Submitted again with the same messages, a run is
        attached to; one that has failed, or was cancelled, goes on where it was. Each run is a conversation of its own.

        Args:
            program: the name under which workers serve a module, or the module itself, for its name.
            *message: what it is asked: messages, or text of a user.
            run_id: the id of the run; with `every`, what the ids of the runs begin with.
            queue: the queue.
            priority: from 1 on, the smaller one runs first; 0: before all those.
            at: when it may begin, with a time zone.
            every: when one is begun again and again, as cron has it: "0 7 * * *", in UTC.
            timeout: seconds that an attempt may take.

        Returns:
            The run; with `every` the schedule, which exists once: the same name replaces it.

        Raises:
            ArgumentTypeError: the program is neither a name nor a module.
            ConfigurationError: the journal is no PostgreSQL database, or one of these cannot be what it is for.
            MissingExtraError: the extra `dbos` is missing.
            RunInputError: a run of this id was submitted with other messages, or for another program.
        """
        options = {"timeout": timeout}
        if every is not None:
            if priority or at is not None:
                raise ConfigurationError("every= goes with neither at= nor priority=: its runs begin at their times")
            return self._queued().schedule(program, message, run_id, queue, options, every)
        return self._queued().submit(program, message, run_id, queue, options, priority, at)

    def submitted(self, run_id: str) -> QueuedRun:
        """Return a run that was submitted, from any process.

        Raises:
            UnknownRunError: none of this id was.
        """
        return self._queued().run(run_id)

    def scheduled(self, name: str) -> Schedule:
        """Return a schedule by its name, from any process.

        Raises:
            UnknownScheduleError: there is none of this name.
            ConfigurationError: the journal is no PostgreSQL database.
        """
        return self._queued().find_schedule(name)

    def schedules(self) -> list[Schedule]:
        """Return the schedules by name; `cancel` of one deletes it.

        Raises:
            ConfigurationError: the journal is no PostgreSQL database.
        """
        queue = self._queued()
        return queue.schedules() if self._has_queues() else []

    def queues(self) -> list[QueueInfo]:
        """Return the queues and how many runs are in each; the names with "@" have what workers have passed on.

        Raises:
            ConfigurationError: the journal is no PostgreSQL database.
        """
        queue = self._queued()
        return read_queues(queue.connections, queue.schema) if self._has_queues() else []

    def workers(self) -> list[WorkerInfo]:
        """Return the workers that are there, the oldest first.

        Raises:
            ConfigurationError: the journal is no PostgreSQL database.
        """
        return read_workers(self._queued().connections)

    def waiting(self) -> list[WaitingRun]:
        """Return the runs that were submitted and have not begun, also those that were cancelled, the latest first."""
        return read_waiting(self._queued().connections, self._queued().schema) if self._has_queues() else []

    def _has_queues(self) -> bool:
        return "://" in self.place and has_queues(self._queued().connections, self._queued().schema)

    def _queued(self) -> RunQueue:
        if self._queue is None:
            from trivium.journal._queue import RunQueue

            self._queue = RunQueue(self, self._store, self._codec)
        return self._queue

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        if self._queue is not None:
            self._queue.close()
        self._store.close()


def queue_of(journal: Journal) -> RunQueue:
    """Return the queues of a journal, for workers.

    Raises:
        ConfigurationError: the journal is no PostgreSQL database.
    """
    return journal._queued()  # pyright: ignore[reportPrivateUsage] - the same file


def attempt_of(journal: Journal | None, run_id: str | None) -> DurableRun:
    """Return a new attempt of the run that a call's options name.

    Raises:
        ArgumentTypeError: one of the two is missing, or the journal is none.
    """
    if journal is None or run_id is None:
        raise ArgumentTypeError("a durable call takes both run_id='…' and journal=Journal('runs.db')", "journal")
    return check_option("journal", journal, Journal, "Journal('runs.db')").attempt(run_id)
