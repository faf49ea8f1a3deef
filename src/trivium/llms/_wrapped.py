"""Models made of other models, and the stream of one read from the stream of another."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Iterable, Sequence
from typing import Any, cast

from trivium.commander import current, iterate
from trivium.commander.lowlevel import is_blocking
from trivium.exceptions import ConfigurationError
from trivium.llms._chat_model import ChatModel, identity_of
from trivium.llms._prices import Pricing, price_of
from trivium.llms._protocol import Delta, ModelProtocol, Parameters, Request


class WrappedModel(ChatModel):
    """A model made of one other, with its name and its price; a subclass writes `stream`."""

    def __init__(self, model: ModelProtocol) -> None:
        if isinstance(model, type) or not isinstance(model, ModelProtocol):  # type: ignore[unnecessary] - users pass anything
            text = f"{type(self).__name__} takes a model, as resolve('openai:NAME'), not {model!r:.100}"
            raise ConfigurationError(text)
        self._model = model
        self.name, self.gen_params = model.name, {}

    def inner_models(self) -> Sequence[tuple[ModelProtocol, Parameters]]:
        """Return the wrapped model."""
        return [(self._model, {})]

    def published_price(self) -> Pricing | None:
        """Return the price of the wrapped model."""
        return price_of(self._model)

    def _identity(self) -> dict[str, object]:
        return {**super()._identity(), "inner": identity_of(self._model)}


def deltas_of(model: ModelProtocol, request: Request) -> AsyncGenerator[Delta]:
    """Stream the deltas of a model whose `stream` is sync or async; the caller closes the generator."""
    if current.get() is not None and is_blocking():
        return iterate(model.stream, request)
    source = model.stream(request)
    if isinstance(source, AsyncGenerator):  # the reader of the outer stream can cancel it
        return cast("AsyncGenerator[Delta]", source)
    # Outside any run nothing can be cancelled, so no worker is needed.
    return read_in_place(source) if current.get() is None else iterate(lambda: source)


async def first_delta(deltas: AsyncGenerator[Delta]) -> list[Delta]:
    """Return the first delta that is no keep-alive, or none: before it, another model can still be called."""
    async for delta in deltas:
        if delta != "":
            return [delta]
    return []


async def read_in_place(source: object) -> AsyncGenerator[Delta]:
    """Yield the deltas of a sync or async stream, or of an awaitable of one, without a worker."""
    items: Any = await cast("Awaitable[Any]", source) if isinstance(source, Awaitable) else source
    if isinstance(items, AsyncIterable):
        async for delta in cast("AsyncIterable[Delta]", items):
            yield delta
    else:
        for delta in cast("Iterable[Delta]", items):
            yield delta
