"""Whether a run may begin: the places of a server and what its owners may have and spend."""

from __future__ import annotations

from collections import Counter
from functools import partial
from math import inf
from typing import Final

from trivium.commander import Limits
from trivium.commander.lowlevel import run_in_worker
from trivium.serving._budgets import OwnerBudgets
from trivium.serving._limits import OwnerLimits
from trivium.serving._store import RunRequest, RunStore, is_named
from trivium.serving._wire import Failure

_AGAIN_SECONDS: Final = 5.0
"""When a client may try again that waits for the end of a run, which nobody knows: so seldom that it costs little."""


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
        self._max_sessions, self.budgets = max_sessions, OwnerBudgets(store, owner_limits, limits)
        self.at_work: Counter[str] = Counter()
        """The runs at work, by their owners."""

    def reserve(self, owner: str) -> None:
        """Take one of this server's places of runs at work.

        Raises:
            Failure: all are taken; status 429.
        """
        if self.at_work.total() >= self._most:
            text = f"the server runs as much as it may ({self._most} runs, its max_runs); try again later"
            raise Failure(429, "Overloaded", text, "max_runs", self._most, retry_after=_AGAIN_SECONDS)
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
            raise Failure(429, "TooManyRuns", text, "runs", most, retry_after=_AGAIN_SECONDS)
        if session == request.id or await run_in_worker(partial(self._store.has_session, owner, session)):
            return
        if session.startswith("run_"):
            text = f"there is no session {session[:100]!r}: begin one with a name that does not begin with run_"
            raise Failure(404, "UnknownSession", text)
        if session.startswith("mcp:") and request.protocol != "mcp":
            text = f"{session[:100]!r} is a name for MCP: begin a session with a name that does not begin with mcp:"
            raise Failure(422, "InvalidRequest", text)
        if is_named(session) and await run_in_worker(partial(self._store.count_sessions, owner)) >= self._max_sessions:
            text = (
                f"there are {self._max_sessions} sessions, as many as the server takes (max_sessions): forget some by "
                "DELETE /memory"
            )
            raise Failure(429, "TooManySessions", text, "max_sessions", self._max_sessions, retry_after=inf)
