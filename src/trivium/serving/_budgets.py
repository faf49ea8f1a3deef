"""What the owners of a server's runs may spend a day: all runs of an owner share it."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable
from functools import partial
from math import inf

from trivium.commander import Budget, Limits
from trivium.commander.lowlevel import TaskNode, change_scope, run_in_worker
from trivium.exceptions import LimitExceededError
from trivium.serving._limits import OwnerLimits
from trivium.serving._store import DAY_SECONDS, RunStore
from trivium.serving._wire import Failure


class OwnerBudgets:
    """The budgets of owners, in which each model call of their runs counts before it is made.

    So runs that are at work at once cannot each spend what is left.

    Args:
        store: the runs.
        most: what each owner may spend.
        of_run: what each run may spend; None: no limit.
    """

    def __init__(self, store: RunStore, most: OwnerLimits, of_run: Limits | None) -> None:
        self._store, self._of_run = store, of_run
        both = {"tokens": most.tokens_per_day, "usd": most.usd_per_day}
        self._limits = {name: limit for name, limit in both.items() if limit is not None}
        daily = Limits(tokens=most.tokens_per_day, usd=most.usd_per_day)
        self._of_owner = defaultdict[str, Budget](partial(Budget, daily))
        self._at_work = defaultdict[str, dict[str, Budget]](dict)

    async def check(self, owner: str) -> None:
        """Raise a Failure of status 429 where an owner has nothing left for today."""
        if not self._limits:
            return
        now = time.time()
        tokens, usd = await run_in_worker(partial(self._store.spent_since, owner, now - DAY_SECONDS))
        spent = {"tokens": tokens, "usd": usd}
        for name, limit in self._limits.items():
            if spent[name] >= limit:
                ends = await run_in_worker(partial(self._store.spent_at, owner, now - DAY_SECONDS, name))
                raise _spent(name, limit, _first_below(limit, spent[name], ends) - now + DAY_SECONDS)

    async def begin(self, owner: str, run_id: str, node: TaskNode) -> None:
        """Limit what a run spends, from its node down; what it had spent before counts as it is repeated."""
        if self._limits:
            budget = self._at_work[owner][run_id] = Budget(Limits(), self._of_owner[owner])
            change_scope(node, budget=budget)
            await self.refresh(owner)
        change_scope(node, limits=self._of_run)

    async def refresh(self, owner: str) -> None:
        """Count what the owner's other runs have spent, those of other servers too."""
        runs = dict[str, Budget]()
        while self._limits and runs.keys() != self._at_work[owner].keys():
            runs = dict(self._at_work[owner])
            since = time.time() - DAY_SECONDS
            tokens, usd = await run_in_worker(partial(self._store.spent_since, owner, since, runs))
            budget = self._of_owner[owner]
            budget.tokens = tokens + sum(each.tokens for each in runs.values())
            budget.usd = usd + sum(each.usd for each in runs.values())

    def end(self, owner: str, run_id: str) -> None:
        """Forget a run that has stopped: the store has what it has spent."""
        self._at_work[owner].pop(run_id, None)
        if not self._at_work[owner]:
            del self._at_work[owner]
            self._of_owner.pop(owner, None)

    def failure(self, error: BaseException) -> Failure | None:
        """Return the failure of a run for which nothing was left of its owner's limit; None: it failed otherwise."""
        if isinstance(error, LimitExceededError) and (error.limit, error.value) in self._limits.items():
            return _spent(error.limit, error.value)
        return None


def _first_below(limit: float, spent: float, ends: Iterable[tuple[float, float]]) -> float:
    """Return when what was spent is below a limit without what counts no more by then; `inf`: that is not known."""
    for at, used in ends:
        spent -= used
        if spent < limit:
            return at
    return inf


def _spent(name: str, limit: float, seconds: float = 0) -> Failure:
    text = f"nothing is left of your {limit:g} {name} a day: wait until a day after the oldest runs, or ask for less"
    return Failure(429, "SpentForToday", text, f"{name}_per_day", limit, retry_after=seconds)
