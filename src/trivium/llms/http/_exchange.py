"""How a request gets its answer: from a client, and in tests by way of what records, replays or disturbs."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from trivium.exceptions import ConfigurationError
from trivium.llms.http._secrets import loggable_url, secrets_of

if TYPE_CHECKING:
    from httpx2 import Request, Response

__all__ = ["Layer", "Send", "add_layer", "exchange", "needed_key"]

Send = Callable[["Request"], Awaitable["Response"]]


class Layer:
    """What stands between those who ask and the network.

    Attributes:
        replays: whether it may answer alone, so that a key need not be there.
    """

    replays: ClassVar[bool] | bool = False

    async def respond(self, request: Request, send: Send, secrets: Collection[str]) -> Response:
        """Answer a request.

        Args:
            request: what is asked.
            send: asks what stands below: the next layer, and at last the network.
            secrets: texts that belong to the request and must be kept nowhere.
        """
        raise NotImplementedError(f"{type(self).__name__} has no respond")


_layers: ContextVar[tuple[Layer, ...]] = ContextVar("trivium_layers", default=())


def add_layer(layer: Layer) -> Callable[[], None]:
    """Have `layer` see each request first: in this context, and in what starts from it.

    Returns:
        What takes it away again.
    """
    _layers.set((*_layers.get(), layer))

    def remove() -> None:
        _layers.set(tuple(each for each in _layers.get() if each is not layer))

    return remove


@asynccontextmanager
async def exchange(request: Request, send: Send, secrets: Collection[str] = ()) -> AsyncGenerator[Response]:
    """The answer to a request, not read yet; it is closed at the end of the block. No log shows a secret in its URL.

    Args:
        request: what is asked.
        send: asks the network.
        secrets: texts that belong to the request and must be kept nowhere.
    """
    layers = _layers.get()
    known = (*secrets, *secrets_of(str(request.url))) if layers else ()
    request.url = loggable_url(request.url)
    for layer in layers:
        send = partial(layer.respond, send=send, secrets=known)
    response = await send(request)
    try:
        yield response
    finally:
        await response.aclose()


def needed_key(take: Callable[[], str]) -> str:
    """The key that `take` gives; "" where it finds none and a layer may answer without.

    Raises:
        ConfigurationError: there is none, and only the network can answer.
    """
    try:
        return take()
    except ConfigurationError:
        if any(layer.replays for layer in _layers.get()):
            return ""
        raise
