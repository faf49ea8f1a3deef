"""Limits on what models cost in a day, in a month or in all, over all processes that share a limiter."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from trivium.commander import invoke
from trivium.exceptions import ConfigurationError, LimitExceededError, ModelError, RateLimitStoreError
from trivium.llms._cost_stores import cost_store_at
from trivium.llms._prices import expected_usage, expected_usd, priced, unknown_price, unpriced_in
from trivium.llms._protocol import Delta, ModelProtocol, Request
from trivium.llms._wrapped import WrappedModel, deltas_of
from trivium.schema import Usage
from trivium.schema.lowlevel import checked, positive

Period: TypeAlias = Literal["day", "month"]
_PERIODS: Final = {"day": "%Y-%m-%d", "month": "%Y-%m", None: "all"}


class CostLimiter:
    """Limits what models cost, over all models, tasks and processes that share it.

    Before a request its expected cost is counted, and it is refused if that is more than is left; afterwards its real
    cost replaces the expected one. What a process was killed in stays counted as it was expected. `Limits(usd=…)` and
    `max_cost` are for one run; this is for all runs of all workers.

    Args:
        usd: the most US dollars.
        per: "day" or "month", by UTC; None: in all.
        store: place of the counts: None is this object; a path is an SQLite file, for the processes of one machine; a
            URL (`redis://`, `rediss://`, `unix://`) is a Redis server, and `postgresql://` a PostgreSQL database, for
            many machines.
        name: limiters with the same name at the same place share their counts.

    Raises:
        ConfigurationError: the number is not above 0, there is no such period, or the URL cannot be used.
        MissingExtraError: the client of Redis or PostgreSQL is not installed.

    Example:
        >>> from trivium.llms import Price
        >>> from trivium.testing import ScriptedModel
        >>> limiter = CostLimiter(50, per="day")
        >>> limiter.of(ScriptedModel(["hello"])).chat("hi")
        'hello'
        >>> limiter.spent()
        0.0
    """

    @checked
    def __init__(
        self, usd: float, per: Period | None = None, *, store: str | Path | None = None, name: str = "default"
    ) -> None:
        positive(usd=usd)
        if per not in _PERIODS:
            raise ConfigurationError(f"a limiter of costs is per='day', per='month', or in all without it, not {per!r}")
        self.usd, self.per = usd, per
        self._place, self._name, self._store = store, name, cost_store_at(store, name)

    def __repr__(self) -> str:
        return f"CostLimiter({self.usd}, {self.per!r}, store={self._store!r})"

    def __deepcopy__(self, memo: object) -> CostLimiter:  # copies of a model share its limits
        return self

    def __reduce__(self) -> tuple[object, ...]:
        if self._place is None:
            raise ConfigurationError("a limiter without a store counts in its own process alone: give it store=")
        return partial(CostLimiter, store=self._place, name=self._name), (self.usd, self.per)

    def of(self, model: ModelProtocol) -> CostLimitedModel:
        """Return the model with this limiter; several models may share a limiter."""
        return CostLimitedModel(model, self)

    def spent(self) -> float:
        """Return the dollars that this day or month has cost, or all; requests at work with what they are expected to.

        Raises:
            RateLimitStoreError: the store cannot be used.
        """
        return self._store.add(self._period(), 0.0) or 0.0

    async def reserve(self, usd: float) -> str:
        """Count the expected cost of a request, and return the period in which it is counted.

        Raises:
            LimitExceededError: it is more than is left.
            RateLimitStoreError: the store cannot be used.
        """
        period = self._period()
        if await self._added(period, usd, self.usd) is None:
            of = f"the cost limiter {self._name!r}{f' (per {self.per})' if self.per else ''}"
            raise LimitExceededError("usd", self.usd, setting="CostLimiter({limit}=…)", of=of)
        return period

    async def settle(self, period: str, usd: float) -> None:
        """Add to what a period has cost, or take off it."""
        if usd:
            await self._added(period, usd)

    async def _added(self, *change: Any) -> float | None:
        """Add in the store; a shared one may block, so it runs in a worker thread."""
        return await invoke(partial(self._store.add, *change)) if self._store.is_shared else self._store.add(*change)

    def _period(self) -> str:
        return time.strftime(_PERIODS[self.per], time.gmtime())


class CostLimitedModel(WrappedModel):
    """A model that is called only while a limiter has dollars left.

    Args:
        model: the model that is called.
        limiter: the limiter, which other models may share.

    Example:
        >>> from trivium.testing import ScriptedModel
        >>> CostLimitedModel(ScriptedModel(["hello"]), CostLimiter(1.0)).chat("hi")
        'hello'
    """

    @checked
    def __init__(self, model: ModelProtocol, limiter: CostLimiter) -> None:
        super().__init__(model)
        self._limiter = limiter

    def __repr__(self) -> str:
        return f"CostLimitedModel({self._model!r}, {self._limiter!r})"

    async def stream(self, request: Request) -> AsyncGenerator[Delta]:
        """Call the model, and yield its deltas.

        Raises:
            LimitExceededError: the request would cost more than is left; the model is not called.
            ConfigurationError: the price of the model is not known.
            RateLimitStoreError: the store cannot be used.
            ModelError: the model could not answer.
        """
        request = request._replace(parameters=self.update_gen_params(**request.parameters))
        if (unpriced := unpriced_in(self._model)) is not None:
            raise unknown_price(unpriced.name, "its CostLimiter")
        expected, used = expected_usd(self._model, expected_usage(self._model, request)) or 0.0, None
        period = await self._limiter.reserve(expected)
        try:
            async with aclosing(deltas_of(self._model, request)) as deltas:
                async for delta in deltas:
                    if type(delta) is Usage:
                        used = delta
                    yield delta
        except ModelError:  # of an answer that failed nobody has asked for money, if no usage was told
            used = used or Usage()
            raise
        finally:
            if used is not None:
                with suppress(RateLimitStoreError):  # the answer was paid for; the expected cost stays counted
                    await self._limiter.settle(period, priced(self._model, used).usd - expected)
