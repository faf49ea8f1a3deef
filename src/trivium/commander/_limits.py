"""What a run may spend: limits are stated once, and counted along the chain of those that enclose them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
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

    Example:
        >>> Limits(turns=3).tokens is None
        True
    """

    turns: int | None = None
    tokens: int | None = None
    tool_calls: int | None = None
    seconds: float | None = None


class Budget:
    """The running count beside one `Limits`; every count is also made in the budgets that enclose it."""

    __slots__ = ("above", "limits", "tokens", "tool_calls", "turns")

    def __init__(self, limits: Limits, above: Budget | None = None) -> None:
        self.limits, self.above = limits, above
        self.turns = self.tokens = self.tool_calls = 0

    def _chain(self) -> list[Budget]:
        chain: list[Budget] = []
        budget: Budget | None = self
        while budget is not None:
            chain.append(budget)
            budget = budget.above
        return chain

    def take_turn(self) -> None:
        """Count one model call before it is made.

        Raises:
            LimitExceededError: no turn or no token is left; nothing is counted.
        """
        self._take("turns", "tokens")

    def take_tool_call(self) -> None:
        """Count one tool call before it is made.

        Raises:
            LimitExceededError: no tool call is left; nothing is counted.
        """
        self._take("tool_calls")

    def _take(self, name: str, *others: str) -> None:
        with _lock:
            chain = self._chain()
            for budget, each in product(chain, (name, *others)):
                maximum = getattr(budget.limits, each)
                if maximum is not None and getattr(budget, each) >= maximum:
                    raise LimitExceededError(each, maximum)
            for budget in chain:
                setattr(budget, name, getattr(budget, name) + 1)

    def add_tokens(self, tokens: int) -> None:
        """Count what a model call has used."""
        with _lock:
            for budget in self._chain():
                budget.tokens += tokens
