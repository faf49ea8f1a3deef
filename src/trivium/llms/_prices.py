"""Prices of tokens: one that the user states, or the published one that genai-prices knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from numbers import Real
from typing import TYPE_CHECKING, Final, Protocol, cast, runtime_checkable
from urllib.parse import urlsplit

from trivium.exceptions import ConfigurationError
from trivium.schema import Usage

if TYPE_CHECKING:
    from trivium.llms._protocol import ChatMessage, ModelProtocol, Parameters, Request

FILE_TOKENS: Final = 1000
"""The tokens that an image or a file counts as."""
_LONGEST = ("max_tokens", "max_completion_tokens", "max_new_tokens", "max_output_tokens")


@runtime_checkable
class Pricing(Protocol):
    """The type of a model's `price`: any object that computes the cost of a usage."""

    def usd(self, usage: Usage) -> float | None:
        """Return the cost in US dollars; None if it is not known."""
        ...


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens; assigned to `model.price` it overrides the published price.

    Args:
        input: price of input tokens.
        output: price of output tokens.
        cached: price of input tokens read from the provider's cache; default as `input`.
        cache_write: price of input tokens written to that cache; default as `input`.
        above: prices by a number of input tokens; they apply to all tokens of requests with more input tokens.

    Raises:
        ConfigurationError: a price is negative or not a number.

    Example:
        >>> Price(3.0, 15.0, cached=0.3).usd(Usage(1_000_000, 100_000, cached_tokens=500_000))
        3.15
    """

    input: float
    output: float
    cached: float | None = None
    cache_write: float | None = None
    above: Mapping[int, Price] = field(default_factory=dict[int, "Price"])

    def __post_init__(self) -> None:
        for each in (self.input, self.output, self.cached or 0.0, self.cache_write or 0.0):
            if not isinstance(each, Real) or not 0.0 <= each < float("inf"):  # type: ignore[unnecessary] - users pass anything
                raise ConfigurationError(f"a price is in US dollars for a million tokens, 0 or more, not {each!r}")
        if not all(isinstance(each, Price) for each in self.above.values()):  # type: ignore[unnecessary] - users pass anything
            raise ConfigurationError("above= has a Price for each number of tokens: {200_000: Price(…)}")

    def usd(self, usage: Usage) -> float:
        """Return the cost of a usage in US dollars."""
        reached = [start for start in self.above if usage.input_tokens > start]
        if reached:
            return replace(self.above[max(reached)], above={}).usd(usage)
        cached, kept = _cached_parts(usage)
        cost = (usage.input_tokens - cached - kept) * self.input + usage.output_tokens * self.output
        cost += cached * (self.input if self.cached is None else self.cached)
        return (cost + kept * (self.input if self.cache_write is None else self.cache_write)) / 1_000_000


@dataclass(frozen=True, slots=True)
class PublishedPrice:
    """The price of a model in the table of the package genai-prices, looked up at each use.

    The table comes with the package and is read once, at the first look-up; nothing is fetched. Without the package,
    and for unknown models and servers, there is no price, and no error.

    Args:
        model: the model's name at its provider.
        provider: the provider's id in genai-prices, such as "openai".
        url: address of the server, which also identifies the provider; requests to this machine cost nothing.

    Example:
        >>> price = PublishedPrice("gpt-5-mini", "openai")
        >>> price.usd(Usage(1_000_000, 0))
        0.25
        >>> PublishedPrice("my-own", url="http://localhost:8000/v1").usd(Usage(10, 10))
        0.0
    """

    model: str
    provider: str = ""
    url: str = ""

    def usd(self, usage: Usage) -> float | None:
        """Return the cost of a usage in US dollars; None if it is not known."""
        if self.url and _is_on_this_machine(self.url):
            return 0.0
        try:
            from genai_prices import Usage as Counted
            from genai_prices import calc_price
        except ImportError:
            return None
        cached, kept = _cached_parts(usage)
        counted = Counted(
            input_tokens=usage.input_tokens,
            cache_read_tokens=cached,
            cache_write_tokens=kept,
            output_tokens=usage.output_tokens,
        )
        try:
            if self.url:
                found = calc_price(counted, self.model, provider_api_url=self.url)
            else:
                found = calc_price(counted, self.model, provider_id=self.provider or None)
            return float(found.total_price)
        except (LookupError, ValueError):
            return None


@lru_cache
def _is_on_this_machine(url: str) -> bool:
    from trivium.http.lowlevel import is_loopback

    return is_loopback(urlsplit(url).hostname or "")


def price_of(model: object) -> Pricing | None:
    """Return the `price` of a model; None for a model that has none."""
    return getattr(model, "price", None)


def unpriced_in(model: ModelProtocol) -> ModelProtocol | None:
    """Return a model that may answer and whose price is not known; one without `price` costs nothing."""
    price = price_of(model)
    if price is not None:
        return model if price.usd(Usage(1, 1)) is None else None
    return next((found for each, _ in inner_models_of(model) if (found := unpriced_in(each)) is not None), None)


def unknown_price(model: str, limit: str) -> ConfigurationError:
    """Return the error of a model whose cost is limited, and whose price is not known."""
    return ConfigurationError(
        f"the price of {model} is not known, so {limit} could not hold: give it price=Price(…), or Price(0, 0) "
        "where it costs nothing, or, by the extra 'prices', price=PublishedPrice('NAME', 'PROVIDER') with the name of "
        "the same model at a provider"
    )


def priced(model: object, usage: Usage) -> Usage:
    """Return the usage with its cost at the model's price; a cost that the provider stated stays."""
    price = price_of(model)
    usd = None if usage.usd or price is None else price.usd(usage)
    return replace(usage, usd=usd) if usd else usage


