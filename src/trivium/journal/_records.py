"""The records of an attempt: those that wait, and how they are written."""

from __future__ import annotations

from threading import RLock

from trivium.journal._seals import Seal
from trivium.journal._store import Entry, Part, Store, Writing

__all__ = ["Records"]


class Records:
    """The records that an attempt writes, all in the order in which they were made; threads may share it.

    Args:
        run_id: the run.
        store: where they are written.

    Attributes:
        epoch: the number of the attempt; 0: it has not begun.
        last: the last record that is written; None: there is none.
        waiting: records that are written together with the next one.
        chains: what these refer to.
        lock: held while something is written.
    """

    def __init__(self, run_id: str, store: Store) -> None:
        self.epoch, self.last = 0, None
        self.last: Entry | None
        self.waiting = list[Entry]()
        self.chains = list[list[Part]]()
        self.lock = RLock()
        self._run_id, self._store = run_id, store

    def write(self, *entries: Entry, is_durable: bool = False) -> None:
        """Write what waits, and then these, all or none."""
        with self.lock:
            written = self.linked(*entries)
            if written.entries:
                self._store.append(self._run_id, self.epoch, written, is_durable=is_durable)
                self.note(written, len(entries))

    def linked(self, *entries: Entry) -> Writing:
        """Return what waits, and then these, with their numbers and links."""
        seal: Seal = self._store.seal
        return Writing(seal.link(self._run_id, [*self.waiting, *entries], self.last), tuple(self.chains))

    def note(self, written: Writing, new: int) -> None:
        """Note that records are written, all but so many of which had waited."""
        self.last = written.entries[-1]
        del self.waiting[: len(written.entries) - new], self.chains[: len(written.chains)]  # other threads add some
