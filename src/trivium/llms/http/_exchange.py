"""The exchange of a request for a response: by a client, and in tests through layers that record, replay or disturb."""

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
    """A layer between the clients and the network.

    Attributes:
        replays: True if it may respond by itself, so that no key is needed.
    """

    replays: ClassVar[bool] | bool = False

    async def respond(self, request: Request, send: Send, secrets: Collection[str]) -> Response:
        """Respond to a request.

        Args:
            request: the request.
            send: sends it to the next layer below, and finally to the network.
            secrets: secret texts of the request, which must not be stored.
        """
        raise NotImplementedError(f"{type(self).__name__} has no respond")


_layers: ContextVar[tuple[Layer, ...]] = ContextVar("trivium_layers", default=())


def add_layer(layer: Layer) -> Callable[[], None]:
    """Put a layer on top of all others, in this context and in the tasks that start from it.

    Returns:
        A function that removes it.
    """
    _layers.set((*_layers.get(), layer))

    def remove() -> None:
        _layers.set(tuple(each for each in _layers.get() if each is not layer))

    return remove


@asynccontextmanager
async def exchange(request: Request, send: Send, secrets: Collection[str] = ()) -> AsyncGenerator[Response]:
    """Send a request and give its unread response, which is closed at the end of the block. Logs show no secret of
    the URL.

    Args:
        request: the request.
        send: sends it to the network.
        secrets: secret texts of the request, which must not be stored.
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
    """Return the key that `take` returns; "" if there is none and a layer may respond without.

    Raises:
        ConfigurationError: there is none, and only the network can respond.
    """
    try:
        return take()
    except ConfigurationError:
        if any(layer.replays for layer in _layers.get()):
            return ""
        raise
