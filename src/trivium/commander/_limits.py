"""The limits of a run, and the budgets that count against them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from inspect import iscoroutinefunction
from numbers import Real
from types import NoneType
from typing import Any, Self, cast

from trivium.commander._workers import lock
from trivium.events import Listener
from trivium.exceptions import ArgumentTypeError, ConfigurationError, LimitExceededError

_ROUNDING = 1e-9  # dollars: a rounding error of a sum is no reason to refuse a request


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that a run and everything below it may spend; None: no limit.

    Args:
        turns: model calls.
        tokens: input and output tokens together.
        tool_calls: calls of tools.
        seconds: wall time.
        usd: US dollars.

    Raises:
        ConfigurationError: one of them is no number, or negative.
        ArgumentTypeError: there is no such limit; the text suggests the closest.

    Example:
        >>> Limits(turns=3).tokens is None
        True
    """

    turns: int | None = None
    tokens: int | None = None
    tool_calls: int | None = None
    seconds: float | None = None
    usd: float | None = None

    def __new__(  # with the names of the limits, for `help`
        cls, turns: Any = None, tokens: Any = None, tool_calls: Any = None, seconds: Any = None, usd: Any = None,
        **unknown: Any,
    ) -> Self:  # fmt: skip
        for name in unknown:
            raise ArgumentTypeError.unknown(name, cls.__match_args__, "Limits takes no")
        return object.__new__(cls)

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if value is not None and not (isinstance(value, Real) and not value < 0 and value < float("inf")):
                text = f"Limits({name}={value!r}) allows nothing: give a number from 0 on, or None for no limit"
                raise ConfigurationError(text)


class Budget:
    """The running count beside one `Limits`; every count is also made in the budgets that enclose it."""

    __slots__ = ("_maxima", "enclosing", "limits", "reserved", "reserved_usd", "tokens", "tool_calls", "turns", "usd")

    def __init__(self, limits: Limits, above: Budget | None = None) -> None:
        self.limits, self._maxima = limits, asdict(limits)
        self.enclosing: tuple[Budget, ...] = () if above is None else (above, *above.enclosing)
        self.turns = self.tokens = self.tool_calls = self.reserved = 0
        self.usd = self.reserved_usd = 0.0

    def limits_any(self, *names: str) -> bool:
        """Return True if one of these is limited, here or above."""
        return any(each._maxima[name] is not None for each in (self, *self.enclosing) for name in names)

    def take_turn(self, estimate: int = 0, usd: float | None = None, turns: int = 1) -> tuple[int, float]:
        """Count one model call before it is made, and reserve its expected usage until `settle` counts the real one.

        Args:
            estimate: the least number of tokens that it will use.
            usd: its expected cost; None: at the price that tokens had so far.
            turns: 0 for an embedding model.

        Returns:
            The reserved tokens and dollars, for `settle`.

        Raises:
            LimitExceededError: no turn is left, or not so many tokens or dollars; nothing is counted.
        """
        with lock:
            chain = (self, *self.enclosing)
            if usd is None:  # the outermost has seen the most
                usd = estimate * chain[-1].usd / chain[-1].tokens if estimate and chain[-1].tokens else 0.0
            for budget in chain:
                budget._check("turns", budget.turns + turns)
                budget._check("tokens", max(budget.tokens + 1, budget.tokens + budget.reserved + estimate))
                budget._check("usd", max(budget.usd + budget.reserved_usd + usd - _ROUNDING, budget.usd + 1e-12))
            for budget in chain:
                budget.turns += turns
                budget.reserved += estimate
                budget.reserved_usd += usd
        return estimate, usd

    def _check(self, name: str, wanted: float) -> None:
        maximum = self._maxima[name]
        if maximum is not None and wanted > maximum:
            raise LimitExceededError(name, maximum)

    def take_tool_call(self, calls: int = 1) -> None:
        """Count one tool call, or several that start together, before it is made.

        Raises:
            LimitExceededError: not so many tool calls are left; nothing is counted.
        """
        with lock:
            chain = (self, *self.enclosing)
            for budget in chain:
                budget._check("tool_calls", budget.tool_calls + calls)
            for budget in chain:
                budget.tool_calls += calls

    def settle(
        self, reserved: tuple[int, float], tokens: int, usd: float = 0.0, turns: int = 0, tool_calls: int = 0
    ) -> None:
        """Count the usage of a model call in place of the reservation that `take_turn` made for it.

        Args:
            reserved: the reservation; (0, 0.0) for none.
            tokens: its tokens.
            usd: its cost.
            turns: model calls of a run elsewhere, which are not counted yet.
            tool_calls: its tool calls.
        """
        with lock:
            for budget in (self, *self.enclosing):
                budget.turns += turns
                budget.tool_calls += tool_calls
                budget.reserved -= reserved[0]
                budget.reserved_usd -= reserved[1]
                budget.tokens += tokens
                budget.usd += usd


def check_option(name: str, value: Any, kind: Any, said: str, taker: str = "a call") -> Any:
    """Return an option of a call, which is refused by its name if it is of another kind.

    Raises:
        ArgumentTypeError: it is.
    """
    if not isinstance(value, kind):
        raise ArgumentTypeError(f"{taker} takes {said} as {name}, not {type(value).__name__}", name)
    return value


def check_options(timeout: Any, limits: Any, listeners: Any) -> tuple[Listener, ...]:
    """Check options of a call, and return its listeners.

    Raises:
        ArgumentTypeError: one of them is of another kind.
        ConfigurationError: the timeout leaves no time.
    """
    if check_option("timeout", timeout, (NoneType, Real), "seconds") is not None and not timeout > 0:  # NaN too
        raise ConfigurationError(f"a call takes seconds above 0 as timeout, or None for no end, not {timeout!r}")
    check_option("limits", limits, (NoneType, Limits), "Limits(…)")
    many: tuple[Any, ...] = tuple(cast("Iterable[Any]", listeners)) if isinstance(listeners, Iterable) else (None,)
    asynchronous = any(iscoroutinefunction(each) or iscoroutinefunction(type(each).__call__) for each in many)
    if not all(map(callable, many)) or asynchronous:  # nobody would await those
        raise ArgumentTypeError("a call takes a list of sync functions as listeners: listeners=[print]", "listeners")
    return many
