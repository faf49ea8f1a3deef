"""Models made of models: how one is asked from the stream of another."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Iterable, Mapping
from functools import partial
from typing import Any, cast

from trivium.commander import current, iterate
from trivium.commander.lowlevel import is_blocking
from trivium.llms._chat_model import ChatModel
from trivium.llms._prices import Pricing
from trivium.llms._protocol import Delta, ModelProtocol, Request

__all__ = ["WrappedModel", "beginning", "deltas_of"]


class WrappedModel(ChatModel):
    """A model made of one other, with its name and its price; a subclass writes `stream`."""

    def __init__(self, model: ModelProtocol) -> None:
        self._model = model
        self.name, self.gen_params = model.name, {}

    def _asked_models(self) -> list[tuple[Any, Mapping[str, Any]]]:
        return [(self._model, {})]

    def _published_price(self) -> Pricing | None:
        return getattr(self._model, "price", None)


def deltas_of(model: ModelProtocol, request: Request) -> AsyncGenerator[Delta]:
    """What a model streams, whether its `stream` is sync or async; the caller closes it."""
    if current.get() is not None and is_blocking():
        return iterate(model.stream, request)
    source: Any = model.stream(request)
    if isinstance(source, AsyncGenerator):  # whoever pulls the outer stream can stop it
        return cast("AsyncGenerator[Delta]", source)
    return _in_place(source) if current.get() is None else iterate(partial(_same, source))


async def beginning(deltas: AsyncGenerator[Delta]) -> list[Delta]:
    """The first delta that says something, or none: until then an answer can be had from elsewhere."""
    async for delta in deltas:
        if delta != "":
            return [delta]
    return []


async def _in_place(source: Any) -> AsyncGenerator[Delta]:
    """Outside any run nobody could stop it, so it needs no worker."""
    items: Any = source
    if isinstance(source, Awaitable):
        items = await cast("Awaitable[Any]", source)
    if isinstance(items, AsyncIterable):
        async for delta in cast("AsyncIterable[Delta]", items):
            yield delta
    else:
        for delta in cast("Iterable[Delta]", items):
            yield delta


def _same(source: Any) -> Any:
    return source
