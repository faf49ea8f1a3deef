"""Limits on requests and tokens per minute, over all models that share a limiter."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, suppress
from functools import partial
from pathlib import Path
from typing import Final, Literal, NamedTuple
from uuid import uuid4

from trivium.commander import Event, ThreadEvent, current, invoke, wait
from trivium.commander.lowlevel import emit, lock
from trivium.events import JSONObject
from trivium.exceptions import ConfigurationError, RateLimitStoreError
from trivium.llms._prices import expected_usage
from trivium.llms._protocol import Delta, ModelProtocol, Request
from trivium.llms._rate_stores import (
    MemoryRateStore,
    PostgresRateStore,
    Rate,
    RateStore,
    RedisRateStore,
    SQLiteRateStore,
)
from trivium.llms._wrapped import WrappedModel, deltas_of, first_delta
from trivium.llms.http._policy import before_retry
from trivium.schema import Usage
from trivium.schema.lowlevel import checked, positive

LONGEST_POLL: Final = 1.0
"""Seconds between polls of a shared store: tokens given back by other processes set no event here."""


class RateLimitEvent(Event[float, Literal["rate_limit"]]):
    """A request waits until the limit allows it: `data` seconds, or longer if other processes are served first."""

    __slots__ = ()

    def detail(self, content: bool = False) -> str:
        """Give the seconds."""
        return f"waits {self.data:.1f} s"

    def fields(self, content: bool = False) -> JSONObject:
        """Return the seconds."""
        return {"seconds": self.data}


class _Ticket(NamedTuple):
    """A request that may be made, and the tokens that were counted for it."""

    id: str
    tokens: int


class RateLimiter:
    """Limits requests and tokens in any minute, over all models, tasks and processes that share it.

    Before a request its tokens are estimated and counted; afterwards its usage replaces the estimate. Requests of a
    process are served in order. A waiting request can be killed and cancelled, and reaches its deadline. Each retry of
    a request counts.

    Args:
        requests_per_minute: the most requests; None: no limit.
        tokens_per_minute: the most tokens of input and output together; None: no limit. A request with a higher
            estimate waits until it is the only one.
        store: place of the counts: None is this object; a path is an SQLite file, for the processes of one machine; a
            URL (`redis://`, `rediss://`, `unix://`) is a Redis server, and `postgresql://` a PostgreSQL database, for
            many machines; the clock of the server counts.
        name: limiters with the same name at the same place share their counts.

    Raises:
        ConfigurationError: there is no limit, a number is not above 0, or the URL cannot be used.
        MissingExtraError: the client of Redis or PostgreSQL is not installed.

    Example:
        >>> from trivium.testing import ScriptedModel
        >>> limiter = RateLimiter(requests_per_minute=60)
        >>> limiter.of(ScriptedModel(["hello"])).chat("hi")
        'hello'
    """

    @checked
    def __init__(
        self,
        requests_per_minute: int | None = None,
        tokens_per_minute: int | None = None,
        *,
        store: str | Path | None = None,
        name: str = "default",
    ) -> None:
        given = {"requests_per_minute": requests_per_minute, "tokens_per_minute": tokens_per_minute}
        if not (limits := {limit: each for limit, each in given.items() if each is not None}):
            raise ConfigurationError("a limiter has a limit: give requests_per_minute= or tokens_per_minute=")
        positive(**limits)
        self.rate = Rate(requests_per_minute, tokens_per_minute)
        self._place, self._name = store, name
        self._store = store_at(store, self.rate, name)
        self._lines, self._changed = dict[int, deque[ThreadEvent]](), ThreadEvent()

    def __repr__(self) -> str:
        return f"RateLimiter({self.rate.requests}, {self.rate.tokens}, store={self._store!r})"

    def __deepcopy__(self, memo: object) -> RateLimiter:  # copies of a model share its limits
        return self

    def __reduce__(self) -> tuple[object, ...]:
        if self._place is None:
            raise ConfigurationError("a limiter without a store counts in its own process alone: give it store=")
        return partial(RateLimiter, *self.rate, store=self._place, name=self._name), ()

    def of(self, model: ModelProtocol) -> LimitedModel:
        """Return the model with this limiter; several models may share a limiter."""
        return LimitedModel(model, self)

    async def take(self, tokens: int) -> _Ticket:
        """Wait until a request may be made, and count it.

        Args:
            tokens: the estimated tokens of the request.

        Raises:
            RateLimitStoreError: the store cannot be used.
        """
        ticket = _Ticket(uuid4().hex, min(tokens, self.rate.tokens or tokens))
        place = ThreadEvent()
        with lock:
            line = self._lines.setdefault(os.getpid(), deque())  # a forked child has none of those that waited
            line.append(place)
            is_first = line[0] is place
        try:
            if not is_first:
                await wait(event=place)
            has_waited = False
            while True:
                changed = self._changed  # read first: tokens that are given back later set this event
                seconds = await self._in_store(partial(self._store.take, *ticket))
                if seconds <= 0:
                    return ticket
                if not has_waited and (node := current.get()) is not None:
                    emit(node, RateLimitEvent, seconds)
                has_waited = True
                await wait(min(seconds, LONGEST_POLL) if self._store.is_shared else seconds, changed)
        finally:
            self._leave(line, place)

    def _leave(self, line: deque[ThreadEvent], place: ThreadEvent) -> None:
        with lock:
            line.remove(place)
            following = line[0] if line else None
        if following is not None:
            following.set()

    async def settle(self, ticket: _Ticket, tokens: int) -> None:
        """Replace the estimate of a request by its usage."""
        if self.rate.tokens is None or tokens == ticket.tokens:
            return
        await self._in_store(partial(self._store.settle, ticket.id, tokens))
        changed, self._changed = self._changed, ThreadEvent()
        changed.set()

    async def _in_store(self, operation: partial[float]) -> float:
        """Run an operation of the store; a shared store may block, so it runs in a worker thread."""
        return await invoke(operation) if self._store.is_shared else operation()


class LimitedModel(WrappedModel):
    """A model that is called no more often than a limiter allows.

    Args:
        model: the model that is called.
        limiter: the limiter, which other models may share.

    Example:
        >>> from trivium.testing import ScriptedModel
        >>> LimitedModel(ScriptedModel(["hello"]), RateLimiter(tokens_per_minute=1000)).chat("hi")
        'hello'
    """

    @checked
    def __init__(self, model: ModelProtocol, limiter: RateLimiter) -> None:
        super().__init__(model)
        self._limiter = limiter

    def __repr__(self) -> str:
        return f"LimitedModel({self._model!r}, {self._limiter!r})"

    async def stream(self, request: Request) -> AsyncGenerator[Delta]:
        """Wait until the model may be called, call it, and yield its deltas.

        Raises:
            RateLimitStoreError: the store cannot be used.
            ModelError: the model could not answer.
        """
        request = request._replace(parameters=self.update_gen_params(**request.parameters))
        limiter, estimate = self._limiter, expected_usage(self._model, request).total
        ticket, used = await limiter.take(estimate), None
        try:
            async with aclosing(deltas_of(self._model, request)) as deltas:
                token = before_retry.set(partial(self._again, before_retry.get(), estimate))
                try:
                    first = await first_delta(deltas)
                finally:
                    before_retry.reset(token)
                for delta in first:
                    used = delta if isinstance(delta, Usage) else used
                    yield delta
                async for delta in deltas:
                    if type(delta) is Usage:
                        used = delta
                    yield delta
        finally:
            if used is not None:
                with suppress(RateLimitStoreError):  # the answer was paid for; the estimate stays counted
                    await limiter.settle(ticket, used.total)

    async def _again(self, outer: Callable[[], Awaitable[object]] | None, tokens: int) -> None:
        """Count a retry, at the limiters around this one too."""
        if outer is not None:
            await outer()
        await self._limiter.take(tokens)


def store_at(place: str | Path | None, rate: Rate, name: str) -> RateStore:
    """Make the store for a place: None is this process, a URL a server, and a path an SQLite file."""
    if place is None:
        return MemoryRateStore(rate)
    if isinstance(place, str) and place.startswith(("postgresql://", "postgres://")):
        return PostgresRateStore(place, rate, name)
    if isinstance(place, str) and "://" in place:
        return RedisRateStore(place, rate, name)
    if str(place) == ":memory:":  # SQLite would count each request anew, and let everybody through
        raise ConfigurationError("':memory:' does not name a file: leave store= out to count in this process")
    return SQLiteRateStore(Path(place).expanduser(), rate, name)