def expected_usage(model: ModelProtocol, request: Request) -> Usage:
    """Estimate the usage of a request before it is sent: its text at four characters a token, 1,000 tokens for each
    image or file, and the longest answer that it allows."""
    read = sum(map(count_characters, request.messages)) // 4
    read += sum(len(tool.description) + len(str(tool.parameters)) for tool in request.tools) // 4
    return Usage(read, longest_answer(model, request.parameters))


def expected_usd(model: ModelProtocol, usage: Usage) -> float | None:
    """Return the highest cost of a usage over all models that may answer; None if no cost is known."""
    price = price_of(model)
    if price is not None:
        return price.usd(usage)
    costs = (expected_usd(each, usage) for each, _ in inner_models_of(model))
    return max((usd for usd in costs if usd is not None), default=None)


def longest_answer(model: ModelProtocol, given: Parameters) -> int:
    """Return the limit of tokens for an answer of a model, or of the models that it calls; 0 for no limit."""
    own: Parameters = getattr(model, "gen_params", None) or {}
    if inner := inner_models_of(model):
        return max(longest_answer(each, {**own, **given, **its_own}) for each, its_own in inner)
    parameters = {**own, **given}
    return next((value for name in _LONGEST if isinstance(value := parameters.get(name), int)), 0)


@runtime_checkable
class _Composed(Protocol):
    def inner_models(self) -> Sequence[tuple[ModelProtocol, Parameters]]: ...


def inner_models_of(model: ModelProtocol) -> Sequence[tuple[ModelProtocol, Parameters]]:
    """Return the models that a model calls, each with parameters for it alone; none for most."""
    return model.inner_models() if isinstance(model, _Composed) else ()


def count_characters(message: ChatMessage) -> int:
    """Return the characters of a message; an image or a file counts as the characters of 1,000 tokens."""
    content: object = message.get("content") or ""
    count = len(str(message.get("tool_calls") or ""))
    for part in cast("list[object]", content) if isinstance(content, list) else [content]:
        text = cast("ChatMessage", part).get("text") if isinstance(part, Mapping) else part
        count += 4 * FILE_TOKENS if text is None else len(str(text))
    return count


def _cached_parts(usage: Usage) -> tuple[int, int]:
    """Return the input tokens read from and written to the provider's cache, never more than there were."""
    cached = min(usage.cached_tokens, usage.input_tokens)
    return cached, min(usage.cache_write_tokens, usage.input_tokens - cached)
