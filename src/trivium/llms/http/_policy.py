"""When a failed request is made again: a value that users give, and the count of what it has left."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Collection
from contextvars import ContextVar
from dataclasses import dataclass, replace
from logging import WARNING
from time import monotonic
from typing import Final, Literal, NamedTuple

from trivium.commander import Event, current
from trivium.commander.lowlevel import emit, lock, time_left
from trivium.events import JSONObject, exception_line, on_one_line
from trivium.exceptions import (
    ConfigurationError,
    ContextOverflowError,
    ProviderConnectionError,
    ProviderError,
    ProviderQuotaError,
    ProviderStatusError,
)
from trivium.schema.lowlevel import positive

STATUSES: Final = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529})
FLOOR, CAPACITY = 10.0, 100.0
before_retry: ContextVar[Callable[[], Awaitable[object]] | None] = ContextVar("trivium_before_retry", default=None)
"""Awaited before a request is made again, by who counts requests."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """When a failed request to a model server is made again, and when no more.

    Before a retry it waits: as long as the server says, else `first_delay` seconds, doubled at each next; always
    spread, so that many callers do not come back at once. It is not waited for where the server wants more than
    `longest_delay`, nor past the deadline of the run: the error is raised at once, and says how long in
    `retry_after`. An exhausted quota, a refused key and a bad request are not tried again. After the first piece of
    an answer was given out nothing is, but for `replay`.

    Args:
        max_tries: how often a request is made at most; 1 is no retry.
        first_delay: seconds before the first retry, where the server says nothing.
        longest_delay: seconds that one wait may take.
        total_seconds: seconds that all tries together may take until the answer begins; None is no limit.
        statuses: the HTTP statuses that pass. A server's `x-should-retry` goes before.
        budget: retries for each request, on average over all requests of the model object; ten more are free, and
            those to which the server invites. So an outage is not multiplied by those who ask. None is no limit.
        replay: an answer that breaks off in its middle is asked for again too. Nothing of it is given out before it
            is whole: there are no pieces to listen to, and what broke off was paid for.

    Raises:
        ConfigurationError: a number cannot be used.

    Example:
        >>> RetryPolicy(max_tries=5).longest_delay
        60.0
    """

    max_tries: int = 3
    first_delay: float = 0.5
    longest_delay: float = 60.0  # limits of a minute are the usual ones
    total_seconds: float | None = 600.0
    statuses: Collection[int] = STATUSES
    budget: float | None = 0.2
    replay: bool = False

    def __post_init__(self) -> None:
        total = 1.0 if self.total_seconds is None else self.total_seconds
        positive(max_tries=self.max_tries, longest_delay=self.longest_delay, total_seconds=total)
        rest = (self.first_delay, self.budget or 0.0)
        if not all(isinstance(each, int | float) and each >= 0 for each in rest):  # type: ignore[unnecessary] - users pass anything
            raise ConfigurationError("first_delay and budget are numbers that are not below 0")
        if not isinstance(self.statuses, Collection) or not all(isinstance(each, int) for each in self.statuses):  # type: ignore[unnecessary] - users pass anything
            raise ConfigurationError(f"statuses are numbers, as (429, 503), not {self.statuses!r}")

    def delay(self, error: ProviderError, attempt: int) -> float | None:
        """Seconds to wait before a request is made again, or None if it must not be.

        Args:
            error: why it failed; nothing of an answer was given out yet.
            attempt: how often it was made, from 1.
        """
        if attempt >= self.max_tries or isinstance(error, ProviderQuotaError | ContextOverflowError):
            return None
        asked = 0.0
        if isinstance(error, ProviderStatusError):
            asked = error.retry_after
            passing = error.status in self.statuses if error.should_retry is None else error.should_retry
            if not passing or asked > self.longest_delay:
                return None
        elif not isinstance(error, ProviderConnectionError):
            return None
        if asked:  # never sooner, and not all at the same moment
            return asked + back_off(self.first_delay, 1) / 2
        return min(back_off(self.first_delay, attempt), self.longest_delay)


class Retry(NamedTuple):
    """A request that failed and is made again.

    Args:
        attempt: how often it was made, from 1.
        delay: seconds until it is made again.
        error: why it failed.
    """

    attempt: int
    delay: float
    error: ProviderError


class RetryEvent(Event[Retry, Literal["retry"]], level=WARNING):
    """A request to a model server failed, and is sent again after a delay."""

    __slots__ = ()

    def detail(self, content: bool = False) -> str:
        """Say which attempt failed, why, and when the next one is made."""
        attempt, delay, error = self.data
        return f"attempt {attempt} failed, the next follows in {delay:.1f} s: {on_one_line(exception_line(error))}"

    def fields(self, content: bool = False) -> JSONObject:
        """Return the number of the attempt, the delay in seconds and the error."""
        return {"attempt": self.data.attempt, "delay": self.data.delay, "error": exception_line(self.data.error)}


class RetryBudget:
    """The retries that are left to all requests of a model object.

    A token bucket, as Finagle has it for its clients: each request puts `share` of a retry in, each retry takes one
    out. So there are at most `FLOOR + share * requests` retries, however many requests fail, and what was saved in
    good times is bounded.

    Args:
        share: retries for each request; None is no limit.
    """

    def __init__(self, share: float | None) -> None:
        self._share, self._left = share, FLOOR

    def put(self) -> None:
        """A request is made for the first time."""
        if self._share:
            with lock:
                self._left = min(self._left + self._share, CAPACITY)

    def acquire(self) -> bool:
        """Take a retry out, if there is one."""
        if self._share is None:
            return True
        with lock:
            if self._left < 1 - 1e-6:  # tenths do not add up to one
                return False
            self._left -= 1
            return True


class Tries:
    """The tries of one request.

    Args:
        policy: when it is made again.
        budget: what the model object has left.
        most: how often it is made at most, instead of what the policy says.
    """

    __slots__ = ("_budget", "_policy", "_until", "attempt")

    def __init__(self, policy: RetryPolicy, budget: RetryBudget, most: int | None = None) -> None:
        self._policy, self._budget, self.attempt = policy, budget, 1
        if most is not None and most != policy.max_tries:
            self._policy = replace(policy, max_tries=max(most, 1))
        self._until = None if policy.total_seconds is None else monotonic() + policy.total_seconds
        budget.put()

    def left(self) -> float | None:
        """Seconds until the answer must have begun; None is no limit."""
        return None if self._until is None else self._until - monotonic()

    def next_delay(self, error: ProviderError) -> float | None:
        """Seconds to wait before the next try, or None where there is none; whoever listens is told."""
        delay, node = self._policy.delay(error, self.attempt), current.get()
        if delay is None:
            return None
        times = (self.left(), None if node is None else time_left(node))
        if any(left is not None and delay >= left for left in times):
            return None
        is_invited = isinstance(error, ProviderStatusError) and (error.retry_after > 0 or bool(error.should_retry))
        if not is_invited and not self._budget.acquire():
            return None
        if node is not None:
            emit(node, RetryEvent, Retry(self.attempt, delay, error))
        self.attempt += 1
        return delay


def back_off(first: float, attempt: int) -> float:
    """Seconds to wait after an attempt, doubled at each next; spread, so that many callers do not come back at once."""
    return first * 2.0 ** min(attempt - 1, 64) * random.uniform(0.5, 1.5)  # noqa: S311 - a delay, no secret
