"""What a run may spend: limits are stated once, and counted along the chain of those that enclose them."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock

from trivium.exceptions import LimitExceededError

_lock = Lock()  # guards additions only: never held while anything else runs


@dataclass(frozen=True, slots=True)
class Limits:
    """What a run and everything below it may spend; None is no limit.

    Args:
        turns: model calls.
        tokens: input and output tokens together.
        tool_calls: calls of tools.
        seconds: wall time.
        usd: US dollars.

    Example:
        >>> Limits(turns=3).tokens is None
        True
    """

    turns: int | None = None
    tokens: int | None = None
    tool_calls: int | None = None
    seconds: float | None = None
    usd: float | None = None


class Budget:
    """The running count beside one `Limits`; every count is also made in the budgets that enclose it."""

    __slots__ = ("above", "limits", "reserved", "tokens", "tool_calls", "turns", "usd")

    def __init__(self, limits: Limits, above: Budget | None = None) -> None:
        self.limits, self.above = limits, above
        self.turns = self.tokens = self.tool_calls = self.reserved = 0
        self.usd = 0.0

    def _chain(self) -> list[Budget]:
        chain: list[Budget] = []
        budget: Budget | None = self
        while budget is not None:
            chain.append(budget)
            budget = budget.above
        return chain

    def needs_estimate(self) -> bool:
        """Whether it matters how many tokens a request will take."""
        return any(each.limits.tokens is not None or each.limits.usd is not None for each in self._chain())

    def take_turn(self, estimate: int = 0) -> None:
        """Count one model call before it is made, and reserve what it will take until `settle` says what it took.

        Args:
            estimate: tokens that it will take at least.

        Raises:
            LimitExceededError: no turn is left, or not so many tokens or dollars; nothing is counted.
        """
        with _lock:
            chain = self._chain()
            for budget in chain:
                budget._check("turns", budget.turns + 1)
                budget._check("tokens", max(budget.tokens + 1, budget.tokens + budget.reserved + estimate))
                budget._check("usd", budget._dollars(estimate))
            for budget in chain:
                budget.turns += 1
                budget.reserved += estimate

    def _dollars(self, estimate: int) -> float:
        """What it will have cost with what runs now, at the price that tokens had so far; more than nothing."""
        price = self.usd / self.tokens if self.tokens else 0.0
        return max(self.usd + (self.reserved + estimate) * price, self.usd + 1e-12)

    def _check(self, name: str, wanted: float) -> None:
        maximum = getattr(self.limits, name)
        if maximum is not None and wanted > maximum:
            raise LimitExceededError(name, maximum)

    def take_tool_call(self, calls: int = 1) -> None:
        """Count one tool call, or several that start together, before it is made.

        Raises:
            LimitExceededError: not so many tool calls are left; nothing is counted.
        """
        with _lock:
            chain = self._chain()
            for budget in chain:
                budget._check("tool_calls", budget.tool_calls + calls)
            for budget in chain:
                budget.tool_calls += calls

    def settle(self, estimate: int, tokens: int, usd: float = 0.0) -> None:
        """Count what a model call has used, in place of what was reserved for it."""
        with _lock:
            for budget in self._chain():
                budget.reserved -= estimate
                budget.tokens += tokens
                budget.usd += usd
