"""Limits of the users of a server."""

from __future__ import annotations

from dataclasses import dataclass

from trivium.schema.lowlevel import positive


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerLimits:
    """The most that one owner may have and spend; None: no limit.

    Args:
        runs: runs at once, those that wait for an approval not counted; once they are decided they go on all the same.
        tokens_per_day: input and output tokens of runs that have not ended, or did in the last 24 hours.
        usd_per_day: US dollars of these runs.

    Raises:
        ConfigurationError: one of them is not more than 0.
    """

    runs: int | None = None
    tokens_per_day: int | None = None
    usd_per_day: float | None = None

    def __post_init__(self) -> None:
        given = {"runs": self.runs, "tokens_per_day": self.tokens_per_day, "usd_per_day": self.usd_per_day}
        positive(**{name: value for name, value in given.items() if value is not None})
