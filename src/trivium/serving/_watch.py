"""Runs that are looked at here while another server is at work on them, or nobody."""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from functools import partial
from typing import Final

from trivium.commander.lowlevel import run_in_worker
from trivium.exceptions import JournalError
from trivium.serving._served_run import ServedRun
from trivium.serving._store import RunStore
from trivium.serving._tasks import News

PACE, SLOW_PACE = 0.1, 1.0
"""Seconds between two looks: at runs that are at work, and at those that wait for a decision."""
SPARE_SECONDS: Final = 5.0
"""For how long a run is known that nobody follows."""
DELETED: Final = "its records were deleted from the journal"
_log = logging.getLogger("trivium.serve")


class Watch:
    """The runs of clients that this server is not at work on; nothing is read while nobody follows one.

    Args:
        store: the runs.
    """

    def __init__(self, store: RunStore) -> None:
        self._store = store
        self._runs: dict[str, tuple[ServedRun, float]] = {}
        self._news = News()

    def find(self, run_id: str) -> ServedRun | None:
        """Return a run; None: nobody has looked at it for a while."""
        known = self._runs.get(run_id)
        return None if known is None else known[0]

    def add(self, run: ServedRun) -> None:
        """Look at a run as long as somebody follows it."""
        self._runs[run.id] = run, time.monotonic()
        self._news.announce()

    def remove(self, run: ServedRun) -> None:
        """Look no longer at a run: this server is at work on it."""
        self._runs.pop(run.id, None)

    @property
    def runs(self) -> list[ServedRun]:
        """The runs."""
        return [run for run, _ in self._runs.values()]

    async def refresh(self, run: ServedRun) -> bool:
        """Read how far a run is; another server may have gone on with it. Return whether it is there still."""
        await run.log.written()
        request, events = await run_in_worker(partial(self._store.look, run.id, len(run.log.events)))
        if request is None and not run.log.is_over:
            run.request = replace(run.request, state="cancelled", ended=time.time())
            event = {"seq": len(run.log.events) + 1, "kind": "cancelled", "time": run.request.ended, "why": DELETED}
            run.log.catch_up([event])
        elif request is not None and run.work is None:  # else this server has begun to work on it meanwhile
            run.request = request
            run.log.catch_up(events)
        return request is not None

    async def watch(self) -> None:
        """Again and again, read what has come of the runs that are followed."""
        while True:
            await self._news.wait(self._pace())
            try:
                for run in self.runs:
                    if run.log.is_followed and not run.log.is_over:
                        await self.refresh(run)
            except JournalError:
                _log.exception("events of other servers' runs cannot be read; tried again")
            since = time.monotonic() - SPARE_SECONDS
            for run, found in [*self._runs.values()]:
                if (found < since and not run.log.is_followed) or run.log.is_over:
                    self.remove(run)

    def _pace(self) -> float | None:
        if not self._runs:
            return None
        return PACE if any(run.request.is_active for run in self.runs) else SLOW_PACE
