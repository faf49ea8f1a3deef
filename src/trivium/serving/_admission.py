"""Whether a run may begin: the places of a server and what its owners may have and spend."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace
from functools import partial

from trivium.commander import Limits
from trivium.commander.lowlevel import run_in_worker
from trivium.serving._conversation import unknown_session
from trivium.serving._limits import OwnerLimits
from trivium.serving._store import DAY_SECONDS, RunRequest, RunStore
from trivium.serving._wire import Failure

__all__ = ["Admission"]


class Admission:
    """The limits of a server, and the runs at work that count.

    Args:
        store: the runs.
        most: runs at once.
        owner_limits: what each owner may have.
        limits: what each run may spend.
        max_sessions: conversations with a name of their own that one owner may have.
    """

    def __init__(
        self, store: RunStore, most: int, owner_limits: OwnerLimits, limits: Limits | None, max_sessions: int
    ) -> None:
        self._store, self._most, self._owner_limits = store, most, owner_limits
        self._limits, self._max_sessions = limits, max_sessions
        self.at_work: Counter[str] = Counter()
        """The runs at work, by their owners."""

    def reserve(self, owner: str) -> None:
        """Take one of this server's places of runs at work.

        Raises:
            Failure: all are taken; status 429.
        """
        if self.at_work.total() >= self._most:
            text = f"the server runs as much as it may ({self._most} runs, its max_runs); try again later"
            raise Failure(429, "Overloaded", text, "max_runs", self._most)
        self.at_work[owner] += 1

    def release(self, owner: str) -> None:
        """Give a place back."""
        self.at_work[owner] -= 1
        self.at_work += Counter()  # without those that have none

    async def check(self, request: RunRequest) -> None:
        """Raise a Failure where the owner has as many runs or conversations as may be, in all servers together."""
        owner, session, most = request.owner, request.session, self._owner_limits.runs
        if most is not None and await run_in_worker(partial(self._store.count_active, owner)) >= most:
            text = f"{most} of your runs are at work, as many as may be: wait until one ends, or cancel one"
            raise Failure(429, "TooManyRuns", text, "runs", most)
        if session == request.id or await run_in_worker(partial(self._store.has_session, owner, session)):
            return
        if session.startswith("run_"):
            raise unknown_session()
        if await run_in_worker(partial(self._store.count_sessions, owner)) >= self._max_sessions:
            text = (
                f"there are {self._max_sessions} sessions, as many as the server takes (max_sessions): forget some by "
                "DELETE /memory"
            )
            raise Failure(429, "TooManySessions", text, "max_sessions", self._max_sessions)

    async def left(self, owner: str) -> Limits | None:
        """Return what a run of an owner may spend.

        Raises:
            Failure: nothing is left for today; status 429.
        """
        most, limits = self._owner_limits, self._limits
        if most.tokens_per_day is None and most.usd_per_day is None:
            return limits
        tokens, usd = await run_in_worker(partial(self._store.spent_since, owner, time.time() - DAY_SECONDS))
        left: dict[str, float] = {}
        for name, limit, spent, of_run in (
            ("tokens", most.tokens_per_day, tokens, limits and limits.tokens),
            ("usd", most.usd_per_day, usd, limits and limits.usd),
        ):
            if limit is not None and spent >= limit:
                text = f"you have used {spent:g} of {limit:g} {name} a day: wait until the oldest runs are a day old"
                raise Failure(429, "SpentForToday", text, f"{name}_per_day", limit)
            if limit is not None:
                left[name] = min(limit - spent, of_run if of_run is not None else limit)
        return replace(limits or Limits(), **left)
