"""What tokens cost: a price that a user states, or the one that genai-prices knows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from numbers import Real
from typing import TYPE_CHECKING, Any, Protocol, cast, runtime_checkable
from urllib.parse import urlsplit

from trivium.exceptions import ConfigurationError
from trivium.schema import Usage

if TYPE_CHECKING:
    from trivium.llms._protocol import Request

__all__ = ["Price", "Pricing", "PublishedPrice", "expected_usage", "expected_usd", "priced"]

_FILE_TOKENS = 1000
_LONGEST = ("max_tokens", "max_completion_tokens", "max_new_tokens", "max_output_tokens")


@runtime_checkable
class Pricing(Protocol):
    """What a model's `price` is: anything that says what a usage costs."""

    def usd(self, usage: Usage) -> float | None:
        """US dollars; None where that is not known."""
        ...


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens; put it on a model as `model.price`, and it goes before what is published.

    Args:
        input: tokens read.
        output: tokens written.
        cached: tokens read that the provider had kept; default as `input`.
        cache_write: tokens read that it keeps for later requests; default as `input`.
        above: other prices for requests that read more tokens than so many, for all of their tokens.

    Raises:
        ConfigurationError: a price is negative, or no number.

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
        """What a usage costs, in US dollars."""
        reached = [start for start in self.above if usage.input_tokens > start]
        if reached:
            return replace(self.above[max(reached)], above={}).usd(usage)
        cached, kept = _parts(usage)
        cost = (usage.input_tokens - cached - kept) * self.input + usage.output_tokens * self.output
        cost += cached * (self.input if self.cached is None else self.cached)
        return (cost + kept * (self.input if self.cache_write is None else self.cache_write)) / 1_000_000


@dataclass(frozen=True, slots=True)
class PublishedPrice:
    """The price that the package genai-prices knows for a model, looked up when it is needed.

    The table comes with the package and is read once, at the first look-up; nothing is fetched. Without the package,
    and for models and places that it does not know, there is no price, and no error.

    Args:
        model: the model's name at its provider.
        provider: the provider's id in genai-prices, as "openai".
        url: where the model is asked, which tells the provider too; no request to this machine costs anything.

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
        """What a usage costs, in US dollars; None where that is not known."""
        if self.url and _is_near(self.url):
            return 0.0
        try:
            from genai_prices import Usage as Counted
            from genai_prices import calc_price
        except ImportError:
            return None
        cached, kept = _parts(usage)
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


def priced(model: Any, usage: Usage) -> Usage:
    """The usage with what it costs at the model's price; one that says so itself stays."""
    price: Pricing | None = getattr(model, "price", None)
    usd = None if usage.usd or price is None else price.usd(usage)
    return replace(usage, usd=usd) if usd else usage


def expected_usage(model: Any, request: Request) -> Usage:
    """What a request will use, as far as can be said before: its text at four characters a token, 1,000 tokens for
    each image or file, and the longest answer that it asks for."""
    read = sum(_size(message) for message in request.messages) // 4
    read += sum(len(tool.description) + len(str(tool.parameters)) for tool in request.tools) // 4
    return Usage(read, _longest(model, request.parameters))


def expected_usd(model: Any, usage: Usage) -> float | None:
    """What a usage will cost at most, whoever of a chain answers; None where that is not known."""
    price: Pricing | None = getattr(model, "price", None)
    if price is not None:
        return price.usd(usage)
    costs = (expected_usd(each, usage) for each, _ in _asked_models(model))
    return max((usd for usd in costs if usd is not None), default=None)


def _longest(model: Any, given: Mapping[str, Any]) -> int:
    """The longest answer that is asked for, by a model or by those that it asks."""
    parameters: dict[str, Any] = {**(getattr(model, "gen_params", None) or {}), **given}
    if asked := _asked_models(model):
        return max(_longest(each, {**parameters, **own}) for each, own in asked)
    return next((value for name in _LONGEST if isinstance(value := parameters.get(name), int)), 0)


def _asked_models(model: Any) -> list[tuple[Any, Mapping[str, Any]]]:
    tell: Any = getattr(model, "_asked_models", None)
    return cast("list[tuple[Any, Mapping[str, Any]]]", tell()) if callable(tell) else []


def _size(message: Mapping[str, Any]) -> int:
    """Characters of a message, with images and files as so many as their tokens stand for."""
    content: Any = message.get("content") or ""
    parts = cast("list[Any]", content if isinstance(content, list) else [content])
    return sum(map(_part_size, parts)) + len(str(message.get("tool_calls") or ""))


def _part_size(part: Any) -> int:
    text = cast("Mapping[str, Any]", part).get("text") if isinstance(part, Mapping) else part
    return 4 * _FILE_TOKENS if text is None else len(str(text))


def _parts(usage: Usage) -> tuple[int, int]:
    """The tokens read again and those kept, never more than were read."""
    cached = min(usage.cached_tokens, usage.input_tokens)
    return cached, min(usage.cache_write_tokens, usage.input_tokens - cached)


def _is_near(url: str) -> bool:
    """Whether a URL is one of this machine or of a network without public names: no published price is for it."""
    host = urlsplit(url).hostname or ""
    try:
        return bool(ip_address(host))
    except ValueError:
        return "." not in host
