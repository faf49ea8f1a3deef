"""The records of an attempt: those that wait, and how they are written."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from functools import partial
from typing import NamedTuple

from trivium.commander.lowlevel import driver_neutral
from trivium.exceptions import AgentChangedError, DivergedError, UnknownRunError
from trivium.journal._commits import GroupCommit
from trivium.journal._owners import Caller
from trivium.journal._seals import Seal
from trivium.journal._store import Appending, Entry, Part, RunInfo, RunStatus, Store, Writing


class Records:
    """The records that an attempt writes, all in the order in which they were made; threads may share it.

    Args:
        run_id: the run.
        store: where they are written.

    Attributes:
        epoch: the number of the attempt; 0: it has not begun.
        is_done: whether the run was done before: nothing is added to it.
        last: the last record that is written; None: there is none.
        waiting: records that are written together with the next one.
        chains: what these refer to.
    """

    def __init__(self, run_id: str, store: Store) -> None:
        self.epoch, self.is_done, self.last = 0, False, None
        self.last: Entry | None
        self.waiting = list[Entry]()
        self.chains = list[list[Part]]()
        self._run_id, self._store = run_id, store
        self._before: RunInfo | None = None
        self._commits: GroupCommit[NewRecords] = store.commits or GroupCommit()

    def begin(self, root: str, digest: str, caller: Caller) -> list[Entry]:
        """Begin the attempt, and return the records that there are; see `Store.begin`."""
        with suppress(UnknownRunError):
            self._before = self._store.runs(self._run_id)[0]
        self.epoch, entries, self.is_done = self._store.begin(self._run_id, root, digest, caller)
        return entries

    def end(self, status: RunStatus, why: str, error: BaseException | None = None) -> None:
        """Write what waits, note how the run has ended, and give it back; a run that was done stays as it is.

        Args:
            status: its status.
            why: the error that ended it, on one line.
            error: what ended the attempt. Where the program was changed, a run that had ended stays as it was.
        """
        if self.is_done:
            return
        try:
            is_refused = isinstance(error, AgentChangedError | DivergedError)
            if is_refused and self._before is not None and self._before.ended is not None:
                status, why = self._before.status, self._before.why
            else:
                self.write()
            self._store.end(self._run_id, self.epoch, status, why)
        finally:
            self._store.leave(self._run_id, self.epoch)

    def lock(self) -> AbstractContextManager[object]:
        """Return the lock that is held while something is written."""
        return self._commits.lock()

    def write(self, *entries: Entry) -> None:
        """Write what waits, and then these, all or none; nothing in a run that was done."""
        if self.is_done:
            return
        self._commits.write(NewRecords(self, entries), partial(_write_all, self._store))

    @driver_neutral
    async def write_beside(self, entry: Entry, *, is_durable: bool = False) -> None:
        """Do as `write`, but a loop goes on meanwhile. It is written also if the wait is cancelled.

        Args:
            entry: the record.
            is_durable: as for `Store.append`.
        """
        if self.is_done:
            return
        await self._commits.write_beside(NewRecords(self, (entry,), is_durable), partial(_write_all, self._store))

    def appending(self, new: Sequence[NewRecords]) -> Appending:
        """Return what is written of these, after what waits."""
        written = self.linked(*(entry for each in new for entry in each.entries))
        return Appending(self._run_id, self.epoch, written, any(each.is_durable for each in new))

    def linked(self, *entries: Entry) -> Writing:
        """Return what waits, and then these, with their numbers and links."""
        seal: Seal = self._store.seal
        return Writing(seal.link(self._run_id, [*self.waiting, *entries], self.last), tuple(self.chains))

    def note(self, written: Writing, new: int) -> None:
        """Note that records are written, all but so many of which had waited."""
        self.last = written.entries[-1]
        del self.waiting[: len(written.entries) - new], self.chains[: len(written.chains)]  # other threads add some


class NewRecords(NamedTuple):
    """Records that an attempt writes together.

    Args:
        of: the attempt's.
        entries: the records.
        is_durable: as for `Store.append`.
    """

    of: Records
    entries: Sequence[Entry]
    is_durable: bool = False


def _write_all(store: Store, group: Sequence[NewRecords]) -> dict[int, Exception]:
    """Write the records of several attempts; return the errors of those that may not be written, by their places."""
    by_attempt = defaultdict[Records, list[NewRecords]](list)
    for each in group:
        by_attempt[each.of].append(each)
    made = [(records, new, records.appending(new)) for records, new in by_attempt.items()]
    made = [each for each in made if each[2].written.entries]
    if not made:
        return {}
    errors = store.append_all([appending for *_, appending in made])
    failed = {records: errors[at] for at, (records, *_) in enumerate(made) if at in errors}
    for records, new, appending in made:
        if records not in failed:
            records.note(appending.written, sum(len(each.entries) for each in new))
    return {at: failed[each.of] for at, each in enumerate(group) if each.of in failed}
