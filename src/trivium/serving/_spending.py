"""Tokens and dollars of runs that other programs have written into the journal."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Final

from trivium.events import JSONObject
from trivium.journal import Journal, RunInfo

READ_SECONDS: Final = 0.2
MOST_KNOWN: Final = 10_000


class Spending:
    """What runs of a journal have spent; it is read once for each, and again while it is at work.

    Args:
        journal: the journal.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._known: dict[str, tuple[RunInfo, JSONObject]] = {}

    def of(self, infos: Iterable[RunInfo]) -> dict[str, JSONObject]:
        """Return the `tokens` and `usd` of runs, by their ids.

        Large runs take long to read. After a fifth of a second the rest is left to the next time, when the others are
        known.
        """
        until, found = time.monotonic() + READ_SECONDS, dict[str, JSONObject]()
        for info in infos:
            known = self._known.get(info.id)
            is_new = known is None or known[0] != info or info.status == "running"
            if is_new and time.monotonic() < until:
                known = self._known[info.id] = info, self._read(info.id)
            found[info.id] = {} if known is None else known[1]
        while len(self._known) > MOST_KNOWN:
            del self._known[next(iter(self._known))]
        return found

    def _read(self, run_id: str) -> JSONObject:
        try:
            used = self._journal.outline(run_id).usage().values()
        except Exception:  # one that was deleted meanwhile, or changed by others, spoils no list
            return {}
        return {"tokens": sum(each[0] + each[1] for each in used) or None, "usd": sum(each[2] for each in used)}
